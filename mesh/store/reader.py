"""The read side: records, counters, members, ids; registers and patterns through its base classes. Needs no lock and no key.

Everyday commands go through here, so nothing slow may be imported: no dataclasses, typing, pathlib or nacl. Bodies of
what the fold took in were parsed before and are not checked again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import apsw

from mesh.core import clock
from mesh.core.errors import AmbiguousId, HomeDamaged, NewerHome, NoHome, UnknownId, UsageError
from mesh.core.ids import ID_CHARS, digest, parse_id, prefix_bounds, short, signed_prefix, tag_of, text_id
from mesh.core.limits import SALT_BYTES
from mesh.core.strict_msgpack import unpack
from mesh.store.database import FORMAT, open_reader, translated
from mesh.store.entries import Assigned, Entry, MemberRow, PatternTally, Place
from mesh.store.pattern_reader import PatternReader
from mesh.store.registers import RegisterReader

Part = TypeVar("Part")

__all__ = [
    "SHORT_CHARS",
    "Assigned",
    "Entry",
    "MemberRow",
    "PatternTally",
    "Reader",
    "open_reading",
    "read_errors",
    "refuse_newer_format",
]

SHORT_CHARS = 8
_BEHIND = (1 << 64 - 5 * SHORT_CHARS) - 1  # what of the first 64 bits of an id is not in so many characters
_MATCHES_SHOWN = 20
_SINCE = 1000


class Reader(RegisterReader, PatternReader):
    """Reads one database as it is now. Several questions about one state are asked within one transaction."""

    def __init__(
        self, connection: apsw.Connection, names: dict[bytes, str] | None = None, own: bytes | None = None
    ) -> None:
        """`names`: of the members, for private records, which are kept apart from the statements that name nodes.

        `own`: the node whose home this is, if that is known.
        """
        super().__init__(connection.execute)
        self.connection = connection
        self._parts: dict[Any, Any] = {}
        self._names = names
        self.own = own

    def part(self, kind: Callable[[apsw.Connection], Part]) -> Part:
        """What a subject reads from the same state by means of its own, made once: `reader.part(WordSearch)`."""
        if kind not in self._parts:
            self._parts[kind] = kind(self.connection)
        found: Part = self._parts[kind]
        return found

    def tail(self, count: int, log: str | None = None) -> list[Entry]:
        """The newest live records, oldest of them first."""
        names = self._run("SELECT log, name FROM logs").fetchall()
        found = self._newest([("log=?", (number,)) for number, name in names if log is None or name == log], count)
        return found[::-1]

    def newest(
        self,
        log: str | Sequence[str],
        count: int,
        repos: Iterable[str] | None = None,
        before: Place | None = None,
        *,
        least: int = 0,
        also: Iterable[bytes] = (),
        without: Iterable[bytes] = (),
    ) -> list[Entry]:
        """The newest live records of a log, or of several, newest first: those written for one of these repos, from `before` backwards.

        `least`: none with an earlier stamp. `also`: and these, whatever repo they were written for. `without`: none of these nodes.
        """
        logs = [log] if isinstance(log, str) else log
        slices = [part for one in logs for part in self._slices(one, repos, also)]
        if nodes := [*without]:
            others = f"(SELECT feed FROM ops WHERE ops.op=elements.op) NOT IN ({self._feeds_of(nodes)})"
            slices = [(f"{where} AND {others}", args) for where, args in slices]
        return self._newest(slices, count, before, least)

    def stamps(self, log: str, count: int, repos: Iterable[str] | None = None, also: Iterable[bytes] = ()) -> list[int]:
        """The stamps of those that `newest` would give, without a look at a single record."""
        found: list[int] = []
        for where, args in self._slices(log, repos, also):
            rows = self._run(f"SELECT at FROM elements WHERE {where} ORDER BY at DESC LIMIT ?", (*args, count))
            found += [at for (at,) in rows]
        return sorted(found, reverse=True)[:count]

    def authors(
        self, log: str, count: int, repos: Iterable[str] | None = None, also: Iterable[bytes] = ()
    ) -> list[tuple[int, bytes]]:
        """The same, each with the node that wrote it."""
        found: list[tuple[int, bytes]] = []
        for where, args in self._slices(log, repos, also):
            stamped = f"SELECT op, at FROM elements WHERE {where} ORDER BY at DESC LIMIT ?"
            rows = f"SELECT at, node FROM ({stamped}) CROSS JOIN ops USING(op) CROSS JOIN feeds USING(feed)"
            found += self._run(rows, (*args, count)).fetchall()
        return sorted(found, reverse=True)[:count]

    def has_several_authors(self) -> bool:
        """Whether more than one node has ever written here."""
        return bool(self._run("SELECT count(*)>1 FROM (SELECT DISTINCT node FROM feeds LIMIT 2)").get)

    def since(self, log: str, at: int, repos: Iterable[str] | None = None, limit: int = _SINCE) -> list[Entry]:
        """The live records of a log with this stamp or a later one, newest first."""
        return self._newest(self._slices(log, repos), limit, least=at)

    def entry(self, tag: bytes) -> Entry | None:
        """A live record by its tag."""
        for op, _ in self._ops(tag):
            if self._run("SELECT 1 FROM elements WHERE op=?", (op,)).get is not None:
                return self._entry(op)
        return None

    def total(self, key: str) -> int:
        """The value of a counter."""
        return sum(total for (total,) in self._run("SELECT total FROM counters WHERE key=?", (key,)))

    def logs(self) -> dict[str, int]:
        """How many live records each log has."""
        rows = self._run("SELECT name, count(*) FROM elements JOIN logs USING(log) GROUP BY name ORDER BY name")
        return dict(rows.fetchall())

    def names(self) -> dict[bytes, str]:
        """The name of every member."""
        if self._names is not None:
            return self._names
        return dict(self._run("SELECT node, name FROM members").fetchall())

    def members(self) -> list[MemberRow]:
        """Every member, also those that were revoked. None are known of among private records."""
        if self._names is not None:
            return []
        rows = self._run("SELECT node, name, role, revoked FROM members ORDER BY node")
        return [MemberRow(node, name, role, is_revoked=bool(revoked)) for node, name, role, revoked in rows]

    def mesh_ms(self) -> int:
        """Mesh time: the greatest stamp that counts, rounded down to the hour, in milliseconds."""
        return clock.hour(self._run("SELECT max(hlc) FROM feeds").get or 0)

    def fingerprint(self) -> tuple[int, ...]:
        """Another one whenever a record, register, counter or member is another. Only for comparing within one home."""
        heads = self._run("SELECT feed, seq, hash FROM feeds").fetchall()
        statements = self._run("SELECT id FROM statements").fetchall()
        digests = [digest(repr(rows).encode())[:8] for rows in (heads, statements)]
        return sum(seq for _, seq, _ in heads), len(statements), *(int.from_bytes(part, "big") for part in digests)

    def live(self, tags: Iterable[bytes]) -> dict[bytes, Entry]:
        """Those of some records that are live."""
        wanted = set(tags)
        return {entry.tag: entry for entry in self.keyed(map(signed_prefix, wanted)) if entry.tag in wanted}

    def keyed(self, keys: Iterable[int]) -> Iterator[Entry]:
        """The live records whose tags begin with these numbers, as `signed_prefix` gives them: hardly ever two with one."""
        rows = self._run(
            "SELECT node, body FROM json_each(?) CROSS JOIN ops ON ops.key=value AND kind=1"
            " CROSS JOIN elements USING(op) CROSS JOIN feeds USING(feed)",
            (str(sorted(set(keys))),),
        )
        for node, body in rows:
            at, log, record = unpack(body[SALT_BYTES:])
            yield Entry(tag_of(node, digest(body)), log, at, node, record)

    def last_arrived(self) -> int:
        """The place of the live record that came last to this home: a number of its own, which no other home shares."""
        return int(self._run("SELECT coalesce(max(op), 0) FROM elements").get)

    def arrived(self, after: int, count: int) -> list[tuple[int, Entry]]:
        """Live records that came after that place, in the order they came, each with its own place."""
        rows = self._run("SELECT op FROM elements WHERE op>? ORDER BY op LIMIT ?", (after, count)).fetchall()
        ops = [op for (op,) in rows]
        return list(zip(ops, self._entries(ops), strict=True))

    def resolve(self, text: str, may_tell: Callable[[bytes], bool] | None = None) -> bytes:
        """The tag that an id, or the beginning of one, stands for. Erased and removed records are found too.

        `may_tell`: those that are to be found at all; of the others nothing is said.
        """
        text = text.lower()
        tags = [tag for tag in self._beginning(text) if may_tell is None or may_tell(tag)]
        if not tags:
            raise UnknownId(f"no record has the id {text}", "list some: mesh tail")
        if len(tags) > 1:
            raise AmbiguousId(f"{text} is the beginning of several ids", [text_id(tag) for tag in tags])
        return tags[0]

    def short_id(self, tag: bytes) -> str:
        """The shortest id, of at least eight characters, that means this record and no other here."""
        if self._is_alone(signed_prefix(tag)):
            return short(tag, SHORT_CHARS)
        text = text_id(tag)
        for chars in range(SHORT_CHARS, ID_CHARS):
            if len(self._beginning(text[:chars])) < 2:
                return text[:chars]
        return text

    def _is_alone(self, key: int) -> bool:
        """Whether one operation at most has to do with an id of these characters: by far most are told so, from the indexes."""
        rows = "SELECT op FROM ops WHERE key BETWEEN ?1 AND ?2 UNION ALL SELECT op FROM ops WHERE tag BETWEEN ?1 AND ?2"
        bounds = key & ~_BEHIND, key | _BEHIND
        return len({op for (op,) in self._run(f"{rows} LIMIT 2", bounds)}) < 2

    def _beginning(self, prefix: str) -> list[bytes]:
        rows = self._run(
            "SELECT node, body, body_hash FROM ops JOIN feeds USING(feed) LEFT JOIN erased_bodies USING(op)"
            " WHERE key BETWEEN ?1 AND ?2 AND kind=1 UNION"
            " SELECT node, body, body_hash FROM ops JOIN feeds USING(feed) LEFT JOIN erased_bodies USING(op)"
            " WHERE tag BETWEEN ?1 AND ?2 LIMIT ?3",
            (*_bounds(prefix), _MATCHES_SHOWN),
        )
        tags = {tag_of(node, digest(body) if body is not None else gone) for node, body, gone in rows}
        return sorted(tag for tag in tags if text_id(tag).startswith(prefix))

    def _feeds_of(self, nodes: Iterable[bytes]) -> str:
        """The numbers of some nodes' feeds, as SQL has a list."""
        wanted = {*nodes}
        return ",".join(str(feed) for feed, node in self._run("SELECT feed, node FROM feeds") if node in wanted)

    def _ops(self, tag: bytes) -> list[tuple[int, bytes]]:
        rows = self._run(
            "SELECT op, node, body FROM ops JOIN feeds USING(feed) WHERE key=? AND kind=1 AND body IS NOT NULL",
            (int.from_bytes(tag[:8], "big", signed=True),),
        )
        return [(op, body) for op, node, body in rows if tag_of(node, digest(body)) == tag]

    def _entry(self, op: int) -> Entry:
        return self._entries([op])[0]


