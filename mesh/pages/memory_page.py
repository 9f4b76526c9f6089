"""MEMORY.md as people edit it: text above its line goes into the page `memory`; changes below it are kept aside.

Everything else in the file is rendered, and whoever renders leaves a file alone that somebody has edited. Here the edit is
brought to safety, and then the file is put right again. Nobody renders into the folder meanwhile.

- The line was removed or damaged: what stands above the lower half is hand-kept; a line that is not ours any more is put aside.
- No half can be told from the other: the whole file is put aside, and the page stays as it is.
- The file was emptied or deleted: that says nothing about the page. It is rendered again.
"""

import difflib
import errno
import os

from clan_learnings.redaction import describe
from clan_learnings.render import memory_file
from clan_learnings.render.files import MEMORY_FILE
from clan_learnings.render.memory_file import MemoryEdit, RenderedHalves
from clan_learnings.render.owned_files import RenderState, as_dict, content, has_mark
from mesh.core.errors import HomeBusy, MayNotWrite, MeshError, WriteRefused
from mesh.pages.book import Book, PageInfo, whole
from mesh.pages.editor import Editor
from mesh.pages.file_replacement import keep_aside, replaced
from mesh.pages.file_text import Stamp, stamp_of
from mesh.pages.memory_text import NAME, memory_page
from mesh.pages.sync_state import EMPTY_SECONDS, QUIET_SECONDS, REFUSED_SECONDS, Say
from mesh.pages.text_difference import applied, edits

_ROUNDING = 1e-6
_AGAIN_SECONDS = 3.0  # after a failure
_BUSY_SECONDS = 0.3  # while somebody renders
_PATIENCE_SECONDS = 0.1
_MOST_DIFF_CHARS = 200_000  # a comparison of more takes too long: then all of it is put aside
_WHAT = (
    "What was changed by hand in {}, where it is generated or cannot be told from what is. To record it instead:"
    " `mesh correct`, `mesh discover`; to keep it by hand: `mesh page edit memory`.\n"
)


