"""Erasing: the bodies go, here and wherever a copy lies in a database of the home; hash and chain stay.

What SQLite leaves behind of a body all the same, `scrub` cleans away. Until that has succeeded the database remembers
that it is owed.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

import apsw

from mesh.core.errors import DiskFull
from mesh.core.feed import Range, decode_range, encode_range, weight
from mesh.core.ids import digest, tag_of
from mesh.core.member_limits import share_weight
from mesh.core.operation import Add, parse
from mesh.core.trust import Trust
from mesh.store.database import Database, Run, open_reader, translated
from mesh.store.feeds import FeedRow, Feeds, OpRow
from mesh.store.fold import Fold, FoldRow
from mesh.store.local_database import finish_rewrite, owing_rewrites
from mesh.store.quarantine import DetachedRange, Quarantine
from mesh.store.subject import subjects

_DEBT = "SELECT value FROM meta WHERE key='scrub'"


class Erasure:
    """Works within whatever transaction the connection is in."""

    def __init__(
        self, connection: apsw.Connection, mesh: bytes, feeds: Feeds, fold: Fold, quarantine: Quarantine
    ) -> None:
        self._run: Run = connection.execute
        self._mesh = mesh
        self._feeds = feeds
        self._fold = fold
        self._quarantine = quarantine

    def erase(self, trust: Trust, tags: Iterable[bytes]) -> int:
        """Drop the bodies with these tags, as far as an erase that counts names them. Returns how many."""
        gone, tags = 0, list(tags)
        if not tags:
            return 0
        for tag in tags:
            for feed, row in self._feeds.by_tag(tag):
                if row.body is not None and trust.is_erased(tag, feed.feed.node, row.kind):
                    self._erase_body(feed, row, row.body, tag)
                    gone += 1
        for stray in list(self._quarantine.everything()):
            gone += self._erase_in_stray(trust, stray)
        if gone:
            self._fold.drop_unused_names()
            self._run("INSERT OR REPLACE INTO meta VALUES('scrub', random())")
        return gone

    def _erase_body(self, feed: FeedRow, row: OpRow, body: bytes, tag: bytes) -> None:
        parsed = parse(row.kind, row.hlc, body)
        if isinstance(parsed, Add):
            self._fold.forget_element(row.op)
        self._run("INSERT INTO erased_bodies VALUES(?,?)", (row.op, digest(body)))
        self._run("UPDATE ops SET body=NULL WHERE op=?", (row.op,))
        for subject in subjects():
            subject.erased(self._run, parsed, tag)
        lighter = share_weight(body) - share_weight(None)
        feed = self._feeds.numbered(feed.number)  # as it is now: it may hold the same tag twice
        feed = feed._replace(held_weight=feed.held_weight - lighter)
        if row.seq > feed.accepted.seq:
            saved = max(0, feed.waiting_bytes - weight(body) + weight(None))
            self._feeds.save(feed._replace(waiting_bytes=saved))
        else:
            self._feeds.save(feed._replace(weight=feed.weight - lighter))
            self._fold.withdraw([FoldRow(row.op, row.seq, tag, parsed)])

    def _erase_in_stray(self, trust: Trust, stray: DetachedRange) -> int:
        item = decode_range(self._mesh, stray.data)
        kept = without_erased(trust, item)
        changed = sum(new != old for new, old in zip(kept.links, item.links, strict=True))
        if changed:
            self._quarantine.replace(stray, encode_range(kept))
        return changed


def without_erased(trust: Trust, item: Range) -> Range:
    """A range less the bodies that are to be gone."""
    node = item.feed.node
    links = [
        link._replace(body=None) if trust.is_erased(tag_of(node, link.body_hash), node, link.kind) else link
        for link in item.links
    ]
    return item._replace(links=links)


def scrub(database: Database) -> bool:
    """Finish what an erase owes. False while a reader, or a full disk, is in the way.

    Zeroing what is freed is not enough: SQLite's page splits leave copies in the unused middle of pages (seen with SQLite
    3.54), and indexes of words only mark what is deleted. So subjects clean their tables, then the file is written anew and the
    WAL emptied: 6 to 7 s at a million records.
    """
    debt = database.run(_DEBT).get
    if debt is None:
        return True
    try:
        # Not while a reader is in the way: each try would leave a WAL as large as the file.
        if not database.checkpoint():
            return False
        drop_files(database)
        with database.writing(durable=False):
            for end in ("", "-wal", "-shm"):  # half a repair is a copy too; a whole one has the lock
                with suppress(FileNotFoundError):
                    os.unlink(f"{database.path}.repairing{end}")
            for subject in subjects():
                subject.scrub(database.run)
        with database.locked():
            database.run("VACUUM")
        if not database.checkpoint():
            return False
        with database.writing(durable=True):  # only the debt we have paid: another erase may have come in between
            database.run("DELETE FROM meta WHERE key='scrub' AND value=?", (debt,))
    except DiskFull:
        return False  # twice the room of the file is needed for a moment; the erase itself is committed
    # Gone also if another process paid it meanwhile: it rewrote the file after the erase was committed.
    return not is_owed(database.run)


def is_owed(run: Run) -> bool:
    """Whether an erase is not finished."""
    return run(_DEBT).get is not None


def drop_files(database: Database) -> None:
    """Delete what subjects have derived from records in files of their own, which are never cleaned. They are made again from what is left."""
    for subject in subjects():
        subject.drop_files(os.path.dirname(database.path))


_RECORDS = ("mesh.db", "private.db")


def unfinished(home: str) -> list[str]:
    """The databases of a home, as paths in it, that may still hold erased text."""
    records = [name for name in _RECORDS if _owes(os.path.join(home, name))]
    return records + owing_rewrites(home)


def finish(home: str) -> list[str]:
    """Try to pay what is owed, without waiting long for anybody. Returns what is still unfinished."""
    for name in unfinished(home):
        if name not in _RECORDS:
            finish_rewrite(os.path.join(home, name))
            continue
        database = Database(os.path.join(home, name))
        try:
            with translated(database.path):
                scrub(database)
        finally:
            database.close()
    return unfinished(home)


def _owes(path: str) -> bool:
    if not os.path.exists(path):
        return False
    with translated(path):
        reader = open_reader(path)
        try:
            return is_owed(reader.execute)
        finally:
            reader.close()


_LOOKS, _PAUSE_SECONDS = 5, 0.2  # who is there at each look holds on; everyday commands come and go
_CHILD_SECONDS = 30.0
_COMMAND_CHARS = 200
_READ_LOCKS = "123 124 125 126 127"  # SQLite's file format: the wal-index has its locks from byte 120 on, the first three for others
_ASK = """
import fcntl, struct, sys, time
looks, pause, locks, *paths = sys.argv[1:]
form, kind, pid = ("qqihh", 3, 2) if sys.platform == "darwin" else ("hhqqi", 0, 4)
def holders(path):
    found = set()
    with open(path, "r+b") as file:
        for at in map(int, locks.split()):
            fields = [at, 1, 0, fcntl.F_WRLCK, 0] if kind else [fcntl.F_WRLCK, 0, at, 1, 0]
            answer = struct.unpack(form, fcntl.fcntl(file, fcntl.F_GETLK, struct.pack(form, *fields)))
            if answer[kind] != fcntl.F_UNLCK:
                found.add(answer[pid])
    return found
