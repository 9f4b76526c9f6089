"""Words that nobody wrote: which words of the index may have been meant. Bounded work, whatever was typed.

The distance is Damerau's (a letter too many, too few, another one, or two swapped), in its restricted form.
"""

from __future__ import annotations

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SHORTEST = 4  # letters; any shorter word is one slip away from half a dozen others
_LONG = 9  # letters; from here on two slips are forgiven
_LONGEST = 32
_LOOKED_AT = 2000  # words of the index that begin in one way
_MOST_MEANT = 2  # that are as near; of more, none is likely


def may_be_misspelt(word: str) -> bool:
    """Whether it is a word at all: of a script with letters, and of a length that leaves something to recognise."""
    return SHORTEST <= len(word) <= _LONGEST and word.isalpha() and word.isascii()


def nearest(word: str, terms: Callable[[str, int], list[str]]) -> tuple[list[str], int]:
    """The words of an index that are nearest to one that is not in it, and how far they are; none if all are too far.

    `terms`: the words of the index that begin in some way, so many at most.
    """
    allowed = 2 if len(word) >= _LONG else 1
    found: dict[str, int] = {}
    letters = set(word)
    for start in _beginnings(word):
        for term in terms(start, _LOOKED_AT):
            if (
                term in found
                or abs(len(term) - len(word)) > allowed
                or len(letters.symmetric_difference(term)) > 2 * allowed
            ):
                continue
            found[term] = distance(word, term, allowed)
    best = min(found.values(), default=allowed + 1)
    near = sorted(term for term, far in found.items() if far == best)
    return (near, best) if best <= allowed and len(near) <= _MOST_MEANT else ([], best)


def _beginnings(word: str) -> Iterable[str]:
    """How the word that was meant may begin: as it stands, with two letters swapped, or without the second. Few slip at the first letter."""
    return dict.fromkeys((word[:2], word[1] + word[0], word[0] + word[2]))


def distance(one: str, other: str, most: int) -> int:
    """How many slips lie between two words; more than `most` is `most + 1`."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        last, before, row = before, row, [at]
        for there, its in enumerate(other, 1):
            cost = min(before[there] + 1, row[-1] + 1, before[there - 1] + (letter != its))
            if at > 1 and there > 1 and letter == other[there - 2] and one[at - 2] == its:
                cost = min(cost, last[there - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
