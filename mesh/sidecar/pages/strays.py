"""What somebody left in a folder who was killed while a file was being replaced: nothing that was typed is lost with it."""

import os
from typing import TYPE_CHECKING

from mesh.sidecar.pages import swap
from mesh.sidecar.pages.accord import Accord
from mesh.sidecar.pages.saved import Content, decoded

if TYPE_CHECKING:
    from mesh.sidecar.pages.book import PageInfo


def clear(accord: Accord, now: float) -> None:
    """Put back, save or set aside what every stray file holds, and remove it. For the first look at a folder."""
    for path in accord.folder.strays:
        with accord.guarded(path, now):
            _clear(accord, path)


def _clear(accord: Accord, path: str) -> None:
    full = accord.folder.full(path)
    above = os.path.dirname(path)
    beside = {name for name in {*accord.folder.found, *accord.rows} if os.path.dirname(name) == above}
    stray = swap.stray(full, sorted(os.path.basename(name) for name in beside))
    if not stray.is_draft:
        if stray.of is None:
            accord.say("warning", f"a file that was being replaced is kept in {accord.keep_aside(path, _data(full))}")
        else:
            _settle(accord, full, os.path.join(above, stray.of))
    swap.remove(full)


def _settle(accord: Accord, stray: str, path: str) -> None:
    """The stray file had been in the place of `path`."""
    full, old = accord.folder.full(path), _data(stray)
    if not os.path.lexists(full):
        swap.move(stray, full)
        return
    new = _data(full)
    row = accord.rows.get(path)
    before, after = decoded(old), decoded(new)
    info: PageInfo | None = None if row is None else accord.pages().get(row.page)
    is_new = swap.is_new(stray, new) and isinstance(after, Content)
    if row is not None and isinstance(before, Content):
        if info is not None and row.file_text is None:
            if before.text != row.known:
                accord.editor.save(info, row.page_text, before.text)
            swap.remove(stray)  # first: killed in between, the old text must not be taken for an edit of the new one
            if is_new and isinstance(after, Content):
                accord.remember(row._replace(page_text=after.text))
            return  # a file that was edited since it was put in place is taken like any other, on the old row
        if is_new and before.text == row.known:
            return
    if old != new:
        accord.say("warning", f"what {full} held before it was replaced is kept in {accord.keep_aside(path, old)}")


def _data(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
