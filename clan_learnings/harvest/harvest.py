"""The harvest: what was captured since the last run is clustered, judged, and written as records where that is allowed. And the trial, which keeps nothing.

A node runs it after capturing, a person with `mesh harvest`; two never run at once on one home. Only the trial reads transcripts.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from clan_learnings.agents.session_notes import bound_sessions
from clan_learnings.documents.harvested_documents import write_documents
from clan_learnings.harvest.candidate_table import FOLDER, CandidateStore, CandidateTable
from clan_learnings.harvest.candidates import (
    APPROVED,
    FOR_HOT,
    FOR_MEND,
    FOR_PLACE,
    FOR_SHARE,
    PERSON,
    PROVISIONAL,
    RECORDED,
    UNSHARED,
    HarvestCandidate,
)
from clan_learnings.harvest.clusters import rank, warnings
from clan_learnings.harvest.evidence_bar import EvidenceBar, bar_of
from clan_learnings.harvest.intake import READ, Intake, IntakeCounts
from clan_learnings.harvest.items import HarvestItem
from clan_learnings.harvest.model_extraction import ModelExtraction
from clan_learnings.harvest.record_writer import RecordWriter, WriteCounts
from clan_learnings.harvest.withdrawals import LOCK, WithdrawalMarks, forget_in
from clan_learnings.records.memory import Memory
from clan_learnings.records.shared_settings import KEY as SETTINGS
from clan_learnings.sessions.analysis import Analysts, analyse, real_analysts
from clan_learnings.sessions.catalogue_table import Catalogue
from clan_learnings.sessions.digest import Digest
from clan_learnings.sessions.session_folders import discover
from clan_learnings.sessions.transcript_events import Session
from clan_learnings.sessions.transcript_file import FileRefused, read_file
from mesh.store.file_access import FileLock
from mesh.store.handing_author import DraftAuthor
from mesh.store.home import Home, open_home
from mesh.store.reader import Reader

_ERASED = "erased"  # the name of the number of erases that were looked at
_WAIT_SECONDS = 30.0
_SHOWN = 20
_REASONS = (PERSON, FOR_SHARE, FOR_HOT, FOR_MEND, UNSHARED, FOR_PLACE)  # what somebody can do something about


class HarvestSummary(NamedTuple):
    """What one harvest did, and what waits."""

    taken: IntakeCounts
    written: WriteCounts
    documents: list[dict[str, Any]]  # learning documents beside the records
    waiting: dict[str, int]  # by what it waits for
    share: dict[str, int]  # repositories that `mesh share` would let go, and how many candidates each
    learned: list[dict[str, Any]]  # new candidates that are kept, the best first
    warnings: list[str]
    problems: list[str]

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        why = self.written.stopped
        return {
            "sessions": self.taken.sessions,
            "items": self.taken.items,
            "founded": self.taken.founded,
            "merged": self.taken.joined,
            "rejected_again": self.taken.again,
            "forgotten": self.taken.forgotten,
            "taken_back": self.taken.taken_back,
            "learned": self.learned,
            "recorded": self.written.records,
            "known": self.written.known,
            "documents": self.documents,
            "hot": list(self.written.hot),
            "waiting": self.waiting,
            "share": self.share,
            "warnings": self.warnings,
            "problems": [*self.problems, *self.written.problems],
            "stopped": None if why is None else why.facts() | {"candidates": self.written.left},
        }


class Harvest:
    """One home, locked for one harvester. Use within `open_harvest`."""

    def __init__(
        self, home: str, kept: CandidateTable, author: DraftAuthor, environ: dict[str, str] | None = None
    ) -> None:
        self.home = home
        self.shelf = CandidateStore(kept)
        self._author = author
        self._environ = dict(os.environ) if environ is None else environ
        self.bar: EvidenceBar = bar_of(Reader(author.store.database.connection).fields(SETTINGS))
        self.intake = Intake(self.shelf, self.bar, self._environ, WithdrawalMarks(author).holds, bound_sessions(home))

    def forget_erased(self) -> None:
        """What any member has erased since the last run goes from the candidates too."""
        tags = self._author.store.statements.erased_tags()
        if len(tags) != self.shelf.kept.progress(_ERASED):
            forget_in(self.shelf, tags)
            with self.shelf.writing():
                self.shelf.kept.reach(_ERASED, len(tags))

    def writer(self) -> RecordWriter:
        """What writes records, with a fresh limit of HOT."""
        return RecordWriter(
            self.home, self.shelf, self._author, hot_a_run=self.bar.hot_a_run, environ=self._environ,
            clock=self._author.store.clock,
        )  # fmt: skip

    def run(
        self,
        reading: Callable[[int], None] = lambda _: None,
        writing: Callable[[int], None] = lambda _: None,
        asked: ModelExtraction | None = None,
    ) -> HarvestSummary:
        """All that is new. `reading` and `writing` are told how far it is. `asked`: a model that is asked about each session too."""
        self.forget_erased()
        with Catalogue(self.home) as catalogue:
            more = None if asked is None else (lambda found: asked.items(catalogue, found))
            before = self.shelf.kept.progress(READ)
            taken = self.intake.run(catalogue, reading, more)
            if asked is not None:
                for found in catalogue.digests():
                    if found.number <= before and found.path in asked.paths:
                        self.intake.add(found, asked.items(catalogue, found))
        fresh = list(self.shelf.changed)
        written = self.writer().run(writing)
        documents = self.document(written)
        return self.summary(taken, written, documents, fresh, [] if asked is None else asked.problems())

    def document(self, written: WriteCounts, breathe: Callable[[], None] = lambda: None) -> list[dict[str, Any]]:
        """Learning documents for what has become records: longer, beside the sentence. None where nothing more may be written."""
        if not written.candidates or written.stopped is not None:
            return []
        with Catalogue(self.home) as catalogue:
            return write_documents(self._author, catalogue, written.candidates, self._author.store.clock(), breathe)

    def summary(
        self,
        taken: IntakeCounts,
        written: WriteCounts,
        documents: list[dict[str, Any]],
        fresh: list[str],
        problems: list[str],
    ) -> HarvestSummary:
        """How things stand now."""
        waiting: Counter[str] = Counter()
        share: Counter[str] = Counter()
        new = set(fresh)
        learned: list[tuple[Any, HarvestCandidate]] = []

        def kept() -> Iterator[HarvestCandidate]:
            """Each is looked at once, and few are remembered: there may be tens of thousands."""
            for candidate in self.shelf.every(PROVISIONAL, APPROVED, RECORDED):
                reasons = {signal.held for signal in candidate.waiting} if candidate.state != PROVISIONAL else {PERSON}
                waiting.update(reasons.intersection(_REASONS))
                if candidate.state != PROVISIONAL:
                    share.update({signal.repo for signal in candidate.waiting if signal.held == FOR_SHARE})
                if candidate.id in new:
                    learned.append((rank(candidate), candidate))
                    learned.sort(key=lambda each: each[0])
                    del learned[_SHOWN:]
                yield candidate

        with self._author.store.database.savepoint():  # one state: others write and erase meanwhile
            hot = [item.rule for item in Memory(Reader(self._author.store.database.connection)).hot(None)]
        bloated = warnings(kept(), hot)
        return HarvestSummary(
            taken,
            written,
            documents,
            {name: waiting[name] for name in _REASONS},
            dict(share.most_common()),
            [told(candidate) for _, candidate in learned],
            bloated,
            problems,
        )


@contextmanager
def open_harvest(
    home: str,
    environ: dict[str, str] | None = None,
    wait_seconds: float = _WAIT_SECONDS,
    author_of: Callable[[Home], DraftAuthor] = Home.author,
) -> Iterator[Harvest]:
    """The harvest of a home, under its lock. Raises HomeBusy if another one holds the lock for so long."""
    opened = open_home(home)
    folder = os.path.join(opened.path, FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with FileLock(os.path.join(folder, LOCK)).held(wait_seconds):
        author = author_of(opened)
        try:
            with CandidateTable(opened.path) as kept:
                yield Harvest(opened.path, kept, author, environ)
        finally:
            author.store.close()


def harvest_new(
    home: str, breathe: Callable[[], None] = lambda: None, author_of: Callable[[Home], DraftAuthor] = Home.author
) -> HarvestSummary:
    """Harvest what was captured since the last time: beside a running node, after it was captured. Blocking.

    What waits is only counted, by the first thing that each candidate waits for. `breathe` is called often; what it raises ends
    the run, and nothing that was done is lost. Raises HomeBusy if somebody harvests right now: what is new waits for the next time.
    """
    with open_harvest(home, wait_seconds=0.0, author_of=author_of) as harvest:
        harvest.forget_erased()
        with Catalogue(harvest.home) as catalogue:
            taken = harvest.intake.run(catalogue, breathe=breathe)
        written = harvest.writer().run(lambda _: breathe())
        documents = harvest.document(written, breathe)
        waiting: Counter[str] = Counter()
        for (_, waits), count in harvest.shelf.kept.counts().items():
            waiting[waits] += count
        return HarvestSummary(taken, written, documents, {name: waiting[name] for name in _REASONS}, {}, [], [], [])


def told(candidate: HarvestCandidate) -> dict[str, Any]:
    """A candidate as JSON, for lists and `--json`."""
    return {
        "id": candidate.id,
        "kind": candidate.kind,
        "category": candidate.category,
        "text": candidate.text,
        "wrong": candidate.wrong,
        "right": candidate.right,
        "state": candidate.state,
        "why": candidate.because,
        "waits_for": candidate.waits_for,
        "confidence": candidate.confidence,
        "frequency": candidate.frequency,
        "sessions": candidate.sessions,
        "repos": candidate.repos,
        "flavours": candidate.flavours,
        "cross_flavour": candidate.is_cross_flavour,
        "tokens": candidate.tokens,
        "dollars": candidate.dollars,
        "last_ms": candidate.last_ms,
        "problems": list(candidate.problems),
        "linked": list(candidate.linked),
        "merged_into": candidate.into or None,
        "pattern": candidate.pattern or None,
        "evidence": [
            {
                "session": signal.session,
                "line": signal.item.line,
                "fix_line": signal.item.fix_line,
                "repo": signal.repo,
                "at_ms": signal.at_ms or None,
                "quote": signal.item.quote,
                "source": signal.item.source,
                "record": signal.record[:8] or None,
                "held": signal.held or None,
            }
            for signal in candidate.signals
        ],
    }


class Trial(NamedTuple):
    """What was found, and what could not be looked at."""

    items: list[dict[str, Any]]
    files: int
    sessions: int
    skipped: list[tuple[str, str]]  # path, why


def trial(
    paths: Sequence[str],
    agent: str,
    since_ms: int,
    environ: Mapping[str, str],
    asked: ModelExtraction | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Trial:
    """Read every file as capturing does, cleaned, and return the items found in it."""
    analysts = real_analysts()
    if asked is not None:
        analysts = _with_model(analysts, asked)
    items: list[dict[str, Any]] = []
    skipped: list[tuple[str, str]] = []
    files = sessions = 0
    names = _Names(paths)
    for found in discover(paths, agent, since_ms, environ):
        name = names.of(found.path)
        files += 1
        progress(1)
        try:
            reading = read_file(found.path, None, None, _go_on)
            analysis = analyse(reading.body, found.path, analysts, _go_on)
        except FileRefused as refused:
            skipped.append((name, str(refused)))
            continue
        except OSError as error:
            skipped.append((name, f"cannot be read: {error.strerror}"))
            continue
        except Exception as error:  # noqa: BLE001 (bytes of strangers: one file must not spoil the others)
            skipped.append((name, f"not analysed: {type(error).__name__}"))
            continue
        if not analysis.sessions:
            skipped.append((name, next(iter(analysis.skipped), "no session in it")))
        sessions += len(analysis.sessions)
        items += [_told(name, item) for told in analysis.sessions for item in told.items]
    return Trial(items, files, sessions, skipped)


def _told(name: str, item: dict[str, Any]) -> dict[str, Any]:
    return {
        "file": name,
        "kind": item["kind"],
        "evidence_line": item["line"],
        "fix_line": item["fix_line"],
        "text": item["text"],
        "confidence": item["confidence"],
    }


def _with_model(analysts: Analysts, asked: ModelExtraction) -> Analysts:
    """The rules, and what a model finds beside them."""

    def items(session: Session) -> list[HarvestItem]:
        known: list[HarvestItem] = analysts.items(session)
        digest: Digest = analysts.digest(session)
        return known + asked.items_of(digest, session, known)

    return analysts._replace(items=items)


class _Names:
    """Files as the person named them: under the folder that was given, however that was written."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._given = [(os.path.realpath(path), path) for path in paths]

    def of(self, path: str) -> str:
        for real, given in self._given:
            if path == real:
                return given
            if path.startswith(real.rstrip("/") + "/"):
                return os.path.join(given, os.path.relpath(path, real))
        return path


def _go_on() -> None:
    """Nobody else is waiting for us."""
