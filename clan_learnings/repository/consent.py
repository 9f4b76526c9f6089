"""What the person of this machine permits: which folders may name their repository, and which repositories' harvest may leave this node.

Trusted folders: one line a folder in a file beside the list of homes: the repository, a tab, the folder's real path. A permission is for
that name in that folder only. A file that others may write, or that cannot be read, permits nothing.

Shared repositories: globs, one a line in a file of the home; everything else stays here. Each node decides for itself. `share = false` in
a repository's `.clan-mesh.toml` overrides it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from fcntl import LOCK_EX, flock
from fnmatch import fnmatchcase

from clan_learnings.repository.git_config import read_text
from mesh.core.errors import HomePermissions

Pair = tuple[str, str]  # repository, folder


NAME = "trusted-repos"
_BYTES = 1024 * 1024
_OTHERS_WRITE = 0o022
_FIRST = (
    "# Folders that may name their repository in .clan-mesh.toml: REPO, a tab, FOLDER. Written by `mesh trust-repo`.\n"
)


def file_of(environ: Mapping[str, str]) -> str:
    """The path of the list of trusted folders: beside the list of homes."""
    folder = environ.get("MESH_CONFIG", "")
    if not folder:
        base = environ.get("XDG_CONFIG_HOME", "")
        if not os.path.isabs(base):  # as the XDG specification wants it
            base = os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".config")
        folder = os.path.join(base, "clan-mesh")
    return os.path.join(folder, NAME)


def is_trusted(environ: Mapping[str, str], folders: Sequence[str], repo: str) -> bool:
    """Whether one of these folders, by its real path, may have this name."""
    try:
        said = pairs(file_of(environ))
    except HomePermissions:  # `mesh trust-repo --list` says why
        return False
    return any((repo, folder) in said for folder in folders)


def pairs(path: str) -> list[Pair]:
    """All trusted repositories and folders, in the order of the file."""
    found = []
    for line in _read(path).split("\n"):
        repo, tab, folder = line.partition("\t")
        if tab and not line.startswith("#"):
            found.append((repo, folder))
    return found


def trust(environ: Mapping[str, str], folder: str, repo: str) -> bool:
    """Let a folder name its repository so. Returns whether that is new."""
    return _change(file_of(environ), lambda said: said if (repo, folder) in said else [*said, (repo, folder)])


def forget(environ: Mapping[str, str], folder: str) -> bool:
    """Take back the permission of a folder. Returns whether there was one."""
    return _change(file_of(environ), lambda said: [pair for pair in said if pair[1] != folder])


def _change(path: str, after: Callable[[list[Pair]], list[Pair]]) -> bool:
    """Replace the file, one writer at a time: readers see the old file or the new one."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        flock(lock, LOCK_EX)
        said = pairs(target)
        new = after(said)
        if new == said:
            return False
        draft = f"{target}.new-{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(draft, flags, 0o600), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(_FIRST)
            file.writelines(f"{repo}\t{folder}\n" for repo, folder in new)
            file.flush()
            os.fsync(file.fileno())
        os.rename(draft, target)
        return True
    finally:
        os.close(lock)


def _read(path: str) -> str:
    """The file's text, empty if there is none."""
    look = f"look at it: ls -la {path}"
    try:
        with open(path, "rb", opener=_unblocked) as file:
            found = os.fstat(file.fileno())
            data = file.read(_BYTES + 1) if stat.S_ISREG(found.st_mode) else None
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise HomePermissions(f"{path} cannot be read: {error.strerror}", look) from error
    if data is None or len(data) > _BYTES:
        raise HomePermissions(f"{path} is not the file that we wrote", look)
    if found.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(found.st_mode) & _OTHERS_WRITE:
        raise HomePermissions(
            f"{path} can be written by others, who could choose whose memory your folders read",
            f"chmod go-w {path}, then read what it says: mesh trust-repo --list",
        )
    return data.decode("utf-8", "surrogateescape")


def _unblocked(path: str, flags: int) -> int:
    """Open without waiting, in case a pipe stands in the place of the file."""
    return os.open(path, flags | os.O_NONBLOCK)


FILE = "shared"
EVERYTHING = "*"  # alone: also what belongs to no repository
GLOB_CHARS = 300


def read_shared(home: str) -> list[str]:
    """The globs that are switched on, in order."""
    text = read_text(os.path.join(home, FILE), _BYTES)
    return sorted({line.strip() for line in (text or "").split("\n") if line.strip()})


def change_shared(home: str, glob: str, *, on: bool) -> bool:
    """Switch a glob on or off. Returns whether that changed anything."""
    before = set(read_shared(home))
    after = before | {glob} if on else before - {glob}
    if after == before:
        return False
    path = os.path.join(home, FILE)
    draft = f"{path}.{os.getpid()}"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in sorted(after))
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    return True


def is_shared(repo: str, globs: list[str]) -> bool:
    """Whether what was harvested in a repository may leave this node."""
    return EVERYTHING in globs or (bool(repo) and any(fnmatchcase(repo, glob) for glob in globs))
