"""Files that get the names of their pages, or trade theirs, so that a kill at any moment mixes nothing up.

A file system and a database cannot be changed at once. So what is about to be done is said in the database first, with the numbers that
the disk has for the files, which go along with them; whoever starts next looks which file has which number.
"""

import os
from collections import Counter

from mesh.pages import file_replacement
from mesh.pages.file_table import FileRow, Renaming
from mesh.pages.file_text import Content, read
from mesh.pages.sync_state import Accord


def rename(accord: Accord, path: str, to: str) -> FileRow:
    """Give a file another name; if that is another file's, they trade. FileExistsError, FileNotFoundError: nothing was done."""
    folder = accord.folder
    is_trade, stamp, other = to in accord.rows, folder.stamp(path), folder.stamp(to)
    if stamp is None or (is_trade and other is None):
        raise FileNotFoundError(path if stamp is None else to)
    os.makedirs(os.path.dirname(folder.full(to)), exist_ok=True)
    accord.write_rows()
    accord.remembered.begin(Renaming(path, stamp.inode, to, other.inode if is_trade and other is not None else 0))
    try:
        (file_replacement.exchange if is_trade else file_replacement.move)(folder.full(path), folder.full(to))
    except OSError:
        accord.remembered.give_up()
        raise
    folder.prune(path)
    return accord.move(path, to)


def finish(accord: Accord) -> None:
    """For the start: if we were killed while files got other names, their rows follow, or the names stay as they are."""
    accord.write_rows()  # if this was tried before
    begun = accord.remembered.begun()
    if begun is None:
        return
    if _is_traded(accord, begun) if begun.other_inode else _is_moved(accord, begun):
        accord.move(begun.path, begun.other)
    else:
        accord.remembered.give_up()


def _is_traded(accord: Accord, begun: Renaming) -> bool:
    folder = accord.folder
    one, other = folder.full(begun.path), folder.full(begun.other)
    file_replacement.finish_exchange(one, other)
    row, other_row = accord.rows.get(begun.path), accord.rows.get(begun.other)
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


def _is_moved(accord: Accord, begun: Renaming) -> bool:
    stamp, other = accord.folder.stamp(begun.path), accord.folder.stamp(begun.other)
    if begun.path not in accord.rows or begun.other in accord.rows or other is None:
        return False
    if stamp is not None and stamp.inode == other.inode == begun.inode:
        # Two names of one file, where it takes two steps: take the second. A disk that knows no case has only one.
        if os.lstat(accord.folder.full(begun.path)).st_nlink > 1:
            file_replacement.remove(accord.folder.full(begun.path))
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
