"""Where a caller is, and in which session."""

from pathlib import Path

import pytest

from mesh.app.caller import Caller, CallerSide

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
    said = Caller(str(tmp_path), CallerSide({}, str(tmp_path)))
    about = said.about(NODE, {"agent": agent, "session": session, "is_global": True})
    assert about.session == stored
    given = Caller(str(tmp_path), CallerSide({}, str(tmp_path)), agent=agent, session=session)
    assert given.about(NODE, {"is_global": True}).session == stored


def test_the_name_that_a_repository_gets_by_its_first_record_is_the_callers_scope_from_then_on(tmp_path: Path) -> None:
    """The repository is found once, and its name may come later: with the first record that is about it."""
    for folder in ("objects", "refs"):
        (tmp_path / ".git" / folder).mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".git" / "config").write_text("[core]\n\tbare = false\n")
    caller = Caller(str(tmp_path / "home"), CallerSide({}, str(tmp_path)))
    before = caller.scope(None)
    named = caller.about(NODE, {}).repo
    assert named.startswith("local/")
    assert named != before
    assert caller.scope(None) == named == Caller(str(tmp_path / "home"), CallerSide({}, str(tmp_path))).scope(None)
