"""Which pieces of one text stay in another. Lists of lines or words in, pairs of positions out.

Matched twice: by the longest common subsequence, and by the heaviest sequence of pieces that stand once in both texts
(patience diff, weighted: moving a short paragraph over a long one moves the short one). What keeps more characters wins.
"""

from bisect import bisect_left

from rapidfuzz.distance import LCSseq

# Bits of one comparison table (50 MB, a tenth of a second) and of all tables of one difference together.
TABLE_CELLS = 400_000_000
ALL_CELLS = 4_000_000_000


class Matching:
    """Finds what is common, with a limit on all the work that goes into it."""

    def __init__(self) -> None:
        self._cells = ALL_CELLS

    def pairs(self, olds: list[str], news: list[str]) -> list[tuple[int, int]]:
        """Which tokens of the old text stay, and where they stand in the new one: ascending on both sides."""
        most = min(len(olds), len(news))
        head = 0
        while head < most and olds[head] == news[head]:
            head += 1
        tail = 0
        while tail < most - head and olds[-1 - tail] == news[-1 - tail]:
            tail += 1
        common = set(olds[head : len(olds) - tail]).intersection(news[head : len(news) - tail])
        ranks = {text: rank for rank, text in enumerate(sorted(common))}
        left = [(at, ranks[olds[at]]) for at in range(head, len(olds) - tail) if olds[at] in ranks]
        right = [(at, ranks[news[at]]) for at in range(head, len(news) - tail) if news[at] in ranks]
        longest = self._longest(left, right)
        anchored = self._anchored(left, right, {rank: len(text) for text, rank in ranks.items()})
        best = max(longest, anchored, key=lambda pairs: sum(len(olds[at]) for at, _ in pairs))
        ends = [(len(olds) - back, len(news) - back) for back in range(tail, 0, -1)]
        return [(at, at) for at in range(head)] + best + ends

    def _longest(self, left: list[tuple[int, int]], right: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The longest common subsequence, or nothing if that would take too long."""
        cells = len(left) * len(right)
        if not cells or cells > min(TABLE_CELLS, self._cells):
            return []
        self._cells -= cells

        blocks = LCSseq.opcodes([rank for _, rank in left], [rank for _, rank in right])
        return [
            (left[block.src_start + step][0], right[block.dest_start + step][0])
            for block in blocks
            if block.tag == "equal"
            for step in range(block.src_end - block.src_start)
        ]

    def _anchored(
        self, left: list[tuple[int, int]], right: list[tuple[int, int]], weights: dict[int, int]
    ) -> list[tuple[int, int]]:
        """The heaviest sequence of tokens that stand once on both sides, and what is common between them."""
        once = _once(left)
        new_once = _once(right)
        anchors = [(at, new_once[rank], weights[rank]) for rank, at in once.items() if rank in new_once]
        chosen = _heaviest(sorted(anchors))
        pairs: list[tuple[int, int]] = []
        at = new_at = 0
        for stop, new_stop in [*chosen, (len(left), len(right))]:
            pairs += self._longest(left[at:stop], right[new_at:new_stop])
            if stop < len(left):
                pairs.append((left[stop][0], right[new_stop][0]))
            at, new_at = stop + 1, new_stop + 1
        return pairs


def same_start(old: str, new: str) -> int:
    """How many characters two texts begin with in common. By halves: comparing slices is far faster than a loop."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def same_end(old: str, new: str, most: int | None = None) -> int:
    """How many characters two texts end with in common, at most `most`."""
    low, high = 0, min(len(old), len(new)) if most is None else most
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _once(tokens: list[tuple[int, int]]) -> dict[int, int]:
    """The tokens that stand once, and where in the list."""
    places: dict[int, int] = {}
    for place, (_, rank) in enumerate(tokens):
        places[rank] = -1 if rank in places else place
    return {rank: place for rank, place in places.items() if place >= 0}


def _heaviest(anchors: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Of (place, new place, weight), sorted by place: those with ascending new places whose weights sum up highest."""
    # A staircase: later ends are kept only while they weigh more, so the best sequence before an end is found by bisection.
    ends: list[int] = []
    steps: list[tuple[int, int]] = []  # weight of the best sequence up to that end, and its last anchor
    before: list[int] = []
    for number, (_, end, weight) in enumerate(anchors):
        spot = bisect_left(ends, end)
        total, last = steps[spot - 1] if spot else (0, -1)
        before.append(last)
        worse = spot
        while worse < len(ends) and steps[worse][0] <= total + weight:
            worse += 1
        ends[spot:worse] = [end]
        steps[spot:worse] = [(total + weight, number)]
    chosen: list[tuple[int, int]] = []
    number = steps[-1][1] if steps else -1
    while number >= 0:
        chosen.append(anchors[number][:2])
        number = before[number]
    return chosen[::-1]
