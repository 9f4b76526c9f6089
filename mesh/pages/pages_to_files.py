"""From pages to files: what was edited, renamed or removed elsewhere. Files are replaced or renamed in one step, never written into.

What somebody saves meanwhile is not judged here: a file that is not known to be in step is not touched.
"""

import os
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from mesh.pages import file_replacement
from mesh.pages.file_table import FileRow, Renaming
from mesh.pages.file_text import Content, encoded, read, same
from mesh.pages.sync_state import QUIET_SECONDS, FolderState
from mesh.pages.text_merging import merge

if TYPE_CHECKING:
    from mesh.pages.book import PageInfo


def rename_file(state: FolderState, path: str, to: str) -> FileRow:
    """Give a file another name; if that is another file's, they trade. FileExistsError, FileNotFoundError: nothing was done."""
    folder = state.folder
    is_trade, stamp, other = to in state.rows, folder.stamp(path), folder.stamp(to)
    if stamp is None or (is_trade and other is None):
        raise FileNotFoundError(path if stamp is None else to)
    os.makedirs(os.path.dirname(folder.full(to)), exist_ok=True)
    state.write_rows()
    state.remembered.begin(Renaming(path, stamp.inode, to, other.inode if is_trade and other is not None else 0))
    try:
        (file_replacement.exchange if is_trade else file_replacement.move)(folder.full(path), folder.full(to))
    except OSError:
        state.remembered.give_up()
        raise
    folder.prune(path)
    return state.move(path, to)


def finish_renaming(state: FolderState) -> None:
    """For the start: if we were killed while files got other names, their rows follow, or the names stay as they are."""
    state.write_rows()  # if this was tried before
    begun = state.remembered.begun()
    if begun is None:
        return
    if _is_traded(state, begun) if begun.other_inode else _is_moved(state, begun):
        state.move(begun.path, begun.other)
    else:
        state.remembered.give_up()


def _is_traded(state: FolderState, begun: Renaming) -> bool:
    folder = state.folder
    one, other = folder.full(begun.path), folder.full(begun.other)
    file_replacement.finish_exchange(one, other)
    row, other_row = state.rows.get(begun.path), state.rows.get(begun.other)
    if row is None or other_row is None:
        return False
    stamps = folder.stamp(begun.path), folder.stamp(begun.other)
    numbers = [0 if stamp is None else stamp.inode for stamp in stamps]
    if numbers in ([begun.inode, begun.other_inode], [begun.other_inode, begun.inode]):
        return numbers[0] == begun.other_inode
    # One was saved since, as a new file, and a disk gives numbers out again: what they say has to tell.
    there, here = _text(one), _text(other)
    crossed = _shared_lines(there, other_row.known) + _shared_lines(here, row.known)
    return crossed > _shared_lines(there, row.known) + _shared_lines(here, other_row.known)


def _is_moved(state: FolderState, begun: Renaming) -> bool:
    stamp, other = state.folder.stamp(begun.path), state.folder.stamp(begun.other)
    if begun.path not in state.rows or begun.other in state.rows or other is None:
        return False
    if stamp is not None and stamp.inode == other.inode == begun.inode:
        # Two names of one file, where it takes two steps: take the second. A disk that knows no case has only one.
        if os.lstat(state.folder.full(begun.path)).st_nlink > 1:
            file_replacement.remove(state.folder.full(begun.path))
        return True
    return stamp is None or other.inode == begun.inode


def _text(path: str) -> str:
    try:
        _, content = read(path)
    except OSError:
        return ""
    return content.text if isinstance(content, Content) else ""


def _shared_lines(one: str, other: str) -> int:
    return (Counter(one.split("\n")) & Counter(other.split("\n"))).total()


