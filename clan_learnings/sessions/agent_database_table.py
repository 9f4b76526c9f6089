"""Sessions that an agent keeps in a database of its own: OpenCode since 1.2, Hermes. The SQL for reading them; nothing is ever written.

One session of a database goes by the path DATABASE/ID, as if the database were a folder; its content is the document that the
agent exports, so the same flavour reads both. The database is a stranger's file: it is opened read-only, its schema is not
trusted, and rows, bytes and work are bounded.
"""

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import quote

import apsw

from clan_learnings.sessions.catalogue_rows import FileLook

MAGIC = b"SQLite format 3\0"
_BYTES = 32 * 1024 * 1024  # of a session
_ROWS = 200_000  # of a session
_SESSIONS = 100_000  # of a database
_STEPS = 100_000_000  # of SQLite's machine, for one question
_BUSY_MS = 500
_ID = re.compile(r"[\w.:-]{1,120}", re.ASCII)


class DatabaseRefused(Exception):
    """A database or a session in it that is not read, and why."""


class _Layout(NamedTuple):
    """How an agent's tables are called: what tells it, and its sessions with the time of their last change and how many rows they have."""

    tables: frozenset[str]
    sessions: str  # SQL; ends where a condition may follow


_OPENCODE = _Layout(
    frozenset({"session", "message", "part"}),
    "SELECT id, max(time_updated, coalesce((SELECT max(time_updated) FROM part WHERE session_id=session.id), 0)), "
    "(SELECT count(*) FROM part WHERE session_id=session.id) FROM session",
)
_HERMES = _Layout(
    frozenset({"sessions", "messages"}),
    "SELECT id, 1000*max(started_at, coalesce((SELECT max(timestamp) FROM messages WHERE session_id=sessions.id), 0)), "
    "(SELECT count(*) FROM messages WHERE session_id=sessions.id) FROM sessions",
)


def looks_of_sessions(database: str) -> list[tuple[str, FileLook]]:
    """The path of each session in a database, and how it looks. Raises DatabaseRefused."""
    with _opened(database) as (connection, layout, device):
        rows = connection.execute(f"{layout.sessions} ORDER BY id LIMIT ?", (_SESSIONS,)).fetchall()
    return [
        (os.path.join(database, name), _look(device, name, changed_ms, int(count)))
        for name, changed_ms, count in rows
        if isinstance(name, str) and _ID.fullmatch(name) and count
    ]


def session_in_database(path: str) -> tuple[bytes, FileLook] | None:
    """The document of the session at DATABASE/ID, and how it looks; None if the path leads into no database. Raises DatabaseRefused."""
    database, name = os.path.split(path)
    if not _ID.fullmatch(name) or not is_database(database):
        return None
    with _opened(database) as (connection, layout, device):
        row = connection.execute(f"{layout.sessions} WHERE id=?", (name,)).fetchone()
        rows = 0 if row is None else int(row[2])
        if row is None or not rows:
            raise DatabaseRefused("the session is not in the database any more")
        if rows > _ROWS:
            raise DatabaseRefused(f"more than {_ROWS} rows in it")
        document = (_opencode if layout is _OPENCODE else _hermes)(connection, name)
        return json.dumps(document, indent=1).encode("utf-8", "replace"), _look(device, name, row[1], rows)


