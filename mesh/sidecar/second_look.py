"""When corrections of other nodes have arrived, patterns that this node founded are compared again: see `clan_learnings.aliases`.

Decides when to look and at which, and writes what comes of it. What belongs together is decided elsewhere.
"""

import json
import logging
import os
import time
from collections.abc import Callable
from typing import Any

from clan_learnings.aliases import OWN_DAYS, second_look
from clan_learnings.matching import Reading, compare
from clan_learnings.memory import Memory
from clan_learnings.records import CORRECTIONS, Note
from mesh.core.draft import Draft
from mesh.core.errors import MeshError, WriteRefused
from mesh.store.changes import Touched, Touches
from mesh.store.home import Home
from mesh.store.reading import open_reading, read_errors

FILE = "second-look.json"  # in the home: up to where it has looked. Disposable.
MOST_DRAFTS = 100  # written in one go; the rest comes with the next look
_ARRIVED = 500  # corrections of others that are compared one by one; after more, all of ours are looked at
_OWN_LOOK = 2000  # newest corrections gone through for our own
# A look may compare a hundred patterns with thousands by their words. So it may not take more than a share of the time.
_REST_SHARE, _LEAST_REST_SECONDS = 10.0, 1.0
_REFUSED_SECONDS = 600.0  # after a write that was refused: what is in the way stays there for a while

log = logging.getLogger("mesh.sidecar")


class SecondLook:
    """Remembers up to where it has looked, also when the sidecar is started again."""

    def __init__(self, home: Home, now: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._now = now
        self._seen = self._remembered()
        self._not_before = 0.0
        self._is_put_off = False
        self._said = ""

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
                touches = Touches(reader.connection, breathe)
                progress = touches.progress()
                touched = None if self._seen is None else touches.since(self._seen)
                memory = Memory(reader)
                only = self._alike(memory, touched, breathe)
                drafts = [] if only == set() else second_look(memory, self._home.node, only, breathe)
                return progress, drafts
            finally:
                reader.connection.close()

    def _alike(self, memory: Memory, touched: Touched | None, breathe: Callable[[], None]) -> set[str] | None:
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
            author = self._home.author()
            try:
                author.append(drafts)
            finally:
                author.store.close()
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


def _reading(note: Note) -> Reading:
    return Reading(note.word("wrong"), note.word("right"))
