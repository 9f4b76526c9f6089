"""Our own text never comes back as something that was learned, by whatever way it came into a session."""

import json

import pytest

from clan_learnings.context.injected_mark import FILE_CLOSING, FILE_OPENING, opening
from clan_learnings.harvest.items import FIX
from clan_learnings.harvest.rules import items_of_session
from clan_learnings.sessions.digest import digest_of
from clan_learnings.sessions.transcript_events import Kind
from mesh.mcp.tool_answers import data, marked, searched
from tests.clan_learnings.harvest.made_sessions import Made

RULE = "Always run the database migration with the lock timeout set, never without it"
LINE = f"[k3j2h1g0] {RULE} (3 sessions, 2 nodes)"
BLOCK = f"{opening('abcd1234abcd1234')}\nHOT, mistakes that several sessions made:\n- {LINE}\n</clan-mesh>\n"
FILE = f"{FILE_OPENING}\n# Patterns\n\n- {LINE}\n{FILE_CLOSING}\n"


def by_hook(made: Made) -> None:
    made.says(BLOCK, Kind.INJECTED)


def by_hook_in_the_persons_place(made: Made) -> None:
    made.says(f"{BLOCK}fix the import")


def by_lines_before_a_prompt(made: Made) -> None:
    made.says(f"clan-mesh: {LINE}\nfix the import")


def by_mcp_answer(made: Made) -> None:
    answer = searched({"results": [{"id": "k3j2h1g0", "text": RULE, "kind": "pattern"}], "pages": [], "by": "words"})
    made.uses("mcp__clan-mesh__search", marked(answer.lines()), query="migration")
    made.uses("mcp__clan-mesh__search", json.dumps(data(answer)), query="migration")
    made.uses("clan-mesh.search", f"Notes of other agents: {RULE}.", query="migration")


def by_failed_mcp_call(made: Made) -> None:
    made.uses("mcp__clan-mesh__record_correction", f"right is required. {RULE}", failed=True, wrong="x")
    made.uses("mcp__clan-mesh__record_correction", "Recorded [k3j2h1g0].", wrong="x", right=RULE)


def by_search(made: Made) -> None:
    made.runs("mesh search migration lock", f"k3j2h1g0  {RULE}")


def by_other_commands(made: Made) -> None:
    for name in ("tail", "hot", "context", "show k3j2h1g0", "why k3j2h1g0"):
        made.runs(f"cd /src && mesh {name} | head -20", f"{LINE}\nerror: {RULE}")


def by_a_failed_command(made: Made) -> None:
    made.runs("mesh correct --wrong x", f"mesh correct: --right is required, for example {RULE}", 2)
    made.runs(f"mesh correct --wrong x --right '{RULE}'", "k3j2h1g0")


def by_rendered_file(made: Made) -> None:
    made.runs("cat /home/ada/.mesh/rendered/MEMORY.md", FILE)
    made.runs("grep -n migration docs/patterns.md", f"12:- {LINE}")
    made.uses("Read", f"     3\t- {LINE}", file_path="/home/ada/.mesh/rendered/corrections.md")


def by_compaction(made: Made) -> None:
    made.says(f"This session is being continued. The team's rules: {RULE}. {BLOCK}", Kind.SUMMARY)


WAYS = (
    by_hook,
    by_hook_in_the_persons_place,
    by_lines_before_a_prompt,
    by_mcp_answer,
    by_failed_mcp_call,
    by_search,
    by_other_commands,
    by_a_failed_command,
    by_rendered_file,
    by_compaction,
)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_our_text_yields_nothing_and_is_in_no_digest(way: object) -> None:
    """Nothing is found in it, and a digest does not hold it."""
    made = Made()
    way(made)  # type: ignore[operator]
    made.replies("Reading the notes first.")
    session = made.session()
    assert items_of_session(session) == []
    assert "lock timeout" not in json.dumps(digest_of(session).as_json())


@pytest.mark.parametrize("way", [way for way in WAYS if way is not by_compaction], ids=lambda way: way.__name__)
@pytest.mark.parametrize(
    "quoted",
    [
        f"The key should be `timeout` instead of `lock`. {RULE}. Should the database migration always run with the lock timeout set?",
        f"Noted:\n> {RULE}\n",
        "The notes say to run the database migration always with a lock timeout set and never without it. Does the database migration run with the lock timeout set?",
    ],
)
def test_what_the_model_repeats_of_it_yields_nothing(way: object, quoted: str) -> None:
    """Quoted without a mark, or in nearly the same words."""
    made = Made()
    way(made)  # type: ignore[operator]
    made.replies(quoted)
    assert items_of_session(made.session()) == []


def test_a_tool_that_prints_it_without_a_mark_yields_nothing() -> None:
    """A difference of a rendered file, shown by another program, that looks like an error."""
    made = Made()
    by_hook(made)
    made.uses("diff_view", f"error: {RULE}", failed=True, path="a")
    made.uses("diff_view", "fine", path="b")
    assert items_of_session(made.session()) == []


def test_a_person_who_says_it_again_is_heard() -> None:
    """The session was told and did it wrong anyway: the person's words are theirs."""
    made = Made()
    by_hook(made)
    made.says("migrate")
    made.edits("/src/migrate.py")
    made.replies("Done.")
    line = made.says("no, run the migration with the lock timeout set, never without it")
    assert [item.line for item in items_of_session(made.session())] == [line]


def test_a_failure_that_we_warned_of_is_still_a_failure() -> None:
    """The session was told, and ran into it all the same."""
    made = Made()
    made.says(
        f"{opening('abcd1234abcd1234')}\n- [a1b2c3d4] pip: command not found on these machines, so install with pip3\n</clan-mesh>\n",
        Kind.INJECTED,
    )
    line = made.runs("pip install thing", "bash: line 1: pip: command not found", 127)
    made.runs("pip3 install thing", "Successfully installed thing")
    assert [(item.kind, item.line) for item in items_of_session(made.session())] == [(FIX, line)]


def test_what_stands_beside_our_text_is_still_found() -> None:
    """A failure next to a context is nobody's but the session's."""
    made = Made()
    by_hook(made)
    line = made.runs("pip install thing", "bash: pip: command not found", 127)
    made.runs("pip3 install thing", "Successfully installed thing")
    assert [item.line for item in items_of_session(made.session())] == [line]
