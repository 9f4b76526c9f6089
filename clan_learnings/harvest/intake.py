"""The intake of new digests: their items become signals of candidates, and those candidates are judged again. Incremental; writes no record.

Where it stopped is kept with the candidates, in the same transaction: a kill at any moment repeats a page and changes nothing.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

from clan_learnings.agents.surroundings import is_session
from clan_learnings.harvest.candidate_table import CandidateStore
from clan_learnings.harvest.candidates import BY_MODEL, MERGED, REJECTED, HarvestCandidate, Signal, signal_from
from clan_learnings.harvest.clusters import add_signal, signals_of
from clan_learnings.harvest.evidence_bar import EvidenceBar, judged
from clan_learnings.harvest.fixes import recurring
from clan_learnings.harvest.item_quality import bears_mark, problems
from clan_learnings.harvest.items import HarvestItem, item_from
from clan_learnings.redaction import redact_value
from clan_learnings.repository.detection import find
from clan_learnings.sessions.catalogue_rows import DigestRow
from clan_learnings.sessions.catalogue_table import Catalogue
from mesh.core.ids import named_digest, text_id

READ = "digests"  # the name of the number up to which digests were read
_PAGE = 200  # sessions in one transaction
_ASKED_PAGE = 50  # of those that a model is asked about, which takes long
_ID_CHARS = 20
_ITEMS = 200  # of one session that are looked at


class IntakeCounts(NamedTuple):
    """What an intake has read, and what came of it."""

    sessions: int = 0
    items: int = 0
    founded: int = 0  # candidates that are new
    joined: int = 0  # signals that were put to a candidate that was there
    again: int = 0  # of those: to one that a person has rejected
    forgotten: int = 0  # signals of transcripts that were forgotten
    taken_back: int = 0  # signals of what was a record, and was erased or retracted


class Intake:
    """One run over the digests that are new."""

    def __init__(
        self,
        shelf: CandidateStore,
        bar: EvidenceBar,
        environ: dict[str, str] | None = None,
        is_taken_back: Callable[[Signal], bool] = lambda _: False,
        bound: Mapping[str, str] | None = None,
    ) -> None:
        """`is_taken_back`: whether a signal was a record once, and somebody took that back. Nothing of it is kept.

        `bound`: the repositories of sessions whose hooks were bound to one, whatever their folders say.
        """
        self._shelf = shelf
        self._bound = bound or {}
        self._is_taken_back = is_taken_back
        self._bar = bar
        self._environ = dict(os.environ) if environ is None else environ
        self._repos: dict[str, str] = {}
        self._unjudged: dict[str, None] = {}  # ids of what has changed, in order

    def run(
        self,
        catalogue: Catalogue,
        progress: Callable[[int], None] = lambda _: None,
        more: Callable[[DigestRow], list[HarvestItem]] | None = None,
        breathe: Callable[[], None] = lambda: None,
    ) -> IntakeCounts:
        """Everything since the last run. `more`: who else has something to say about a session."""
        total = IntakeCounts(forgotten=self._forget(catalogue))
        for page in _pages(catalogue.digests(self._shelf.kept.progress(READ)), _PAGE if more is None else _ASKED_PAGE):
            # Before the transaction: it may take minutes.
            said = [] if more is None else [more(found) for found in page]
            with self._judging():
                for found in page:
                    breathe()
                    total = _sum(total, self.take(found))
                for found, items in zip(page, said, strict=False):
                    total = _sum(total, self._add(found._replace(key=found.key + BY_MODEL), items))
                self._shelf.kept.reach(READ, page[-1].number)
            progress(len(page))
        return total

    def take(self, found: DigestRow) -> IntakeCounts:
        """One session. What an earlier reading of the same transcript said is void."""
        self._void(found.key, session_of(found))
        items = [item for value in found.items[:_ITEMS] if (item := item_from(value)) is not None]
        return _sum(self._add(found, items)._replace(sessions=1), self._recurring(found, items))

    def _recurring(self, found: DigestRow, items: Sequence[HarvestItem]) -> IntakeCounts:
        """Errors that no rule has made anything of: one that a second session has too is a signal of both."""
        told = {item.signature for item in items}
        total = IntakeCounts()
        for item in recurring(found.digest.get("failures")):
            if item.signature in told:
                continue
            told.add(item.signature)
            own = self.signal(found, item)
            if self._is_taken_back(own):
                continue
            again = self._shelf.kept.note_error(item.signature, own.session, found.key, own.as_json())
            for body in again:
                signal = signal_from(body)
                if signal is not None:
                    total = _sum(total, self._place(signal, signal.key))
        return total

    def add(self, found: DigestRow, items: Sequence[HarvestItem]) -> IntakeCounts:
        """What somebody else has found in a session that was read before."""
        with self._judging():
            return self._add(found._replace(key=found.key + BY_MODEL), items)

    def adopt(self, signals: Sequence[Signal]) -> IntakeCounts:
        """What was imported, from no session: each waits for a person."""
        total = IntakeCounts(items=len(signals))
        with self._judging():
            for signal in signals:
                total = _sum(total, self._place(signal, signal.key))
        return total

    def _add(self, found: DigestRow, items: Sequence[HarvestItem]) -> IntakeCounts:
        total = IntakeCounts(items=len(items))
        for signal in signals_of(items, lambda item: self.signal(found, item)):
            total = _sum(total, self._place(signal, found.key))
        return total

    def _place(self, signal: Signal, key: str) -> IntakeCounts:
        if self._is_taken_back(signal):
            return IntakeCounts(taken_back=1)
        placed, is_new = add_signal(self._shelf, signal)
        if not signal.is_imported:  # whose source is in no catalogue
            self._shelf.kept.found_in(placed.id, key)
        if not is_new:
            return IntakeCounts()
        self._unjudged[placed.id] = None
        is_first = len(placed.signals) == 1
        return IntakeCounts(founded=is_first, joined=not is_first, again=placed.state == REJECTED)

    def signal(self, found: DigestRow, item: HarvestItem) -> Signal:
        """What a session says, without its secrets."""
        digest = found.digest
        item = HarvestItem(*(redact_value(said)[0] for said in item))
        at_ms = item.at_ms or _whole(digest.get("ended_ms")) or _whole(digest.get("started_ms")) or _touched(found.path)
        dollars = digest.get("dollars")
        session = session_of(found)
        return Signal(
            session=session,
            flavour=_text(digest.get("flavour")) or found.session.partition(":")[0],
            repo=self._repo(self._bound.get(session) or _text(digest.get("repo")), _text(digest.get("folder"))),
            item=item,
            folder=_text(digest.get("folder")),
            at_ms=at_ms,
            tokens=_whole(digest.get("tokens")),
            dollars=float(dollars) if isinstance(dollars, int | float) else None,
            is_redacted=bears_mark(item.text, item.wrong, item.right, item.quote),
            key=found.key,
        )

    @contextmanager
    def _judging(self) -> Iterator[None]:
        """One transaction, at the end of which all that has changed is judged, once."""
        self._unjudged.clear()
        with self._shelf.writing():
            yield
            for name in self._unjudged:
                found = self._shelf.get(name)
                if found is not None:
                    self.judge(found)

    def judge(self, candidate: HarvestCandidate) -> HarvestCandidate:
        """Gate and bar, again, for one that has changed."""
        if candidate.state in (MERGED, REJECTED):
            return candidate
        done = judged(candidate._replace(problems=problems(candidate)), self._bar)
        if done != candidate:
            self._shelf.put(done, [])
        return done

    def _forget(self, catalogue: Catalogue) -> int:
        """What a person has taken out of the catalogue goes from here too; what is a record by now stays one."""
        there = catalogue.keys()
        with self._judging():
            gone = self._shelf.kept.of_forgotten(lambda key: key.removesuffix(BY_MODEL) in there)
            for key, name in gone:
                self._shelf.kept.forget(key, name)
                self._without(name, key)
        if gone:
            self._shelf.kept.rewrite()
        return len(gone)

    def _void(self, key: str, session: str) -> None:
        self._shelf.kept.forget_errors(key)
        for name in self._shelf.kept.told_by(key):
            found = self._shelf.get(name)
            if found is not None and any(
                signal.key == key and signal.session == session and not signal.record for signal in found.signals
            ):
                self._shelf.kept.forget(key, name)
                self._without(name, key)

    def _without(self, name: str, key: str) -> None:
        """A candidate without the signals of one transcript. Without any signal it is dropped, unless a person has decided about it."""
        found = self._shelf.get(name)
        if found is None:
            return
        left = tuple(signal for signal in found.signals if signal.key != key or signal.record)
        if left or found.state in (REJECTED, MERGED):
            self._shelf.put(found._replace(signals=left), [])
            self._unjudged[name] = None
        else:
            self._shelf.remove(name)

    def _repo(self, said: str, folder: str) -> str:
        """The identity of a session's repository: as its transcript tells, else as its folder does, if that is still there."""
        if said or not folder:
            return said
        if folder not in self._repos:
            path = os.path.expanduser(folder)
            self._repos[folder] = find(path, self._environ).identity if os.path.isdir(path) else ""
        return self._repos[folder]


def session_of(found: DigestRow) -> str:
    """The session as records name it. One whose id no record could have gets another, the same for every copy of it."""
    if is_session(found.session):
        return found.session
    own = found.session if found.session.partition(":")[2] else found.key.removesuffix(BY_MODEL)
    made = text_id(named_digest(b"clan-mesh sess 1", own.encode("utf-8", "surrogatepass")))[:_ID_CHARS]
    return f"{_text(found.digest.get('flavour')) or 'unknown'}:id-{made}"


def _pages(found: Iterable[DigestRow], most: int) -> Iterator[list[DigestRow]]:
    rest = iter(found)
    while page := list(islice(rest, most)):
        yield page


def _sum(one: IntakeCounts, other: IntakeCounts) -> IntakeCounts:
    return IntakeCounts(*(mine + its for mine, its in zip(one, other, strict=True)))


def _touched(path: str) -> int:
    """When a transcript was last written: what does not tell its time is no older than that."""
    try:
        return int(os.stat(path).st_mtime * 1000)
    except (OSError, ValueError):
        return 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0