for path in paths:
    always = holders(path)
    for _ in range(int(looks) - 1):
        if always:
            time.sleep(float(pause))
            always &= holders(path)
    print(*sorted(always))
"""


class WalReader(NamedTuple):
    """A process that holds on to an older state of a database."""

    pid: int
    command: str  # empty if it cannot be seen


def lasting_readers(paths: Sequence[str]) -> list[WalReader]:
    """The processes that keep reading at least one of these databases, for a second or longer. Empty if that cannot be found out."""
    shared = [f"{path}-shm" for path in paths if os.path.exists(f"{path}-shm")]
    if not shared:
        return []
    import subprocess  # only here: most homes owe nothing

    words = [sys.executable, "-I", "-S", "-c", _ASK, str(_LOOKS), str(_PAUSE_SECONDS), _READ_LOCKS, *shared]
    try:
        asked = subprocess.run(words, capture_output=True, text=True, timeout=_CHILD_SECONDS, check=True)  # noqa: S603 (our own words)
    except (OSError, subprocess.SubprocessError):
        return []
    found = {int(word) for word in asked.stdout.split()} - {os.getpid()}
    return [WalReader(pid, _command(pid)) for pid in sorted(found)]


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            line = file.read(_COMMAND_CHARS * 4)
        return os.fsdecode(line.replace(b"\0", b" ")).strip()[:_COMMAND_CHARS]
    except OSError:
        pass
    import subprocess

    with suppress(OSError, subprocess.SubprocessError):
        words = ["ps", "-o", "command=", "-p", str(pid)]
        said = subprocess.run(words, capture_output=True, text=True, timeout=_CHILD_SECONDS, check=False)  # noqa: S603
        return said.stdout.strip()[:_COMMAND_CHARS]
    return ""
