"""Failures that were mended, and what only looks like one."""

import pytest

from clan_learnings.harvest.items import FIX, TOOL_QUIRK, HarvestItem
from clan_learnings.harvest.rules import items_of_session
from clan_learnings.sessions.transcript_events import Kind, SessionEvent
from tests.clan_learnings.harvest.made_sessions import Made

ZSH = "Exit code 1\n(eval):1: no matches found: --include=*.py"


def fixes(made: Made) -> list[HarvestItem]:
    return [item for item in items_of_session(made.session()) if item.kind == FIX]


def test_a_command_that_takes_other_arguments_is_a_quirk_of_it() -> None:
    """The evidence is the failed result, the fix is the call that worked."""
    made = Made()
    line = made.runs("gh pr view 5 --json title,threads", 'Unknown JSON field: "threads"', 1)
    made.runs("gh pr view 5 --json title,reviews", "{}")
    (item,) = items_of_session(made.session())
    assert (item.kind, item.line, item.fix_line) == (TOOL_QUIRK, line, line + 1)
    assert item.text == (
        '`gh pr view 5 --json title,threads` fails with “Unknown JSON field: "threads"”; `gh pr view 5 --json title,reviews` works'
    )
    assert item.signature == "unknown json field"


def test_a_path_that_needed_quotes_is_a_fix() -> None:
    """A shell did not understand the line; the same line in quotes worked."""
    made = Made()
    made.runs("sed -n 1,9p src/app/(main)/page.tsx", "bash: -c: line 0: syntax error near unexpected token `('", 2)
    made.runs("sed -n 1,9p 'src/app/(main)/page.tsx'", "export default")
    (item,) = fixes(made)
    assert "'src/app/(main)/page.tsx'` works" in item.text


def test_a_word_that_a_shell_does_not_take_in_its_place_is_a_quirk_of_the_shell() -> None:
    """Not the quoting was wrong, but the order of words."""
    made = Made()
    line = made.runs("make && DEBUG=1 time ./tool run", "Exit code 1\n(eval):1: parse error near `time'", 1)
    made.runs("make && DEBUG=1 ./tool run", "ok")
    assert [(item.kind, item.line) for item in items_of_session(made.session())] == [(TOOL_QUIRK, line)]


def test_a_missing_program_and_its_substitute() -> None:
    """Also if the substitute then fails for another reason, which is a fix of its own."""
    made = Made("gemini")
    first = made.runs("pip install thing", "bash: line 1: pip: command not found", 127)
    second = made.runs("pip3 install thing", "error: externally-managed-environment\nuse a venv", 1)
    made.runs("python3 -m venv /tmp/v", "")
    third = made.runs("source /tmp/v/bin/activate && pip install thing", "Successfully installed thing")
    assert [(item.line, item.fix_line) for item in fixes(made)] == [(first, second - 1), (second, third - 1)]


def test_a_tool_says_success_and_its_output_tells_otherwise() -> None:
    """A program was not found behind a status of success."""
    made = Made()
    line = made.runs("bats test/a.bats", "zsh:1: command not found: bats", None, failed=False)
    made.runs("mise exec -- bats test/a.bats", "ok 1")
    assert [item.line for item in fixes(made)] == [line]


def test_a_check_that_passes_after_edits_is_mended_by_the_last_of_them() -> None:
    """Failing twice with the same error is one failure, shown by the last."""
    made = Made()
    error = "src/log.go:4:2: cannot use quiet{} as Logger value: missing method {}"
    made.runs("mise run fmt && mise run lint", error.replace("{}", "Debugf", 2), 1)
    made.edits("/src/log.go")
    line = made.runs("mise run fmt && mise run lint", error.replace("{}", "Warnf", 2), 1)
    made.runs("go doc example.com/log Logger", "type Logger interface")
    fix = made.edits("/src/log.go", "func (quiet) Debugf() {}", "func (quiet) Debugf() {}\nfunc (quiet) Warnf() {}")
    made.runs("mise run lint", "0 issues.")
    (item,) = fixes(made)
    assert (item.line, item.fix_line) == (line, fix)
    assert "mended in log.go: “func (quiet) Warnf() {}” was added" in item.text


