"""Which repositories' harvest may leave this node: globs, one a line in a file of the home. Off for everything else.

Local: another node decides for itself. What a repository says of itself, `share = false` in `.clan-mesh.toml`, stands above it.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

from clan_learnings.repository.git_config import read_text

FILE = "shared"
EVERYTHING = "*"  # alone: also what belongs to no repository
_BYTES = 1024 * 1024
GLOB_CHARS = 300


def read_shared(home: str) -> list[str]:
    """The globs that are switched on, in order."""
    text = read_text(os.path.join(home, FILE), _BYTES)
    return sorted({line.strip() for line in (text or "").split("\n") if line.strip()})


def change_shared(home: str, glob: str, *, on: bool) -> bool:
    """Switch a glob on or off. Says whether that changed anything."""
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
