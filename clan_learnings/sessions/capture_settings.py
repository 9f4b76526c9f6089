"""How a home captures: whether at all, and how much it keeps. One JSON file of the home; missing or damaged means defaults.

A damaged switch must not switch on what somebody switched off: a file that cannot be read means off.
"""

import json
import os
from typing import Any, NamedTuple

from clan_learnings.sessions.catalogue_table import FOLDER
from clan_learnings.sessions.retention import Budget

FILE = "settings.json"
_BYTES = 64 * 1024


class CaptureSettings(NamedTuple):
    """Of one home."""

    is_on: bool = True  # for the sidecar; `mesh capture` by hand always works
    since_ms: int = (
        0  # when it was last switched on: what was written while it was off stays out, unless it is asked for
    )
    budget: Budget = Budget()


def read_settings(home: str) -> CaptureSettings:
    """As they are."""
    try:
        with open(os.path.join(home, FOLDER, FILE), "rb") as file:
            value = json.loads(file.read(_BYTES))
    except FileNotFoundError:
        return CaptureSettings()
    except (OSError, ValueError, RecursionError):
        return CaptureSettings(is_on=False)
    if not isinstance(value, dict):
        return CaptureSettings(is_on=False)
    default = Budget()
    budget = Budget(*(_number(value.get(name), getattr(default, name)) for name in Budget._fields))
    return CaptureSettings(value.get("on") is not False, _number(value.get("since_ms"), 0), budget)


def write_settings(home: str, settings: CaptureSettings) -> None:
    """Keep them."""
    folder = os.path.join(home, FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    value: dict[str, Any] = {"on": settings.is_on, "since_ms": settings.since_ms, **settings.budget._asdict()}
    path = os.path.join(folder, FILE)
    draft = f"{path}.{os.getpid()}"
    with open(
        os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w", encoding="utf-8"
    ) as file:
        json.dump(value, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    os.rename(draft, path)


def _number(value: Any, default: int) -> int:
    return value if type(value) is int and value > 0 else default
