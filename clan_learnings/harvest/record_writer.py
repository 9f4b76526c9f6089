"""Approved candidates become records, for repositories that are shared. Decides which have to wait, and for what; `record_drafts` makes the drafts.

Append first, then note it: after a kill in between, the next run finds the record and writes none. Where this node may write no
more, for now or at all, a run stops: what is left is due in the next one. At most so many patterns become HOT in one run through what was harvested alone, and none through sessions that are all long past: a person may let them.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from clan_learnings.harvest.candidate_table import CandidateStore
from clan_learnings.harvest.candidates import (
    APPROVED,
    FOR_HOT,
    FOR_LOOK,
    FOR_MEND,
    FOR_PLACE,
    FOR_SHARE,
    OLD_NEWS,
    RECORDED,
    RULES,
    TOO_HOT,
    UNSHARED,
    WRITER,
    HarvestCandidate,
    Signal,
)
from clan_learnings.harvest.clusters import rank
from clan_learnings.harvest.item_quality import one_place, placeless
from clan_learnings.harvest.record_drafts import draft_signal, heat
from clan_learnings.harvest.withdrawals import WithdrawalMarks
from clan_learnings.records.memory import Memory
from clan_learnings.redaction.text_cleaner import TextCleaner
from clan_learnings.repository.consent import is_shared, read_shared
from clan_learnings.repository.detection import find
from mesh.core.draft import Draft
from mesh.core.errors import UsageError, WriteRefused
from mesh.core.ids import text_id
from mesh.store.handing_author import DraftAuthor
from mesh.store.reader import Reader
from mesh.store.receipts import Receipt


class WriteCounts(NamedTuple):
    """What became records, what was there already, what was held back."""

    records: list[dict[str, Any]]
    known: int = 0  # said by a record already: logged live, or harvested elsewhere
    hot: tuple[str, ...] = ()  # patterns that became HOT by it
    held_hot: int = 0  # signals that would have made more of them HOT
    problems: tuple[str, ...] = ()
    candidates: tuple[HarvestCandidate, ...] = ()  # of which something was written
    stopped: WriteRefused | None = None  # why the rest was not written
    left: int = 0  # how many candidates that is


class RecordWriter:
    """Writes the approved candidates of one home, in one run."""

    def __init__(
        self,
        home: str,
        shelf: CandidateStore,
        author: DraftAuthor,
        *,
        hot_a_run: int,
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self._shelf = shelf
        self._author = author
        self._taken_back = WithdrawalMarks(author)
        self._environ = environ
        self._now_ms = clock()
        self._globs = read_shared(home)
        self._hot_left = hot_a_run
        self._unshared: dict[str, bool] = {}
        self._records: list[dict[str, Any]] = []
        self._known = 0
        self._hot: list[str] = []
        self._held_hot = 0
        self._problems: list[str] = []
        self._candidates: list[HarvestCandidate] = []
        self._is_bulk = False
        self._stopped: WriteRefused | None = None
        self._left = 0

    def run(self, progress: Callable[[int], None] = lambda _: None) -> WriteCounts:
        """Everything that may be written now. It leaves half the quota to what is written live."""
        self._is_bulk = True
        due = self.due()
        for place, name in enumerate(due):
            candidate = self._shelf.get(name)
            try:
                if candidate is not None:
                    self.write(candidate)
            except WriteRefused as error:
                self._stopped, self._left = error, len(due) - place
                break
            progress(1)
        return self.written()

    def due(self) -> list[str]:
        """The ids of what is approved and not written, the best founded first: it has the first claim to be HOT."""
        waits = (WRITER, FOR_SHARE, UNSHARED) if self._globs else (WRITER,)
        return [key[-1] for key in sorted(map(rank, self._shelf.every(APPROVED, RECORDED, waits=waits)))]

    def written(self) -> WriteCounts:
        """What this run has done so far."""
        told = tuple(self._hot), self._held_hot, tuple(self._problems), tuple(self._candidates)
        return WriteCounts(self._records, self._known, *told, self._stopped, self._left)

    def write(self, candidate: HarvestCandidate) -> HarvestCandidate:
        """One candidate: every signal that may be a record becomes one. Raises WriteRefused where nothing may be written."""
        before = len(self._records)
        back = [signal for signal in candidate.waiting if self._taken_back.holds(signal, candidate)]
        if back:
            return self._without(candidate, back)
        done = self._rules(candidate) if candidate.family == RULES else self._note(candidate)
        if len(self._records) > before:
            self._candidates.append(done)
        if done != candidate:
            with self._shelf.writing():
                self._shelf.put(done, [])
        return done

    def _without(self, candidate: HarvestCandidate, back: list[Signal]) -> HarvestCandidate:
        """What was erased or retracted is not written again, and its words are not kept."""
        left = tuple(signal for signal in candidate.signals if signal not in back)
        if any(signal.record for signal in left):
            done = candidate._replace(signals=left)
            with self._shelf.writing():
                self._shelf.put(done, [])
            return self.write(done)
        done = candidate.wiped("taken back: its record was erased or retracted")
        with self._shelf.writing():
            self._shelf.remove(candidate.id)
            self._shelf.put(done, [])
        self._shelf.kept.rewrite()
        return done

    def _rules(self, candidate: HarvestCandidate) -> HarvestCandidate:
        """Corrections: one a session, each in its own repository. The oldest first, as they happened."""
        due = [(signal, self._held(candidate, signal)) for signal in candidate.waiting]
        candidate = _with(candidate, *(signal._replace(held=why) for signal, why in due if why))
        free = [signal for signal, why in due if not why]
        for signal in sorted(free, key=lambda each: (each.at_ms, each.session)):
            candidate = self._append(candidate, signal, signal.repo)
        return candidate

    def _note(self, candidate: HarvestCandidate) -> HarvestCandidate:
        """Everything else is written once, however many sessions say it; if several repositories say it, it holds everywhere."""
        said = next((signal.record for signal in candidate.signals if signal.record), "")
        if not said:
            held = {signal: self._held(candidate, signal) for signal in candidate.waiting}
            free = [signal for signal, why in held.items() if not why]
            candidate = _with(candidate, *(signal._replace(held=why) for signal, why in held.items()))
            if not free:
                return candidate
            repos = {signal.repo for signal in free}
            first = min(free, key=lambda each: (each.at_ms, each.session))
            is_everywhere = len(repos) > 1 and (candidate.is_accepted or not one_place(candidate.text))
            candidate = self._append(candidate, first, "" if is_everywhere else first.repo)
            said = next((signal.record for signal in candidate.signals if signal.record), "")
        further = candidate.waiting if said else []
        marks = [
            mark for signal in further if not self._held(candidate, signal) for mark in self._taken_back.mark(signal)
        ]
        if marks:
            self._write(marks)
        return _with(candidate, *(signal._replace(record=said, held="") for signal in further))

    def _append(self, candidate: HarvestCandidate, signal: Signal, repo: str) -> HarvestCandidate:
        pen = TextCleaner()
        with self._author.store.database.savepoint():  # one state: others write and erase meanwhile
            memory = Memory(Reader(self._author.store.database.connection))
            try:
                drafted = draft_signal(memory, candidate, signal, repo, pen, self._now_ms)
            except UsageError as error:
                return self._to_mend(candidate, signal, str(error))
            is_weighed = drafted.pattern and not drafted.known and not candidate.is_accepted
            warmth = heat(memory, drafted.pattern, signal, self._now_ms) if is_weighed else None
        if pen.found and not candidate.is_accepted:
            return self._to_mend(candidate, signal, f"a secret was found in it: {pen.found}")
        candidate = candidate._replace(pattern=drafted.pattern or candidate.pattern)
        if drafted.known:
            self._known += 1
            mark = self._taken_back.mark(signal)
            if mark:
                self._write(mark)
            return _recorded(candidate, signal, text_id(drafted.known))
        if warmth is not None:
            if warmth.is_old_news or (warmth.becomes_hot and self._hot_left <= 0):
                self._held_hot += 1
                why = OLD_NEWS if warmth.is_old_news else TOO_HOT
                return _with(candidate._replace(why=why), signal._replace(held=FOR_HOT))
            if warmth.becomes_hot:
                self._hot_left -= 1
                self._hot.append(drafted.pattern)
        receipt = self._write([*drafted.drafts, *self._taken_back.mark(signal)])
        tag = text_id(receipt.tags[0])
        short = Reader(self._author.store.database.connection).short_id(receipt.tags[0])
        told = {"id": short, "kind": candidate.kind, "text": candidate.text, "repo": repo, "session": signal.session}
        self._records.append(told | {"pattern": drafted.pattern, "counts": receipt.counts, "candidate": candidate.id})
        return _recorded(candidate, signal, tag)

    def _write(self, drafts: Sequence[Draft]) -> Receipt:
        return self._author.append(drafts, is_bulk=self._is_bulk)

    def _to_mend(self, candidate: HarvestCandidate, signal: Signal, why: str) -> HarvestCandidate:
        self._problems.append(f"{candidate.id} could not be written: {why}")
        return _with(candidate._replace(why=why), signal._replace(held=FOR_MEND))

    def _held(self, candidate: HarvestCandidate, signal: Signal) -> str:
        """Why it may not leave this node; empty if it may."""
        if signal.is_imported and not candidate.is_accepted:
            return FOR_LOOK
        if self._is_unshared(signal.folder):
            return UNSHARED
        if not candidate.is_accepted and placeless(candidate, signal):
            return FOR_PLACE
        return "" if is_shared(signal.repo, self._globs) else FOR_SHARE

    def _is_unshared(self, folder: str) -> bool:
        """Whether the repository itself says that nothing of it is to be shared."""
        if not folder:
            return False
        if folder not in self._unshared:
            path = os.path.expanduser(folder)
            self._unshared[folder] = os.path.isdir(path) and find(path, self._environ).file.share is False
        return self._unshared[folder]


def _with(candidate: HarvestCandidate, *signals: Signal) -> HarvestCandidate:
    """The same with these in the place of those of the same sessions."""
    if not signals:
        return candidate
    said = {signal.session: signal for signal in signals}
    return candidate._replace(signals=tuple(said.get(each.session, each) for each in candidate.signals))


def _recorded(candidate: HarvestCandidate, signal: Signal, record: str) -> HarvestCandidate:
    return _with(candidate._replace(state=RECORDED, why="recorded"), signal._replace(record=record, held=""))
