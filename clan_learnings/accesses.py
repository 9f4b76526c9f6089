"""How often records were opened: one counter a record and month, summed over the fleet. Reads and names; counts nothing itself.

Only who opens a record on purpose counts (`show`, `why`, an agent's fetch): what is listed, found or put into a context was
not asked for by anybody.
"""

from __future__ import annotations

import time

from mesh.core.ids import text_id

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from mesh.store.reading import Reader

KEY = "opened:"  # before the id of a record and a month: opened:<id>:2026-11
DAYS = 90  # an opening counts while a day of its month is among the last so many
_DAY_MS = 86_400_000


def key(record: str, month: str) -> str:
    """The counter of a record, by its whole id, and a month."""
    return f"{KEY}{record}:{month}"


def month_of(at_ms: int) -> str:
    """The month of a time, in UTC."""
    return time.strftime("%Y-%m", time.gmtime(at_ms // 1000))


def lately(now_ms: int) -> list[str]:
    """The months that the last days lie in: three or four."""
    found = dict.fromkeys(month_of(max(0, now_ms - days * _DAY_MS)) for days in range(DAYS, 0, -20))
    return [*found | {month_of(now_ms): None}]


def accesses(reader: Reader, tag: bytes, months: list[str]) -> int:
    """How often a record was opened in these months, on any node."""
    record = text_id(tag)
    return sum(reader.total(key(record, month)) for month in months)
