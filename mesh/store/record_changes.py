"""Which records have changed since an earlier state of the feeds. Only reads, and only what came or went since.

A chain is never replaced: the accepted end of a feed moves along it, mostly forwards, and backwards when something is
clipped. So whatever differs between two states is named by the operations between the two ends of each feed, and by what
was erased. Here are also the few questions of one who goes through all records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

import apsw

from mesh.core.ids import digest, signed_prefix, tag_of
from mesh.core.limits import SALT_BYTES
from mesh.core.operation import ADD, SET, Add, Remove, Set, parse
from mesh.core.strict_msgpack import unpack
from mesh.store.database import Run
from mesh.store.entries import Entry
from mesh.store.moderation_judge import Judge
from mesh.store.reader import Reader

MOST = 20_000  # operations looked at; who has missed more goes through everything
_ERASED = 50_000  # as many are remembered by their numbers
_WITNESS_CHARS = 16  # of the hash of a feed's last body, in hexadecimal: bodies are salted, so it names the history


class PastRecord:
    """What a record said when it was written: enough to find where it was shown."""

    __slots__ = ("at", "log", "node", "pattern")

    def __init__(self, log: str, at: int, node: bytes, pattern: object) -> None:
        self.log = log
        self.at = at
        self.node = node
        self.pattern = pattern if type(pattern) is str else ""


class RecordChanges:
    """Records that came, went or were edited; registers of keys that were set, or not any more; records whose text is gone."""

    __slots__ = ("erased", "keys", "records")

    def __init__(self) -> None:
        self.records: dict[bytes, PastRecord] = {}
        self.keys: list[tuple[str, str, Any]] = []  # key, field, value
        self.erased: set[bytes] = set()

    def __bool__(self) -> bool:
        return bool(self.records or self.keys or self.erased)


class ChangeCollector:
    """Asks one database, within whatever transaction its connection is in."""

    def __init__(self, connection: apsw.Connection, breathe: Callable[[], None] = lambda: None) -> None:
        """`breathe` is called again and again while operations are gone through."""
        self._connection = connection
        self._run: Run = connection.execute
        self._breathe = breathe

    def progress(self) -> dict[str, Any]:
        """The state as it is, to be remembered: a value for JSON."""
        feeds = {}
        for number, node, epoch, seq in self._run("SELECT feed, node, epoch, seq FROM feeds WHERE seq>0"):
            feeds[(node + epoch).hex()] = [seq, self._witness(number, seq)]
        count = int(self._run("SELECT count(*) FROM erased_bodies").get)
        judged, members = self._judged(), self._members()
        return {"feeds": feeds, "erased": self._erased(), "erasures": count, "judged": judged, "members": members}

    def since(self, before: dict[str, Any]) -> RecordChanges | None:
        """What has changed since then; None if that cannot be said, or is too much."""
        try:
            feeds = {bytes.fromhex(name): (int(seq), str(witness)) for name, (seq, witness) in before["feeds"].items()}
            erased = {int(op) for op in before["erased"]}
            judged = before.get("judged")  # of an earlier version, which knew no such thing: as it is now
        except (AttributeError, KeyError, TypeError, ValueError):
            return None
        if judged is not None and judged != self._judged():
            return None  # what counts depends on it, and no operation names which
        found = RecordChanges()
        if before.get("members") != self._members():
            found.keys.append(("members", "", None))  # it decides what is HOT
        left = MOST
        for number, node, epoch, seq in self._run("SELECT feed, node, epoch, seq FROM feeds").fetchall():
            old, witness = feeds.pop(node + epoch, (0, ""))
            if old and self._witness(number, old) != witness:
                return None
            left -= abs(seq - old)
            if left < 0:
                return None
            self._between(found, number, node, min(old, seq), max(old, seq))
        return None if feeds or not self._add_erased(found, erased) else found

    def edited(self) -> set[bytes]:
        """Every record of which a field was ever set."""
        rows = self._run("SELECT DISTINCT target FROM registers WHERE typeof(target)='blob'")
        return {target for (target,) in rows}

    def count(self, log: str) -> int:
        """How many live records a log has."""
        found = self._run("SELECT count(*) FROM elements WHERE log=(SELECT log FROM logs WHERE name=?)", (log,)).get
        return int(found)

    def oldest_first(self, log: str) -> Iterator[Entry]:
        """Every live record of a log, by stamp and tag."""
        rows = self._run(
            "SELECT at, node, body FROM elements JOIN ops USING(op) JOIN feeds USING(feed)"
            " WHERE log=(SELECT log FROM logs WHERE name=?) ORDER BY at",
            (log,),
        )
        for at, tied in groupby(rows, lambda row: row[0]):
            tagged = sorted(
                ((tag_of(node, digest(body)), node, body) for _, node, body in tied), key=lambda row: row[0]
            )
            for tag, node, body in tagged:
                yield Entry(tag, log, at, node, unpack(body[SALT_BYTES:])[2])

    def _between(self, found: RecordChanges, number: int, node: bytes, after: int, last: int) -> None:
        if after == last:
            return
        rows = self._run(
            "SELECT hlc, kind, body FROM ops WHERE feed=? AND seq>? AND seq<=? AND body IS NOT NULL",
            (number, after, last),
        )
        for hlc, kind, body in rows:
            self._breathe()
            parsed = parse(kind, hlc, body)
            if isinstance(parsed, Add):
                tag = tag_of(node, digest(body))
                found.records[tag] = PastRecord(parsed.log, parsed.at, node, parsed.record.get("pattern"))
            elif isinstance(parsed, Set):
                if isinstance(parsed.target, bytes):
                    self._look_up(found, parsed.target)
                else:
                    found.keys.append((parsed.target, parsed.field, parsed.value))
            elif isinstance(parsed, Remove):
                for tag in parsed.tags:
                    self._look_up(found, tag)

    def _look_up(self, found: RecordChanges, tag: bytes) -> None:
        """A record that another operation names. One that nobody has is shown nowhere."""
        if tag in found.records:
            return
        rows = self._run(
            "SELECT node, ops.hlc, body FROM ops JOIN feeds USING(feed) WHERE key=? AND kind=? AND body IS NOT NULL",
            (signed_prefix(tag), ADD),
        )
        for node, hlc, body in rows.fetchall():
            parsed = parse(ADD, hlc, body)
            if tag_of(node, digest(body)) == tag and isinstance(parsed, Add):
                found.records[tag] = PastRecord(parsed.log, parsed.at, node, parsed.record.get("pattern"))
                return

    def _add_erased(self, found: RecordChanges, before: set[int]) -> bool:
        """What an erased record was is not known any more, only its tag; of an erased edit not even whose it was."""
        now = set(self._erased())
        if len(now) >= _ERASED or not before <= now:
            return False
        for op in sorted(now - before):
            kind, node, body_hash = self._run(
                "SELECT kind, node, body_hash FROM erased_bodies JOIN ops USING(op) JOIN feeds USING(feed) WHERE op=?",
                (op,),
            ).fetchone()
            if kind == SET:
                return False
            if kind == ADD:
                found.erased.add(tag_of(node, body_hash))
        return True

    def _erased(self) -> list[int]:
        rows = self._run("SELECT op FROM erased_bodies ORDER BY op LIMIT ?", (_ERASED,))
        return [op for (op,) in rows]

    def _members(self) -> str:
        """Another text whenever somebody came, went or got another role."""
        rows = self._run("SELECT node, role, revoked FROM members ORDER BY node").fetchall()
        return digest(repr(rows).encode()).hex()[:_WITNESS_CHARS]

    def _judged(self) -> str:
        """Another text whenever records or settings may count otherwise though no operation about them has come or gone."""
        ruling = Judge(self._connection, "main").ruling()
        return digest(repr(ruling).encode()).hex()[:_WITNESS_CHARS] if ruling else ""

    def _witness(self, number: int, seq: int) -> str:
        row = self._run(
            "SELECT body, body_hash FROM ops LEFT JOIN erased_bodies USING(op) WHERE feed=? AND seq=?", (number, seq)
        ).fetchone()
        if row is None:
            return ""
        body, body_hash = row
        value: bytes = body_hash if body is None else digest(body)
        return value.hex()[:_WITNESS_CHARS]


Mark = tuple[object, ...]


class Followed:
    """Asks one database, within whatever transaction its connection is in. A place is where a record stands here, by arrival."""

    def __init__(self, reader: Reader) -> None:
        self._run: Run = reader.connection.execute

    def mark(self) -> Mark:
        """Another one whenever a record may be another: cheap to ask for. Only for comparing within one database."""
        feeds = self._run("SELECT feed, seq FROM feeds").fetchall()
        erased = self._run("SELECT count(*) FROM erased_bodies").get
        return (erased, *feeds)

    def places(self, tags: Iterable[bytes]) -> dict[bytes, int]:
        """Where live records stand; what is not live is left out."""
        found = {}
        for tag in tags:
            rows = self._run(
                "SELECT op, node, body FROM ops JOIN feeds USING(feed) JOIN elements USING(op) WHERE key=? AND kind=1",
                (signed_prefix(tag),),
            )
            for place, node, body in rows.fetchall():
                if tag_of(node, digest(body)) == tag:
                    found[tag] = place
        return found

    def left(self, place: int, most: int) -> int:
        """How many live records stand behind a place, no further than this."""
        rows = "SELECT count(*) FROM (SELECT 1 FROM elements WHERE op>? LIMIT ?)"
        return int(self._run(rows, (place, most)).get)
