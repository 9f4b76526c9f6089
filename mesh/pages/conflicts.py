"""Places of a page that people edited without having seen each other's edit, listed so that somebody can read them over. Blocks nothing.

Both edits are in the text already: a conflict is a hint and no state. A place is a line, and adjacent ones are one place. It
is marked when two operations of different nodes, neither of which had seen the other, both

- changed the line: inserted into it, deleted from it, split it or joined it with another; or
- put new lines at one spot, so that nothing that both had seen stands between them; or
- deleted lines here and inserted something among them there,

as long as nobody who had seen both has changed that place since, or has said that they read it over. Two who delete the same
thing agree. Where a line was deleted and somebody else put something at that very spot, what stands there may have been meant
for the next line: it is marked once too often rather than not at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from mesh.core.clock import milliseconds
from mesh.core.limits import HEAD_BYTES
from mesh.pages.blame import BETWEEN, INSIDE, RUN, Annotated
from mesh.pages.edit_acceptance import PageOp
from mesh.pages.text_difference import Edit

# A peer may name any epoch. This many of a node's are streams of their own, further ones go on in the last: what is
# remembered of each operation stays small, whatever is named.
_STREAMS_PER_NODE = 8


class _PageSpot(NamedTuple):
    """Where an operation stands: the how-manieth of its stream, and how many it has seen of the others."""

    stream: int
    number: int
    seen: dict[int, int]


class Ancestry:
    """The operations of a page in the order they were applied, named by their places in it."""

    def __init__(self, ops: Sequence[PageOp]) -> None:
        self._known: dict[bytes, int] = {}
        self._places: list[_PageSpot] = []
        streams: dict[tuple[bytes, int], int] = {}
        epochs: dict[bytes, list[int]] = {}
        last: dict[int, int] = {}  # stream -> its newest operation so far
        for index, op in enumerate(ops):
            stream = _stream(op, streams, epochs)
            before = last.get(stream)
            number, seen = (
                (self._places[before].number + 1, self._places[before].seen) if before is not None else (1, {})
            )
            named = [self._known[head] for head in op.heads if head in self._known]
            self._places.append(_PageSpot(stream, number, self._joined(seen, stream, named)))
            self._known.setdefault(op.tag[:HEAD_BYTES], index)
            last[stream] = index

    def saw(self, one: int, other: int) -> bool:
        """Whether the writer of `one` had `other` before them when they wrote it. Every operation has seen itself."""
        mine, yours = self._places[one], self._places[other]
        if mine.stream == yours.stream:
            return yours.number <= mine.number
        return yours.number <= mine.seen.get(yours.stream, 0)

    def are_apart(self, one: int, other: int) -> bool:
        """Whether neither had seen the other."""
        return not self.saw(one, other) and not self.saw(other, one)

    def newest(self, ops: Iterable[int]) -> list[int]:
        """Those that none of the others has seen."""
        latest: dict[int, int] = {}  # of one stream only the last can be
        for op in ops:
            place = self._places[op]
            if place.stream not in latest or self._places[latest[place.stream]].number < place.number:
                latest[place.stream] = op
        return [
            op for op in latest.values() if not any(other != op and self.saw(other, op) for other in latest.values())
        ]

    def seen_from(self, tags: Iterable[bytes]) -> frozenset[int]:
        """The operations whose tags begin so, and all that they had seen."""
        named = [self._known[tag] for tag in tags if tag in self._known]
        seen = self._joined({}, -1, named)
        return frozenset(i for i, place in enumerate(self._places) if place.number <= seen.get(place.stream, 0))

    def _joined(self, seen: dict[int, int], own: int, named: Iterable[int]) -> dict[int, int]:
        """What was seen with what the named ones bring. The same object if that is nothing new: a long stream keeps one."""
        grown = seen
        for other in named:
            place = self._places[other]
            for stream, number in (*place.seen.items(), (place.stream, place.number)):
                if stream != own and grown.get(stream, 0) < number:
                    grown = dict(seen) if grown is seen else grown
                    grown[stream] = number
        return grown


def _stream(op: PageOp, streams: dict[tuple[bytes, int], int], epochs: dict[bytes, list[int]]) -> int:
    known = epochs.setdefault(op.node, [])
    epoch = op.epoch if op.epoch in known or len(known) < _STREAMS_PER_NODE else known[-1]
    if epoch not in known:
        known.append(epoch)
    return streams.setdefault((op.node, epoch), len(streams))


_MOST_SHOWN = 200  # characters of a deleted text


class PlaceChange(NamedTuple):
    """What one operation did at a place: what stands there of it, and what it deleted there."""

    node: bytes
    at: int
    tag: bytes
    inserted: tuple[str, ...]
    deleted: tuple[str, ...]


class Conflict(NamedTuple):
    """A place to read over: its first and last line, counted from one, its text, and who did what there, oldest first."""

    line: int
    last: int
    text: str
    edits: tuple[PlaceChange, ...]


class _Did:
    """What an operation did to one line."""

    __slots__ = ("deleted", "inserted")

    def __init__(self) -> None:
        self.inserted: list[str] = []
        self.deleted: list[str] = []


class _Seam(NamedTuple):
    """Two lines with text, nothing but line ends between them, and which operations these are from."""

    above: int
    left: int  # the operation of the last character above
    ends: list[int]  # operations of the line ends between
    marks: list[int]
    below: int
    right: int  # the operation of the first character below


def conflicts(
    text: str, ops: Sequence[PageOp], deltas: Sequence[Sequence[Edit]], settled: Iterable[bytes] = ()
) -> list[Conflict]:
    """Return the places of a page that should be read over, from its top.

    `ops` are the operations that count, in the order applied; `deltas` what each did to the text. `text` is the text they
    make, with whatever lines the page has above it. `settled` are beginnings of tags: what these had seen was read over.
    """
    annotated = Annotated(deltas)
    above = text.removesuffix(annotated.text)
    if len(above) + len(annotated.text) != len(text) or len(deltas) != len(ops):
        raise ValueError("not the text that these operations make")
    page = _Page(ops, annotated, settled)
    return page.conflicts(text.split("\n"), above.count("\n"))


def marked(text: str, places: Iterable[Conflict], name_of: Callable[[bytes], str]) -> str:
    r"""Return the page with its conflicts marked, for a person to read; times are UTC, and of each one's newest edit there.

    >>> edited at once by ann·abcde (2026-11-16 10:02) and bob·fghij (2026-11-16 10:05)
    The line, or the lines, as they stand in the page.
    --- ann·abcde deleted "what she deleted there", "and\nthere"
    <<<
    """
    lines = text.split("\n")
    shown: list[str] = []
    done = 0
    for place in places:
        names = {change.node: name_of(change.node) for change in place.edits}
        newest = {node: max(change.at for change in place.edits if change.node == node) for node in names}
        shown += lines[done : place.line - 1]
        shown.append(
            ">>> edited at once by " + _listed([f"{names[node]} ({_when(at)})" for node, at in newest.items()])
        )
        shown += lines[place.line - 1 : place.last]
        for node, name in names.items():
            deleted = [_quoted(part) for change in place.edits if change.node == node for part in change.deleted]
            if deleted:
                shown.append(f"--- {name} deleted {', '.join(deleted)}")
        shown.append("<<<")
        done = place.last
    return "\n".join(shown + lines[done:])


class _Page:
    """A page taken apart into lines, with what each operation did to each."""

    def __init__(self, ops: Sequence[PageOp], annotated: Annotated, settled: Iterable[bytes]) -> None:
        self._ops = ops
        self._ancestry = Ancestry(ops)
        self._settled = self._ancestry.seen_from(settled)
        self._lines: list[dict[int, _Did]] = [{}]
        self._seams: list[_Seam] = []
        self._read(annotated)
        self._surround(annotated)

    def conflicts(self, lines: list[str], above: int) -> list[Conflict]:
        """The places, with adjacent lines made into one."""
        concerned: dict[int, set[int]] = {}
        for line, did in enumerate(self._lines):
            found = self._clashing(did)
            if found:
                concerned[line] = found
        for seam in self._seams:
            if self._is_open(seam):
                for line in range(self._reach(seam.above, seam.left, -1), self._reach(seam.below, seam.right, 1) + 1):
                    concerned.setdefault(line, set()).update((seam.left, seam.right))
        places = []
        for first, last in _stretches(sorted(concerned)):
            who = set[int]().union(*(concerned[line] for line in range(first, last + 1)))
            changes = [self._change(op, first, last) for op in sorted(who, key=self._age)]
            here = "\n".join(lines[above + first : above + last + 1])
            places.append(Conflict(above + first + 1, above + last + 1, here, tuple(changes)))
        return places

    def _read(self, annotated: Annotated) -> None:
        """Lay out what was inserted and deleted in which line. A line end alone changes no line: if it split one, there is a mark."""
        last: tuple[int, int] | None = None  # the line and the operation of the last character that is no line end
        ends: list[int] = []
        marks: list[int] = []
        for piece in annotated.pieces():
            if piece.sort != RUN:
                marks.append(piece.op)
                if piece.sort == INSIDE:
                    did = self._did(len(self._lines) - 1, piece.op)
                    if piece.text:
                        did.deleted.append(piece.text)
                continue
            for number, part in enumerate(piece.text.split("\n")):
                if number:
                    self._lines.append({})
                    ends.append(piece.op)
                if part:
                    line = len(self._lines) - 1
                    self._did(line, piece.op).inserted.append(part)
                    if last is not None and last[0] < line and self._are_apart(last[1], piece.op):
                        self._seams.append(_Seam(*last, ends, marks, line, piece.op))
                    last, ends, marks = (line, piece.op), [], []

    def _surround(self, annotated: Annotated) -> None:
        """Who deleted lines before and behind something that they had not seen has changed it."""
        before: dict[int, int] = {}  # operation -> where its last mark between lines is
        starts: list[int] = []  # the line each piece begins in
        pieces = list(annotated.pieces())
        line = 0
        for index, piece in enumerate(pieces):
            starts.append(line)
            if piece.sort == RUN:
                line += piece.text.count("\n")
            elif piece.sort == BETWEEN:
                begin = before.get(piece.op, index)
                before[piece.op] = index
                within = range(begin + 1, index)
                if all(pieces[i].sort != RUN or self._are_apart(piece.op, pieces[i].op) for i in within):
                    runs = [i for i in within if pieces[i].sort == RUN]
                    parts = [(starts[i] + n, part) for i in runs for n, part in enumerate(pieces[i].text.split("\n"))]
                    for touched in dict.fromkeys(number for number, part in parts if part):
                        self._did(touched, piece.op).deleted += [pieces[begin].text, piece.text]

    def _did(self, line: int, op: int) -> _Did:
        return self._lines[line].setdefault(op, _Did())

    def _are_apart(self, one: int, other: int) -> bool:
        return self._ops[one].node != self._ops[other].node and self._ancestry.are_apart(one, other)

    def _clashing(self, did: Iterable[int]) -> set[int]:
        """Those of a line's operations that somebody else's newest one has not seen.

        That is all there is to ask: if nobody has seen both of two, then their newest followers have not seen each other.
        """
        touched = list(did)
        if len({self._ops[op].node for op in touched}) < 2:
            return set()
        newest = self._ancestry.newest(touched)
        pairs = {(op, other) for other in newest for op in touched if not self._ancestry.saw(other, op)}
        return {
            op
            for pair in pairs
            if self._ops[pair[0]].node != self._ops[pair[1]].node and not self._settled.issuperset(pair)
            for op in pair
        }

    def _is_open(self, seam: _Seam) -> bool:
        """Whether nothing that both had seen stands between, and nobody who had seen both has been here."""
        saw = self._ancestry.saw
        if self._settled.issuperset((seam.left, seam.right)):
            return False
        start, stop = 0, len(seam.ends)
        while start < stop and not saw(seam.right, seam.ends[start]):
            start += 1
        while stop > start and not saw(seam.left, seam.ends[stop - 1]):
            stop -= 1
        if start < stop:
            return False
        here = {*self._lines[seam.above], *self._lines[seam.below], *seam.ends, *seam.marks}
        return not any(saw(op, seam.left) and saw(op, seam.right) for op in here)

    def _reach(self, line: int, op: int, step: int) -> int:
        """The last line in that direction that is of the same operation without a blank line between."""
        while 0 <= line + step < len(self._lines) and self._inserted(line + step, op):
            line += step
        return line

    def _inserted(self, line: int, op: int) -> list[str]:
        did = self._lines[line].get(op)
        return did.inserted if did else []

    def _age(self, op: int) -> tuple[int, bytes]:
        return self._ops[op].at, self._ops[op].tag

    def _change(self, op: int, first: int, last: int) -> PlaceChange:
        did = [self._lines[line][op] for line in range(first, last + 1) if op in self._lines[line]]
        inserted = tuple(part for each in did for part in each.inserted)
        deleted = tuple(dict.fromkeys(part for each in did for part in each.deleted))
        return PlaceChange(self._ops[op].node, self._ops[op].at, self._ops[op].tag, inserted, deleted)


def _stretches(lines: list[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each sequence of adjacent ones."""
    breaks = [0, *(i + 1 for i, (one, next_) in enumerate(pairwise(lines)) if next_ != one + 1), len(lines)]
    for start, stop in pairwise(breaks):
        if start < stop:
            yield lines[start], lines[stop - 1]


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _when(at: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(milliseconds(at) // 1000))


def _quoted(text: str) -> str:
    """A deleted text on one line."""
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[:_MOST_SHOWN])
    return f'"{shown}"' + ("…" if len(text) > _MOST_SHOWN else "")
