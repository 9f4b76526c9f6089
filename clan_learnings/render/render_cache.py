"""What one who renders again and again keeps between two renders, so that a change costs what has changed. Disposable.

Without it everything is read anew, and the same comes of it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clan_learnings.records.record import Note
    from clan_learnings.render.listed_patterns import Rule
    from clan_learnings.render.record_lines import Place
    from clan_learnings.render.render_source import Touched

    Lines = dict[Place, bytes]

BEGINNING: Place = (0, b"")  # before every record
_RULES = 2000  # kept at most, a few times as many as are listed


class Kept:
    """The newest lines of each log, HOT patterns, some others, how many records there are: all of one state."""

    __slots__ = ("counts", "hot", "lines", "progress", "rules")

    def __init__(self) -> None:
        self.progress: dict[str, Any] | None = None
        self.lines: dict[str, Lines] = {}
        self.hot: list[Rule] | None = None
        self.rules: dict[str, Rule | None] = {}  # of patterns that are nothing but the records written under their name
        self.counts: dict[str, int] = {}

    def forget_unless(self, progress: Any) -> None:
        """Keep nothing that is of another state."""
        if self.progress is None or self.progress != progress:
            self.lines, self.hot, self.rules, self.counts = {}, None, {}, {}

    def forget_rules(self, touched: Touched | None) -> None:
        """Keep no pattern that may be another now."""
        if touched is None or touched.keys or touched.erased or len(self.rules) > _RULES:
            self.rules = {}
        else:
            for was in touched.records.values():
                self.rules.pop(was.pattern, None)


def concerns(touched: Touched, log: str) -> bool:
    """Whether something may be another in a log."""
    return bool(touched.erased) or any(was.log == log for was in touched.records.values())


def renewed(
    lines: Lines,
    log: str,
    touched: Touched,
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
