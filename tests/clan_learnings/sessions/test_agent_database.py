"""Sessions in the databases of OpenCode and Hermes: found, read as exports are, captured once, and nothing of the agent's is touched."""

import json
import os
from pathlib import Path
from typing import Any

import apsw
import pytest

from clan_learnings.sessions import agent_database_table
from clan_learnings.sessions.agent_database_table import (
    DatabaseRefused,
    is_database,
    looks_of_sessions,
    session_in_database,
)
from clan_learnings.sessions.analysis import real_analysts
from clan_learnings.sessions.capture import Capture, CaptureReport
from clan_learnings.sessions.catalogue_table import Catalogue
from clan_learnings.sessions.recognition import read_transcript
from clan_learnings.sessions.session_folders import discover
from clan_learnings.sessions.transcript_events import Kind, Session
from clan_learnings.sessions.transcript_file import FileRefused, read_file

OPENCODE = """
CREATE TABLE session(id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT,
    version TEXT, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL);
CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
CREATE INDEX part_session_idx ON part(session_id);
"""
HERMES = """
CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, title TEXT, cwd TEXT);
CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, finish_reason TEXT);
"""
NOON = 1_772_366_400_000


def part(database: apsw.Connection, message: str, number: int, value: dict[str, Any], session: str = "ses_1") -> None:
    row = (f"prt_{message}{number}", f"msg_{message}", session, NOON, NOON + number, json.dumps(value))
    database.execute("INSERT INTO part VALUES(?,?,?,?,?,?)", row)


def opencode(path: Path, *, wal: bool = False) -> apsw.Connection:
    """One session as OpenCode 1.18 keeps it: ids stand beside the JSON, not in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = apsw.Connection(str(path))
    database.execute(f"PRAGMA journal_mode={'wal' if wal else 'delete'}").fetchall()
    database.execute(OPENCODE)
    about = ("ses_1", "p", None, "s", "/src/shop", "Tests", "1.18.33", NOON, NOON + 9)
    database.execute("INSERT INTO session VALUES(?,?,?,?,?,?,?,?,?)", about)
    database.execute("INSERT INTO session VALUES('ses_empty','p',NULL,'s','/src/shop','','1.18.33',1,1)")
    for name, role in (("a", "user"), ("b", "assistant")):
        data = json.dumps({"role": role, "time": {"created": NOON}, "modelID": "opus"})
        database.execute("INSERT INTO message VALUES(?,?,?,?,?)", (f"msg_{name}", "ses_1", NOON, NOON, data))
    part(database, "a", 1, {"type": "text", "text": "run the tests"})
    state = {"status": "completed", "input": {"command": "pytest"}, "output": "1 failed", "metadata": {"exit": 1}}
    part(database, "b", 1, {"type": "tool", "tool": "bash", "callID": "c1", "state": state})
    part(database, "b", 2, {"type": "text", "text": "One fails."})
    return database


def hermes(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    database = apsw.Connection(str(path))
    database.execute(HERMES)
    about = ("20260301_120000_ab12cd34", "cli", "hermes-4", None, NOON / 1000, None, "Tests", "/src/shop")
    database.execute("INSERT INTO sessions VALUES(?,?,?,?,?,?,?,?)", about)
    call = [{"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "pytest"}'}}]
    for role, content, call_id, calls in (
        ("user", "run the tests", None, None),
        ("assistant", "", None, json.dumps(call)),
        ("tool", json.dumps({"output": "1 failed", "exit_code": 1, "error": None}), "c1", None),
        ("assistant", "One fails.", None, None),
    ):
        row = (about[0], role, content, call_id, calls, None, NOON / 1000 + 1, None)
        database.execute("INSERT INTO messages VALUES(NULL,?,?,?,?,?,?,?,?)", row)
    database.close()


def found(home: Path) -> list[str]:
    return [each.path for each in discover((), "", 0, {"HOME": str(home)})]


def only_session(path: str) -> Session:
    body = read_file(path, None, None, lambda: None).body
    (session,) = read_transcript(body, path).sessions
    return session


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A person with both agents."""
    opencode(tmp_path / ".local/share/opencode/opencode.db").close()
    hermes(tmp_path / ".hermes/state.db")
    return tmp_path


def test_sessions_are_found_in_the_databases_and_read_as_exports_are(home: Path) -> None:
    """A session without messages is none."""
    before = files(home)
    paths = found(home)
    assert [os.path.relpath(path, home) for path in paths] == [
        ".local/share/opencode/opencode.db/ses_1",
        ".hermes/state.db/20260301_120000_ab12cd34",
    ]
    for path, name, shell in zip(
        paths, ("opencode:ses_1", "hermes:20260301_120000_ab12cd34"), ("bash", "terminal"), strict=True
    ):
        session = only_session(path)
        assert (session.name, session.folder, session.title) == (name, "/src/shop", "Tests")
        assert session.skipped == {}
        events = [event for event in session.events if event.text]
        assert [(event.kind, event.text) for event in events] == [
            (Kind.PROMPT, "run the tests"),
            (Kind.CALL, "pytest"),
            (Kind.RESULT, "1 failed"),
            (Kind.REPLY, "One fails."),
        ]
        assert (events[2].tool, events[2].failed, events[2].exit_code) == (shell, True, 1)
        assert session.started_ms == NOON
    assert files(home) == before  # not a byte, and no file beside


