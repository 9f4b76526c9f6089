"""The registers that patterns are made of, as HOT has them where one node's word is not enough: aliases, moves, scopes. Reads only.

They hold if their owner, an admin or enough witnesses say so. Everything but HOT goes by what counts elsewhere.
"""

from __future__ import annotations

from clan_learnings.records.pattern_names import PatternNames, is_slug
from clan_learnings.records.record import CORRECTIONS, PATTERNS

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from clan_learnings.records.shared_settings import SharedSettings
    from clan_learnings.records.witnesses import Witnesses
    from mesh.store.reading import Reader

KEY = "pattern:"  # before a slug: the key of its registers


class AgreedRegisters:
    """Of one snapshot."""

    def __init__(self, reader: Reader, settings: SharedSettings, witnesses: Witnesses) -> None:
        self._reader = reader
        self._settings = settings
        self._witnesses = witnesses
        self._eldests: dict[str, tuple[int, bytes] | None] = {}
        self._moves: dict[bytes, str | None] | None = None
        self._repos: dict[bytes, str] | None = None

    def aliases(self) -> list[tuple[str, str]]:
        """Only of names that may be HOT together: of the others nobody asks whose they are."""
        said = {slug: words for slug, words in of_patterns(self._reader.said("alias_of")).items() if is_slug(slug)}
        every = PatternNames((slug, one.value) for slug, words in said.items() for one in words if is_slug(one.value))
        enough: dict[frozenset[str], bool] = {}
        found = []
        for slug, words in said.items():
            names = every.of(slug)
            if names not in enough:
                enough[names] = self._may_be_hot(names)
            if enough[names]:
                held = self._witnesses.agreed(words, _slug, lambda other, slug=slug: self._owner(slug, other))  # type: ignore[misc]
                if held is not None and held[0] is not None:
                    found.append((slug, held[0]))
        return found

    def moves(self) -> dict[bytes, str | None]:
        """By who wrote the record, by an admin, by enough witnesses."""
        if self._moves is None:
            self._moves = self._edits("pattern", _slug)
        return self._moves

    def repos(self) -> dict[bytes, str]:
        """Where records hold that were edited, in the same way."""
        if self._repos is None:
            read = self._edits("repo", lambda value: value if type(value) is str else "")  # as `Note` reads it
            self._repos = {tag: value or "" for tag, value in read.items()}
        return self._repos

    def is_global(self, slug: str) -> bool:
        """By who alone has written under it, by an admin, by enough witnesses."""
        words = self._reader.said_of(KEY + slug, "global")
        held = self._witnesses.agreed(words, lambda value: value is True or None, lambda _: self._owner(slug, None))
        return held is not None and held[0] is True

    def fields(self, tag: bytes) -> Mapping[str, Any]:
        """Where a record counts and holds. Its words are put to the vote: see `witnesses.Ballot`."""
        found: dict[str, Any] = {}
        if tag in self.moves():
            found["pattern"] = self.moves()[tag] or ""
        if tag in self.repos():
            found["repo"] = self.repos()[tag]
        return found

    def _edits(self, field: str, read: Callable[[Any], str | None]) -> dict[bytes, str | None]:
        said = {tag: words for tag, words in self._reader.said(field).items() if isinstance(tag, bytes)}
        found = {}
        for tag, entry in self._reader.live(said).items() if said else ():
            held = self._witnesses.agreed(said.get(tag, ()), read, lambda _, author=entry.node: author)  # type: ignore[misc]
            if held is not None:
                found[tag] = held[0]
        return found

    def _may_be_hot(self, names: frozenset[str]) -> bool:
        most = sum(name in names for name in self.moves().values())
        for name in names:
            most += self._reader.sessions(name, CORRECTIONS)
            if most >= self._settings.hot_at:
                return True
        return False

    def _owner(self, slug: str, other: str | None) -> bytes | None:
        """Who may join a name to another, or part it, alone: whoever wrote all that was written under it, while that is younger.

        Not the writer of the oldest record, which anybody can date back. And never the other way round: through a name of its
        own a node could join what others keep apart, or have a name of its own stand for all.
        """
        authors = self._reader.writers(slug, (CORRECTIONS, PATTERNS))
        if len(authors) != 1:
            return None
        if other is not None and (first := self._eldest(slug)) is not None:
            older = self._eldest(other)
            if older is None or older >= first:
                return None
        return authors.pop()

    def _eldest(self, slug: str) -> tuple[int, bytes] | None:
        if slug not in self._eldests:
            entries = (self._reader.eldest(slug, log) for log in (CORRECTIONS, PATTERNS))
            places = [(entry.at, entry.tag) for entry in entries if entry is not None]
            self._eldests[slug] = min(places, default=None)
        return self._eldests[slug]


def of_patterns(registers: dict[bytes | str, Any]) -> dict[str, Any]:
    """The registers whose key is a pattern's, by its slug."""
    return {
        key.removeprefix(KEY): said
        for key, said in registers.items()
        if isinstance(key, str) and key.startswith(KEY) and key != KEY
    }


def _slug(value: object) -> str | None:
    return value if type(value) is str and is_slug(value) else None