def test_a_failure_behind_a_pipe_goes_on_and_the_one_that_was_told_stands_for_it() -> None:
    """The second run ends in `tail`, so it counts as a success for the agent; it is none."""
    made = Made()
    line = made.runs(
        "pnpm fix", "  x lint(sort-keys): Object keys should be sorted\nCommand failed with exit code 1.", 1
    )
    made.edits("/src/a.tsx")
    made.runs(
        "pnpm fix 2>&1 | tail -5",
        "  x lint(sort-keys): Object keys should be sorted\n[ELIFECYCLE] Command failed with exit code 1.",
    )
    fix = made.edits("/src/a.tsx")
    made.runs("pnpm fix 2>&1 | tail -5", "Found 0 warnings and 0 errors.")
    assert [(item.line, item.fix_line) for item in fixes(made)] == [(line, fix)]


def test_something_that_had_to_be_run_first() -> None:
    """The same line passes after another command."""
    made = Made()
    made.runs(
        "python compare.py", "Traceback (most recent call last):\nModuleNotFoundError: No module named 'torch'", 1
    )
    made.runs("pip install -r requirements.txt", "Successfully installed torch")
    made.runs("python compare.py", "0.93")
    (item,) = fixes(made)
    assert item.text == (
        "`python compare.py` fails with “ModuleNotFoundError: No module named 'torch'” until `pip install -r requirements.txt` is run"
    )


def test_another_program_for_the_same_file() -> None:
    """The wrapper misses something, the program itself does not."""
    made = Made()
    line = made.runs("mise run test -- test/a.bats", "suite: line 314: parallel: command not found\ntask failed", 1)
    made.runs("test/bats/bin/bats test/a.bats", "1..2\nok 1\nok 2")
    assert [item.line for item in fixes(made)] == [line]


def test_an_environment_that_makes_the_same_command_pass() -> None:
    """Only the variables differ, and they are the fix."""
    made = Made()
    made.runs("go test ./...", "--- FAIL: TestSync\n  commit: cannot auto-sign commit: disable commit.gpgSign", 1)
    made.runs("GIT_CONFIG_GLOBAL=/dev/null go test ./...", "ok")
    (item,) = fixes(made)
    assert "`GIT_CONFIG_GLOBAL=/dev/null go test ./...` works" in item.text


@pytest.mark.parametrize(
    ("command", "output", "code"),
    [
        ("grep -rn thing src", "", 1),
        ("rg -n thing src missing.toml 2>/dev/null", "src/a.py:3: thing", 2),
        ("rg -n thing a.toml b.toml 2>/dev/null", "", 2),
        ("diff a b", "1c1\n< a\n---\n> b", 1),
        ("test -f a", "", 1),
        ("git config --global core.excludesfile", "", 1),
        ("git diff --quiet", "", 1),
        ("ls src/missing", "ls: src/missing: No such file or directory", 2),
        ("cat Makefile", "cat: Makefile: No such file or directory", 1),
        ("gofmt -d a.go", "diff a.go.orig a.go\n--- a.go.orig\n+++ a.go\n@@ -1 +1 @@", 1),
    ],
)
def test_an_exit_code_that_is_an_answer_is_no_failure(command: str, output: str, code: int) -> None:
    """Nothing found, not equal, not there; whatever is run next is no fix."""
    made = Made()
    made.runs(command, output, code)
    made.runs(command.replace("thing", "other").replace("missing", "found"), "something")
    assert items_of_session(made.session()) == []


def test_a_test_that_does_its_work_teaches_nothing() -> None:
    """A test that fails until the code is right: that is how code is written."""
    made = Made()
    made.runs("pnpm test nav.test.tsx", "FAIL src/nav.test.tsx > initials\nAssertionError: expected 'A' to be 'AB'", 1)
    made.edits("/src/nav.tsx")
    made.runs("pnpm test nav.test.tsx", "3 passed")
    assert fixes(made) == []


def test_the_same_command_that_passes_the_second_time_teaches_nothing() -> None:
    """It was the network, or somebody unlocked a key."""
    made = Made()
    made.runs("git push", "fatal: unable to access remote: connection reset", 128)
    made.runs("git push", "done")
    assert items_of_session(made.session()) == []


