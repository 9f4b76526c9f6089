"""The time at which a page is to be shown, as people type it."""

from __future__ import annotations

from mesh.core.clock import COUNTER_BITS, pack
from mesh.core.moment import span


def stamp(text: str, now_ms: int) -> int:
    """The last stamp of the time that was meant: a day is over at its end, a minute at its last second.

    So a time that a history shows gives the text with the edits of that minute in it.
    """
    return pack(span(text, now_ms)[1], (1 << COUNTER_BITS) - 1)
