"""Which operations put a piece of text into a page, at any time, also letter by letter. For erasing it."""

from __future__ import annotations

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mesh.pages.difference import Edit


def holders(deltas: Sequence[Sequence[Edit]], secret: str) -> set[int]:
    """The operations, by their place in the order they were applied, that inserted some letter of an occurrence.

    Every state the text went through is looked at, around what was changed: an occurrence that is gone by now stands in
    the history all the same.
    """
    text, owners, found = "", list[int](), set[int]()
    for number, delta in enumerate(deltas):
        shift = 0
        places = []
        for edit in delta:
            at = edit.at + shift
            text = text[:at] + edit.inserted + text[at + edit.removed :]
            owners[at : at + edit.removed] = [number] * len(edit.inserted)
            shift += len(edit.inserted) - edit.removed
            places.append((at, at + len(edit.inserted)))
        for first, last in places:
            start = max(0, first - len(secret) + 1)
            at = text.find(secret, start, last + len(secret) - 1)
            while at >= 0:
                found.update(owners[at : at + len(secret)])
                at = text.find(secret, at + 1, last + len(secret) - 1)
    return found
