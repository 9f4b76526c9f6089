"""The database of claude-mem: what it observed in sessions, and the standing orders it was given. Only read, and nothing of it is changed.

https://github.com/thedotmack/claude-mem, src/services/sqlite/schema.sql
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

import apsw

from clan_learnings.imports.finding import MOST, Finding, Imported
from mesh.core.errors import UsageError

_FILE = "claude-mem.db"
# What was done is in git; what was learned is in these.
_KINDS = ("bugfix", "decision", "discovery", "security_alert", "security_note", "gotcha", "insight")
_ROWS = 200_000  # that are looked at, the newest first
_CHARS = 4000
_COLUMNS = ("id", "project", "type", "title", "subtitle", "narrative", "text", "created_at_epoch")


def read_claude_mem(path: str) -> Imported:
    """The observations that say what was learned, the newest first, and active directives."""
    if os.path.isdir(path):
        path = os.path.join(path, _FILE)
    imported = Imported()
    try:
        connection = _opened(path)
        try:
            _observations(connection, imported)
            _directives(connection, imported)
        finally:
            connection.close()
    except apsw.Error as error:
        raise UsageError(
            f"{path} cannot be read as a database of claude-mem: {error}", "name it: ~/.claude-mem/claude-mem.db"
        ) from error
    return imported


def _opened(path: str) -> apsw.Connection:
    """Read-only, so that even its journal stays as it is; with nothing that a table of strangers could call."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise UsageError(f"{path} is no plain file", "name it: ~/.claude-mem/claude-mem.db")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", f"check: ls -l {path}") from error
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    name = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    # Nobody has it open where there is no journal: then it is read without making one.
    connection = apsw.Connection(f"file:{name}{'' if os.path.exists(path + '-wal') else '?immutable=1'}", flags=flags)
    connection.set_busy_timeout(2000)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.execute("PRAGMA query_only=ON")
    return connection


def _observations(connection: apsw.Connection, imported: Imported) -> None:
    has = set(_columns(connection, "observations"))
    if not {"type", "title"} <= has:
        raise UsageError(
            "there are no observations with a type and a title in it", "name the database: ~/.claude-mem/claude-mem.db"
        )
    # Columns came with versions; names are ours, never the file's.
    wanted = ", ".join(
        name if name == "created_at_epoch" and name in has
        else f"substr(CAST({name} AS TEXT), 1, {_CHARS})" if name in has
        else "''"
        for name in _COLUMNS
    )  # fmt: skip
    rows = connection.execute(f"SELECT {wanted} FROM observations ORDER BY rowid DESC LIMIT {_ROWS}")
    for number, project, kind, title, subtitle, narrative, text, at in rows:
        imported.read += 1
        if kind not in _KINDS:
            imported.skipped["reports of what was done (git has that)"] += 1
            continue
        more = subtitle or _first_sentence(narrative) or text or ""
        said = f"{title.rstrip('.')}: {more}" if title and more else title or more or ""
        place = f"claude-mem, {f'project {project}, ' if project else ''}{kind} {number}"
        at_ms = at if type(at) is int and 0 < at < 1 << 47 else 0
        line = int(number) if str(number).isdecimal() else 1
        imported.add(Finding(said, place, line, f"{_FILE}/{project}", at_ms=at_ms))
        if len(imported.found) >= MOST:
            imported.skipped[f"perhaps older ones: one import takes {MOST:,}"] += 1
            return


def _directives(connection: apsw.Connection, imported: Imported) -> None:
    if not {"id", "content", "status"} <= set(_columns(connection, "directives")):
        return
    rows = connection.execute(
        "SELECT id, substr(CAST(content AS TEXT), 1, ?) FROM directives WHERE status='active' ORDER BY id LIMIT ?",
        (_CHARS, MOST),
    )
    for number, content in rows:
        imported.read += 1
        line = number if type(number) is int else 1
        imported.add(
            Finding(content or "", f"claude-mem, directive {number}", line, f"{_FILE}/directives", by_person=True)
        )


def _columns(connection: apsw.Connection, table: str) -> Iterator[str]:
    return (row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,)))


def _first_sentence(text: str | None) -> str:
    head, dot, _ = " ".join((text or "").split()).partition(". ")
    return head + dot.strip()
