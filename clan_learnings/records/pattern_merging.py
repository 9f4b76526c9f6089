"""Joining patterns that mean the same: while nodes were apart, two of them may have founded one pattern under different names.

The founder of the younger name joins it to the older one, as it would have done at once had it known. Only the founder does, so each
pair is joined by one node. Names that anybody has joined or parted before are left alone.

Where one node's word is not enough for HOT, every node that has written under the younger name joins it, as far as its own corrections
say the same: they are each other's witnesses.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from clan_learnings.records.matching import ComparableCorrection, best_match, comparable, compare
from clan_learnings.records.memory import Memory
from clan_learnings.records.notebook import all_candidates
from clan_learnings.records.pattern_names import is_slug
from clan_learnings.records.patterns import KEY
from clan_learnings.records.record import CORRECTIONS, PATTERNS, Note
from clan_learnings.search.likeness import judge
from mesh.core.draft import Assignment, Draft
from mesh.core.errors import MeshError, WriteRefused
from mesh.store.home import Home
from mesh.store.reader import Assigned, open_reading, read_errors
from mesh.store.record_changes import ChangeCollector, RecordChanges

OWN_DAYS = 30
_LOOK = 2000  # newest corrections gone through for our own
_OWN = 100  # our names that are looked at in one go


def draft_merges(
    memory: Memory, own: bytes, only: Collection[str] | None = None, breathe: Callable[[], None] = lambda: None
) -> list[Draft]:
    """The aliases that the founder of the younger names should write now.

    `only`: of these names alone. `breathe` is called before whatever takes long; what it raises ends the look.
    """
    said = memory.reader.assigned("alias_of")
    words = memory.reader.said("alias_of") if memory.witnesses.are_needed else {}
    # Which of two names is the older may change when a record is taken back: what we have joined once we do not join again.
    joined = {
        frozenset((key, f"{KEY}{one.value}")) for key, said_of in words.items() for one in said_of if one.node == own
    }
    after = (memory.now_ms - OWN_DAYS * 86_400_000) << 16
    ours: dict[str, Note] = {}
    seen: set[str] = set()
    for entry in memory.reader.since(CORRECTIONS, after, None, _LOOK):
        slug = entry.record.get("pattern")
        if entry.node != own or type(slug) is not str or slug in seen or (only is not None and slug not in only):
            continue
        seen.add(slug)
        breathe()
        is_free = not _was_parted(memory, said, slug)
        if memory.witnesses.are_needed and len(memory.reader.writers(slug, (CORRECTIONS, PATTERNS))) > 1:
            is_free = is_free and all(one.node != own for one in words.get(KEY + slug, ()))
            mine = _own_eldest(memory, slug, own) if is_free else None
        else:
            mine = memory.patterns.eldest(slug) if is_free and KEY + slug not in said else None
        if mine is not None and mine.node == own and mine.log == CORRECTIONS:
            ours[slug] = mine
            if len(ours) == _OWN:
                break
    drafts: list[Draft] = []
    for slug, mine in ours.items():
        breathe()
        mine = _as_agreed(memory, mine.tag) or mine  # noqa: PLW2901 (the same record, in words that are its author's)
        wrong, right = mine.word("wrong"), mine.word("right")
        wanted = {one.value for one in words.get(KEY + slug, ()) if type(one.value) is str}
        others = [
            other
            for other in all_candidates(memory, wrong, right, mine.repo)
            if other.slug not in memory.patterns.agreed.names(slug)
            and (not wanted or other.slug in wanted)  # to agree is to say the same
            and frozenset((KEY + slug, KEY + other.slug)) not in joined
            and _is_older(memory, other.slug, memory.patterns.eldest(slug) or mine)
            and not _was_parted(memory, said, other.slug)
        ]
        match = best_match(wrong, right, others, judge)
        if match is not None:
            drafts.append(Assignment(KEY + slug, "alias_of", match.slug))
    return drafts


def _own_eldest(memory: Memory, slug: str, own: bytes) -> Note | None:
    """The first correction that we wrote under a name, if it is still counted there."""
    entries = memory.reader.of_pattern(slug)
    notes = (_as_agreed(memory, entry.tag) for entry in entries if entry.node == own and entry.log == CORRECTIONS)
    return next((note for note in notes if note is not None and note.pattern == slug), None)


def _as_agreed(memory: Memory, tag: bytes) -> Note | None:
    """A record without what one other node alone has edited: else a node would agree to words that it never wrote."""
    entry = memory.reader.entry(tag)
    return None if entry is None else Note(entry, memory.patterns.agreed.edits(tag))


def _was_parted(memory: Memory, said: dict[bytes | str, Assigned], slug: str) -> bool:
    """Whether somebody has said of a name, or of one it is joined with, that it stands for itself again.

    From which other it was parted is not known any more, and a person had a reason. So it is left to people.
    """
    names = memory.patterns.names(slug)
    registers = ((name, said.get(KEY + name)) for name in names)
    return any(one is not None and (not is_slug(one.value) or one.value == name) for name, one in registers)


def _is_older(memory: Memory, slug: str, than: Note) -> bool:
    first = memory.patterns.eldest(slug)
    return first is not None and (first.stamp, first.tag) < (than.stamp, than.tag)


FILE = "second-look.json"  # in the home: up to where it has looked. Disposable.
MOST_DRAFTS = 100  # written in one go; the rest comes with the next look
_ARRIVED = 500  # corrections of others that are compared one by one; after more, all of ours are looked at
_OWN_LOOK = 2000  # newest corrections gone through for our own
# A look may compare a hundred patterns with thousands by their words. So it may not take more than a share of the time.
_REST_SHARE, _LEAST_REST_SECONDS = 10.0, 1.0
_REFUSED_SECONDS = 600.0  # after a write that was refused: what is in the way stays there for a while

log = logging.getLogger("mesh.node")


class PatternMerging:
    """Looks for patterns to join whenever something new has arrived. How far it has looked survives a restart of the node."""

    def __init__(
        self, home: Home, append: Callable[[Sequence[Draft]], object], now: Callable[[], float] = time.monotonic
    ) -> None:
        """`append`: writes drafts, or raises MeshError."""
        self._home = home
        self._append = append
        self._now = now
        self._seen = self._remembered()
        self._not_before = 0.0
        self._is_put_off = False
        self._said = ""

    @property
    def is_put_off(self) -> bool:
        """Whether a look was put off, until the rest after the one before it is over."""
        return self._is_put_off

    @property
    def is_owed(self) -> bool:
        """Whether a look was put off, and the rest after the one before it is over."""
        return self._is_put_off and self._now() >= self._not_before

    def look(self, breathe: Callable[[], None] = lambda: None) -> int:
        """Look, if there is something new to compare with. Returns how many names were joined.

        `breathe` is called again and again; what it raises ends the look.
        """
        self._is_put_off = self._now() < self._not_before
        if self._is_put_off:
            return 0
        began = self._now()
        progress, drafts = self._compare(breathe)
        self._not_before = self._now() + max(_LEAST_REST_SECONDS, _REST_SHARE * (self._now() - began))
        if drafts and not self._write(drafts[:MOST_DRAFTS]):
            return 0
        if len(drafts) <= MOST_DRAFTS:
            self._remember(progress)
        return len(drafts[:MOST_DRAFTS])

    def _compare(self, breathe: Callable[[], None]) -> tuple[dict[str, Any], list[Draft]]:
        with read_errors(self._home.path):
            reader = open_reading(self._home.path)
            try:
                reader.connection.execute("BEGIN")
                touches = ChangeCollector(reader.connection, breathe)
                progress = touches.progress()
                touched = None if self._seen is None else touches.since(self._seen)
                memory = Memory(reader)
                only = self._alike(memory, touched, breathe)
                drafts = [] if only == set() else draft_merges(memory, self._home.node, only, breathe)
                return progress, drafts
            finally:
                reader.connection.close()

    def _alike(self, memory: Memory, touched: RecordChanges | None, breathe: Callable[[], None]) -> set[str] | None:
        """The patterns under which we have written something that others have written now too. None: perhaps all of them.

        This is what keeps a look short: hardly ever has anybody else written the same.
        """
        if touched is None:
            return None
        corrections = {tag: was.node for tag, was in touched.records.items() if was.log == CORRECTIONS}
        others = [tag for tag, node in corrections.items() if node != self._home.node]
        found = self._joined(memory, [tag for tag, node in corrections.items() if node == self._home.node])
        if not others or len(others) > _ARRIVED:
            return None if others else found
        after = (memory.now_ms - OWN_DAYS * 86_400_000) << 16
        ours = [
            (note.pattern, _reading(note))
            for entry in memory.reader.since(CORRECTIONS, after, None, _OWN_LOOK)
            if entry.node == self._home.node and (note := memory.read(entry)).pattern
        ]
        for tag in others if ours else ():
            breathe()
            live = memory.note(tag)
            if live is not None:
                arrived = _reading(live)
                found |= {slug for slug, reading in ours if slug not in found and compare(reading, arrived)[0] > 0}
        return found

    def _joined(self, memory: Memory, tags: list[bytes]) -> set[str]:
        """The names of others' patterns that we have just written under, and that were joined without us."""
        if not memory.witnesses.are_needed:
            return set()
        slugs = {note.pattern for tag in tags if (note := memory.note(tag)) is not None and note.pattern}
        return {slug for slug in slugs if len(memory.patterns.names(slug)) > len(memory.patterns.agreed.names(slug))}

    def _write(self, drafts: list[Draft]) -> bool:
        try:
            self._append(drafts)
        except MeshError as error:  # revoked, say: then nothing of ours counts, and files are rendered all the same
            if isinstance(error, WriteRefused):
                self._not_before = self._now() + _REFUSED_SECONDS
            if str(error) != self._said:
                self._said = str(error)
                log.warning("patterns that belong together could not be joined: %s", error)
            return False
        log.info("joined %d patterns with older ones that say the same", len(drafts))
        return True

    def _remembered(self) -> dict[str, Any] | None:
        try:
            with open(self._home.file(FILE), encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def _remember(self, progress: dict[str, Any]) -> None:
        if progress == self._seen:
            return
        self._seen = progress
        draft = self._home.file(FILE + ".new")
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(progress, file)
        os.replace(draft, self._home.file(FILE))


def _reading(note: Note) -> ComparableCorrection:
    return comparable(note.word("wrong"), note.word("right"))
