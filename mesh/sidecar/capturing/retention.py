"""Keeps the bodies of captured sessions within their budget. What has to go is decided in `clan_learnings.capture.retention`."""

import logging
import time

from clan_learnings.capture.retention import Body, Budget, overdue
from mesh.store.catalogue import Catalogue

log = logging.getLogger("mesh.sidecar")


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
