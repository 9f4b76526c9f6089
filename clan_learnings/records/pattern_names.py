"""Names of patterns: what is a valid name, which names stand for one pattern, and which pattern superseded which. Reads nothing.

Any member may write thousands of aliases and supersessions, and every session start goes through them, so each one costs little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mesh.core.limits import TEXT_CHARS


def is_slug(value: object) -> bool:
    """Whether a value names a pattern. What the index over records does not know is none: nothing could count under it."""
    return type(value) is str and 0 < len(value) <= TEXT_CHARS


class PatternNames:
    """Names that stand for one pattern: whatever pairs join, in whichever direction they were said."""

    __slots__ = ("_first", "_groups")

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        group: dict[str, list[str]] = {}
        for one, other in pairs:
            large, small = group.setdefault(one, [one]), group.setdefault(other, [other])
            if large is not small:
                if len(large) < len(small):
                    large, small = small, large
                large += small
                for name in small:
                    group[name] = large
        whole: dict[int, frozenset[str]] = {}  # one for all names of a group, not one a name
        self._groups = {
            name: whole.get(id(names)) or whole.setdefault(id(names), frozenset(names))
            for name, names in group.items()
            if len(names) > 1
        }
        self._first: dict[frozenset[str], str] = {names: min(names) for names in whole.values()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __contains__(self, slug: str) -> bool:
        return slug in self._groups

    def of(self, slug: str) -> frozenset[str]:
        """All names of the pattern that has this one."""
        return self._groups.get(slug) or frozenset((slug,))

    def first(self, slug: str) -> str:
        """One name for all of them, which it is does not matter."""
        names = self._groups.get(slug)
        return slug if names is None else self._first[names]


class Successions:
    """Which patterns took the place of which. One that would close a circle is left out: else all of it would be gone."""

    __slots__ = ("_after", "_before", "_names", "by_name", "circles")

    def __init__(self, names: PatternNames, pairs: Iterable[tuple[str, str]]) -> None:
        """`pairs`: old and new name, those that were said first before the others."""
        self._names = names
        self._after: dict[str, list[str]] = {}
        self._before: dict[str, list[str]] = {}
        self.by_name: dict[str, list[str]] = {}  # an old name to new ones, as they were said
        self.circles: set[tuple[str, str]] = set()  # what was left out
        for old, new in dict.fromkeys(pairs):
            first, second = names.first(old), names.first(new)
            if first != second and self._leads(second, first):
                self.circles.add((old, new))
            elif first != second:
                self._after.setdefault(first, []).append(second)
                self._before.setdefault(second, []).append(first)
                self.by_name.setdefault(old, []).append(new)

    def _leads(self, start: str, end: str) -> bool:
        """Whether one pattern was, by whatever steps, superseded by another. Sought from both ends: the shorter way decides."""
        ahead, behind = {start}, {end}
        for one, other in zip(_walk(start, self._after, ahead), _walk(end, self._before, behind), strict=False):
            if one in behind or other in ahead:
                return True
        return False


def _walk(start: str, steps: dict[str, list[str]], seen: set[str]) -> Iterator[str]:
    todo = [start]
    while todo:
        for name in steps.get(todo.pop(), ()):
            if name not in seen:
                seen.add(name)
                todo.append(name)
            yield name
