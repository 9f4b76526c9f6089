"""Access to the files of a home: a lock between processes, with a limit to the wait, and what to say about folders we may not write."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, EPERM, EROFS

from mesh.core.errors import HomeBusy, HomePermissions


def is_writable(folder: str) -> bool:
    """Whether files can be made there. Root may write whatever the mode is, but not to a disk that is mounted read-only."""
    return os.access(folder or ".", os.W_OK | os.X_OK)


def unwritable(path: str, error: OSError) -> HomePermissions:
    """What to say if a file could not be written: of the home, if it lies in one."""
    folder = os.path.dirname(path) or "."
    home = next((place for place in (folder, os.path.dirname(folder)) if _is_home(place)), "")
    what = f"the home {home}" if home else f"the folder {folder}"
    instead = ", or use another home: --home DIR" if home else ""
    if error.errno == EROFS:
        return HomePermissions(
            f"{what} cannot be written: it is on a read-only file system", f"have it mounted writable{instead}"
        )
    return HomePermissions(
        f"{what} cannot be written: {error.strerror} ({os.path.basename(path)})",
        f"check its owner and mode: ls -la {home or folder}{instead}",
    )


def refusal(error: OSError) -> HomePermissions | None:
    """An error of the system as a sentence, if it is that a file could not be written; None if it may be anything else."""
    path = error.filename
    if not isinstance(path, str) or error.errno not in (EROFS, EACCES, EPERM):
        return None
    return unwritable(path, error) if error.errno == EROFS or not is_writable(os.path.dirname(path)) else None


def _is_home(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "home.json"))


_FIRST_PAUSE_SECONDS = 0.0005
_LONGEST_PAUSE_SECONDS = 0.02


class FileLock:
    """The lock of one path. Not re-entrant."""

    def __init__(self, path: str) -> None:
        self.path = path

    @contextmanager
    def held(self, timeout_seconds: float) -> Iterator[None]:
        """Hold the lock, or raise HomeBusy after the timeout."""
        descriptor = self.acquire(timeout_seconds)
        try:
            yield
        finally:
            os.close(descriptor)

    def acquire(self, timeout_seconds: float) -> int:
        """Take the lock; it lasts until the returned descriptor is closed."""
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise unwritable(self.path, error) from error
        try:
            self._wait(descriptor, timeout_seconds)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def is_held(self) -> bool:
        """Whether somebody has it now. Needs no right to write: who may only read asks, too."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False  # nobody has made it; or we may not even look
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _wait(self, descriptor: int, timeout_seconds: float) -> None:
        deadline = time.monotonic() + timeout_seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise HomeBusy(
                        f"another process has held {self.path} for {timeout_seconds:g} s",
                        "stop that process, or wait for it and repeat the command",
                    ) from None
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            else:
                return


_MOST = 1000.0


def patience(seconds: float) -> float:
    """So many seconds, or as many times more as the user says."""
    try:
        times = float(os.environ.get("MESH_PATIENCE", "1"))
    except ValueError:
        return seconds
    return seconds * min(times, _MOST) if times > 0 else seconds
