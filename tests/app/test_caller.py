"""Where a caller is, and in which session."""

from pathlib import Path

import pytest

from mesh.app.caller import Caller

NODE = bytes(16)


@pytest.mark.parametrize(
    ("agent", "session", "stored"),
    [
        ("claude-code", "aaaa0", "claude-code:aaaa0"),
        ("claude-code", "codex:aaaa0", "codex:aaaa0"),
        ("", "aaaa0", "shell:aaaa0"),
        ("A Person", "aaaa0", "shell:aaaa0"),
    ],
)
def test_an_id_alone_is_a_session_of_the_agent_that_was_named(
    tmp_path: Path, agent: str, session: str, stored: str
) -> None:
    """As its transcript will name it, so that a later harvest finds it counted. Said with a write, or by who opened the place."""
    said = Caller(str(tmp_path), {}, str(tmp_path), agent="", session="")
    about = said.about(NODE, {"agent": agent, "session": session, "is_global": True})
    assert about.session == stored
    given = Caller(str(tmp_path), {}, str(tmp_path), agent=agent, session=session)
    assert given.about(NODE, {"is_global": True}).session == stored