def test_a_call_that_fell_with_its_sibling_is_no_failure() -> None:
    """Collateral results say nothing about their own commands."""
    made = Made()
    made.runs("git worktree list", "Sibling tool call errored", 1)
    made.events[-1] = made.events[-1]._replace(is_collateral=True)
    made.runs("git worktree list --porcelain", "worktree /src")
    assert items_of_session(made.session()) == []


def test_a_process_that_still_runs_has_not_failed() -> None:
    """No exit code yet."""
    made = Made("codex")
    made.runs("go test ./syncer", "Process running with session ID 66052", None)
    made.runs("go test -count=1 ./syncer", "ok")
    assert items_of_session(made.session()) == []


def test_what_was_started_before_the_failure_was_known_is_no_fix() -> None:
    """Calls side by side: the one that worked does not answer the one that failed."""
    made = Made()
    calls = [
        SessionEvent(1, Kind.CALL, "cargo test a:: b::", None, "x", "shell"),
        SessionEvent(2, Kind.CALL, "cargo test b::", None, "y", "shell"),
    ]
    results = [
        SessionEvent(
            3, Kind.RESULT, "error: unexpected argument 'b::' found", None, "x", "shell", failed=True, exit_code=1
        ),
        SessionEvent(4, Kind.RESULT, "ok", None, "y", "shell", failed=False, exit_code=0),
    ]
    made.events = calls + results
    assert items_of_session(made.session()) == []


def test_reading_the_manual_is_no_fix() -> None:
    """Help always works."""
    made = Made()
    made.runs("tool repo list", "Error: Invalid usage: accepts 1 arg(s), received 0", 1)
    made.runs("tool repo --help", "Usage: tool repo")
    assert items_of_session(made.session()) == []


def test_a_subcommand_that_is_called_otherwise() -> None:
    """The program is right, the name of what it shall do is not."""
    made = Made()
    line = made.runs("npm test", 'npm ERR! Missing script: "test"', 1)
    made.runs("npm run test:unit", "12 passed")
    assert [item.line for item in fixes(made)] == [line]


def test_a_program_that_does_one_thing_is_the_same_with_any_options() -> None:
    """Options come first, so its first word is no subcommand."""
    made = Made()
    line = made.runs("sed -i 's/a/b/' notes.txt", "sed: 1: invalid command code n", 1)
    made.runs("sed -i '' 's/a/b/' notes.txt", "")
    assert [(item.line, item.fix_line) for item in items_of_session(made.session())] == [(line, line + 1)]


def test_rights_that_were_missing_are_a_fix() -> None:
    """The same line as somebody else."""
    made = Made()
    made.runs("systemctl restart web", "Failed to restart web.service: Access denied", 1)
    made.runs("sudo systemctl restart web", "")
    (item,) = fixes(made)
    assert "`sudo systemctl restart web` works" in item.text


def test_less_of_the_same_that_passes_is_no_fix() -> None:
    """One package is fine; that says nothing about all of them."""
    made = Made()
    made.runs("go vet ./...", "b/b.go:3:2: unreachable code", 1)
    made.runs("go vet ./a", "")
    assert fixes(made) == []


def test_what_the_model_names_as_wrong_and_swaps_is_a_fix() -> None:
    """The answer says A instead of B, the next edit of a file it had changed before does just that."""
    made = Made()
    made.edits("/src/release.yaml", "jobs: []", "jobs:\n  timeout: 5")
    line = made.replies(
        "There is a schema error: the key should be `timeout_minutes` instead of `timeout:`. Let me fix that."
    )
    fix = made.edits("/src/release.yaml", "    timeout: 5", "    timeout_minutes: 5")
    (item,) = fixes(made)
    assert (item.line, item.fix_line, item.wrong, item.right) == (line, fix, "timeout:", "timeout_minutes")


def test_a_check_that_failed_elsewhere_and_was_mended_here() -> None:
    """The model says why the job fails, changes a file, and a check passes."""
    made = Made("codex")
    made.says("why is this failing? https://example.com/run/1")
    made.runs("gh run view 1 --log", "lots of text")
    line = made.replies("The nightly build is failing because of two `unpinned-image` warnings.")
    fix = made.edits("/src/.github/ci.yml", "# v1", "# v1.4.3")
    made.runs("docker run audit .", "No findings")
    assert [(item.line, item.fix_line) for item in fixes(made)] == [(line, fix)]


