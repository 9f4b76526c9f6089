"""One SQLite file through apsw: opening, settings, migrations, transactions. Knows no table but by migration.

Every writer, sidecar or command, takes the file lock first and then `BEGIN IMMEDIATE`: SQLite's own busy
handling is not fair, and twenty starving writers would fail where twenty queued ones succeed.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from mesh.core.errors import DiskFull, HomeBusy, HomeDamaged, HomeError, HomePermissions, NewerHome
from mesh.store import schema
from mesh.store.file_access import FileLock, is_writable, unwritable
from mesh.store.interruption import watch

FORMAT = 1  # of the home folder around the databases, said in its home.json
BUSY_SECONDS = 30
CHECKPOINT_MS = 200
_LEAST_ROOM_BYTES = 256 * 1024  # with less, SQLite's shared memory may fail to grow, which it calls an I/O error
CACHE_KIB = 48 * 1024
WAL_BYTES = 64 * 1024 * 1024  # what a WAL is cut back to after a checkpoint
_LONG_WAL_BYTES = 4 * 1024 * 1024  # of many small writes, or of a large one
_TO_READ = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
SCRATCH = "file:scratch?mode=memory"  # what can be attached, and written, where all else can only be read
_USER_VERSION_AT = 60  # offset in the file's header, see SQLite's file format

Run = Callable[..., Any]  # `execute`, untyped: what a column holds is known to the schema, not to apsw


class Database:
    """A connection, and the lock that writers of this file share."""

    def __init__(self, path: str, *, create: bool = False) -> None:
        self.path = path
        refuse_newer(path)
        refuse_broken(path, create=create)
        if create and not os.path.exists(path):  # for its owner only, as SQLite would not make it
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with translated(path):
            self.connection = connect(path)
            self._configure()
            self._file = os.stat(path).st_ino
        self.run: Run = self.connection.execute
        self._synchronous: int | None = None  # as SQLite last confirmed it

        self._lock = FileLock(path + ".lock")
        version = self._version()
        if version > schema.VERSION:  # said in the WAL only: the newer one was killed before its checkpoint
            self.connection.close()
            raise _newer(path, version)
        if version < schema.VERSION:
            self._migrate()

    def close(self) -> None:
        """Release the file. Safe to call twice. Who leaves a long WAL behind empties it first, if nobody is in the way:

        whoever is the next to come when nobody is there reads all of it before anything else.
        """
        if _size(self.path + "-wal") > _LONG_WAL_BYTES:
            try:
                with self._lock.held(0):
                    self.connection.set_busy_timeout(0)
                    self.run("PRAGMA wal_checkpoint(TRUNCATE)")
            except (apsw.Error, HomeError):
                pass  # all of it is in the WAL, and stays there
        self.connection.close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the writers' lock: for what must happen in one go with a transaction, but outside it."""
        with translated(self.path), self._lock.held(BUSY_SECONDS):
            if not os.path.exists(self.path) or os.stat(self.path).st_ino != self._file:
                raise HomeBusy(f"{self.path} was replaced by a repair in the meantime", "repeat the command")
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
        if self._synchronous != level:
            run(f"PRAGMA synchronous={level}")
            self._synchronous = run("PRAGMA synchronous").get
        if self._synchronous != level:
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

    def checkpoint(self) -> bool:
        """Bring the WAL into the file and empty it. False if a reader is in the way; it is not waited for long,

        because whoever writes waits for us.
        """
        with self.locked():
            self.connection.set_busy_timeout(CHECKPOINT_MS)
            try:
                busy, _, _ = self.run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self.connection.set_busy_timeout(BUSY_SECONDS * 1000)
        return not busy

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A part of a transaction that can fail alone; outside of one, a snapshot to read from."""
        with self.connection:
            yield

    def _configure(self) -> None:
        run = self.connection.execute
        run(f"PRAGMA page_size={schema.PAGE_BYTES}")  # has an effect on a new file only
        if not self.connection.readonly("main") and run("PRAGMA journal_mode=WAL").get != "wal":
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
            for version in range(self._version() + 1, schema.VERSION + 1):
                for step in schema.steps(version):
                    if isinstance(step, str):
                        self.connection.execute(step)
                    else:
                        step(self.connection)
            self.connection.execute(f"PRAGMA user_version={schema.VERSION}")
        # Into the file itself, where `refuse_newer` of an older version looks.
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def open_reader(path: str) -> apsw.Connection:
    """A connection that reads, set up with as little as possible: everyday commands wait for it."""
    version = refuse_newer(path)
    refuse_broken(path, create=False)
    if 0 < version < schema.VERSION:
        Database(path).close()  # brings it up to date: the first command after an upgrade may well be one that reads
    with translated(path):
        connection = connect(path)
        connection.execute("PRAGMA query_only=ON")
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        watch(connection)
        return connection


def connect(path: str) -> apsw.Connection:
    """A connection to a file that is there. Where nobody may write, and SQLite would, to read: one that reads without."""
    if not os.path.exists(path + "-shm") and not is_writable(os.path.dirname(path)):
        return _connect_to_read(path)
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(BUSY_SECONDS * 1000)
    return connection


def _connect_to_read(path: str) -> apsw.Connection:
    """Without a lock, and without the shared memory of a WAL, which cannot be made there.

    That memory is missing, so nobody has the file open. Should somebody elsewhere open it, write, and bring the WAL into the file
    while we read, we may see half of that; the next look is right again.
    """
    if os.path.exists(path + "-wal"):  # alone with the file, SQLite keeps the index of the WAL in its own memory
        connection = apsw.Connection(path, flags=_TO_READ, vfs="unix-none")
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        return connection
    place = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return apsw.Connection(f"file:{place}?immutable=1", flags=_TO_READ)


def refuse_newer(path: str) -> int:
    """Read the version from the file's header, so that a newer home is not touched, not even by a lock. 0: not known."""
    try:
        with open(path, "rb") as file:
            header = file.read(_USER_VERSION_AT + 4)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise HomePermissions(f"{path} cannot be read: {error.strerror}", f"check: ls -l {path}") from error
    version = int.from_bytes(header[_USER_VERSION_AT:], "big") if header.startswith(b"SQLite format 3\0") else 0
    if version > schema.VERSION:
        raise _newer(path, version)
    return version


