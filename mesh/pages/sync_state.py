"""What a folder and its pages have agreed on: which file is which page, and what both said when they last matched.

Shared by those who take from files and those who write to them; what is done about a difference is decided there.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from mesh.core.errors import MeshError, WriteRefused
from mesh.pages import file_replacement
from mesh.pages.file_table import FileRow, Renaming
from mesh.pages.file_text import Content, Stamp, decoded
from mesh.pages.folder_listing import Folder
from mesh.pages.page_names import path_of

if TYPE_CHECKING:
    from mesh.pages.book import Book, PageInfo
    from mesh.pages.editor import Editor


Say = Callable[[str, str], None]  # a level of the log, and a sentence

QUIET_SECONDS = 0.04  # a file is taken when it was the same on two looks so far apart: it may be half written
EMPTY_SECONDS = 1.0  # an empty one: an editor may have emptied it before writing
LINGER_SECONDS = 2.0  # so long a file that was replaced is still read, and a save may be one that was begun before
_MOST_DISPLACED = 64  # each holds a descriptor
_AGAIN_SECONDS = 3.0  # after a failure
REFUSED_SECONDS = 60.0  # after one that lasts: this node may write no more for now


class Remembered(Protocol):
    """Where the rows of one folder are kept."""

    def get(self, path: str) -> FileRow | None:
        """The row of a file."""

    def put(self, row: FileRow) -> None:
        """Keep a row, in place of the one with its path."""

    def drop(self, path: str) -> None:
        """Forget a row, if there is one."""

    def move(self, path: str, to: str) -> None:
        """Give a row another path; the one that had it gets the old one. At once; a renaming is over with that."""

    def begin(self, renaming: Renaming) -> None:
        """Files are about to get other names. On disk when this returns."""

    def begun(self) -> Renaming | None:
        """A renaming that is not over."""

    def give_up(self) -> None:
        """Nothing came of it."""

    def all(self) -> list[FileRow]:
        """Every row."""


class ReplacedFile:
    """A file that another was put in the place of: what it said then, and until when it is listened to."""

    def __init__(self, path: str, file: file_replacement.DisplacedFile, row: FileRow, now: float) -> None:
        self.path = path
        self.file = file
        self.base = row.page_text
        self.text = row.known
        self.began = self.since = now
        self.stamp: Stamp | None = None
        self.taken: Stamp | None = None
        self.is_other = False  # it says what was not known when it was replaced, and has not been saved yet


class FolderState:
    """The state of one synced folder."""

    def __init__(
        self, folder: str, book: "Book", editor: "Editor", remembered: Remembered, say: Say, prefix: str
    ) -> None:
        self.folder = Folder(folder)
        self.book = book
        self.editor = editor
        self.prefix = prefix + "/" if prefix else ""
        self.say = say
        self.remembered = remembered
        self._unwritten: list[Callable[[], None]] = []  # what could not be remembered yet, in its order
        self.rows = {row.path: row for row in remembered.all()}
        self._paths = {row.page: row.path for row in self.rows.values()}
        self.taken: dict[str, Stamp] = {}  # files as they were when they were read and found, or brought, in step
        self.alone: dict[str, Stamp] = {}  # files that cannot be pages as they are
        self.missing: set[str] = set()  # files that were there and are not: perhaps only for a moment
        self.to_restore: set[str] = set()  # those of them that nobody has removed on purpose
        self.lingering: list[ReplacedFile] = []
        self.unseen: set[str] = set()  # files that were there at the first look and were not read since
        self.owed: set[bytes] = set()  # pages whose files could not be brought in step just now
        self._said: dict[str, set[str]] = {}
        self._again: dict[str, float] = {}

    # Rows

    def row_of(self, page: bytes) -> FileRow | None:
        """The row of a page."""
        path = self._paths.get(page)
        return None if path is None else self.rows[path]

    def remember(self, row: FileRow) -> None:
        """Keep a row. On disk only when nothing that was typed meanwhile waits: after a crash the old row is its base."""
        self.rows[row.path] = row
        self._paths[row.page] = row.path
        if not any(item.is_other and item.path == row.path for item in self.lingering):
            self._write(lambda: self.remembered.put(row))

    def follow_new_ids(self) -> None:
        """A page that was made while the clock was ahead has been written again under another id: its file stays its file."""
        names = self.book.new_ids()
        for row in [row for row in self.rows.values() if row.page in names]:
            self._paths.pop(row.page, None)
            self.owed.add(names[row.page])
            self.remember(row._replace(page=names[row.page]))

    def forget(self, path: str) -> None:
        """A file is no page's any more."""
        self._leave(path)
        self._write(lambda: self.remembered.drop(path))

    def move(self, path: str, to: str) -> FileRow:
        """A file has another name. If that was another file's, this one has the old name now."""
        names = {path: to, to: path}
        rows = [self.rows[old] for old in names if old in self.rows]
        stamps = {names[row.path]: self.taken[row.path] for row in rows if row.path in self.taken}
        for row in rows:
            self._leave(row.path)
        for item in self.lingering:
            item.path = names.get(item.path, item.path)
        for row in rows:
            self.rows[names[row.path]] = row._replace(path=names[row.path])
            self._paths[row.page] = names[row.path]
        self.taken.update(stamps)
        unread = {new for old, new in names.items() if old in self.unseen}
        self.unseen = (self.unseen - names.keys()) | unread
        # Last: the files have these names, whether that can be written or not.
        self._write(lambda: self.remembered.move(path, to))
        return self.rows[to]

    def write_rows(self) -> None:
        """What could not be remembered when it happened: rows go by paths, so each is written in its turn, or none."""
        while self._unwritten:
            self._unwritten[0]()
            del self._unwritten[0]

    def _write(self, write: Callable[[], None]) -> None:
        self._unwritten.append(write)
        self.write_rows()

    def _leave(self, path: str) -> None:
        row = self.rows.pop(path, None)
        if row is not None and self._paths.get(row.page) == path:
            del self._paths[row.page]
        self.taken.pop(path, None)
        self.missing.discard(path)
        self.to_restore.discard(path)

    # Pages

    def pages(self) -> dict[bytes, "PageInfo"]:
        """The pages whose files belong here."""
        return {info.id: info for info in self.book.pages() if info.shown.startswith(self.prefix)}

    def target(self, info: "PageInfo") -> str:
        """The path a page's file should have."""
        return path_of(info.shown.removeprefix(self.prefix))

    # Files

    def linger(self, path: str, file: file_replacement.DisplacedFile, row: FileRow, now: float) -> ReplacedFile:
        """Go on listening to a file that was replaced, or the newest of many."""
        item = ReplacedFile(path, file, row, now)
        self.lingering.append(item)
        calm = [old for old in self.lingering if not old.is_other]
        for old in calm[: max(0, len(self.lingering) - _MOST_DISPLACED)]:
            self.let_go(old)
        return item

    def let_go(self, item: ReplacedFile) -> None:
        """Listen no more. What was not heard keeps its name: the next start finds it."""
        self.lingering.remove(item)
        if not item.is_other:
            self._take_name(item)
        item.file.close(is_kept=item.is_other)

    def heard(self, item: ReplacedFile) -> None:
        """What it says is saved: the row may go to disk, and the file's name away."""
        item.taken, item.is_other = item.stamp, False
        self._take_name(item)
        if item.path in self.rows:
            self.remember(self.rows[item.path])

    def _take_name(self, item: ReplacedFile) -> None:
        """It may have been the last in its folder: the page may have another name by now."""
        path = item.file.path
        item.file.unlink()
        if path is not None:
            self.folder.prune(os.path.relpath(path, self.folder.path))

    def keep_aside(self, path: str, data: bytes) -> str:
        """Write what found no place beside where it would have been, under a name that is no page. Returns that name."""
        number = 0
        while True:
            name = f"{path}.{number}.rej" if number else f"{path}.rej"
            try:
                file_replacement.add(self.folder.full(name), data)
            except FileExistsError:
                number += 1
            else:
                return self.folder.full(name)

    # Words

    def say_once(self, path: str, level: str, text: str) -> None:
        """Until all is well with that file."""
        said = self._said.setdefault(path, set())
        if text not in said:
            said.add(text)
            self.say(level, text)

    def is_well(self, path: str) -> None:
        """What was said about a file is over."""
        self._said.pop(path, None)

    def may_try(self, path: str, now: float) -> bool:
        """Whether a file failed just now."""
        return now >= self._again.get(path, now)

    def tries(self) -> list[float]:
        """When files that failed are tried again."""
        return list(self._again.values())

    @contextmanager
    def guarded(self, path: str, now: float) -> Iterator[None]:
        """Whatever is wrong with one file is said, and tried again later: the others go on."""
        self._again.pop(path, None)
        try:
            yield
        except Exception as error:  # noqa: BLE001 (a full disk or a damaged page can make anything fail)
            self._again[path] = now + (REFUSED_SECONDS if isinstance(error, WriteRefused) else _AGAIN_SECONDS)
            if isinstance(error, MeshError):
                reason = f"{error}; next: {error.next_step}" if error.next_step else str(error)
            elif isinstance(error, OSError):
                reason = error.strerror or str(error)
            else:
                reason = f"{type(error).__name__}: {error}"
            self.say_once(path, "warning", f"{os.path.join(self.folder.path, path)} is not in step: {reason}")