def test_the_same_error_twice_in_a_session_is_one_item() -> None:
    """The first is kept."""
    made = Made()
    first = made.runs("grep -rn a --include=*.py .", ZSH, 1)
    made.runs("grep -rn a --include='*.py' .", "a.py:1: a")
    made.runs("grep -rn b --include=*.py .", ZSH, 1)
    made.runs("grep -rn b --include='*.py' .", "b.py:1: b")
    assert [item.line for item in fixes(made)] == [first]


def test_what_a_person_had_to_unlock_is_a_fix() -> None:
    """The same line works after a person said go on; what the model had asked for is part of it."""
    made = Made()
    made.says("commit it")
    line = made.runs("git commit -m 'add a queue'", "error: Couldn't sign message: agent refused operation", 128)
    made.replies("Your signing key is locked. Unlock it and I will commit again.")
    made.says("go ahead")
    made.runs("git commit -m 'add a queue'", "[main 1a2b3c4] add a queue")
    (item,) = fixes(made)
    assert (item.line, item.fix_line) == (line, line + 3)
    assert "a person has to help: “Your signing key is locked”, then it works" in item.text


def test_the_same_that_passes_later_without_a_reason_teaches_nothing() -> None:
    """A person said something in between, but nothing was missing that a person gives."""
    made = Made()
    made.says("run it")
    made.runs("make fetch", "error: the mirror is slow today", 1)
    made.replies("It failed.")
    made.says("again please")
    made.runs("make fetch", "fetched")
    assert fixes(made) == []


def test_a_failure_that_is_looked_at_again_is_told_where_it_was_seen_first() -> None:
    """Other tests of the same program fail alike, nothing is changed, and a variable helps all of them."""
    made = Made()
    error = "FAIL\ncommit: cannot sign the commit without a key"
    line = made.runs("go test ./store/... 2>&1 | tail -9", error, 0)
    made.runs("go test ./... 2>&1 | tail -30", error, 0)
    made.runs("export GIT_CONFIG_GLOBAL=/dev/null; go test ./... 2>&1 | tail -30", "ok")
    (item,) = fixes(made)
    assert (item.line, item.fix_line) == (line, line + 3)


def test_a_job_that_failed_elsewhere_is_told_where_its_log_was_read() -> None:
    """The model reads the log, says that the job failed and why, changes a file, and a check passes."""
    made = Made()
    made.says("why did this job fail?")
    line = made.runs("forge log 12", "step one\n##[error]Process completed with exit code 1")
    made.replies("The job failed in one step; I look at the file now.")
    made.runs("cat flow.yml", "on: push")
    made.replies("The lint job failed because of `flow.yml`: it needs a name.")
    made.says("fix it")
    made.edits("/src/flow.yml", "on: push", "name: lint\non: push")
    made.runs("make lint", "0 issues")
    assert [item.line for item in fixes(made)] == [line]


def test_a_build_that_fails_behind_one_filter_and_passes_behind_another_is_mended() -> None:
    """The same check; what it prints later does not speak of errors."""
    made = Made()
    line = made.runs("npm run build 2>&1 | tail -20", "error: the plugin needs a name in its settings\nBUILD FAILED", 0)
    fix = made.edits("/src/plugin.ts", "{}", '{name: "a"}')
    made.runs("npm run build 2>&1 | tail -5", "built in 2s", 0)
    assert [(item.line, item.fix_line, item.confidence) for item in fixes(made)] == [(line, fix, 0.5)]


def test_tests_that_fail_behind_a_filter_are_tests_at_work() -> None:
    """Only the last lines are shown, without what was expected."""
    made = Made()
    made.runs("mise run test 2>&1 | tail -3", "to go on, run this\nFAIL\tstore\t1.2s\nFAIL", 0)
    made.edits("/src/store_test.go")
    made.runs("mise run test 2>&1 | tail -3", "ok\tstore\t1.2s", 0)
    assert fixes(made) == []
