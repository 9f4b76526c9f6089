"""Folders that we may read but not write: how that is told, and found out. Opens nothing."""

from __future__ import annotations

import os
from errno import EACCES, EPERM, EROFS

from mesh.core.errors import HomePermissions


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