class FileOutput:
    """One round of bringing files in step with their pages."""

    def __init__(self, state: FolderState, now: float) -> None:
        self._state = state
        self._now = now

    def pages(self, *, is_everything: bool) -> None:
        """Look at all pages, or only at those that are owed something."""
        state = self._state
        pages = state.pages()
        wanted = pages.keys() if is_everything else state.owed & pages.keys()
        state.owed = state.owed & pages.keys()
        for gone in [row for row in state.rows.values() if row.page not in pages]:
            state.owed.add(gone.page)
            if state.may_try(gone.path, self._now):
                with state.guarded(gone.path, self._now):
                    self._drop(gone)
        for page in sorted(wanted, key=lambda page: pages[page].shown):
            row = state.row_of(page)
            path = state.target(pages[page]) if row is None else row.path
            state.owed.add(page)
            if state.may_try(path, self._now):
                with state.guarded(path, self._now):
                    if self._put(pages[page], row):
                        state.owed.discard(page)

    def restore(self, path: str) -> None:
        """Write again a file that nobody removed on purpose."""
        state = self._state
        row = state.rows[path]
        info = state.pages().get(row.page)
        if info is None:
            state.forget(path)
            return
        text = state.book.read(info).text
        # If something is in the way, that is said: nobody has removed the page.
        file_replacement.add(state.folder.full(path), encoded(text, row.style))
        state.missing.discard(path)
        state.to_restore.discard(path)
        state.owed.add(row.page)  # its page may have another name by now
        state.remember(row._replace(page_text=text, file_text=None))

    def _put(self, info: "PageInfo", row: FileRow | None) -> bool:
        """Bring one file in step. False: not now."""
        state = self._state
        target = state.target(info)
        if row is None:
            return self._place(info, target)
        if row.path in state.missing or row.path in state.alone:
            return True  # it is owed again when it comes back, or has been mended
        if _nfc(row.path) != _nfc(target):
            moved = self._move(row, target)
            if moved is None:
                return False
            row = moved
        text = state.book.read(info).text
        return text == row.page_text or self._bring(row, text)

    def _place(self, info: "PageInfo", path: str) -> bool:
        """A file for a page that has none."""
        state = self._state
        if path in state.rows:
            return False  # of a page that has to move away first
        full = state.folder.full(path)
        if os.path.lexists(full):  # before anything is remembered: killed then, it would be taken for the page's own
            if state.alone.pop(path, None) is not None:  # looked at again: perhaps it says the same by now
                state.say_once(path + "/", "warning", f"{full} is in the way of a page's file")
            return False
        os.makedirs(os.path.dirname(full), exist_ok=True)  # if a file is in the way of that, it is said
        text = state.book.read(info).text
        try:
            # Remembered first: after a crash it is a file that is missing, and is restored; else a stranger with our text.
            state.remember(FileRow(path, info.id, text, None, ""))
            file_replacement.add(full, encoded(text, ""))
        except BaseException as error:
            state.forget(path)  # or its file would be missed, and the page removed
            if isinstance(error, FileExistsError):
                return False
            raise
        return True

    def _move(self, row: FileRow, target: str) -> FileRow | None:
        """The file follows its page's name, with all that was typed into it. None: something is in the way."""
        state = self._state
        if target in state.missing:
            return None
        if any(item.is_other and item.path in (row.path, target) for item in state.lingering):
            return None  # what was typed into a file that was replaced is found again by the name it had
        try:
            return rename_file(state, row.path, target)
        except (FileExistsError, FileNotFoundError):
            return None

    def _bring(self, row: FileRow, text: str) -> bool:
        """The page says `text` now: make the same change to its file."""
        state, folder = self._state, self._state.folder
        wanted = text if row.file_text is None else merge(row.page_text, text, row.file_text)
        if same(wanted, row.known):
            state.remember(row._replace(page_text=text, file_text=None if row.known == text else row.known))
            return True
        stamp = state.taken.get(row.path)
        if stamp is None or stamp != folder.stamp(row.path):
            return False  # somebody is writing: theirs is taken first
        try:
            old = file_replacement.replace(folder.full(row.path), encoded(wanted, row.style))
        except FileNotFoundError:
            return False
        del state.taken[row.path]  # looked at again soon: the clock of a disk is coarse
        item = state.linger(row.path, old, row, self._now)
        item.stamp, content = old.read()
        item.is_other = not isinstance(content, Content) or content.text != row.known
        if not item.is_other:
            item.taken = item.stamp
            old.unlink()  # first: killed in between, the old text must not be taken for an edit of the new one
        state.remember(row._replace(page_text=text, file_text=None if wanted == text else wanted))
        return True

    def _drop(self, row: FileRow) -> None:
        """A page was removed elsewhere: its file goes too, but nothing that is only in the file."""
        state, path = self._state, row.path
        folder = state.folder
        is_seen = path in folder.found and folder.stamp(path) == folder.found[path]
        if path not in state.missing and not (is_seen and folder.is_quiet(path, self._now, QUIET_SECONDS)):
            state.owed.add(row.page)  # somebody is writing
            return
        try:
            file = file_replacement.take_away(folder.full(path))
        except FileNotFoundError:
            state.forget(path)
            return
        _, content = file.read()
        is_known = isinstance(content, Content) and content.text == row.known and same(row.known, row.page_text)
        if not is_known:
            try:
                aside = state.keep_aside(path, file.data())
            except OSError:
                file.put_back(folder.full(path))
                raise
            state.say("warning", f"a page was removed elsewhere; what only its file held is kept in {aside}")
        file.close()
        state.forget(path)
        folder.prune(path)


def _nfc(path: str) -> str:
    """Some disks write an accent as a letter of its own."""
    return unicodedata.normalize("NFC", path)