def open_reading(home: str, *, private: bool = False) -> Reader:
    """The read side of a home, with nothing else of it opened."""
    path = os.path.join(home, "private.db" if private else "mesh.db")
    head = refuse_newer_format(home)
    if not os.path.exists(path):
        if private and os.path.exists(os.path.join(home, "home.json")):
            raise UsageError("there are no private records in this home", "write one: mesh discover TEXT --private")
        if not os.path.exists(os.path.join(home, "home.json")):
            raise NoHome(f"there is no clan-mesh node in {home}", "make one: mesh init")
        raise HomeDamaged(f"{path} is missing", "put it back from a backup, or run: mesh repair")
    if not private:
        return Reader(open_reader(path), own=_own_node(head))
    shared = open_reading(home)
    try:
        return Reader(open_reader(path), shared.names(), shared.own)
    finally:
        shared.connection.close()


def refuse_newer_format(home: str) -> bytes:
    """The same check as opening a home makes, without reading JSON for it. Returns the text that has the home's settings."""
    try:
        with open(os.path.join(home, "home.json"), "rb") as file:
            head = file.read(4096)
    except OSError:
        return b""  # what is missing is said by who opens it
    found = head.partition(b'"format":')[2].lstrip()
    digits = found[: len(found) - len(found.lstrip(b"0123456789"))]
    if digits and int(digits[:9]) > FORMAT:
        raise NewerHome(
            f"the home {home} was made by a newer clan-mesh (format {int(digits[:9])}, this one knows {FORMAT})",
            "upgrade clan-mesh on this machine; nothing was touched",
        )
    return head


def _own_node(head: bytes) -> bytes | None:
    """Whose home it is; None if that cannot be read, and a command that needs it says so."""
    try:
        return parse_id(head.partition(b'"node":')[2].split(b'"')[1].decode(), "node id")
    except (IndexError, UnicodeDecodeError, UsageError):
        return None


def read_errors(home: str, *, private: bool = False) -> Any:
    """Errors of SQLite while reading, as sentences."""
    return translated(os.path.join(home, "private.db" if private else "mesh.db"))


def _bounds(prefix: str) -> tuple[int, ...]:
    """The least and the greatest first eight bytes of a tag whose text begins like this, as SQLite has them."""
    return tuple(_signed(number >> 196) for number in prefix_bounds(prefix, "record id"))  # 64 of 260 bits


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
