"""From files to pages: what somebody saved becomes edits, new pages and new names.

Reads files and never writes to them; where a page says something else afterwards, its file is owed that.
"""

from collections import Counter
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from clan_learnings.redaction import describe, redact
from mesh.core.errors import MayNotWrite, UsageError
from mesh.pages.file_table import FileRow
from mesh.pages.file_text import Content, LeftAlone, Stamp, read, same
from mesh.pages.page_names import checked, name_of
from mesh.pages.sync_state import EMPTY_SECONDS, LINGER_SECONDS, QUIET_SECONDS, FolderState, ReplacedFile
from mesh.pages.text_difference import edits
from mesh.pages.text_matching import same_end, same_start

if TYPE_CHECKING:
    from mesh.pages.book import PageInfo
    from mesh.pages.editor import Saved

_NOT_COUNTED = "what this node writes does not count, or not yet; next: see whether it is a member: mesh doctor"


def candidates(state: FolderState) -> list[str]:
    """The files that are not known to be in step."""
    known, alone = state.taken, state.alone
    found = state.folder.found.items()
    return sorted(path for path, stamp in found if stamp not in (known.get(path), alone.get(path)))


class FileIntake:
    """One round of taking what is ready."""

    def __init__(self, state: FolderState, now: float) -> None:
        self._state = state
        self._now = now

    @cached_property
    def _pages(self) -> "dict[bytes, PageInfo]":
        return self._state.pages()

    def files(self) -> None:
        """Take every file that has come to rest."""
        state = self._state
        for path in candidates(state):
            if state.may_try(path, self._now) and state.folder.is_quiet(path, self._now, QUIET_SECONDS):
                with state.guarded(path, self._now):
                    try:
                        self._take(path)
                    except MayNotWrite as error:  # until it says something else; trying again helps nobody
                        self._leave(path, state.folder.found[path], f"{error}; next: {error.next_step}")

    def lingering(self) -> None:
        """Listen to the files that were replaced: who had one open may have written to it."""
        for item in list(self._state.lingering):
            with self._state.guarded(item.path, self._now):
                self._listen(item)

    # Files in their places

    def _take(self, path: str) -> None:
        state = self._state
        try:
            stamp, content = read(state.folder.full(path))
        except (FileNotFoundError, NotADirectoryError):
            return  # an editor renames it just now: the next look sees it
        if stamp != state.folder.found[path]:
            return  # it is being written: the next look sees it
        if isinstance(content, LeftAlone):
            self._leave(path, stamp, content.reason)
            return
        row = state.rows.get(path) or self._renamed(path, stamp, content)
        if row is None:
            self._add(path, stamp, content)
            return
        if state.alone.pop(path, None) is not None:
            state.owed.add(row.page)
        info = self._pages.get(row.page)
        if info is None:  # removed elsewhere
            state.owed.add(row.page)
        elif content.text == row.known or self._is_there(path, content, info):
            self._agree(row, stamp, content)
        elif content.text or not row.page_text:
            self._save(row, info, stamp, content)
        elif path in state.unseen:  # emptied while nobody looked: by a crash, as likely as by a person
            state.remember(row._replace(page_text="", file_text=None))
            state.taken[path] = stamp
            state.owed.add(row.page)
            state.say_once(path, "warning", f"{state.folder.full(path)} was empty and is restored")
        elif state.folder.is_quiet(path, self._now, EMPTY_SECONDS):
            self._save(row, info, stamp, content)
        else:
            return
        state.unseen.discard(path)

    def _is_there(self, path: str, content: Content, info: "PageInfo") -> bool:
        """Whether an edit was saved, and only that could not be remembered any more."""
        return path in self._state.unseen and content.text == self._state.book.read(info).text

    def _agree(self, row: FileRow, stamp: Stamp, content: Content) -> None:
        """File and page are in step."""
        state = self._state
        now = row._replace(style=content.style)
        if content.text != row.known:
            now = now._replace(page_text=content.text, file_text=None)
        if now != row:
            state.remember(now)
        state.taken[row.path] = stamp
        if now.file_text is None:
            state.is_well(row.path)

    def _save(self, row: FileRow, info: "PageInfo", stamp: Stamp, content: Content) -> None:
        before = self._state.book.read(info).text
        saved = self._state.editor.save(info, self._base(row, content.text), content.text)
        if saved.changed and saved.text == before and not saved.findings:
            self._leave(row.path, stamp, _NOT_COUNTED)
        else:
            self._settle(row.path, row.page, saved, stamp, content)

    def _base(self, row: FileRow, text: str) -> str:
        """What the writer had before them. Just after a file was replaced they may still have had the old one."""
        older = [item.base for item in self._state.lingering if item.path == row.path]
        if not older:
            return row.page_text
        return min([row.page_text, *reversed(older)], key=lambda base: _distance(base, text))

    def _settle(self, path: str, page: bytes, saved: "Saved", stamp: Stamp, content: Content) -> None:
        """Remember that the file's own part is in the page. What the page says besides, the file is owed."""
        state, mine = self._state, content.text
        clean = redact(mine).text if saved.findings else mine
        text = saved.text if same(saved.text, clean) else clean
        state.remember(FileRow(path, page, text, None if mine == text else mine, content.style))
        state.taken[path] = stamp
        if text != saved.text:
            state.owed.add(page)
        if saved.findings:
            left = f"{describe(saved.findings)} left out of the page; the file itself is left alone"
            state.say_once(path, "warning", f"{state.folder.full(path)}: {left}")
        else:
            state.is_well(path)

    # Files without a page

    def _renamed(self, path: str, stamp: Stamp, content: Content) -> FileRow | None:
        """The row of a missing file that this one was."""
        state, text = self._state, content.text
        rows = [state.rows[gone] for gone in sorted(state.missing)]
        # A number alone proves nothing: a file system gives that of a removed file to the next.
        found = [row for row in rows if _inode(state, row) == stamp.inode and _are_alike(text, row.known)]
        found += [row for row in rows if text and text == row.known]
        info = self._pages.get(found[0].page) if found else None
        if info is None:
            return None
        if state.target(info) == path:
            # It was on its way there. Its page may be shown under a name that nobody could give it.
            return state.move(found[0].path, path)
        try:
            name = checked(state.prefix + name_of(path))
        except UsageError:  # the page is not gone: its file has only gone where it cannot follow
            state.to_restore.add(found[0].path)
            return None
        if name != info.name:
            self._pages[info.id] = state.editor.rename(info, name)
            state.owed.add(info.id)
        return state.move(found[0].path, path)

    def _add(self, path: str, stamp: Stamp, content: Content) -> None:
        state = self._state
        there = next((info for info in self._pages.values() if state.target(info) == path), None)
        if there is not None and state.row_of(there.id) is None:
            text = state.book.read(there).text
            if same(text, content.text):
                state.remember(FileRow(path, there.id, text, None, content.style))
                state.taken[path] = stamp
                state.is_well(path)
                return
        try:
            name = checked(state.prefix + name_of(path))
        except UsageError as error:
            self._leave(path, stamp, f"{error}; next: {error.next_step}" if error.next_step else str(error))
            return
        info, saved = state.editor.new(name, content.text)
        self._pages = state.pages()
        state.unseen.discard(path)
        if info.id in self._pages:
            self._settle(path, info.id, saved, stamp, content)
            state.owed.add(info.id)  # it may be shown under another name
        else:
            self._leave(path, stamp, _NOT_COUNTED)

    def _leave(self, path: str, stamp: Stamp, reason: str) -> None:
        self._state.alone[path] = stamp
        self._state.say_once(path, "warning", f"{self._state.folder.full(path)} is left alone: {reason}")

    # Files that were replaced

    def _listen(self, item: ReplacedFile) -> None:
        stamp = item.file.stamp()
        if stamp != item.stamp:
            item.stamp, item.since = stamp, self._now
        rest = self._now - item.since
        if rest < QUIET_SECONDS:
            return
        if stamp != item.taken:
            _, content = item.file.read()
            is_emptied = isinstance(content, Content) and not content.text and bool(item.text)
            if is_emptied and rest < EMPTY_SECONDS:
                return
            self._hear(item, content)
            self._state.heard(item)
        if self._now - item.began >= LINGER_SECONDS:
            self._state.let_go(item)

    def _hear(self, item: ReplacedFile, content: Content | LeftAlone) -> None:
        """Save what was written to a file while, or after, another was put in its place."""
        state = self._state
        if isinstance(content, Content) and content.text == item.text:
            return
        row = state.rows.get(item.path)
        info = None if row is None else self._pages.get(row.page)
        is_whole = False
        if info is not None and isinstance(content, Content):
            with suppress(MayNotWrite):
                saved = state.editor.save(info, item.base, content.text)
                is_whole = not saved.findings
            state.owed.add(info.id)
            item.base = item.text = content.text
        if not is_whole:
            aside = state.keep_aside(item.path, item.file.data())
            state.say("warning", f"what was written to {state.folder.full(item.path)} meanwhile is kept in {aside}")


def _inode(state: FolderState, row: FileRow) -> int | None:
    stamp = state.taken.get(row.path)
    return None if stamp is None else stamp.inode


def _are_alike(one: str, other: str) -> bool:
    """Whether most lines of two texts are the same."""
    if one == other:
        return True
    lines, others = ({line for line in text.split("\n") if line.strip()} for text in (one, other))
    return len(lines & others) * 2 > max(len(lines), len(others))


def _distance(one: str, other: str) -> tuple[int, int]:
    """How many lines two texts do not share; then, how many letters are changed."""
    lines = Counter(one.split("\n"))
    lines.subtract(other.split("\n"))
    changed = 0
    for edit in edits(one, other):  # by words: letters that stay at a word's ends are not changed
        gone, inserted = one[edit.at : edit.at + edit.removed], edit.inserted
        start = same_start(gone, inserted)
        end = same_end(gone[start:], inserted[start:])
        changed += len(gone) + len(inserted) - 2 * (start + end)
    return sum(map(abs, lines.values())), changed
