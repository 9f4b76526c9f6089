"""Whatever events a transcript yields, rules and digests do not raise, and what they say can be kept."""

import json
import string
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.harvest.items import KINDS, item_from
from clan_learnings.harvest.rules import items_of_session
from clan_learnings.sessions.digest import digest_of
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage

# Words that rules look for, among any others.
PIECES = st.sampled_from(
    [
        "no, that's wrong",
        "git push && echo 'a",
        "cd /home/ada; rg -n x | head",
        "error: unknown option `x'",
        "(eval):1: parse error near `('",
        "command not found: pip",
        "Path must be absolute: .",
        "Traceback (most recent call last):\nValueError: x",
        "clan-mesh: a line of ours",
        "<clan-mesh context v1 digest=abcd>",
        "*** Begin Patch\n*** Update File: a.py\n-a\n+b",
        "cat <<'EOF'\nx\nEOF\npython a.py",
        "`a` should be `b` instead of `c`",
        "I've created a.py. Done?",
        "always never remember that",
        "mesh search x",
        "```\ncode",
        "\x1b[31mred\x1b[0m \ud7ff \u202e",
    ]
)
TEXTS = st.one_of(PIECES, st.text(max_size=80), st.lists(PIECES, max_size=4).map("\n".join))
TOOLS = st.sampled_from(
    ["Bash", "Edit", "Write", "exec", "AskUserQuestion", "ExitPlanMode", "mcp__clan-mesh__search", "", "wait"]
)
VALUES: Any = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=5,
)
NAMES = st.one_of(
    st.sampled_from(["file_path", "old_string", "new_string", "path", "edits", "input", "content"]),
    st.text(string.ascii_letters, max_size=5),
)
EVENTS = st.builds(
    SessionEvent,
    line=st.integers(0, 50),
    kind=st.sampled_from(list(Kind)),
    text=TEXTS,
    at_ms=st.one_of(st.none(), st.integers(0, 10**12)),
    call=st.sampled_from(["", "a", "b", "c"]),
    tool=TOOLS,
    arguments=st.dictionaries(NAMES, VALUES, max_size=4),
    failed=st.sampled_from([None, True, False]),
    exit_code=st.one_of(st.none(), st.integers(-1, 255)),
    is_collateral=st.booleans(),
    is_sidechain=st.booleans(),
)


@given(events=st.lists(EVENTS, max_size=25), is_subagent=st.booleans(), folder=TEXTS)
def test_any_events_give_items_and_a_digest_that_can_be_kept(
    *, events: list[SessionEvent], is_subagent: bool, folder: str
) -> None:
    """No exception; sentences of one line and at most 300 characters; known kinds; JSON and back."""
    session = Session("made", "id", events, is_subagent=is_subagent, folder=folder, usage=Usage(1, 2, 3))
    for item in items_of_session(session):
        assert item.kind in KINDS
        assert 0.1 <= item.confidence <= 1.0
        assert 0 < len(item.text) <= 300
        assert "\n" not in item.text
        assert item_from(json.loads(json.dumps(item.as_json()))) == item
    digest = digest_of(session)
    assert digest.outcome in ("success", "failure", "unknown")
    assert json.loads(json.dumps(digest.as_json()))["session"] == digest.session
