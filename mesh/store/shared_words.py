"""Which candidates share words with a text: for each word the numbers of those that have it, in memory once they were asked for.

The table stays the truth; whoever writes to it says so here, or has all of it forgotten.
"""

from array import array
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable
from heapq import nlargest, nsmallest

from mesh.store.database import Run

_MOST_WORDS, _MOST_NUMBERS = 50_000, 4_000_000  # in memory: some 30 MB; beyond, all are read again as they are needed


class SharedWords:
    """The words of one table."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._lists: dict[str, array[int]] = {}
        self._numbers = 0

    def nearest(self, words: Iterable[str], most: int) -> list[int]:
        """The candidates that share the most of these words: most first, of equal ones the oldest."""
        lists = sorted((self._list(word) for word in dict.fromkeys(words)), key=len)
        shared: Counter[int] = Counter()
        for at, numbers in enumerate(lists):
            rest = lists[at:]
            # Words that nearly all have are looked into rather than gone through, if those of the rare words win without them.
            if len(shared) >= most and len(numbers) > len(shared) * len(rest):
                whole = {number: count + sum(_has(each, number) for each in rest) for number, count in shared.items()}
                best = _first(whole, most)
                if whole[best[-1]] > len(rest):
                    return best
            shared.update(numbers)
        return _first(shared, most)

    def note(self, words: Iterable[str], number: int) -> None:
        """A candidate has these words, too."""
        for word in words:
            numbers = self._lists.get(word)
            if numbers is not None and not _has(numbers, number):
                insort(numbers, number)
                self._numbers += 1

    def forget(self) -> None:
        """The table has changed in another way."""
        self._lists.clear()
        self._numbers = 0

    def _list(self, word: str) -> "array[int]":
        found = self._lists.get(word)
        if found is None:
            if len(self._lists) >= _MOST_WORDS or self._numbers >= _MOST_NUMBERS:
                self.forget()
            rows = self._run("SELECT candidate FROM words WHERE word=? ORDER BY candidate", (word,))
            found = self._lists[word] = array("q", (row[0] for row in rows))
            self._numbers += len(found)
        return found


def _first(shared: dict[int, int], most: int) -> list[int]:
    least = min(nlargest(most, shared.values()), default=0)
    better = sorted(
        (number for number, count in shared.items() if count > least), key=lambda each: (-shared[each], each)
    )
    return better + nsmallest(most - len(better), (number for number, count in shared.items() if count == least))


def _has(numbers: "array[int]", number: int) -> bool:
    at = bisect_left(numbers, number)
    return at < len(numbers) and numbers[at] == number