def refuse_broken(path: str, *, create: bool) -> None:
    """What SQLite would quietly make a new database of: a file that is missing or empty, or half of a repair."""
    if os.path.exists(path + ".repaired"):
        raise HomeDamaged(f"a repair of {path} was cut short", "finish it: mesh repair")
    if not os.path.exists(path):
        if not create:
            raise HomeDamaged(f"{path} is missing", "put it back from a backup, or run: mesh repair")
    elif os.path.getsize(path) == 0:
        raise HomeDamaged(f"{path} is empty", "put it back from a backup, or run: mesh repair")


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


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
    except apsw.Error as error:
        raise sentence(path, error) from error


def sentence(path: str, error: apsw.Error) -> HomeError:
    """What an error of SQLite means to the person whose home it is."""
    folder = os.path.dirname(path)
    if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and _room(folder) < _LEAST_ROOM_BYTES):
        return DiskFull(
            f"no room left on the disk of {path}; nothing of this write was kept",
            "free some space and repeat the command",
        )
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError) and os.path.exists(path) and not is_writable(folder):
        return unwritable(path, _refusal(folder))
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.CantOpenError | apsw.AuthError):
        return HomePermissions(
            f"{path} cannot be opened or written: {error}",
            f"check the owner and mode of the folder and that the disk is mounted writable: ls -la {folder}",
        )
    if isinstance(error, apsw.BusyError):
        return HomeBusy(f"another process has held {path} for {BUSY_SECONDS} s", "see who: mesh status")
    if isinstance(error, apsw.InterruptError):
        return HomeError(f"reading {path} was given up: nobody waited for it any more", "repeat the command")
    if isinstance(error, apsw.IOError):
        return HomeDamaged(
            f"the disk of {path} reports an error: {error}",
            "check the disk, keep a copy of the folder, then run: mesh verify",
        )
    if isinstance(error, apsw.SQLError):
        return HomeError(
            f"{path} does not have the tables it should: {error}", "keep a copy of the folder, then run: mesh verify"
        )
    return HomeDamaged(f"{path} is damaged: {error}", "keep a copy of the folder, then run: mesh repair")


def _refusal(folder: str) -> OSError:
    """Why a folder cannot be written; SQLite does not say."""
    try:
        number = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
    except OSError as error:
        return error
    return OSError(number, os.strerror(number))


def _room(folder: str) -> int:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return _LEAST_ROOM_BYTES
    return disk.f_bavail * disk.f_frsize