def clear(state: FolderState, now: float) -> None:
    """Put back, save or set aside what every stray file holds, and remove it. For the first look at a folder."""
    for path in state.folder.strays:
        with state.guarded(path, now):
            _clear(state, path)


def _clear(state: FolderState, path: str) -> None:
    full = state.folder.full(path)
    above = os.path.dirname(path)
    beside = {name for name in {*state.folder.found, *state.rows} if os.path.dirname(name) == above}
    stray = file_replacement.stray(full, sorted(os.path.basename(name) for name in beside))
    if not stray.is_draft:
        if stray.of is None:
            state.say("warning", f"a file that was being replaced is kept in {state.keep_aside(path, _data(full))}")
        else:
            _settle(state, full, os.path.join(above, stray.of))
    file_replacement.remove(full)


def _settle(state: FolderState, stray: str, path: str) -> None:
    """The stray file had been in the place of `path`."""
    full, old = state.folder.full(path), _data(stray)
    if not os.path.lexists(full):
        file_replacement.move(stray, full)
        return
    new = _data(full)
    row = state.rows.get(path)
    before, after = decoded(old), decoded(new)
    info: PageInfo | None = None if row is None else state.pages().get(row.page)
    is_new = file_replacement.is_new(stray, new) and isinstance(after, Content)
    if row is not None and isinstance(before, Content):
        if info is not None and row.file_text is None:
            if before.text != row.known:
                state.editor.save(info, row.page_text, before.text)
            file_replacement.remove(
                stray
            )  # first: killed in between, the old text must not be taken for an edit of the new one
            if is_new and isinstance(after, Content):
                state.remember(row._replace(page_text=after.text))
            return  # a file that was edited since it was put in place is taken like any other, on the old row
        if is_new and before.text == row.known:
            return
    if old != new:
        state.say("warning", f"what {full} held before it was replaced is kept in {state.keep_aside(path, old)}")


def _data(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
