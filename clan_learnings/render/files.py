"""The rendered files of a folder: which there are, and bringing them up to date. Reads one snapshot, writes one folder.

Rendering from nothing and any number of updates end in the same bytes: an update works out which lines have changed since the folder
was last written, and touches no others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from clan_learnings.records.memory import Memory
from clan_learnings.records.record import CORRECTIONS, DISCOVERIES, LOGS, PATTERNS, SUPERSESSIONS, Note
from clan_learnings.render import archive, markdown_files, memory_file, owned_files
from clan_learnings.render.archive import Archive, Changes
from clan_learnings.render.listed_patterns import hot_rules, listing
from clan_learnings.render.owned_files import RenderState, as_dict, edge_of, edge_value
from clan_learnings.render.record_lines import Place, line
from clan_learnings.render.render_cache import (
    BEGINNING,
    Lines,
    RenderCache,
    RenderSource,
    StoreChanges,
    concerns,
    renewed,
)
from mesh.core.errors import UsageError
from mesh.store.reader import Reader

Put = Callable[[str, bytes, bytes], bool]  # a path, what the file is to say, what it says

NEWEST = 1000  # records in the file of a log; older ones are in its archive
CORRECTIONS_SHOWN = 200
_DISCOVERIES_SHOWN = 10
RENDERED_LOGS = (DISCOVERIES, PATTERNS)
RENDERED_FOLDER = "rendered"  # in a home
PATTERNS_FILE, CORRECTIONS_FILE, MEMORY_FILE = "patterns.md", "corrections.md", "MEMORY.md"
MARKDOWN = (PATTERNS_FILE, CORRECTIONS_FILE, MEMORY_FILE)
_OF_PATTERNS = (CORRECTIONS, PATTERNS, SUPERSESSIONS)
_MOST_LINES = 20_000  # put into archives one by one; more, and all of it is written again
_PAGE = 500


class Rendering:
    """What was done to a folder: the files that changed."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.is_whole = False  # whether all of it was rendered from nothing
        self.is_edited = False  # whether MEMORY.md was left as it is, because of what somebody has typed into it


class RenderedFiles:
    """The rendered files of one folder. Keep the object between two renders, and the second one is faster."""

    def __init__(self, folder: str, *, patience_seconds: float = 60.0) -> None:
        self.folder = folder
        self.kept = RenderCache()
        self._patience_seconds = patience_seconds

    def is_current(self, source: RenderSource, hand: str | None = "") -> bool:
        """Whether the files are those of this state, and of what is kept by hand. Changes nothing."""
        if not os.path.isdir(self.path(archive.FOLDER)):
            return False
        with RenderState(self.folder, self._patience_seconds) as state:
            return self.is_of(state.read(), source.progress(), hand)

    def render(
        self,
        reader: Reader,
        source: RenderSource,
        breathe: Callable[[], None] = lambda: None,
        hand: Callable[[], str | None] = str,
        put: Put = owned_files.replace_same,
    ) -> Rendering:
        """Bring the folder up to date. `breathe` is called again and again; what it raises ends the work.

        `hand`: what is kept by hand in MEMORY.md, asked when nobody else can take an edit from the folder; None, and it stays.
        A MEMORY.md that somebody has edited is not touched; `put` replaces another, unless somebody edits it right then.
        """
        owned_files.make_folder(os.path.join(self.folder, archive.FOLDER))
        if os.path.islink(self.path(archive.FOLDER)):
            raise UsageError(f"{self.path(archive.FOLDER)} is a link", "remove the link, or choose another folder")
        try:
            with RenderState(self.folder, self._patience_seconds) as state:
                return _Render(self, reader, source, breathe, hand(), put).run(state)
        except OSError as error:
            raise owned_files.cannot(self.folder, error) from error

    def names(self) -> list[str]:
        """Every file of ours that exists or should."""
        kept = [name for log in RENDERED_LOGS for name in Archive(self.folder, log).names()]
        return [*(f"{log}.jsonl" for log in RENDERED_LOGS), *MARKDOWN, *kept]

    def path(self, name: str) -> str:
        """Where a file is."""
        return os.path.join(self.folder, name)

    def is_of(self, known: dict[str, Any], progress: dict[str, Any], hand: str | None) -> bool:
        """Whether a remembered state is this one, and the files are still those that were remembered."""
        is_same = known.get("progress") == progress and not known.get("busy")
        is_shown = hand is None or memory_file.RenderedHalves(known.get("memory")).hand == memory_file.digest(hand)
        return is_same and is_shown and self.is_whole(known)

    def is_whole(self, known: dict[str, Any]) -> bool:
        """Whether the files are still those that were remembered."""
        stamps = known.get("files")
        names = self.names()
        return (
            isinstance(stamps, dict)
            and set(stamps) == set(names)
            and all(owned_files.same(stamps[name], self.path(name)) for name in names)
        )


