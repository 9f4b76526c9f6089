"""The candidates of a home as values: reads and keeps them as JSON in the database beside the catalogue."""

from collections.abc import Iterable, Iterator

from clan_learnings.harvest.candidates import Candidate, candidate_from
from mesh.core.errors import AmbiguousId, UnknownId
from mesh.store.candidates import Candidates


class KeptShelf:
    """A shelf for `clan_learnings.harvest.clusters`."""

    def __init__(self, kept: Candidates) -> None:
        self.kept = kept
        self.changed: dict[str, None] = {}  # ids that were put, in order

    def get(self, name: str) -> Candidate | None:
        """The candidate of an id."""
        body = self.kept.get(name)
        return None if body is None else candidate_from(body)

    def near(self, family: str, words: list[str], most: int) -> list[Candidate]:
        """Those of a family that share words, most of them first."""
        return _read(self.kept.near(family, words, most))

    def put(self, candidate: Candidate, words: list[str]) -> None:
        """Keep one. Its texts were cleaned where they came in: what a session says in `intake`, what a person says in `curating`."""
        self.kept.put(candidate.as_json(), candidate.family, candidate.state, candidate.waits_for, words)
        self.changed[candidate.id] = None

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


def _read(bodies: Iterable[dict[str, object]]) -> list[Candidate]:
    return [found for body in bodies if (found := candidate_from(body)) is not None]
