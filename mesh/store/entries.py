"""What the read side hands out: records, registers, pattern tallies, members; and how records are read from rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mesh.core.ids import digest, signed_prefix, tag_of
from mesh.core.limits import SALT_BYTES
from mesh.core.strict_msgpack import unpack
from mesh.store.database import Run

Slice = tuple[str, tuple[int | str, ...]]
Place = tuple[int, bytes]  # of a record in the order of writing: its stamp, and its tag


class Entry:
    """A live record."""

    __slots__ = ("at", "log", "node", "record", "tag")

    def __init__(self, tag: bytes, log: str, at: int, node: bytes, record: dict[str, Any]) -> None:
        self.tag = tag
        self.log = log
        self.at = at
        self.node = node
        self.record = record


class Assigned:
    """What a register holds, since when, and by whom. `tag`: of the operation that said it, if it is one node's word."""

    __slots__ = ("at", "node", "tag", "value")

    def __init__(self, value: Any, at: int, node: bytes, tag: bytes = b"") -> None:
        self.value = value
        self.at = at
        self.node = node
        self.tag = tag


class PatternTally:
    """A pattern as the records of one log name it: in how many sessions, by which nodes, in which repos, when last."""

    __slots__ = ("at", "authors", "repos", "sessions", "slug")

    def __init__(self, slug: str, sessions: int, at: int, authors: frozenset[bytes], repos: list[str]) -> None:
        self.slug = slug
        self.sessions = sessions
        self.at = at
        self.authors = authors
        self.repos = repos

    @property
    def nodes(self) -> int:
        """On how many machines."""
        return len(self.authors)


class MemberRow:
    """A member as the statements have it: its name, its role (`mesh.core.statement.ROLES`), whether it was revoked."""

    __slots__ = ("is_revoked", "name", "node", "role")

    def __init__(self, node: bytes, name: str, role: str, *, is_revoked: bool) -> None:
        self.node = node
        self.name = name
        self.role = role
        self.is_revoked = is_revoked

    # The roles by their names: `mesh.core.statement`, which has them, loads cryptography.

    @property
    def is_admin(self) -> bool:
        """Whether it speaks for the mesh."""
        return self.role == "admin" and not self.is_revoked

    @property
    def only_reads(self) -> bool:
        """Whether what it writes counts nowhere."""
        return self.role in ("reader", "ephemeral-reader")

    @property
    def is_throw_away(self) -> bool:
        """Whether it is one of those that a CI job makes, as many as it likes."""
        return self.role in ("ephemeral", "ephemeral-reader")


# Some records by their tags, however many, in one look. One with the same first eight bytes is taken for one of them.
AMONG = "op IN (SELECT op FROM ops WHERE kind=1 AND key IN (SELECT value FROM json_each(?)))"


def keys_of(tags: Iterable[bytes]) -> str:
    """Tags as `AMONG` takes them."""
    return str(sorted({signed_prefix(tag) for tag in tags}))


def newest(run: Run, slices: list[Slice], count: int, before: Place | None, least: int) -> list[int]:
    """The numbers of so many records, newest first: of those behind `before`, none with a stamp under `least`."""
    stamps: dict[int, list[int]] = {}
    for where, args in slices if count > 0 else ():
        for at, op in _candidates(run, f"SELECT at, op FROM elements WHERE {where} AND ", args, count, before, least):
            stamps.setdefault(at, []).append(op)
    ops: list[int] = []
    for at in sorted(stamps, reverse=True):
        tied = stamps[at]
        if len(tied) > 1 or (before is not None and at == before[0]):
            tags = sorted(((_tag(run, op), op) for op in tied), reverse=True)
            tied = [op for tag, op in tags if before is None or (at, tag) < before]
        ops += tied[: count - len(ops)]
        if len(ops) == count:
            break
    return ops


def _candidates(
    run: Run, rows: str, args: tuple[int | str, ...], count: int, before: Place | None, least: int
) -> list[tuple[int, int]]:
    """More than enough of one slice: every record of a stamp, or none."""
    tied: list[tuple[int, int]] = []
    found: list[tuple[int, int]]
    if before is None:
        found = run(rows + "at>=? ORDER BY at DESC LIMIT ?", (*args, least, count)).fetchall()
    else:
        if before[0] >= least:
            tied = run(rows + "at=?", (*args, before[0])).fetchall()
        found = run(rows + "at>=? AND at<? ORDER BY at DESC LIMIT ?", (*args, least, before[0], count)).fetchall()
    if len(found) == count:
        last = found[-1][0]
        found = [row for row in found if row[0] > last] + run(rows + "at=?", (*args, last)).fetchall()
    return tied + found


def _tag(run: Run, op: int) -> bytes:
    node, body = run("SELECT node, body FROM ops JOIN feeds USING(feed) WHERE op=?", (op,)).fetchone()
    return tag_of(node, digest(body))


class RowReader:
    """Records by the rows of the fold: what all readers of one database are built on."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def _entries(self, ops: Iterable[int]) -> list[Entry]:
        """Live records by their places, in one look."""
        rows = self._run(
            "SELECT node, body FROM json_each(?) CROSS JOIN ops ON op=value CROSS JOIN feeds USING(feed)",
            (str([*ops]),),
        )
        found = []
        for node, body in rows:
            at, log, record = unpack(body[SALT_BYTES:])
            found.append(Entry(tag_of(node, digest(body)), log, at, node, record))
        return found

    def _newest(self, slices: list[Slice], count: int, before: Place | None = None, least: int = 0) -> list[Entry]:
        return self._entries(newest(self._run, slices, count, before, least))

    def _number(self, column: str, name: str) -> int:
        """The number of a log, scope or pattern; 0, which none has, if it is not known."""
        return self._run(f"SELECT {column} FROM {column}s WHERE name=?", (name,)).get or 0

    def _slices(self, log: str, repos: Iterable[str] | None, also: Iterable[bytes] = ()) -> list[Slice]:
        number = self._number("log", log)
        if repos is None:
            return [("log=?", (number,))]
        scopes = [self._number("scope", repo) for repo in sorted(set(repos))]
        slices: list[Slice] = [("scope=? AND log=?", (scope, number)) for scope in scopes]
        if keys := [*also]:  # the plus keeps SQLite from going through the whole log for them
            others = f"+log=? AND ifnull(scope, -1) NOT IN ({','.join('?' * len(scopes))}) AND {AMONG}"
            slices.append((others, (number, *scopes, keys_of(keys))))
        return slices
