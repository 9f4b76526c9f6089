"""Merging two changes of one text. Asks nobody and loses nothing: what either side wrote stays.

Both differences are laid over the text they started from. A piece of it stays if both sides kept it; every insertion stays,
also where the other side took away what stood around it. Where both changed the same word, each side's word stays whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mesh.pages.text_difference import Edit, edits

_WORD_CHARS = 100  # how much of a word is taken along when both sides changed it


class _Piece(NamedTuple):
    """A range of the base or an insertion, and which of the two sides have it."""

    text: str
    is_base: bool
    in_mine: bool
    in_theirs: bool


def merge(base: str, mine: str, theirs: str) -> str:
    """The text `theirs` with the change from `base` to `mine` made to it."""
    if mine in (base, theirs):
        return theirs
    if theirs == base:
        return mine
    # Every word: one that both sides kept must not come twice because each side rewrote what stands around it.
    my_edits, their_edits = edits(base, mine, keep_every_word=True), edits(base, theirs, keep_every_word=True)
    return _joined(_pieces(base, *_apart(base, my_edits, their_edits)))


def _apart(base: str, mine: list[Edit], theirs: list[Edit]) -> tuple[list[Edit], list[Edit]]:
    """The edits of both sides, grown to whole words where they touch edits of the other side."""
    if not mine or not theirs:
        return mine, theirs
    same = set(mine).intersection(theirs)
    clashes = [(a, b) for a, b in _touching(mine, theirs) if a not in same and b not in same]
    if not clashes:
        return mine, theirs
    return _grown(base, mine, {a for a, _ in clashes}), _grown(base, theirs, {b for _, b in clashes})


def _touching(mine: list[Edit], theirs: list[Edit]) -> Iterator[tuple[Edit, Edit]]:
    """Pairs of edits that overlap or meet."""
    first = 0
    for edit in mine:
        while first < len(theirs) and theirs[first].at + theirs[first].removed < edit.at:
            first += 1
        place = first
        while place < len(theirs) and theirs[place].at <= edit.at + edit.removed:
            yield edit, theirs[place]
            place += 1


def _grown(base: str, changes: list[Edit], clashing: set[Edit]) -> list[Edit]:
    """The same change, with the clashing edits replacing the whole words they cut into."""
    grown: list[Edit] = []
    stops = [*(edit.at for edit in changes[1:]), len(base)]
    done = 0
    for edit, stop in zip(changes, stops, strict=True):
        at, removed, inserted = edit
        end = at + removed
        if edit in clashing:
            before, after = base[max(at - _WORD_CHARS, done) : at], base[end : min(end + _WORD_CHARS, stop)]
            back, on = _word_end(before), _word_end(after[::-1])
            # A border is inside a word only if letters stand on both sides of it, before or after the change.
            if not (back and (_starts_in_word(inserted or after) or _starts_in_word(base[at:end]))):
                back = 0
            if not (on and (_ends_in_word(inserted or before) or _ends_in_word(base[at:end]))):
                on = 0
            edit = Edit(at - back, back + removed + on, before[len(before) - back :] + inserted + after[:on])  # noqa: PLW2901
        if grown and edit.at <= done:
            last = grown.pop()
            edit = Edit(last.at, edit.at + edit.removed - last.at, last.inserted + edit.inserted)  # noqa: PLW2901
        grown.append(edit)
        done = edit.at + edit.removed
    return grown


def _pieces(base: str, mine: list[Edit], theirs: list[Edit]) -> list[_Piece]:
    """The base cut at the borders of all edits, with the insertions between."""
    borders = {0, len(base)}
    for edit in (*mine, *theirs):
        borders |= {edit.at, edit.at + edit.removed}
    my_places = {edit.at: edit for edit in mine}
    their_places = {edit.at: edit for edit in theirs}
    pieces: list[_Piece] = []
    my_end = their_end = 0  # up to where each side has taken the base away
    ordered = sorted(borders)
    for at, stop in zip(ordered, [*ordered[1:], len(base)], strict=True):
        my_edit, their_edit = my_places.get(at), their_places.get(at)
        pieces += _insertions(my_edit, their_edit)
        my_end = max(my_end, at + my_edit.removed if my_edit else 0)
        their_end = max(their_end, at + their_edit.removed if their_edit else 0)
        pieces.append(_Piece(base[at:stop], True, at >= my_end, at >= their_end))
    return pieces


def _insertions(mine: Edit | None, theirs: Edit | None) -> list[_Piece]:
    """What is inserted at one place: theirs first, but what replaces text behind what only stands before it."""
    my_text = mine.inserted if mine else ""
    their_text = theirs.inserted if theirs else ""
    if my_text == their_text or _holds(their_text, my_text):
        return [_Piece(their_text, False, bool(my_text), True)]
    if _holds(my_text, their_text):
        return [_Piece(my_text, False, True, bool(their_text))]
    pieces = [_Piece(their_text, False, False, True), _Piece(my_text, False, True, False)]
    if mine and theirs and theirs.removed and not mine.removed:
        pieces.reverse()
    return pieces


def _holds(text: str, part: str) -> bool:
    """Whether an insertion begins or ends with the other one: the same words, and some more."""
    if not part or len(part) >= len(text):
        return False
    return (text.startswith(part) and not (part[-1].isalnum() and text[len(part)].isalnum())) or (
        text.endswith(part) and not (part[0].isalnum() and text[-len(part) - 1].isalnum())
    )


def _joined(pieces: list[_Piece]) -> str:
    """The text of what stays. Words that came to stand side by side only through the merge are kept apart."""
    out: list[str] = []
    last: _Piece | None = None
    skipped = ""  # what was taken away since the last piece
    seen_by_mine = seen_by_theirs = False  # whether a side has something between the last piece and this one
    for piece in pieces:
        if not piece.text:
            continue
        if piece.is_base and not (piece.in_mine and piece.in_theirs):
            skipped += piece.text
            seen_by_mine |= piece.in_mine
            seen_by_theirs |= piece.in_theirs
            continue
        if last:
            beside_in_mine = last.in_mine and piece.in_mine and not seen_by_mine
            beside_in_theirs = last.in_theirs and piece.in_theirs and not seen_by_theirs
            if not beside_in_mine and not beside_in_theirs:
                out.append(_separator(last.text[-1], skipped, piece.text[0]))
        out.append(piece.text)
        last, skipped, seen_by_mine, seen_by_theirs = piece, "", False, False
    return "".join(out)


def _separator(before: str, skipped: str, after: str) -> str:
    """What has to stand between two characters that were never neighbours."""
    if before.isspace() or after.isspace():
        return ""
    if "\n" in skipped:
        return "\n"
    return " " if any(map(str.isspace, skipped)) or (_is_word(before) and _is_word(after)) else ""


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _starts_in_word(text: str) -> bool:
    return bool(text) and _is_word(text[0])


def _ends_in_word(text: str) -> bool:
    return bool(text) and _is_word(text[-1])


def _word_end(text: str) -> int:
    """How many word characters a text ends with."""
    count = 0
    while count < len(text) and _is_word(text[-1 - count]):
        count += 1
    return count
