"""Secret keys on disk: one seed a file, mode 0600, refused if anyone else could read it."""

import os

from mesh.core.errors import HomeDamaged, HomePermissions
from mesh.core.identity import SEED_BYTES, Identity

_TITLE = "clan-mesh ed25519 seed: keep secret"


def create(path: str) -> Identity:
    """A new key in a new file. Never replaces one."""
    seed = os.urandom(SEED_BYTES)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{_TITLE}\n{seed.hex()}\n")
        file.flush()
        os.fsync(descriptor)
    return Identity(seed)


def load(path: str) -> Identity:
    """The key in a file that only its owner can read."""
    try:
        with open(path) as file:
            mode = os.fstat(file.fileno()).st_mode & 0o777
            if mode & 0o077:
                raise HomePermissions(
                    f"{path} can be read by others (mode {mode:o})",
                    f"if nobody else has had access: chmod 600 {path}",
                )
            lines = file.read(1024).split("\n")
    except UnicodeDecodeError as error:
        raise _damaged(path) from error
    except OSError as error:
        raise HomePermissions(f"{path} cannot be read: {error.strerror}", f"check: ls -l {path}") from error
    try:
        seed = bytes.fromhex(lines[1])
    except (IndexError, ValueError) as error:
        raise _damaged(path) from error
    if lines[0] != _TITLE or len(seed) != SEED_BYTES:
        raise _damaged(path)
    return Identity(seed)


def _damaged(path: str) -> HomeDamaged:
    return HomeDamaged(f"{path} is not a key of clan-mesh", "put it back from a backup")
