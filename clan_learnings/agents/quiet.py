"""Hooks that say nothing: on this machine, until a time or until that is taken back. A small file of the home.

Only what is said to agents is left out. What hooks note for later, they note all the same.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from clan_learnings.repository.git_config import read_text

FILE = "quiet"
FOR_EVER = 0
_BYTES = 64


def quiet_until(home: str, now_ms: int) -> int | None:
    """Until when hooks say nothing, in milliseconds; FOR_EVER if that has no end, None if they speak."""
    path = os.path.join(home, FILE)
    if not os.path.exists(path):
        return None
    text = (read_text(path, _BYTES) or "").strip()
    until = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else FOR_EVER
    return until if until == FOR_EVER or until > now_ms else None


def quiet_sentence(until_ms: int) -> str:
    """That hooks say nothing, and until when."""
    if until_ms == FOR_EVER:
        return "the hooks of this machine say nothing, until that is taken back"
    return f"the hooks of this machine say nothing until {time.strftime('%Y-%m-%d %H:%M', time.gmtime(until_ms / 1000))} UTC"


def be_quiet(home: str, until_ms: int = FOR_EVER) -> None:
    """Say nothing from now on."""
    path = os.path.join(home, FILE)
    draft = f"{path}.{os.getpid()}"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(f"{until_ms}\n")
    os.rename(draft, path)


def speak(home: str) -> None:
    """Speak again."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(home, FILE))
