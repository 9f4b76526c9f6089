"""The candidates of a home as values: reads and keeps them as JSON in the database beside the catalogue."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from clan_learnings.harvest.candidate_table import Candidates
from clan_learnings.harvest.candidates import Candidate, candidate_from
from mesh.core.errors import AmbiguousId, UnknownId

_SIGNALS = 10_000  # of candidates that are remembered, about 2 KB each
_LEAST = 64  # candidates that are remembered, however many signals they have


class KeptShelf:
    """A shelf for `clan_learnings.harvest.clusters`.

    Remembers what it has read, for the same ones are compared again and again; and what is put within `writing` is written
    once, at its end, however often it changes. Nobody else changes candidates meanwhile: who does has the lock of harvesting.
    """

    def __init__(self, kept: Candidates) -> None:
        self.kept = kept
        self.changed: dict[str, None] = {}  # ids that were put, in order
        self._unwritten: dict[str, Candidate] = {}
        self._remembered: OrderedDict[str, Candidate] = OrderedDict()  # the one that was not asked for longest first
        self._signals = 0
        self._is_writing = False

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all that is put or removed in it, or nothing."""
        try:
            with self.kept.writing():
                self._is_writing = True
                yield
                for candidate in self._unwritten.values():
                    self._write(candidate)
        except BaseException:
            self._remembered.clear()
            self._signals = 0
            raise
        finally:
            self._unwritten.clear()
            self._is_writing = False

    def get(self, name: str) -> Candidate | None:
        """The candidate of an id."""
        found = self._unwritten.get(name)
        if found is not None:
            return found
        if name in self._remembered:
            self._remembered.move_to_end(name)
            return self._remembered[name]
        body = self.kept.get(name)
        found = None if body is None else candidate_from(body)
        if found is not None:
            self._remember(found)
        return found

    def near(self, family: str, words: list[str], most: int) -> list[Candidate]:
        """Those of a family that share words, most of them first."""
        return [found for name in self.kept.near(family, words, most) if (found := self.get(name)) is not None]

    def put(self, candidate: Candidate, words: list[str]) -> None:
        """Keep one. Its texts were cleaned where they came in: what a session says in `intake`, what a person says in `curating`."""
        if not self._is_writing:
            with self.writing():
                self.put(candidate, words)
            return
        if words:
            self.kept.find_by(candidate.id, candidate.family, words)
        self._forget(candidate.id)
        self._unwritten[candidate.id] = candidate
        self.changed[candidate.id] = None

    def remove(self, name: str) -> None:
        """Forget one altogether."""
        self._forget(name)
        self._unwritten.pop(name, None)
        self.kept.remove(name)

    def _write(self, candidate: Candidate) -> None:
        self.kept.put(candidate.as_json(), candidate.family, candidate.state, candidate.waits_for)
        self._remember(candidate)

    def _remember(self, candidate: Candidate) -> None:
        self._forget(candidate.id)
        self._remembered[candidate.id] = candidate
        self._signals += len(candidate.signals)
        while self._signals > _SIGNALS and len(self._remembered) > _LEAST:
            self._signals -= len(self._remembered.popitem(last=False)[1].signals)

    def _forget(self, name: str) -> None:
        found = self._remembered.pop(name, None)
        self._signals -= 0 if found is None else len(found.signals)

    def every(self, *states: str, waits: Iterable[str] | None = None) -> Iterator[Candidate]:
        """All of some states, of all if none is named; `waits`: only those that wait for one of these."""
        for body in self.kept.every(states or None, waits):
            found = candidate_from(body)
            if found is not None:
                yield found

    def find(self, name: str) -> Candidate:
        """The candidate of an id, or of the beginning of one."""
        found = self.get(name)
        if found is not None:
            return found
        close = self.kept.beginning(name) if name else []
        if len(close) > 1:
            raise AmbiguousId(f"{name} is the beginning of several candidates", close)
        only = self.get(close[0]) if close else None
        if only is None:
            raise UnknownId(f"there is no candidate {name!r}", "see which there are: mesh curate --list")
        return only
