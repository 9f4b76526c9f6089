"""Marks of harvested records that were erased or retracted later: every node knows them, and none of their words.

Beside each harvested record a counter grows, named by a hash. It outlives the record's body. A counter without a live record that
says the same means that somebody withdrew it: it is not written again.
"""

import os
from collections.abc import Collection

from clan_learnings.harvest.candidate_table import FOLDER, CandidateStore, CandidateTable, has_candidates
from clan_learnings.harvest.candidates import HarvestCandidate, Signal, family_of
from clan_learnings.harvest.record_drafts import draft_signal
from clan_learnings.records.memory import Memory
from clan_learnings.redaction.text_cleaner import TextCleaner
from mesh.core.draft import Increment
from mesh.core.errors import UsageError
from mesh.core.ids import named_digest, text_id
from mesh.store.file_access import FileLock
from mesh.store.handing_author import DraftAuthor
from mesh.store.reader import Reader

KEY = "harvested:"  # before the hash: the name of the counter
_KEY_CHARS = 26  # 130 bits


class WithdrawalMarks:
    """The marks of one mesh."""

    def __init__(self, author: DraftAuthor) -> None:
        self._author = author

    def mark(self, signal: Signal) -> list[Increment]:
        """What is written beside the record of a signal; nothing if that was done before."""
        key = key_of(self._author.store.mesh, signal)
        return [] if self._reader().total(key) else [Increment(key)]

    def holds(self, signal: Signal, candidate: HarvestCandidate | None = None) -> bool:
        """Whether a signal was recorded before, and no record says it now."""
        if not self._reader().total(key_of(self._author.store.mesh, signal)):
            return False
        item = signal.item
        if candidate is None:
            candidate = HarvestCandidate("", item.kind, "", item.text, item.wrong, item.right, signals=(signal,))
        with self._author.store.database.savepoint():  # one state: others write and erase meanwhile
            try:
                return not draft_signal(Memory(self._reader()), candidate, signal, signal.repo, TextCleaner(), 0).known
            except UsageError:
                return True

    def _reader(self) -> Reader:
        return Reader(self._author.store.database.connection)


def key_of(mesh: bytes, signal: Signal) -> str:
    """The counter of what one session said: a hash of the whole of it, the session and the mesh. Equal on all nodes that read the transcript.

    The session's id is what makes guessing hard: who has not seen the transcript does not know it.
    """
    item = signal.item
    said = (" ".join(text.casefold().split()) for text in (item.text, item.wrong, item.right))
    whole = "\0".join((signal.session, family_of(item.kind, item.right), *said))
    return KEY + text_id(named_digest(b"clan-mesh harv 1", mesh + whole.encode("utf-8", "surrogatepass")))[:_KEY_CHARS]


LOCK = "harvest.lock"  # in the folder of the candidates: who changes them holds it
_WAIT_SECONDS = 30.0


def forget_erased(home: str, tags: Collection[bytes]) -> list[str]:
    """Take the words of candidates that became these records out of the home. Returns the sessions they were harvested from."""
    if not tags or not has_candidates(home):
        return []
    with FileLock(os.path.join(home, FOLDER, LOCK)).held(_WAIT_SECONDS), CandidateTable(home) as kept:
        return forget_in(CandidateStore(kept), tags)


def forget_in(shelf: CandidateStore, tags: Collection[bytes]) -> list[str]:
    """The same, while the caller holds the lock."""
    names = {text_id(tag) for tag in tags}
    gone = [each for each in shelf.every() if any(signal.record in names for signal in each.signals)]
    if not gone:
        return []
    with shelf.writing():
        for candidate in gone:
            shelf.remove(candidate.id)
            shelf.put(candidate.wiped("erased"), [])
    shelf.kept.rewrite()
    return sorted({signal.session for candidate in gone for signal in candidate.signals})
