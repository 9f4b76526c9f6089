"""How a home captures: whether at all, how much it keeps, and which raw bodies have to go. The settings are one JSON file of the home.

A missing or damaged file means defaults; a file that cannot be read means off: damage must not switch on what somebody switched off.

Bodies go by room first: above the soft cap, analysed ones, oldest first. Above the hard cap, as a last resort, even such as
were never analysed, which is a loss and reported as one. Age is a backstop, for analysed ones only. Digests always stay.
"""

import json
import logging
import os
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from clan_learnings.sessions.catalogue_rows import KeptBody
from clan_learnings.sessions.catalogue_table import FOLDER, Catalogue

log = logging.getLogger("mesh.node")

GIB = 1024**3
_DAY_MS = 86_400_000


class Budget(NamedTuple):
    """How much may be kept. More room keeps evidence longer; less is kinder to small disks."""

    soft_bytes: int = 2 * GIB  # of packed bodies; about 20 GB of transcripts
    hard_bytes: int = 4 * GIB  # above it, what nobody has analysed is lost too: it needs a lasting fault to come here
    age_days: int = 365  # analysed bodies older than this go, whatever room there is


class OverdueBodies(NamedTuple):
    """Whose bodies go."""

    drop: list[int]  # analysed: their digests stay
    lose: list[int]  # not analysed: nothing of them stays


def overdue(bodies: Iterable[KeptBody], budget: Budget, now_ms: int) -> OverdueBodies:
    """What has to go so that the rest fits."""
    oldest_first = sorted(bodies, key=lambda body: (body.at_ms, body.file))
    total = sum(body.packed_bytes for body in oldest_first)
    drop, lose = [], []
    for body in oldest_first:
        is_old = body.at_ms < now_ms - budget.age_days * _DAY_MS
        if body.is_analysed and (is_old or total > budget.soft_bytes):
            drop.append(body.file)
            total -= body.packed_bytes
    for body in oldest_first:
        if not body.is_analysed and total > budget.hard_bytes:
            lose.append(body.file)
            total -= body.packed_bytes
    return OverdueBodies(drop, lose)


def keep_within(catalogue: Catalogue, budget: Budget, now_ms: int | None = None) -> tuple[int, int]:
    """Drop what is too much. Returns how many bodies were dropped, and how many of them were lost: never analysed."""
    now_ms = int(time.time() * 1000) if now_ms is None else now_ms
    verdict = overdue(catalogue.kept(), budget, now_ms)
    dropped = catalogue.drop(verdict.drop) if verdict.drop else 0
    lost = catalogue.drop(verdict.lose, lost=True) if verdict.lose else 0
    if lost:
        log.warning(
            "%d sessions that were never analysed had to go: the hard cap of %d bytes was reached; next: mesh capture --budget",
            lost,
            budget.hard_bytes,
        )
    return dropped, lost


FILE = "settings.json"
_BYTES = 64 * 1024


class CaptureSettings(NamedTuple):
    """Of one home."""

    is_on: bool = True  # for the node; `mesh capture` by hand always works
    since_ms: int = (
        0  # when it was last switched on: what was written while it was off stays out, unless it is asked for
    )
    budget: Budget = Budget()


def read_settings(home: str) -> CaptureSettings:
    """The settings of a home."""
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
    """Write the settings of a home."""
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
