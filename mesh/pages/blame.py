"""Who wrote which part of a page, and who deleted something where. Plain texts: what each operation did is given, see `Edit`.

A deletion leaves a mark between two characters, which moves along with them. A mark lies *inside* a line or, where whole lines
were deleted, *between* lines: then the lines around it were not changed. As soon as something is inserted exactly there it
lies inside that, because what stands there may have been an edit of what was deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mesh.pages.edit_acceptance import PageOp
from mesh.pages.edit_codec import parse, units
from mesh.pages.text_difference import Edit

RUN, INSIDE, BETWEEN = range(3)  # what a piece is: text, a mark inside a line, a mark between lines
_LINES, _LINES_AFTER, _WITHIN = range(
    3
)  # what an edit changes: "line\n", "\nline" behind a line, or something in a line
_MOST = 256  # pieces a chunk


class Piece(NamedTuple):
    """A run of text by one operation, or a mark of one; the text of a mark is what was deleted there."""

    text: str
    op: int
    sort: int

    @property
    def length(self) -> int:
        """How many characters of the page it is."""
        return len(self.text) if self.sort == RUN else 0


class EditSize(NamedTuple):
    """How much an operation inserted and removed, in UTF-16 units."""

    inserted: int
    removed: int


def summary(op: PageOp) -> EditSize:
    """What an operation says it does, without the page: for a listing of the history. Malformed if it cannot be read."""
    update = parse(op.update)
    return EditSize(sum(units(item.text) for item in update.items), sum(gap.length for gap in update.deletes))


class Annotated:
    """A text that remembers which operation each part is from. Operations are named by their places in the order applied."""

    def __init__(self, deltas: Sequence[Sequence[Edit]] = ()) -> None:
        self.text = ""
        self._op = -1
        self._chunks: list[list[Piece]] = [[]]  # so that one edit moves a few hundred pieces, not all
        self._sizes = [0]  # characters in each
        for delta in deltas:
            self.apply(delta)

    def apply(self, delta: Sequence[Edit]) -> None:
        """Make the edits of the next operation."""
        self._op += 1
        old, end = self.text, len(self.text)
        pieces: list[str] = []
        for edit in reversed(delta):  # from the end, so that the places before stay as they are
            if edit.removed or edit.inserted:
                self._splice(edit, _manner(old, edit))
            pieces += (old[edit.at + edit.removed : end], edit.inserted)
            end = edit.at
        pieces.append(old[:end])
        self.text = "".join(reversed(pieces))

    def pieces(self) -> Iterator[Piece]:
        """All runs and marks in the order of the text."""
        for chunk in self._chunks:
            yield from chunk

    def runs(self) -> Iterator[tuple[str, int]]:
        """The text in parts, each with the operation that inserted it; neighbours are of different ones."""
        held: list[str] = []
        by = -1
        for piece in self.pieces():
            if piece.sort == RUN:
                if piece.op != by and held:
                    yield "".join(held), by
                    held = []
                by = piece.op
                held.append(piece.text)
        if held:
            yield "".join(held), by

    def marks(self) -> Iterator[tuple[int, str, int]]:
        """What was deleted: where in the text now, what, by which operation."""
        at = 0
        for piece in self.pieces():
            if piece.sort != RUN and piece.text:
                yield at, piece.text, piece.op
            at += piece.length

    def _splice(self, edit: Edit, manner: int) -> None:
        first, at = 0, edit.at
        while at > self._sizes[first]:
            at -= self._sizes[first]
            first += 1
        last, room = first, self._sizes[first] - at - edit.removed
        while room <= 0 and last + 1 < len(
            self._chunks
        ):  # also when it ends here: marks of this place may stand in the next
            last += 1
            room += self._sizes[last]
        window = (
            self._chunks[first] if first == last else [p for chunk in self._chunks[first : last + 1] for p in chunk]
        )
        size = sum(self._sizes[first : last + 1])
        start = _cut(window, 0, at)
        stop = _cut(window, start, edit.removed)
        before = _marks_from(window, start) if edit.removed else stop
        after = _marks_from(window, stop)
        window[start:after] = self._placed(edit, manner, window[start:before], window[before:stop], window[stop:after])
        self._put(first, last, window, size - edit.removed + len(edit.inserted))

    def _placed(
        self, edit: Edit, manner: int, before: list[Piece], removed: list[Piece], after: list[Piece]
    ) -> list[Piece]:
        """What comes where the edit was made: the marks before it and after it, those in what it removed, and its own."""
        deleted = "".join(piece.text for piece in removed if piece.sort == RUN)
        between = [piece for piece in removed if piece.sort != RUN]
        if not edit.inserted:
            if manner == _LINES:  # marks before it lie in the first deleted line, those after it in the line that stays
                before, between = _moved(before, BETWEEN), _moved(between, BETWEEN)
            elif manner == _LINES_AFTER:  # the other way round
                between, after = _moved(between, BETWEEN), _moved(after, BETWEEN)
            own = Piece(deleted, self._op, INSIDE if manner == _WITHIN else BETWEEN)
            return [*before, *between, own, *after]
        text = Piece(edit.inserted, self._op, RUN)
        mark = [Piece(deleted, self._op, INSIDE)] if deleted else []
        if not edit.removed:  # all marks of this place are in `after`
            met = _moved([piece for piece in after if piece.sort == BETWEEN], INSIDE)
            kept = [piece for piece in after if piece.sort == INSIDE]
            if manner == _LINES:
                return [*met, text, *kept]
            if manner == _LINES_AFTER:
                return [*kept, text, *met]
            if "\n" in edit.inserted:  # a line was split: both parts of it are changed
                split = Piece("", self._op, INSIDE)
                return [*kept, *met, split, text, split]
            return [*kept, *met, text]
        if manner == _LINES_AFTER:
            return [*before, text, *between, *mark, *after]
        split_end = [Piece("", self._op, INSIDE)] if manner == _WITHIN and "\n" in edit.inserted else []
        return [*before, *between, *mark, text, *split_end, *after]

    def _put(self, first: int, last: int, window: list[Piece], size: int) -> None:
        if len(window) <= _MOST:
            self._chunks[first : last + 1] = [window]
            self._sizes[first : last + 1] = [size]
            return
        parts = [window[i : i + _MOST // 2] for i in range(0, len(window), _MOST // 2)]
        self._chunks[first : last + 1] = parts
        self._sizes[first : last + 1] = [sum(piece.length for piece in part) for part in parts]


def _manner(old: str, edit: Edit) -> int:
    """Whether an edit takes or brings whole lines only. A line may be taken with the line end before it or behind it."""
    end = edit.at + edit.removed
    removed = old[edit.at : end]
    at_start = edit.at == 0 or old[edit.at - 1] == "\n"
    at_end = end == len(old) or old[end] == "\n"
    if at_start and (end == len(old) or all(part.endswith("\n") for part in (removed, edit.inserted) if part)):
        return _LINES
    if at_end and all(part.startswith("\n") for part in (removed, edit.inserted) if part):
        return _LINES_AFTER
    return _WITHIN


def _cut(window: list[Piece], index: int, at: int) -> int:
    """The index of the first piece `at` characters behind the one at `index`; a run is cut in two if need be."""
    while at > 0:
        text, op, sort = window[index]
        if sort == RUN:
            if len(text) > at:
                window[index : index + 1] = [Piece(text[:at], op, RUN), Piece(text[at:], op, RUN)]
            at -= len(text)
        index += 1
    return index


def _marks_from(window: list[Piece], index: int) -> int:
    """The index behind the marks that stand at `index`."""
    while index < len(window) and window[index].sort != RUN:
        index += 1
    return index


def _moved(marks: list[Piece], sort: int) -> list[Piece]:
    return [Piece(mark.text, mark.op, sort) for mark in marks]
