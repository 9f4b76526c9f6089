"""One SQLite file through apsw: opening, settings, migrations, transactions. Knows no table but by migration.

Every writer, sidecar or command, takes the file lock first and then `BEGIN IMMEDIATE`: SQLite's own busy
handling is not fair, and twenty starving writers would fail where twenty queued ones succeed.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import apsw

from mesh.core.errors import DiskFull, HomeBusy, HomeDamaged, HomeError, HomePermissions, NewerHome
from mesh.store import schema
from mesh.store.lock import FileLock

BUSY_SECONDS = 30
CACHE_KIB = 48 * 1024
WAL_BYTES = 64 * 1024 * 1024  # what a WAL is cut back to after a checkpoint
_USER_VERSION_AT = 60  # offset in the file's header, see SQLite's file format


TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

    Run = Callable[..., Any]
else:
    Run = Callable  # `execute`, untyped: what a column holds is known to the schema, not to apsw


class Database:
    """A connection, and the lock that writers of this file share."""

    def __init__(self, path: str, *, create: bool = False) -> None:
        self.path = path
        _refuse_newer(path)
        if not create and not os.path.exists(path):
            raise HomeDamaged(f"{path} is missing", "put it back from a backup, or run: mesh repair")
        with translated(path):
            self.connection = apsw.Connection(path)
            self.connection.set_busy_timeout(BUSY_SECONDS * 1000)
            self._configure()
        self.run: Run = self.connection.execute
        self._lock = FileLock(path + ".lock")
        version = self._version()
        if version > schema.VERSION:  # said in the WAL only: the newer one was killed before its checkpoint
            self.connection.close()
            raise _newer(path, version)
        if version < schema.VERSION:
            self._migrate()

    def close(self) -> None:
        """Release the file. Safe to call twice."""
        self.connection.close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the writers' lock: for what must happen in one go with a transaction, but outside it."""
        with translated(self.path), self._lock.held(BUSY_SECONDS):
            yield

    @contextmanager
    def writing(self, *, durable: bool) -> Iterator[None]:
        """The lock, and one transaction in it."""
        with self.locked(), self.transaction(durable=durable):
            yield

    @contextmanager
    def transaction(self, *, durable: bool) -> Iterator[None]:
        """One write transaction, for who holds the lock. A durable one is on disk when this returns;
        another survives a crash of the process but may be lost, whole, in a power failure.
        """
        level = 2 if durable else 1
        run = self.connection.execute
        run(f"PRAGMA synchronous={level}")
        if run("PRAGMA synchronous").get != level:
            raise HomeError(
                "SQLite did not take the durability setting", "report this, with the output of: mesh status"
            )
        run("BEGIN IMMEDIATE")
        try:
            yield
            run("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                run("ROLLBACK")
            raise

    def checkpoint(self) -> None:
        """Bring the WAL into the file, as far as readers allow: each command that opens the home reads what is left in it."""
        with self.locked():
            self.run("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A part of a transaction that can fail alone; outside of one, a snapshot to read from."""
        with self.connection:
            yield

    def _configure(self) -> None:
        run = self.connection.execute
        run(f"PRAGMA page_size={schema.PAGE_BYTES}")  # has an effect on a new file only
        if run("PRAGMA journal_mode=WAL").get != "wal":
            raise HomeError(f"{self.path} cannot be kept in WAL mode", "move the home to a local disk")
        run("PRAGMA secure_delete=ON")
        run("PRAGMA fullfsync=ON")
        run(f"PRAGMA cache_size=-{CACHE_KIB}")
        run(f"PRAGMA journal_size_limit={WAL_BYTES}")
        run("PRAGMA temp_store=FILE")
        # Closing must not checkpoint: an everyday command would pay for it each time.
        self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self.connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        self.connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)

    def _version(self) -> int:
        with translated(self.path):
            return int(self.connection.execute("PRAGMA user_version").get)

    def _migrate(self) -> None:
        with self.writing(durable=True):
            for number in range(self._version(), schema.VERSION):
                self.connection.execute(schema.MIGRATIONS[number])
            self.connection.execute(f"PRAGMA user_version={schema.VERSION}")
        # Into the file itself, where `_refuse_newer` of an older version looks.
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def open_reader(path: str) -> apsw.Connection:
    """A connection that reads, set up with as little as possible: everyday commands wait for it."""
    _refuse_newer(path)
    with translated(path):
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        connection.set_busy_timeout(BUSY_SECONDS * 1000)
        connection.execute("PRAGMA query_only=ON")
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        return connection


def _refuse_newer(path: str) -> None:
    """Read the version from the file's header, so that a newer home is not touched, not even by a lock."""
    try:
        with open(path, "rb") as file:
            header = file.read(_USER_VERSION_AT + 4)
    except FileNotFoundError:
        return
    except OSError as error:
        raise HomePermissions(f"{path} cannot be read: {error.strerror}", f"check: ls -l {path}") from error
    version = int.from_bytes(header[_USER_VERSION_AT:], "big") if header.startswith(b"SQLite format 3\0") else 0
    if version > schema.VERSION:
        raise _newer(path, version)


def _newer(path: str, version: int) -> NewerHome:
    return NewerHome(
        f"{path} was written by a newer clan-mesh (format {version}, this one knows {schema.VERSION})",
        "upgrade clan-mesh on this machine; nothing was touched",
    )


@contextmanager
def translated(path: str) -> Iterator[None]:
    """SQLite's errors as sentences with a next step."""
    try:
        yield
    except apsw.FullError as error:
        raise DiskFull(
            f"no room left on the disk of {path}; nothing of this write was kept",
            "free some space and repeat the command",
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise HomeDamaged(f"{path} is damaged: {error}", "keep a copy of the folder, then run: mesh repair") from error
    except (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError, apsw.AuthError) as error:
        raise HomePermissions(
            f"{path} cannot be opened or written: {error}",
            f"check the owner and mode of the folder and that the disk is mounted writable: ls -la {os.path.dirname(path)}",
        ) from error
    except apsw.BusyError as error:
        raise HomeBusy(f"another process has held {path} for {BUSY_SECONDS} s", "see who: mesh status") from error
    except apsw.IOError as error:
        raise HomeDamaged(
            f"the disk of {path} reports an error: {error}",
            "check the disk, keep a copy of the folder, then run: mesh verify",
        ) from error