def is_database(path: str) -> bool:
    """Whether a path leads to a database of SQLite, as its first bytes say."""
    with suppress(OSError, ValueError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return stat.S_ISREG(os.fstat(descriptor).st_mode) and os.read(descriptor, len(MAGIC)) == MAGIC
        finally:
            os.close(descriptor)
    return False


def _look(device: int, name: str, changed_ms: Any, rows: int) -> FileLook:
    """As of a file: all sessions of a database are in one, so the place of each is made of its name."""
    inode = int.from_bytes(blake2b(name.encode(), digest_size=7).digest())
    changed = int(changed_ms) if isinstance(changed_ms, int | float) and 0 < changed_ms < 1e15 else 0
    return FileLook(device, inode, rows, changed * 1_000_000)


@contextmanager
def _opened(database: str) -> Iterator[tuple[apsw.Connection, _Layout, int]]:
    try:
        device = os.lstat(database).st_dev
        connection = apsw.Connection(_address(database), flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    except (OSError, apsw.Error) as error:
        raise DatabaseRefused(f"a database that cannot be opened: {type(error).__name__}") from error
    try:
        _restrain(connection)
        connection.execute("BEGIN")  # one state of it, whatever the agent writes meanwhile
        found = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type='table'")}
        layout = next((each for each in (_OPENCODE, _HERMES) if each.tables <= found), None)
        if layout is None:
            raise DatabaseRefused("a database that holds no sessions of an agent that we know")
        yield connection, layout, device
    except apsw.Error as error:  # of a damaged or a strange one; its words may be anybody's
        raise DatabaseRefused(f"a database that cannot be read: {type(error).__name__}") from error
    finally:
        connection.close()


def _address(database: str) -> str:
    """Read-only beside an agent that writes; where nobody has left anything to take in, without even a lock or a file beside it."""
    address = f"file:{quote(database)}?mode=ro"
    try:
        is_written = os.lstat(f"{database}-wal").st_size > 0 and os.path.exists(f"{database}-shm")
    except OSError:
        is_written = False
    return address if is_written else f"{address}&immutable=1"


def _restrain(connection: apsw.Connection) -> None:
    connection.set_busy_timeout(_BUSY_MS)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, _BYTES)
    connection.execute("PRAGMA query_only=1; PRAGMA cell_size_check=1; PRAGMA mmap_size=0")
    steps = iter(range(_STEPS // 100_000))
    connection.set_progress_handler(lambda: next(steps, None) is None, 100_000)


def _opencode(connection: apsw.Connection, name: str) -> dict[str, Any]:
    """As `opencode export` has it."""
    about = _row(connection, "SELECT * FROM session WHERE id=?", name)
    info = {
        "id": name,
        "parentID": about.get("parent_id"),
        "directory": about.get("directory"),
        "version": about.get("version"),
        "title": about.get("title"),
        "time": {"created": about.get("time_created"), "updated": about.get("time_updated")},
    }
    budget = _Budget()
    messages: dict[str, dict[str, Any]] = {}
    query = "SELECT id, data FROM message WHERE session_id=? ORDER BY time_created, id LIMIT ?"
    for message, data in connection.execute(query, (name, _ROWS)):
        messages[str(message)] = {"info": budget.object(data) | {"id": message}, "parts": []}
    query = "SELECT message_id, id, data FROM part WHERE session_id=? ORDER BY id LIMIT ?"
    for message, part, data in connection.execute(query, (name, _ROWS)):
        if str(message) in messages:
            messages[str(message)]["parts"].append(budget.object(data) | {"id": part})
    return {"info": info, "messages": list(messages.values())}


def _hermes(connection: apsw.Connection, name: str) -> dict[str, Any]:
    """As its command line writes it to a file."""
    about = _row(connection, "SELECT * FROM sessions WHERE id=?", name)
    budget = _Budget()
    messages = []
    cursor = connection.execute("SELECT * FROM messages WHERE session_id=? ORDER BY id LIMIT ?", (name, _ROWS))
    for row in cursor:
        message = {key: value for key, value in _named(cursor, row).items() if value is not None}
        budget.spend(row)
        message["tool_calls"] = _parsed(message.get("tool_calls"))
        messages.append(message)
    return {
        "session_id": name,
        "parent_session_id": about.get("parent_session_id"),
        "platform": about.get("source"),
        "model": about.get("model"),
        "cwd": about.get("cwd"),
        "title": about.get("title"),
        "session_start": about.get("started_at"),
        "last_updated": about.get("ended_at"),
        "messages": messages,
    }


class _Budget:
    """The bytes of one session that may still be read."""

    def __init__(self) -> None:
        self._left = _BYTES

    def spend(self, row: tuple[Any, ...]) -> None:
        self._left -= sum(len(value) for value in row if isinstance(value, str | bytes))
        if self._left < 0:
            raise DatabaseRefused(f"larger than {_BYTES // 1024**2} MB")

    def object(self, data: Any) -> dict[str, Any]:
        self.spend((data,))
        found = _parsed(data)
        return found if isinstance(found, dict) else {}


def _parsed(data: Any) -> Any:
    try:
        return json.loads(data) if isinstance(data, str) else None
    except (ValueError, RecursionError):
        return None


def _row(connection: apsw.Connection, query: str, name: str) -> dict[str, Any]:
    cursor = connection.execute(query, (name,))
    row = cursor.fetchone()
    return {} if row is None else _named(cursor, row)


def _named(cursor: apsw.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
    """A row of a table whose columns differ between versions. Texts, numbers and nothing; no bytes."""
    names = [column[0] for column in cursor.get_description()]
    return {key: value for key, value in zip(names, row, strict=True) if not isinstance(value, bytes)}
