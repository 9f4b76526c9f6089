"""The read side: records, fields, counters, ids. Needs no lock, no key and little to import.

Everyday commands go through here, so nothing slow may be imported: no dataclasses, typing, pathlib or nacl. Bodies of
what the fold took in were parsed before and are not checked again.
"""

from __future__ import annotations

import os

import apsw

from mesh.core.errors import AmbiguousId, HomeDamaged, NewerHome, NoHome, UnknownId, UsageError
from mesh.core.ids import ID_CHARS, digest, prefix_bounds, tag_of, text_id
from mesh.core.limits import SALT_BYTES
from mesh.core.wire import unpack
from mesh.store.database import FORMAT, Run, open_reader, translated

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

SHORT_CHARS = 8
_MATCHES_SHOWN = 20
_TIES = 64  # records of one stamp looked at beyond those asked for


class Entry:
    """A live record."""

    __slots__ = ("at", "log", "node", "record", "tag")

    def __init__(self, tag: bytes, log: str, at: int, node: bytes, record: dict[str, Any]) -> None:
        self.tag = tag
        self.log = log
        self.at = at
        self.node = node
        self.record = record


class Reader:
    """Reads one database as it is now."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._run: Run = connection.execute

    def tail(self, count: int, log: str | None = None) -> list[Entry]:
        """The newest live records, oldest of them first."""
        entries: list[Entry] = []
        for number, name in self._run("SELECT log, name FROM logs").fetchall():
            if log is None or name == log:
                newest = "SELECT at, op FROM elements WHERE log=? ORDER BY at DESC LIMIT ?"
                rows = self._run(newest, (number, count + _TIES)).fetchall()
                # Of equal stamps the tag decides, not which arrived first: so that equal roots print equal tails.
                last = rows[count - 1][0] if len(rows) > count else 0
                entries += [self._entry(op) for at, op in rows if at >= last]
        entries.sort(key=lambda entry: (entry.at, entry.tag))
        return entries[-count:]

    def entry(self, tag: bytes) -> Entry | None:
        """A live record by its tag."""
        for op, _ in self._ops(tag):
            if self._run("SELECT 1 FROM elements WHERE op=?", (op,)).get is not None:
                return self._entry(op)
        return None

    def fields(self, target: bytes | str) -> dict[str, Any]:
        """Every register of a record or key: field to value."""
        rows = self._run(
            "SELECT field, body FROM registers JOIN ops USING(op) WHERE target=? ORDER BY field", (target,)
        )
        return {field: unpack(body[SALT_BYTES:])[3] for field, body in rows}

    def total(self, key: str) -> int:
        """The value of a counter."""
        return sum(total for (total,) in self._run("SELECT total FROM counters WHERE key=?", (key,)))

    def logs(self) -> dict[str, int]:
        """How many live records each log has."""
        rows = self._run("SELECT name, count(*) FROM elements JOIN logs USING(log) GROUP BY name ORDER BY name")
        return dict(rows.fetchall())

    def names(self) -> dict[bytes, str]:
        """The name of every member."""
        return dict(self._run("SELECT node, name FROM members").fetchall())

    def resolve(self, text: str) -> bytes:
        """The tag that an id, or the beginning of one, stands for. Erased and removed records are found too."""
        text = text.lower()
        tags = self._matching(text)
        if not tags:
            raise UnknownId(f"no record has the id {text}", "list some: mesh tail")
        if len(tags) > 1:
            raise AmbiguousId(f"{text} is the beginning of several ids", [text_id(tag) for tag in tags])
        return tags[0]

    def short_id(self, tag: bytes) -> str:
        """The shortest id, of at least eight characters, that means this record and no other here."""
        text = text_id(tag)
        for chars in range(SHORT_CHARS, ID_CHARS):
            if len(self._matching(text[:chars])) < 2:
                return text[:chars]
        return text

    def _matching(self, prefix: str) -> list[bytes]:
        lowest, highest = prefix_bounds(prefix, "record id")
        bounds = tuple(_signed(number >> 196) for number in (lowest, highest))  # the first 64 of 260 bits
        rows = self._run(
            "SELECT node, body, body_hash FROM ops JOIN feeds USING(feed) LEFT JOIN erased_bodies USING(op)"
            " WHERE key BETWEEN ?1 AND ?2 AND kind=1 UNION"
            " SELECT node, body, body_hash FROM ops JOIN feeds USING(feed) LEFT JOIN erased_bodies USING(op)"
            " WHERE tag BETWEEN ?1 AND ?2 LIMIT ?3",
            (*bounds, _MATCHES_SHOWN),
        )
        tags = {tag_of(node, digest(body) if body is not None else gone) for node, body, gone in rows}
        return sorted(tag for tag in tags if text_id(tag).startswith(prefix))

    def _ops(self, tag: bytes) -> list[tuple[int, bytes]]:
        rows = self._run(
            "SELECT op, node, body FROM ops JOIN feeds USING(feed) WHERE key=? AND kind=1 AND body IS NOT NULL",
            (int.from_bytes(tag[:8], "big", signed=True),),
        )
        return [(op, body) for op, node, body in rows if tag_of(node, digest(body)) == tag]

    def _entry(self, op: int) -> Entry:
        node, body = self._run("SELECT node, body FROM ops JOIN feeds USING(feed) WHERE op=?", (op,)).fetchone()
        at, log, record = unpack(body[SALT_BYTES:])
        return Entry(tag_of(node, digest(body)), log, at, node, record)


def open_reading(home: str, *, private: bool = False) -> Reader:
    """The read side of a home, with nothing else of it opened."""
    path = os.path.join(home, "private.db" if private else "mesh.db")
    refuse_newer_format(home)
    if not os.path.exists(path):
        if private and os.path.exists(os.path.join(home, "home.json")):
            raise UsageError("there are no private records in this home", "write one: mesh op add LOG TEXT --private")
        if not os.path.exists(os.path.join(home, "home.json")):
            raise NoHome(f"there is no clan-mesh node in {home}", "make one: mesh init")
        raise HomeDamaged(f"{path} is missing", "put it back from a backup, or run: mesh repair")
    return Reader(open_reader(path))


def refuse_newer_format(home: str) -> None:
    """The same check as opening a home makes, without reading JSON for it."""
    try:
        with open(os.path.join(home, "home.json"), "rb") as file:
            found = file.read(4096).partition(b'"format":')[2].lstrip()
    except OSError:
        return  # what is missing is said by who opens it
    digits = found[: len(found) - len(found.lstrip(b"0123456789"))]
    if digits and int(digits[:9]) > FORMAT:
        raise NewerHome(
            f"the home {home} was made by a newer clan-mesh (format {int(digits[:9])}, this one knows {FORMAT})",
            "upgrade clan-mesh on this machine; nothing was touched",
        )


def read_errors(home: str, *, private: bool = False) -> Any:
    """Errors of SQLite while reading, as sentences."""
    return translated(os.path.join(home, "private.db" if private else "mesh.db"))


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
