"""Checks that fail, and fail otherwise, until files were changed: each error is a fix of its own."""

from clan_learnings.harvest.items import FIX, HarvestItem
from clan_learnings.harvest.rules import items_of_session
from clan_learnings.sessions.check_runs import findings_in
from tests.clan_learnings.harvest.made_sessions import Made

SHADOW = "lib/queue.go:12:4: shadow: declaration of err shadows declaration at line 9 (govet)"
WRAPPED = "lib/queue.go:40:9: error returned from external package is unwrapped (wrapcheck)"
UNUSED = "lib/queue.go:3:2: imported and not used: os"


def fixes(made: Made) -> list[HarvestItem]:
    return [item for item in items_of_session(made.session()) if item.kind == FIX]


def test_every_error_that_an_edit_mended_is_a_fix() -> None:
    """The second run fails with another error; both were mended, each by its edit."""
    made = Made()
    first = made.runs("make lint", SHADOW, 2)
    one = made.edits("/src/lib/queue.go", "err := a()", "err = a()")
    second = made.runs("make lint", WRAPPED, 2)
    two = made.edits("/src/lib/queue.go", "return err", "return fmt.Errorf(err)")
    made.runs("make lint", "0 issues.")
    assert [(item.line, item.fix_line) for item in fixes(made)] == [(first, one), (second, two)]
    assert [item.confidence for item in fixes(made)] == [0.6, 0.7]


def test_an_error_that_stays_is_told_when_it_goes() -> None:
    """Of two errors one is mended first; the other is told at the run after which it was gone."""
    made = Made()
    first = made.runs("make lint", f"{SHADOW}\n{WRAPPED}", 2)
    made.edits("/src/lib/queue.go", "err := a()", "err = a()")
    second = made.runs("make lint", WRAPPED, 2)
    made.edits("/src/lib/queue.go", "return err", "return fmt.Errorf(err)")
    made.runs("make lint", "0 issues.")
    assert [(item.line, "shadow" in item.text) for item in fixes(made)] == [(first, True), (second, False)]


def test_a_second_look_at_the_same_errors_is_no_second_failure() -> None:
    """Nothing was changed between two runs: the first one shows it."""
    made = Made()
    line = made.runs("make lint 2>&1 | tail -40", SHADOW, 0)
    made.runs("make lint 2>&1 | grep shadow", SHADOW, 0)
    made.edits("/src/lib/queue.go")
    made.runs("make lint", "0 issues.")
    assert [item.line for item in fixes(made)] == [line]


def test_errors_behind_a_pipe_count_though_the_line_succeeds() -> None:
    """A filter hides the exit code; less sure, all the same."""
    made = Made()
    line = made.runs("cd web && npm run check 2>&1 | head -50", "src/a.ts(3,5): error TS2554: Expected 2 arguments.", 0)
    fix = made.edits("/web/src/a.ts", "open(a)", "open(a, b)")
    made.runs("cd web && npm run check 2>&1 | grep error", "", 0)
    assert [(item.line, item.fix_line, item.confidence) for item in fixes(made)] == [(line, fix, 0.5)]


def test_a_run_that_shows_less_proves_nothing() -> None:
    """What a filter took out is not mended."""
    made = Made()
    made.runs("make lint", f"{SHADOW}\n{WRAPPED}", 2)
    made.edits("/src/lib/queue.go", "err := a()", "err = a()")
    made.runs("make lint 2>&1 | tail -1", WRAPPED, 0)
    assert fixes(made) == []


def test_a_run_that_ends_with_a_word_of_failure_has_not_passed() -> None:
    """Only the end of the output is shown, and it speaks of an error."""
    made = Made()
    made.runs("npm run check 2>&1 | head -50", "src/a.ts(3,5): error TS2554: Expected 2 arguments.", 0)
    made.edits("/src/a.ts")
    made.runs("npm run check 2>&1 | tail -1", "npm error command failed", 0)
    assert fixes(made) == []


def test_slips_alone_teach_nothing() -> None:
    """An import that is not used is known to whoever reads it."""
    made = Made()
    made.runs("go build ./...", UNUSED, 1)
    made.edits("/src/lib/queue.go")
    made.runs("go build ./...", "")
    assert fixes(made) == []


def test_what_is_searched_for_is_no_finding() -> None:
    """A search prints places, too; so does a log that somebody shows."""
    made = Made()
    made.runs("grep -rn --column error lib", "lib/queue.go:12:4: error is returned here")
    made.edits("/src/lib/queue.go")
    made.runs("grep -rn --column error lib", "")
    assert fixes(made) == []


def test_another_folder_is_another_check() -> None:
    """The same script of another package says nothing about this one."""
    made = Made()
    made.runs("cd api && npm run check", "src/a.ts(3,5): error TS2554: Expected 2 arguments.", 2)
    made.edits("/api/src/a.ts")
    made.runs("cd web && npm run check", "ok")
    assert fixes(made) == []


def test_forms_of_findings() -> None:
    """As compilers, type checkers and linters print them; where it is, what it says."""
    outputs = {
        "a/b.go:3:7: msg one (rule)": ("a/b.go", "msg one (rule)"),
        "a.py:3: error: msg two  [code]": ("a.py", "error: msg two  [code]"),
        "src/a.ts(3,5): error TS1: msg": ("src/a.ts", "error TS1: msg"),
        "error[E0308]: mismatched\n  --> src/m.rs:3:5": ("src/m.rs", "mismatched"),
        "/src/a.js\n  3:1  error  No console  no-console": ("/src/a.js", "No console  no-console"),
        "  x lint(keys): sort them\n   ,-[src/k.tsx:4:2]": ("src/k.tsx", "lint(keys): sort them"),
        "/a/b.py:3:5 - error: wrong type (rule)": ("/a/b.py", "error: wrong type (rule)"),
        "e: file:///a/M.kt:3:5 Type mismatch": ("/a/M.kt", "Type mismatch"),
        "e: /a/M.kt: (3, 5): Type mismatch": ("/a/M.kt", "Type mismatch"),
        "./a.yml\n  3:1       error    wrong indentation  (indentation)": ("a.yml", "wrong indentation  (indentation)"),
        "a/b.md:3:1 MD013 Line [Expected: 80; Actual: 100]": ("a/b.md", "MD013 Line [Expected: 80; Actual: 100]"),
        "./a.ts:3:5 style/useConst  FIXABLE  ━━━━": ("a.ts", "style/useConst"),
        "[lint] ./a.go:3:7: tagged": ("a.go", "tagged"),
    }
    assert {text: (found.file, found.message) for text in outputs for found in findings_in(text)} == outputs


def test_what_tests_and_logs_print_is_no_finding() -> None:
    """Assertions, stacks, notes, sums."""
    others = [
        "    queue_test.go:42: got 3, want 4",
        "tests/test_a.py:12: AssertionError",
        "    at run (src/a.ts:3:5)",
        "a.go:3:7: note: declared here",
        "error: could not compile `a` (lib)",
        "12:30:01 server.py INFO started",
    ]
    assert [text for text in others if findings_in(text)] == []