class _Render:
    """One go."""

    def __init__(
        self,
        files: RenderedFiles,
        reader: Reader,
        source: RenderSource,
        breathe: Callable[[], None],
        hand: str | None,
        put: Put,
    ) -> None:
        self._files = files
        self._hand = hand
        self._put = put
        self._shown = memory_file.RenderedHalves()
        self._source = source
        self._breathe = breathe
        self._memory = Memory(reader)
        self._kept = files.kept
        self._done = Rendering()

    def run(self, state: RenderState) -> Rendering:
        known = state.read()
        now = self._source.progress()
        self._kept.forget_unless(known.get("progress"))
        self._kept.progress = None  # until all of it is of one state again
        stamps, edges = as_dict(known.get("files")), as_dict(known.get("edges"))
        if self._files.is_of(known, now, self._hand):
            self._kept.progress = now
            return self._done
        self._shown = memory_file.RenderedHalves(known.get("memory"))
        if as_dict(known.get("progress")).get("erased", []) != now.get("erased", []):
            self._shown.hands.clear()  # what was erased may have stood there
        if known.get("busy"):
            self._mend(stamps)
        self._refuse_foreign(stamps)
        touched = self._source.since(known["progress"]) if "progress" in known else None
        if touched is None:
            self._done.is_whole = True
            for folder in (self._files.folder, self._files.path(archive.FOLDER)):
                owned_files.sweep(folder)
            state.forget()
        else:
            state.write(known | {"busy": True})
        made = {log: self._log(log, touched, edges.get(log), stamps) for log in RENDERED_LOGS}
        self._markdown(touched, stamps)
        files = {name: owned_files.stamp_of(self._files.path(name)) for name in self._files.names()}
        if self._done.is_edited:
            files[MEMORY_FILE] = None
        state.write({"progress": now, "edges": made, "files": files, "memory": self._shown.value()})
        self._kept.progress = now
        return self._done

    def _mend(self, stamps: dict[str, Any]) -> None:
        """Who was here last was killed: what it had added to an archive, perhaps half a line, is cut off again."""
        for name, stamp in stamps.items():
            path = self._files.path(name)
            found = owned_files.stamp_of(path)
            if name.startswith(archive.FOLDER) and found is not None and found[1] == stamp[1] and found[0] >= stamp[0]:
                os.truncate(path, stamp[0])
                stamps[name] = list(owned_files.stamp_of(path) or ())

    def _refuse_foreign(self, stamps: dict[str, Any]) -> None:
        for name in self._files.names():
            if not owned_files.same(stamps.get(name), self._files.path(name)):
                owned_files.refuse_foreign(
                    self._files.path(name), lambda path: memory_file.is_ours(owned_files.content(path))
                )

    # JSON lines

    def _log(self, log: str, touched: StoreChanges | None, edge: Any, stamps: dict[str, Any]) -> list[Any]:
        """The file of a log and its archive. Returns the edge between the two, to be remembered."""
        kept, before = Archive(self._files.folder, log), edge_of(edge)
        if not self._is_sound(kept.names(), log, stamps) or before is None:
            touched = None
        is_there = owned_files.same(stamps.get(f"{log}.jsonl"), self._files.path(f"{log}.jsonl"))
        if touched is not None and is_there and not concerns(touched, log):
            return edge_value(before or BEGINNING)
        newest, older = self._newest(log, touched, before or BEGINNING)
        after = next(iter(newest)) if len(newest) == NEWEST else BEGINNING
        changes = None if touched is None else self._changes(log, touched, before or BEGINNING, after, older)
        if touched is None or changes is None:
            self._done.written += kept.write_all(self._older(log, after))
        else:
            self._done.written += kept.apply(changes, touched.erased)
        self._replace(f"{log}.jsonl", b"".join(newest.values()))
        self._kept.lines[log] = newest
        return edge_value(after)

    def _is_sound(self, names: list[str], log: str, stamps: dict[str, Any]) -> bool:
        """Whether the archive of a log is as it was left."""
        known = {name for name in stamps if name.startswith(os.path.join(archive.FOLDER, log))}
        return known == set(names) and all(owned_files.same(stamps[name], self._files.path(name)) for name in names)

    def _newest(self, log: str, touched: StoreChanges | None, before: Place) -> tuple[Lines, Lines | None]:
        """The lines of the newest, oldest first; and of those that are not among them any more, if that is known."""
        if touched is not None and log in self._kept.lines:
            lines = self._kept.lines[log]
            found = renewed(lines, log, touched, before, NEWEST, self._memory.note, self._line)
            if found is not None:
                return found
        entries = self._memory.reader.newest(log, NEWEST)
        return {(entry.at, entry.tag): self._line(self._memory.read(entry)) for entry in reversed(entries)}, None

    def _changes(
        self, log: str, touched: StoreChanges, before: Place, after: Place, older: Lines | None
    ) -> Changes | None:
        """The lines of the archive that are other ones now; None if they are too many to hold.

        `older`: those that came to it because they are not among the newest any more, if that is known.
        """
        changes: Changes = dict(older or {})
        for tag, was in touched.records.items():
            place = (was.at, tag)
            if was.log == log and place not in changes:
                note = self._memory.note(tag) if place < after else None
                changes[place] = None if note is None else self._line(note)
        if older is not None:
            return changes
        low, high = min(before, after), max(before, after)
        while low < high:
            page = self._memory.reader.newest(log, _PAGE, before=high)
            for entry in page:
                high = (entry.at, entry.tag)
                if high < low:
                    break
                changes[high] = self._line(self._memory.read(entry)) if high < after else None
            if len(page) < _PAGE:
                break
            if len(changes) > _MOST_LINES:
                return None
        return changes

    def _older(self, log: str, edge: Place) -> Iterator[tuple[int, bytes]]:
        edited = self._source.edited()
        for entry in self._source.oldest_first(log) if edge != BEGINNING else ():
            if (entry.at, entry.tag) >= edge:
                return
            note = self._memory.read(entry) if entry.tag in edited else Note(entry, {})
            yield note.stamp, self._line(note)

    def _line(self, note: Note) -> bytes:
        self._breathe()
        return line(note)

    # Markdown

    def _markdown(self, touched: StoreChanges | None, stamps: dict[str, Any]) -> None:
        logs = set(_OF_PATTERNS) if touched is None else {was.log for was in touched.records.values()}
        everything = touched is None or bool(touched.keys or touched.erased or logs.intersection(_OF_PATTERNS))
        missing = {name for name in MARKDOWN if not owned_files.same(stamps.get(name), self._files.path(name))}
        if not everything and not logs.intersection(LOGS) and missing <= {MEMORY_FILE} and self._shown.generated:
            if missing or memory_file.digest(self._shown.or_last(self._hand)) != self._shown.hand:
                self._halves(self._shown.generated)
            return
        memory = self._memory
        self._kept.forget_rules(touched)
        if everything or self._kept.hot is None:
            self._kept.hot = hot_rules(memory, self._breathe)
        hot = self._kept.hot
        if everything or PATTERNS_FILE in missing:
            self._replace(
                PATTERNS_FILE, markdown_files.patterns(listing(memory, hot, self._kept.rules, self._breathe)).encode()
            )
        if everything or CORRECTIONS_FILE in missing:
            newest = memory.reader.newest(CORRECTIONS, CORRECTIONS_SHOWN + 1)
            notes = [memory.read(entry) for entry in newest[:CORRECTIONS_SHOWN]]
            text = markdown_files.corrections(notes, memory.told_words, is_cut=len(newest) > CORRECTIONS_SHOWN)
            self._replace(CORRECTIONS_FILE, text.encode())
        for log in LOGS:
            if everything or log in logs or log not in self._kept.counts:
                self._kept.counts[log] = self._source.count(log)
        found = [memory.read(entry) for entry in memory.reader.newest(DISCOVERIES, _DISCOVERIES_SHOWN)]
        self._halves(markdown_files.memory(hot, found, self._kept.counts))

    def _halves(self, generated: str) -> None:
        """MEMORY.md, unless somebody has typed something into it that is not in safety yet."""
        before, hand = owned_files.content(self._files.path(MEMORY_FILE)), self._shown.or_last(self._hand)
        data = memory_file.compose(hand, generated).encode()
        self._done.is_edited = bool(before) and memory_file.is_edited(before, self._shown)
        self._shown.show(hand, generated)
        if self._done.is_edited or data == before:
            return
        if self._put(self._files.path(MEMORY_FILE), data, before):
            self._done.written.append(MEMORY_FILE)
        else:
            self._done.is_edited = True

    def _replace(self, name: str, data: bytes) -> None:
        if owned_files.replace_if_other(self._files.path(name), data):
            self._done.written.append(name)
