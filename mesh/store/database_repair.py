"""Saves what can be read of a damaged database into a new one. The damaged file is kept under another name.

Nothing is trusted on the way: every statement and range passes the same door as one from a stranger. The repair may be
killed at any moment: until the new database is whole the old one stays where it is, and from then on the repair is
only finished, never begun again.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import apsw

from mesh.core.errors import Forged, RemoteError
from mesh.core.feed import Range, chain, encode_range
from mesh.core.ids import Feed, first_prev, private_mesh_id
from mesh.core.statement import ADMIN, INVITED, MEMBER, Member, sign
from mesh.core.version_vector import Head
from mesh.store.database import BUSY_SECONDS, Database, Run, refuse_newer
from mesh.store.feeds import FeedRow, Feeds
from mesh.store.file_access import FileLock
from mesh.store.home import Home
from mesh.store.keyfile import load
from mesh.store.merge_outcome import Outcome, Refused
from mesh.store.quarantine import Quarantine
from mesh.store.store import Store
from mesh.store.subject import subjects

_Progress = Callable[[int], None]
# A role that cannot be read lets nobody in; of a version that knew none, all were for writers.
_INVITES = "SELECT id, secret, made_ms, expires_ms, uses, role FROM invites WHERE role IN ({})".format(
    ",".join(f"'{role}'" for role in INVITED.values())
)
_EARLIER_INVITES = (
    f"SELECT id, secret, made_ms, expires_ms, uses, '{MEMBER}' FROM invites"
    " WHERE NOT EXISTS(SELECT 1 FROM pragma_table_info('invites') WHERE name='role')"
)
_ENDS = ("", "-wal", "-shm", ".lock")


class Salvage(NamedTuple):
    """What came through, and where the old file is now."""

    statements: int
    operations: int
    lost_ranges: int
    finished_only: bool  # a repair that was cut short had done the rest before
    kept_as: str | None


def repair(home: Home, *, private: bool = False, progress: _Progress = lambda _: None) -> Salvage:
    """Make a new database out of the old one, then change places. The next write opens a new epoch."""
    old = home.file("private.db" if private else "mesh.db")
    if os.path.isfile(old):
        refuse_newer(old)
    with FileLock(old + ".lock").held(BUSY_SECONDS):
        finished = os.path.exists(old + ".repaired")
        counts = (0, 0, 0) if finished else _rebuild(home, old, progress, private=private)
        return Salvage(*counts, finished, _change_places(old))


def _rebuild(home: Home, old: str, progress: _Progress, *, private: bool) -> tuple[int, int, int]:
    """Build the new database beside the old; its name changes to `.repaired` only once it is whole and on disk."""
    draft = old + ".repairing"
    for end in _ENDS:
        if os.path.exists(draft + end):
            os.unlink(draft + end)
    mesh = private_mesh_id(home.mesh) if private else home.mesh
    store = Store(Database(draft, create=True), mesh, own=home.node, everyone=private)
    try:
        counts = _copy(old, store, progress) if os.path.isfile(old) else (0, 0, 0)
        if not private:
            _found_again(home, store)
        with store.database.writing(durable=True):
            store.owe_republication()  # whether it was owed is not known any more; asking twice does no harm
        store.database.checkpoint()
    finally:
        store.close()
    for end in _ENDS[1:]:
        if os.path.exists(draft + end):
            os.unlink(draft + end)
    os.rename(draft, old + ".repaired")
    return counts


def _change_places(old: str) -> str | None:
    """Every step can be repeated. The old WAL must go before the new file comes: it would be played into it."""
    kept = _unused(f"{old}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    there = os.path.exists(old)
    if os.path.isdir(old):
        os.rename(old, kept)
    elif os.path.exists(old):
        os.link(old, kept)
    if os.path.exists(old + "-wal"):
        os.rename(old + "-wal", kept + "-wal")
    with suppress(FileNotFoundError):
        os.unlink(old + "-shm")
    os.replace(old + ".repaired", old)
    return kept if there else None


def _copy(old: str, store: Store, progress: _Progress) -> tuple[int, int, int]:
    statements = operations = lost = 0
    connection = apsw.Connection(old)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    run: Run = connection.execute
    with _reading():
        founders = run("SELECT value FROM meta WHERE key='founders'").get
        if isinstance(founders, bytes):
            store.learn_founders(founders[:32], founders[32:])
    for table in ("statements", "held_statements"):
        for data in _values(run, f"SELECT data FROM {table}"):
            statements += _kept(store.merge_statements([data]))
    rows: list[FeedRow] = []
    with _reading():
        rows += _feeds(run)  # as far as it goes
    for row in rows:
        for item in _ranges(connection, store.mesh, row):
            saved = item is not None and _kept([store.merge(encode_range(item))])
            operations += len(item.links) if item is not None and saved else 0
            lost += 0 if saved else 1
            progress(len(item.links) if item is not None else 0)
    with _reading():
        for stray in list(Quarantine(connection, store.mesh).everything()):
            store.merge(stray.data)
    _copy_local(run, store)
    connection.close()
    return statements, operations, lost


def _feeds(run: Run) -> Iterator[FeedRow]:
    """What every version knows of a feed: the old file may never have been brought up to date. What else there is, merging finds out."""
    found = run("SELECT feed, node, epoch, held_seq, held_hash, held_hlc FROM feeds ORDER BY node, epoch")
    for number, node, epoch, seq, head, hlc in found:
        feed = Feed(node, int.from_bytes(epoch, "big"))
        yield FeedRow(number, feed, Head(seq, head), hlc, Head(0, b""), 0, 0, 0, 0, 0)


def _copy_local(run: Run, store: Store) -> None:
    """What is only known here: contacts and certificates, which the sidecar reads with care, invitations, what was

    written for which request, whether we left, and what subjects keep.
    """
    for table, query in (
        ("cards", "SELECT kind, subject, at, data FROM cards"),
        ("invites", _INVITES),
        ("invites", _EARLIER_INVITES),
        ("invite_uses", "SELECT invite, node, at_ms FROM invite_uses"),
        ("requests", "SELECT id, content, until_ms, receipt FROM requests WHERE typeof(until_ms)='integer'"),
        ("meta", "SELECT key, value FROM meta WHERE key='left'"),
        *(table for subject in subjects() for table in subject.kept_tables()),
    ):
        rows: list[tuple[object, ...]] = []
        with _reading():
            rows += run(query)  # as far as it goes
        with _reading(), store.database.writing(durable=False):
            for row in rows:
                store.database.run(f"INSERT OR IGNORE INTO {table} VALUES({','.join('?' * len(row))})", row)


def _ranges(connection: apsw.Connection, mesh: bytes, row: FeedRow) -> Iterator[Range | None]:
    """A feed from signed point to signed point, None where a part cannot be read: what follows it is kept as a stray."""
    feeds = Feeds(connection, mesh)
    points: list[tuple[int, bytes, bytes]] = []
    with _reading():
        points = feeds.points(row.number)
    after, prev = 0, first_prev(mesh, row.feed)
    for seq, head, signature in points:
        item = None
        with _reading():
            links = [feeds.link(op) for op in feeds.rows(row.number, after + 1, seq)]
            if len(links) == seq - after:
                item = Range(row.feed, after + 1, prev, links, chain(prev, links), signature)
        yield item
        after, prev = seq, head
    if after < row.held.seq:
        yield None  # nothing vouches for what comes last


def _values(run: Run, query: str) -> list[bytes]:
    found: list[bytes] = []
    with _reading():
        for (data,) in run(query):  # as far as it goes: what was read before the damage is kept
            found += [data] if isinstance(data, bytes) else []
    return found


def _reading() -> suppress:
    """Reading a damaged file can fail in any way: values of other types, numbers too large, text that is none."""
    return suppress(
        apsw.Error, RemoteError, ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError
    )


def _kept(outcomes: list[Outcome]) -> int:
    return sum(not isinstance(outcome, Refused) for outcome in outcomes)


def _unused(path: str) -> str:
    number, free = 1, path
    while os.path.exists(free):
        number += 1
        free = f"{path}-{number}"
    return free


def _found_again(home: Home, store: Store) -> None:
    """Where the founding keys are, the mesh's beginning can be written once more."""
    roots = [load(home.file(name)) for name in sorted(os.listdir(home.path)) if name.startswith("root.key")]
    if store.founders() is None and os.path.exists(home.file("recovery.key")):
        recovery = load(home.file("recovery.key")).public
        for root in roots:  # one that took another's place does not name the mesh
            with suppress(Forged):
                store.learn_founders(root.public, recovery)
    for root in roots:
        if root.public == store.trust().root and not store.trust().certified(home.node):
            fact = Member(root.public, store.clock(), home.node, home.name, ADMIN)
            store.merge_statements([sign(home.mesh, root, fact).encode()])
