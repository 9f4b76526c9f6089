"""Patterns that contradict each other, or seem to be one. They are found for a person to decide; nothing is changed.

Compares those that are shown: HOT ones and the newest. Older ones that nobody repeats do no harm.
"""

from __future__ import annotations

from collections.abc import Iterator

from clan_learnings.records.matching import ComparableCorrection, comparable, compare, opposition
from clan_learnings.records.memory import Memory
from clan_learnings.records.patterns import Pattern

_LOOKED_AT = 200  # patterns
_TEXTS = 6  # newest corrections of each
_COMMON = 25  # a word that so many patterns share brings none of them together


class PatternPair:
    """Two patterns (or one with itself), and what is the matter with them."""

    __slots__ = ("one", "other", "why")

    def __init__(self, one: Pattern, other: Pattern, why: str) -> None:
        self.one = one
        self.other = other
        self.why = why


class PatternConflicts:
    """Everything that was found in one look."""

    def __init__(self, memory: Memory) -> None:
        self.contradictions: list[PatternPair] = []
        self.likely_aliases: list[PatternPair] = []
        looked_at = list(_looked_at(memory))
        readings = {standing.slug: _readings(standing) for standing in looked_at}
        for standing in looked_at:
            self._within(standing, readings[standing.slug])
        for one, other in _close(looked_at, readings):
            if one.scope and other.scope and one.scope != other.scope:
                continue  # they are never in one context
            self._between(one, other, readings)

    def _within(self, standing: Pattern, readings: list[ComparableCorrection]) -> None:
        """A correction that says the opposite of another one that is counted with it."""
        for index, first in enumerate(readings):
            for second in readings[index + 1 :]:
                word = opposition(first, second)
                if word:
                    self.contradictions.append(
                        PatternPair(standing, standing, f"its corrections say opposite things about {word}")
                    )
                    return

    def _between(self, one: Pattern, other: Pattern, readings: dict[str, list[ComparableCorrection]]) -> None:
        verdicts = [compare(first, second) for first in readings[one.slug] for second in readings[other.slug]]
        words = [opposition(first, second) for first in readings[one.slug][:1] for second in readings[other.slug][:1]]
        if words and words[0]:
            self.contradictions.append(PatternPair(one, other, f"opposite about {words[0]}"))
            return
        sureness, why = max(verdicts, default=(0.0, ""))
        if sureness > 0 and 2 * sum(verdict[0] < 0 for verdict in verdicts) <= len(verdicts):
            self.likely_aliases.append(PatternPair(one, other, why))


def _looked_at(memory: Memory) -> Iterator[Pattern]:
    """HOT patterns, then the newest, each once, those that have ended left out."""
    seen: set[str] = set()
    slugs = [item.slug for item in memory.hot(None, _LOOKED_AT)] + memory.patterns.known(_LOOKED_AT)
    for slug in slugs[: 2 * _LOOKED_AT]:
        if slug in seen:
            continue
        standing = memory.patterns.standing(slug)
        seen |= memory.patterns.names(slug)
        if standing is not None and not standing.superseded_by and not standing.archived:
            yield standing


def _readings(standing: Pattern) -> list[ComparableCorrection]:
    """Newest first."""
    texts = [(note.word("wrong"), note.word("right")) for note in reversed(standing.corrections[-_TEXTS:])]
    return [comparable(wrong, right) for wrong, right in texts or [(standing.wrong, standing.rule)]]


def _close(
    standings: list[Pattern], readings: dict[str, list[ComparableCorrection]]
) -> Iterator[tuple[Pattern, Pattern]]:
    """Pairs that have a telling word in common. Comparing all with all would take seconds."""
    having: dict[str, list[int]] = {}
    for number, standing in enumerate(standings):
        for word in {word for reading in readings[standing.slug] for word in reading.hard}:
            having.setdefault(word, []).append(number)
    pairs = {
        (first, second)
        for numbers in having.values()
        if len(numbers) <= _COMMON
        for index, first in enumerate(numbers)
        for second in numbers[index + 1 :]
    }
    for first, second in sorted(pairs):
        yield standings[first], standings[second]
