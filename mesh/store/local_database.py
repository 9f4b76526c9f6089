"""A SQLite file of this node alone, beside its records: never in feeds, bundles or roots. Knows no table but by migration.

Opened, locked and written like the records' own database (`mesh.store.database`), with a list of migrations of its own.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import apsw

from mesh.core.errors import DiskFull, HomeDamaged, NewerHome
from mesh.store.database import BUSY_SECONDS, CHECKPOINT_MS, Run, connect, translated
from mesh.store.file_access import FileLock, is_writable, unwritable

_CACHE_KIB = 4 * 1024
_WAL_BYTES = 8 * 1024 * 1024
_OWED = ".rewrite"  # a file beside the database: deleted text may still be in it


def is_rewrite_owed(path: str) -> bool:
    """Whether deleted text may still be in a database, because a reader or a full disk was in the way."""
    return os.path.exists(path + _OWED)


def owing_rewrites(home: str) -> list[str]:
    """The databases in the folders of a home of which that is so, as paths in the home."""
    found: list[str] = []
    with suppress(OSError):
        for folder in sorted(entry.name for entry in os.scandir(home) if entry.is_dir(follow_symlinks=False)):
            owing = [
                name.removesuffix(_OWED) for name in os.listdir(os.path.join(home, folder)) if name.endswith(_OWED)
            ]
            found += [os.path.join(folder, name) for name in sorted(owing)]
    return [path for path in found if os.path.exists(os.path.join(home, path))]


def finish_rewrite(path: str) -> None:
    """Try to have deleted text leave a database."""
    LocalDatabase(path, None).close()


class LocalDatabase:
    """A connection, and the lock that writers of this file share. For one thread at a time."""

    def __init__(self, path: str, migrations: Sequence[str] | None) -> None:
        """Made, with its folder, if it is not there: for its owner only. Without migrations its tables stay as they are."""
        self.path = path
        if not os.path.exists(path) or is_writable(os.path.dirname(path)):
            _make(path)
        with _explained(path):
            self.connection = connect(path)
            self.run: Run = self.connection.execute
            self._lock = FileLock(path + ".lock")
            try:
                self._configure()
                if migrations is not None:
                    self._migrate(migrations)
                if is_rewrite_owed(path) and not self.connection.readonly("main"):
                    self.rewrite()
            except BaseException:
                self.connection.close()
                raise

    def close(self) -> None:
        """Release the file. Safe to call twice."""
        self.connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The lock, and one transaction in it, on disk when this returns."""
        with _explained(self.path), self._lock.held(BUSY_SECONDS):
            self.run("BEGIN IMMEDIATE")
            try:
                yield
                self.run("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.run("ROLLBACK")
                raise

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The lock alone: for what must not happen between another's file and its row."""
        with self._lock.held(BUSY_SECONDS):
            yield

    def rewrite(self) -> bool:
        """Rewrite the file: pages keep parts of deleted rows in their unused middle, and the WAL keeps old pages.

        False while a reader, or a full disk, is in the way; whoever opens the file next tries again.
        """
        owed = self.path + _OWED
        try:
            with _explained(self.path), self._lock.held(BUSY_SECONDS):
                os.close(os.open(owed, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
                if not self._checkpoint():
                    return False
                self.run("VACUUM")
                if not self._checkpoint():
                    return False
                os.unlink(owed)
        except DiskFull:
            return False
        return True

    def _checkpoint(self) -> bool:
        """Empty the WAL. False if a reader is in the way."""
        self.connection.set_busy_timeout(CHECKPOINT_MS)
        try:
            busy, _, _ = self.run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            self.connection.set_busy_timeout(BUSY_SECONDS * 1000)
        return not busy

    def _configure(self) -> None:
        if not self.connection.readonly("main"):
            self.run("PRAGMA journal_mode=WAL")
        self.run("PRAGMA synchronous=FULL")
        self.run("PRAGMA fullfsync=ON")
        self.run("PRAGMA secure_delete=ON")
        self.run(f"PRAGMA cache_size=-{_CACHE_KIB}")
        self.run(f"PRAGMA journal_size_limit={_WAL_BYTES}")
        self.connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        self.connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)

    def _migrate(self, migrations: Sequence[str]) -> None:
        if self._version() == len(migrations):
            return
        with self.writing():
            version = self._version()
            if version > len(migrations):
                raise NewerHome(
                    f"{self.path} was written by a newer clan-mesh (format {version}, this one knows {len(migrations)})",
                    "upgrade clan-mesh on this machine; nothing was touched",
                )
            for script in migrations[version:]:
                self.run(script)
            self.run(f"PRAGMA user_version={len(migrations)}")

    def _version(self) -> int:
        return int(self.run("PRAGMA user_version").get)


def _make(path: str) -> None:
    """An empty file, with its folder, unless it is there. A link in its place is not followed."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        raise unwritable(error.filename or path, error) from error


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Errors of SQLite as sentences. `mesh repair` is for records; what lies here is rebuilt."""
    try:
        with translated(path):
            yield
    except HomeDamaged as error:
        folder = os.path.dirname(path)
        raise HomeDamaged(
            str(error), f"move the folder away, and what it held is made anew: mv {folder} {folder}.damaged"
        ) from error
