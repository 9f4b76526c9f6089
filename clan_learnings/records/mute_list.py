"""What this node hides: ids of records and nodes and names of patterns, one a line in a file of the home.

Hides locally and changes nothing shared: counts, tiers and roots stay as they are.
"""

from __future__ import annotations

import os

from clan_learnings.repository.git_config import read_text

FILE = "muted"
_BYTES = 1024 * 1024


def read_muted(home: str) -> frozenset[str]:
    """Everything that is hidden here."""
    text = read_text(os.path.join(home, FILE), _BYTES)
    return frozenset(_read(line) if "\\" in line else line for line in (text or "").split("\n") if line)


def change_muted(home: str, *, add: str = "", remove: str = "") -> bool:
    """Hide something, or show it again. Returns whether that changed anything."""
    before = read_muted(home)
    after = (before | ({add} if add else set())) - ({remove} if remove else set())
    if after == before:
        return False
    path = os.path.join(home, FILE)
    if not after:  # without the file nothing has to be looked at
        os.unlink(path)
        return True
    draft = f"{path}.{os.getpid()}"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.writelines(f"{_written(line)}\n" for line in sorted(after))
    os.rename(draft, path)
    return True


def _written(name: str) -> str:
    """In one line: the name of a pattern is whatever a member has called it."""
    return name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def _read(line: str) -> str:
    parts = [part.replace("\\n", "\n").replace("\\r", "\r") for part in line.split("\\\\")]
    return "\\".join(parts)
