"""A real home that holds given texts, each written at its own time. Made for one run; knows no question.

Everything goes through the store as a command's writes would, so what searches it is the product and nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from clan_learnings.records.record import CORRECTIONS, DISCOVERIES, PATTERNS, TEXT_CHARS
from mesh.core.draft import Draft, NewRecord
from mesh.store.home import create_home
from mesh.store.store import wall_clock

_SENTENCE = {DISCOVERIES: "text", CORRECTIONS: "right", PATTERNS: "rule"}
_MOMENTS = 1000  # as many transactions at most: what is written in one shares its time
_BATCH = 4096
_LAST_MS = 1 << 47  # clocks have 48 bits


class Item(NamedTuple):
    """One text, and where it goes."""

    id: str
    text: str
    at_ms: int | None = None
    log: str = DISCOVERIES
    fields: Mapping[str, Any] = {}  # of its record, beside the sentence

    def draft(self) -> NewRecord:
        """As it is written. What is too long for a record is cut."""
        return NewRecord(self.log, {_SENTENCE[self.log]: self.text[:TEXT_CHARS], "repo": ""} | dict(self.fields))


def write_home(path: str, items: Sequence[Item], last: Sequence[Draft] = ()) -> dict[bytes, str]:
    """Make a home with these items and, after them, whatever else belongs there; the id of each tag.

    Mesh time is that of the newest item. What has no time is as new as that.
    """
    known = [item.at_ms for item in items if item.at_ms is not None]
    end = _possible(max(known, default=wall_clock()))
    first = _possible(min(known, default=end))
    dated = sorted(((end if item.at_ms is None else _possible(item.at_ms), item) for item in items), key=_at)
    now = first
    author = create_home(path, "bench", now_ms=first).author(clock=lambda: now)
    ids: dict[bytes, str] = {}
    step = max((end - first) // _MOMENTS, 1)
    for _, together in groupby(dated, lambda one: (one[0] - first) // step):
        for batch in _batches([*together]):
            now = batch[-1][0]
            tags = author.append([item.draft() for _, item in batch]).tags
            ids |= {tag: item.id for tag, (_, item) in zip(tags, batch, strict=True)}
    if last:
        author.append(last)
    author.store.close()
    return ids


def _at(dated: tuple[int, Item]) -> int:
    return dated[0]


def _possible(at_ms: int) -> int:
    """A time that a clock can show: what is older than 1970 is of its first moment."""
    return min(max(at_ms, 1), _LAST_MS)


def _batches(items: list[tuple[int, Item]]) -> Iterator[list[tuple[int, Item]]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
