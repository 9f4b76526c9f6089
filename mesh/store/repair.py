"""Saving what can be read of a damaged database into a new one. The damaged file is kept, renamed.

Nothing is trusted on the way: every statement and range passes the same door as one from a stranger.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import apsw

from mesh.core.errors import Forged
from mesh.core.feed import encode_range
from mesh.core.statement import ADMIN, Member, sign
from mesh.store.database import Database, Run
from mesh.store.feeds import FeedRow, Feeds
from mesh.store.home import Home
from mesh.store.outcome import Refused
from mesh.store.quarantine import Quarantine
from mesh.store.store import Store

_Progress = Callable[[int], None]


@dataclass(slots=True)
class Salvage:
    """What came through."""

    statements: int = 0
    operations: int = 0
    lost_feeds: int = 0
    kept_as: str = ""


def repair(home: Home, progress: _Progress = lambda _: None) -> Salvage:
    """Make a new database beside the old one, then change places. The next write opens a new epoch."""
    old, new = home.file("mesh.db"), home.file("mesh.db.repaired")
    salvage = Salvage()
    for end in ("", "-wal", "-shm", ".lock"):
        if os.path.exists(new + end):
            os.unlink(new + end)
    store = Store(Database(new, create=True), home.mesh, own=home.node)
    try:
        if os.path.exists(old):
            _copy(old, store, salvage, progress)
        _found_again(home, store)
        store.sync()
        store.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        store.close()
    salvage.kept_as = _unused(f"{old}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    for end in ("", "-wal"):
        if os.path.exists(old + end):
            os.rename(old + end, salvage.kept_as + end)
    if os.path.exists(old + "-shm"):
        os.unlink(old + "-shm")
    os.rename(new, old)
    for end in ("-wal", "-shm", ".lock"):
        if os.path.exists(new + end):
            os.unlink(new + end)
    return salvage


def _copy(old: str, store: Store, salvage: Salvage, progress: _Progress) -> None:
    try:
        connection = apsw.Connection(old)
        run: Run = connection.execute
        founders = run("SELECT value FROM meta WHERE key='founders'").get
        if isinstance(founders, bytes):
            store.learn_founders(founders[:32], founders[32:])
    except (apsw.Error, Forged):
        pass  # learned again from the keys in the home, or from the first bundle
    try:
        statements = [data for (data,) in run("SELECT data FROM statements UNION ALL SELECT data FROM held_statements")]
        salvage.statements = sum(not isinstance(item, Refused) for item in store.merge_statements(statements))
        rows = Feeds(connection, store.mesh).all()
    except apsw.Error:
        return
    for row in rows:
        if not _copy_feed(connection, row, store, salvage, progress):
            salvage.lost_feeds += 1
    try:
        for stray in Quarantine(connection, store.mesh).everything():
            store.merge(stray.data)
    except (apsw.Error, TypeError):
        salvage.lost_feeds += 1
    with store.database.writing(durable=False):
        store.owe_republication()  # whether it was owed is not known any more; asking twice does no harm
    connection.close()


def _copy_feed(connection: apsw.Connection, row: FeedRow, store: Store, salvage: Salvage, progress: _Progress) -> bool:
    """False if the feed could not be read to its end."""
    try:
        for item in Feeds(connection, store.mesh).ranges(row, 0):
            if isinstance(store.merge(encode_range(item)), Refused):
                return False
            salvage.operations += len(item.links)
            progress(len(item.links))
    except (apsw.Error, AssertionError, TypeError, ValueError, KeyError):
        return False
    return True


def _unused(path: str) -> str:
    number, free = 1, path
    while os.path.exists(free):
        number += 1
        free = f"{path}-{number}"
    return free


def _found_again(home: Home, store: Store) -> None:
    """Where the founding keys are, the mesh's beginning can be written once more."""
    if not home.has_root_key:
        return
    root = home.root_identity()
    if store.founders() is None and os.path.exists(home.file("recovery.key")):
        from mesh.store.keyfile import load

        store.learn_founders(root.public, load(home.file("recovery.key")).public)
    if not store.trust().certified(home.node):
        fact = Member(root.public, store.clock(), home.node, home.name, ADMIN)
        store.merge_statements([sign(home.mesh, root, fact).encode()])
