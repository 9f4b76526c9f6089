"""Which raw bodies of sessions have to go, by budget. Pure: no files, no clock.

By room first: above the soft cap, analysed ones go, oldest first. Above the hard cap, as a last resort, even such as were
never analysed, which is a loss and reported as one. Age is only a backstop, and only for analysed ones. Digests always stay.
"""

import logging
import time
from collections.abc import Iterable
from typing import NamedTuple

from clan_learnings.sessions.catalogue_table import Catalogue

GIB = 1024**3
_DAY_MS = 86_400_000


class Budget(NamedTuple):
    """How much may be kept. More room keeps evidence longer; less is kinder to small disks."""

    soft_bytes: int = 2 * GIB  # of packed bodies; about 20 GB of transcripts
    hard_bytes: int = 4 * GIB  # above it, what nobody has analysed is lost too: it needs a lasting fault to come here
    age_days: int = 365  # analysed bodies older than this go, whatever room there is


class Body(NamedTuple):
    """A session's raw body, as far as it matters here."""

    file: int
    packed_bytes: int
    is_analysed: bool
    at_ms: int


class Verdict(NamedTuple):
    """Whose bodies go."""

    drop: list[int]  # analysed: their digests stay
    lose: list[int]  # not analysed: nothing of them stays


def overdue(bodies: Iterable[Body], budget: Budget, now_ms: int) -> Verdict:
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
    return Verdict(drop, lose)


log = logging.getLogger("mesh.node")


def keep_within(catalogue: Catalogue, budget: Budget, now_ms: int | None = None) -> tuple[int, int]:
    """Drop what is too much. Returns how many bodies were dropped, and how many of them were lost: never analysed."""
    now_ms = int(time.time() * 1000) if now_ms is None else now_ms
    verdict = overdue((Body(*kept) for kept in catalogue.kept()), budget, now_ms)
    dropped = catalogue.drop(verdict.drop) if verdict.drop else 0
    lost = catalogue.drop(verdict.lose, lost=True) if verdict.lose else 0
    if lost:
        log.warning(
            "%d sessions that were never analysed had to go: the hard cap of %d bytes was reached; next: mesh capture --budget",
            lost,
            budget.hard_bytes,
        )
    return dropped, lost
