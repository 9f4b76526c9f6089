"""What is kept between two renders, so that a change costs only what has changed, and what rendering asks of a store. No SQL here.

The cache can be dropped at any time: everything is then read again, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from clan_learnings.records.record import Note
from clan_learnings.render.listed_patterns import ListedPattern
from clan_learnings.render.record_lines import Place
from mesh.store.reader import Entry

Lines = dict[Place, bytes]


BEGINNING: Place = (0, b"")  # before every record
_RULES = 2000  # kept at most, a few times as many as are listed


class RenderCache:
    """The newest lines of each log, HOT patterns, some others, how many records there are: all of one state."""

    __slots__ = ("counts", "hot", "lines", "progress", "rules")

    def __init__(self) -> None:
        self.progress: dict[str, Any] | None = None
        self.lines: dict[str, Lines] = {}
        self.hot: list[ListedPattern] | None = None
        # Of patterns that are nothing but the records written under their name.
        self.rules: dict[str, ListedPattern | None] = {}
        self.counts: dict[str, int] = {}

    def forget_unless(self, progress: Any) -> None:
        """Keep nothing that is of another state."""
        if self.progress is None or self.progress != progress:
            self.lines, self.hot, self.rules, self.counts = {}, None, {}, {}

    def forget_rules(self, touched: StoreChanges | None) -> None:
        """Keep no pattern that may be another now."""
        if touched is None or touched.keys or touched.erased or len(self.rules) > _RULES:
            self.rules = {}
        else:
            for was in touched.records.values():
                self.rules.pop(was.pattern, None)


def concerns(touched: StoreChanges, log: str) -> bool:
    """Whether something may be another in a log."""
    return bool(touched.erased) or any(was.log == log for was in touched.records.values())


def renewed(
    lines: Lines,
    log: str,
    touched: StoreChanges,
    before: Place,
    most: int,
    made: Callable[[bytes], Note | None],
    line: Callable[[Note], bytes],
) -> tuple[Lines, Lines] | None:
    """The newest lines of a log after a change, and those that are too old for them now. None: older ones are needed.

    `before`: the edge that they had to the older ones; `made`: a live record by its tag.
    """
    fresh = {place: text for place, text in lines.items() if place[1] not in touched.erased}
    for tag, was in touched.records.items():
        place = (was.at, tag)
        if was.log == log and place >= before:
            note = made(tag)
            if note is None:
                fresh.pop(place, None)
            else:
                fresh[place] = line(note)
    if len(fresh) < most and before != BEGINNING:
        return None
    order = sorted(fresh)
    old = order[: max(0, len(order) - most)]
    return {place: fresh[place] for place in order[len(old) :]}, {place: fresh[place] for place in old}


class WrittenRecord(Protocol):
    """A record as it was written."""

    @property
    def log(self) -> str:
        """Its log."""

    @property
    def at(self) -> int:
        """Its stamp."""

    @property
    def pattern(self) -> str:
        """The pattern it was written under."""


class StoreChanges(Protocol):
    """Everything that has changed, or may have."""

    @property
    def records(self) -> Mapping[bytes, WrittenRecord]:
        """Records that came, went or were edited."""

    @property
    def keys(self) -> list[tuple[str, str, Any]]:
        """Registers of keys that were set, or not any more: key, field, value."""

    @property
    def erased(self) -> set[bytes]:
        """Records of which nothing but the tag is known any more."""


class RenderSource(Protocol):
    """One snapshot of a store. A state of it can be remembered, as a value for JSON."""

    def progress(self) -> dict[str, Any]:
        """The state as it is."""

    def since(self, before: dict[str, Any]) -> StoreChanges | None:
        """What has changed since then; None if that cannot be said."""

    def edited(self) -> set[bytes]:
        """Every record of which a field was ever set."""

    def count(self, log: str) -> int:
        """How many live records a log has."""

    def oldest_first(self, log: str) -> Iterator[Entry]:
        """Every live record of a log."""
