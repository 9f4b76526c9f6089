"""Folders in step with the pages, both ways: one folder, and all folders of a home. No thread and no watching here: the caller says when, and what time it is.

A step compares what lies in the folder, what the pages say and what was remembered of both; it needs no event to be told
to it and none is lost. So it does not matter how often, how late or after what crash a step is made.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from clan_learnings.render.files import RENDERED_FOLDER
from mesh.core.errors import MayNotWrite, WriteRefused
from mesh.pages import pages_to_files, sync_state
from mesh.pages.book import Book
from mesh.pages.editor import Editor
from mesh.pages.file_table import FileRow, FileTable, Folders, pay_scrub, wiped
from mesh.pages.file_text import Content, read
from mesh.pages.files_to_pages import FileIntake, candidates
from mesh.pages.folders_thread import SyncedFolder, say
from mesh.pages.memory_page import MemoryFile
from mesh.pages.open_pages import Pages, open_pages
from mesh.pages.pages_to_files import FileOutput
from mesh.pages.sync_state import EMPTY_SECONDS, QUIET_SECONDS, REFUSED_SECONDS, FolderState, Remembered, Say
from mesh.store.home import Home

__all__ = ["FileRow", "FolderSync", "Remembered"]

GRACE_SECONDS = 0.5  # a file that is gone so long was removed: editors that save by renaming leave it out for a moment
# More files than this, and more than half of all, are not removed by a person who means it: a disk is gone, or a branch.
_MANY = 10
_LISTEN_SECONDS = 0.25  # between two looks at files that were replaced
_OWED_SECONDS = 1.0  # between two tries where something is in the way
_REMOVED = "its file was deleted"


class FolderSync:
    """The files of a folder are the pages, or those whose names begin with `prefix` and a slash."""

    def __init__(
        self, folder: str, book: Book, editor: Editor, remembered: Remembered, say: Say, prefix: str = ""
    ) -> None:
        self._state = FolderState(folder, book, editor, remembered, say, prefix)
        self._is_started = False
        self._version: int | None = None  # of the pages, when all of them were last looked at
        self._gone_at = 0.0  # when the last file was found missing
        self._look_at: float | None = None

    @property
    def folder(self) -> str:
        """Where the files are."""
        return self._state.folder.path

    def identity(self) -> tuple[int, int] | None:
        """The identity of the folder: if it changes, watch the new folder."""
        return self._state.folder.identity()

    def step(self, now: float, *, files: bool = True, pages: bool = True) -> float | None:
        """Do what is due; `files`, `pages`: whether some may have changed. Returns when to come again in any case."""
        state = self._state
        state.follow_new_ids()
        is_look = files or not self._is_started or (self._look_at is not None and now >= self._look_at)
        if is_look:
            self._look(now)
        if state.may_try("", now):
            with state.guarded("", now):
                state.write_rows()
                state.is_well("")
        FileIntake(state, now).lingering()
        if is_look:
            FileIntake(state, now).files()
            self._end_grace(now)
        version = state.book.version() if pages or self._version is None else self._version
        if version != self._version or state.owed:
            FileOutput(state, now).pages(is_everything=version != self._version)
            self._version = version
        return self._due(now)

    def close(self) -> None:
        """Let go of files that were replaced."""
        for item in list(self._state.lingering):
            self._state.let_go(item)

    def _look(self, now: float) -> None:
        state, folder = self._state, self._state.folder
        if not self._is_started:
            pages_to_files.finish_renaming(state)
        is_other = folder.look(now)
        if is_other:
            state.say("warning", f"the folder {folder.path} was gone or replaced; the files of its pages are restored")
        gone = {path for path in state.rows if path not in folder.found and not folder.is_blind(path)}
        state.owed |= {state.rows[path].page for path in state.missing - gone if path in state.rows}
        if gone - state.missing:
            self._gone_at = now
        state.missing = gone
        state.to_restore &= gone
        if is_other or not self._is_started:
            state.to_restore |= gone
        state.alone = {path: stamp for path, stamp in state.alone.items() if path in folder.found}
        if not self._is_started:
            self._is_started = True
            state.unseen = set(folder.found)
            sync_state.clear(state, now)

    def _end_grace(self, now: float) -> None:
        """Decide about files that have been missing for a while."""
        state = self._state
        if not state.missing or now < self._gone_at + GRACE_SECONDS:
            return
        removed = state.missing - state.to_restore
        if len(state.missing) > _MANY and len(state.missing) * 2 > len(state.rows) and removed:
            how_many = f"{len(state.missing)} of {len(state.rows)} files were gone at once"
            state.say("warning", f"{state.folder.path}: {how_many}; no page was removed, the files are restored")
            state.to_restore |= removed
        pages = state.pages()
        for path in sorted(state.missing):
            if not state.may_try(path, now):
                continue
            with state.guarded(path, now):
                info = pages.get(state.rows[path].page)
                if path in state.to_restore:
                    FileOutput(state, now).restore(path)
                else:
                    try:
                        if info is not None:
                            state.editor.remove(info, _REMOVED)
                    except MayNotWrite as error:  # the page stays for all others, so it does here
                        state.say_once(path, "warning", f"{state.folder.full(path)} is restored: {error}")
                        FileOutput(state, now).restore(path)
                    else:
                        state.forget(path)

    def _due(self, now: float) -> float | None:
        """The next moment at which something may have to be done though nothing happens."""
        state, folder = self._state, self._state.folder
        looks = [again for again in state.tries() if again > now]
        waiting = [path for path in candidates(state) if state.may_try(path, now)]
        for path in waiting:
            ready = (folder.quiet_at(path, seconds) for seconds in (QUIET_SECONDS, EMPTY_SECONDS))
            looks.append(next((at for at in ready if at > now), now + QUIET_SECONDS))
        if state.missing:
            looks.append(max(self._gone_at + GRACE_SECONDS, now + QUIET_SECONDS))
        self._look_at = min(looks, default=None)
        if state.owed:
            looks.append(now + (QUIET_SECONDS if waiting else _OWED_SECONDS))
        if state.lingering:
            is_hurry = any(item.is_other for item in state.lingering)
            looks.append(now + (QUIET_SECONDS if is_hurry else _LISTEN_SECONDS))
        return min(looks, default=None)


FOLDER = "pages"  # in the home

log = logging.getLogger("mesh.node")


@contextmanager
def open_workspace(home: Home) -> Iterator[PageWorkspace]:
    """For as long as the keeper works."""
    with open_pages(home.path) as pages:
        yield PageWorkspace(home, pages)


class PageWorkspace:
    """See `keeper`."""

    def __init__(self, home: Home, pages: Pages) -> None:
        self._folder = home.file(FOLDER)
        self._pages = pages
        self._database = pages.book.author.store.database
        self._folders = Folders(self._database)
        self._is_said = False
        self._write_at = 0.0
        self._mirrors: dict[tuple[str, str], FolderSync] = {}
        self._memory = MemoryFile(home.file(RENDERED_FOLDER), pages.book, pages.editor, say)

    def version(self) -> int:
        """Another number whenever somebody may have changed some page."""
        return self._pages.book.version()

    def mirrors(self) -> list[SyncedFolder]:
        """The home's own folder, those that were given and are there, and what is typed into MEMORY.md."""
        book, editor = self._pages.book, self._pages.editor
        if not book.is_member():
            if not self._is_said:
                self._is_said = True
                log.warning("this node is not a member yet: files in %s become no pages until it is", self._folder)
            return []  # nothing of ours would count: files would seem to be those of pages that were removed
        given = [(item.folder, item.prefix) for item in self._folders.all() if os.path.isdir(item.folder)]
        self._mirrors = {
            key: self._mirrors.get(key) or FolderSync(key[0], book, editor, self._files(key[0]), say, key[1])
            for key in [(self._folder, ""), *given]
        }
        return [*self._mirrors.values(), self._memory]

    def close(self) -> None:
        """Let go of all files."""
        for mirror in self._mirrors.values():
            mirror.close()
        self._memory.close()

    def tend(self) -> None:
        """Do what follows from pages that have come in."""
        if self._pages.book.author.may_write and time.monotonic() >= self._write_at:
            try:
                self._unite()
            except WriteRefused:
                self._write_at = time.monotonic() + REFUSED_SECONDS
                raise
        owed = wiped(self._database)
        folders = [folder for folder, _ in self._mirrors]
        if owed.ids and self._is_in_step(owed.ids) and pay_scrub(self._database, owed, folders):
            self._pages.book.author.store.scrub()  # if a reader is in the way, the node tries again

    def _unite(self) -> None:
        for kept, ended in self._pages.joiner.join_twins():
            log.info("two pages of one name began with the same text and are one now name=%s", kept.shown)
            log.debug("ended page=%s", ended.shown)
        count = self._pages.joiner.carry()
        if count:
            log.info("edits that came too late were made to the text that followed operations=%d", count)

    def _files(self, folder: str) -> FileTable:
        return FileTable(self._database, folder, lambda path: _text(os.path.join(folder, path)))

    def _is_in_step(self, pages: frozenset[bytes]) -> bool:
        """Whether every row of these pages was written since. A file may say more than its page: what was erased is in neither."""
        book = self._pages.book
        texts = {info.id: book.read(info).text for info in book.pages()}
        rows = [row for folder, _ in self._mirrors for row in FileTable(self._database, folder).all()]
        return all(
            row.page_text == texts.get(row.page)
            for row in rows
            if row.page in pages or not pages.isdisjoint(book.bodies(row.page))
        )


def _text(path: str) -> str | None:
    try:
        _, found = read(path)
    except OSError:
        return None
    return found.text if isinstance(found, Content) else None