class MemoryFile:
    """The file of one folder. It can be driven like a `FolderSync`, or be told to look at once. Not for two threads."""

    def __init__(
        self, folder: str, book: "Book", editor: "Editor", say: Say, *, patience_seconds: float = _PATIENCE_SECONDS
    ) -> None:
        self.folder = folder
        self.path = os.path.join(folder, MEMORY_FILE)
        self._book = book
        self._editor = editor
        self._say = say
        self._patience_seconds = patience_seconds
        self._seen: Stamp | None = None
        self._since = 0.0
        self._settled: Stamp | None = None
        self._refused: Stamp | None = (
            None  # what could not be written then, and until when that need not be tried again
        )
        self._refused_until = 0.0
        self._said = ""

    def identity(self) -> tuple[int, int] | None:
        """The identity of the folder: if it changes, watch the new folder. None: nothing was rendered yet."""
        try:
            found = os.stat(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_dev, found.st_ino

    def close(self) -> None:
        """Nothing is held open."""

    def step(self, now: float, *, files: bool = True, pages: bool = True) -> float | None:
        """Do what is due; `files`, `pages`: whether some may have changed. Returns when to come again in any case."""
        try:
            if pages:
                self.work_out()
            if now < self._refused_until and self._stamp() == self._refused:
                return self._refused_until
            return self._step(now) if files or self._seen != self._settled else None
        except HomeBusy:
            return now + _BUSY_SECONDS
        except WriteRefused as error:
            self._complain(error)
            self._refused, self._refused_until = self._seen, now + REFUSED_SECONDS
            return self._refused_until
        except (MeshError, OSError) as error:
            self._complain(error)
            return now + _AGAIN_SECONDS

    def look(self) -> bool:
        """Bring to safety what somebody has typed, and put the file right. Whether there was something."""
        if self._edited() is None:  # a look without the lock: most often the file is as it was rendered
            return False
        with RenderState(self.folder, self._patience_seconds) as state:
            remembered = state.read()
            known = memory_file.RenderedHalves(remembered.get("memory"))
            data = self._edited(known)
            if data is None:
                return False
            written = self._settle(data, known)
            if "progress" in remembered:
                files = as_dict(remembered.get("files")) | {MEMORY_FILE: self._stamp_of(written)}
                state.write(remembered | {"memory": known.value(), "files": files})
        return True

    def _step(self, now: float) -> float | None:
        stamp = self._stamp()
        if stamp != self._seen:
            self._seen, self._since = stamp, now
        if stamp is None or stamp == self._settled:
            return None
        quiet_at = self._since + (QUIET_SECONDS if stamp.size else EMPTY_SECONDS)
        if now < quiet_at - _ROUNDING:
            return quiet_at
        is_done = not self.look()
        self._said = ""
        self._settled = stamp if is_done else None
        return None if is_done else now + QUIET_SECONDS

    def work_out(self) -> None:
        """Have the page's text computed: rendering shows the last one that was."""
        info = memory_page(self._book)
        if info is not None:
            self._book.read(info)

    def _stamp(self) -> Stamp | None:
        try:
            return stamp_of(os.lstat(self.path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _edited(self, known: "RenderedHalves | None" = None) -> bytes | None:
        """What the file says, if it is ours and somebody has edited it."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                return None  # rendering reports it
            raise
        with open(descriptor, "rb") as file:
            data = file.read()
        if not data or not (has_mark(data) or memory_file.is_ours(data)):
            return None
        is_other = not memory_file.is_rendered(data) if known is None else memory_file.is_edited(data, known)
        return data if is_other else None

    def _settle(self, data: bytes, known: "RenderedHalves") -> bytes:
        """Take the edit, put the file right, and take what was saved in between. Returns what the file says in the end."""
        waiting: bytes | None = data
        in_place = data
        while waiting is not None:
            new = self._taken(waiting, known)
            try:
                waiting = replaced(self.path, new, in_place)
            except FileNotFoundError:
                break  # deleted meanwhile: it is rendered again
            in_place = new
        return in_place

    def _taken(self, data: bytes, known: "RenderedHalves") -> bytes:
        """Bring an edit to safety. Returns what the file has to say now."""
        text = memory_file.text_of(data)
        found = None if text is None else memory_file.read(text)
        if found is None:
            self._put_aside(
                _WHAT.format(MEMORY_FILE).encode() + data, "what is hand-kept in it cannot be told any more"
            )
        else:
            change = memory_file.change(found, known)
            if change.hand is not None:
                try:
                    self._save(change, known)
                except MayNotWrite as error:
                    self._put_aside(f"{_WHAT.format(MEMORY_FILE)}{change.hand}".encode(), str(error))
            if change.generated is not None:
                difference = self._difference(known.generated, change.generated)
                self._put_aside(difference, "what was changed below its line is generated")
            elif known.generated is None:
                known.generated = found.generated
        info = memory_page(self._book)
        hand = "" if info is None else memory_file.normal(whole(self._book.read(info).plain))
        known.show(hand, known.generated or "")
        return memory_file.compose(hand, known.generated or "").encode()

    def _save(self, change: "MemoryEdit", known: "RenderedHalves") -> None:
        mine, info = change.hand or "", memory_page(self._book)
        if info is None:
            _, saved = self._editor.new(NAME, mine)
        else:
            saved = self._editor.save(info, self._base(info, change, known), mine)
        if saved.findings:
            self._say("warning", f"taken out of {self.path} before it was saved: {describe(saved.findings)}")
        elif change.base is not None:  # who saves the same file once more has seen nothing newer than this
            known.hands = {change.base: mine} | {
                name: text for name, text in known.hands.items() if name != change.base
            }

    def _base(self, info: "PageInfo", change: "MemoryEdit", known: "RenderedHalves") -> str:
        """What the text was before it was edited. If nobody knows: what it has in common with the page, so all of both stays."""
        if change.base is not None and change.base in known.hands:
            return known.hands[change.base]
        now = memory_file.normal(whole(self._book.read(info).plain))
        if change.base == memory_file.digest(now):
            return now
        return applied(now, [edit._replace(inserted="") for edit in edits(now, change.hand or "")])

    def _difference(self, before: str | None, after: str) -> bytes:
        what = _WHAT.format(MEMORY_FILE)
        if before is None or len(before) + len(after) > _MOST_DIFF_CHARS:
            return (what + after).encode()
        old, new = (text.strip("\n").split("\n") for text in (before, after))
        found = difflib.unified_diff(old, new, MEMORY_FILE, f"{MEMORY_FILE} as it was edited", lineterm="")
        return (what + "\n".join(found) + "\n").encode()

    def _put_aside(self, data: bytes, what: str) -> None:
        self._say("warning", f"{self.path}: {what}; it was put into {keep_aside(self.path, data)}")

    def _stamp_of(self, written: bytes) -> list[int] | None:
        """The mark by which rendering recognises the file, if it still says what was written."""
        stamp = self._stamp()
        is_same = stamp is not None and content(self.path) == written
        return [stamp.size, stamp.inode, stamp.written] if is_same and stamp is not None else None

    def _complain(self, error: MeshError | OSError) -> None:
        """Once, until it is another error or has gone well again."""
        said = f"{error}; next: {error.next_step}" if isinstance(error, MeshError) else str(error)
        if said != self._said:
            self._said = said
            self._say("warning", f"{self.path} is not in step with the page `{NAME}`: {said}")