def test_a_database_that_is_written_to_is_read_as_it_is_now(tmp_path: Path) -> None:
    """What the agent has not yet taken into the file itself stands beside it."""
    path = tmp_path / ".local/share/opencode/opencode.db"
    agent = opencode(path, wal=True)
    (name,) = found(tmp_path)
    assert only_session(name).messages == 2
    look = read_file(name, None, None, lambda: None).look
    part(agent, "b", 3, {"type": "text", "text": "Mended."})
    assert read_file(name, None, None, lambda: None).look != look
    assert only_session(name).events[-1].text == "Mended."
    agent.execute("UPDATE session SET title='Still writable'")
    agent.close()


def test_a_session_is_captured_once_and_again_when_it_grew(home: Path, tmp_path: Path) -> None:
    """Also if the same session lies in the files of an older version."""

    def captured() -> CaptureReport:
        with Catalogue(str(tmp_path / "node")) as catalogue:
            return Capture(catalogue, real_analysts()).run(discover((), "opencode", 0, {"HOME": str(home)}))

    assert (captured().ingested, captured().unchanged) == (1, 1)
    database = apsw.Connection(str(home / ".local/share/opencode/opencode.db"))
    part(database, "b", 3, {"type": "text", "text": "Mended."})
    database.close()
    assert (captured().ingested, captured().unchanged) == (1, 1)
    storage = home / ".local/share/opencode/storage"
    for place, value in (
        ("session/p/ses_1.json", {"id": "ses_1", "projectID": "p", "directory": "/src/shop"}),
        ("message/ses_1/msg_a.json", {"id": "msg_a", "role": "user"}),
        ("part/msg_a/prt_a1.json", {"id": "prt_a1", "type": "text", "text": "run the tests"}),
    ):
        (storage / place).parent.mkdir(parents=True, exist_ok=True)
        (storage / place).write_text(json.dumps(value))
    report = captured()
    assert (report.copies, report.unchanged) == (1, 1)


def test_a_database_may_be_named(home: Path) -> None:
    path = home / ".local/share/opencode/opencode.db"
    assert [each.path for each in discover((str(path),), "", 0, {})] == [f"{path}/ses_1"]
    assert is_database(str(path))
    assert not is_database(str(home))


@pytest.mark.parametrize("spoil", ["cut", "zeroed", "strange", "views", "recursive"])
def test_a_database_that_cannot_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: str) -> None:
    """Whatever stands in it: no other file is touched, no code of its schema runs, and the work is bounded."""
    path = tmp_path / ".local/share/opencode/opencode.db"
    opencode(path).close()
    data = path.read_bytes()
    if spoil == "cut":
        path.write_bytes(data[:3000])
    elif spoil == "zeroed":
        path.write_bytes(data[:16] + b"\0" * (len(data) - 16))
    else:
        path.unlink()
        database = apsw.Connection(str(path))
        if spoil == "strange":
            database.execute("CREATE TABLE session(a); CREATE TABLE message(b); CREATE TABLE part(c)")
        elif spoil == "views":
            database.execute(
                "CREATE VIEW session AS SELECT 1; CREATE VIEW message AS SELECT 1; CREATE VIEW part AS SELECT 1"
            )
        else:  # a computed column that never ends
            monkeypatch.setattr(agent_database_table, "_STEPS", 1_000_000)
            database.execute(OPENCODE)
            database.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<3000) INSERT INTO session SELECT 's'||i,'p',NULL,'s','/','t','1',1,1 FROM n"
            )
            database.execute("DROP INDEX part_session_idx")
            database.execute("INSERT INTO part SELECT 'p'||id,'m','s1',1,1,'{}' FROM session")
        database.close()
    (name,) = found(tmp_path)
    assert name == str(path)
    with pytest.raises(FileRefused, match="a database that"):
        read_file(name, None, None, lambda: None)


def test_what_is_too_much_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(home / ".local/share/opencode/opencode.db/ses_1")
    monkeypatch.setattr(agent_database_table, "_ROWS", 2)
    with pytest.raises(DatabaseRefused, match="more than 2 rows"):
        session_in_database(path)
    monkeypatch.setattr(agent_database_table, "_ROWS", 9)
    monkeypatch.setattr(agent_database_table, "_BYTES", 300)
    with pytest.raises(DatabaseRefused):
        session_in_database(path)


def test_links_and_other_names_lead_into_no_database(home: Path, tmp_path: Path) -> None:
    database = home / ".local/share/opencode/opencode.db"
    link = tmp_path / "link.db"
    link.symlink_to(database)
    assert session_in_database(f"{link}/ses_1") is None
    assert session_in_database(f"{database}/se's 1") is None
    assert session_in_database(f"{home}/ses_1") is None
    with pytest.raises(DatabaseRefused, match="not in the database any more"):
        session_in_database(f"{database}/ses_gone")
    assert [path for path, _ in looks_of_sessions(str(database))] == [f"{database}/ses_1"]
