"""What was written of patterns, as it counts: aliases, moves, scopes, fields, supersessions, and the records under each name. Reads only.

`PatternRegisters` goes by the latest word, or in a guarded mesh by `edit_rights`. `AgreedRegisters` is for HOT where one node's word is
not enough: there a word holds if the owner, an admin or enough witnesses say it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clan_learnings.records.edit_rights import EditRights
from clan_learnings.records.pattern_names import PatternNames, Successions, is_slug
from clan_learnings.records.record import CORRECTIONS, PATTERNS, SUPERSESSIONS, Note
from clan_learnings.records.shared_settings import SharedSettings
from clan_learnings.records.witnesses import Witnesses
from mesh.store.reader import Assigned, Entry, Reader

KEY = "pattern:"  # before a slug: the key of its registers
_SUPERSESSIONS = 10_000  # the newest that are read


class AgreedRegisters:
    """The registers of one snapshot, as HOT takes them where one node's word is not enough."""

    def __init__(self, reader: Reader, settings: SharedSettings, witnesses: Witnesses) -> None:
        self._reader = reader
        self._settings = settings
        self._witnesses = witnesses
        self._eldests: dict[str, tuple[int, bytes] | None] = {}
        self._moves: dict[bytes, str | None] | None = None
        self._repos: dict[bytes, str] | None = None

    def aliases(self) -> list[tuple[str, str]]:
        """Only of names that may be HOT together: the owner of others does not matter."""
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


class PatternRegisters:
    """What one snapshot of a notebook says of patterns: names, moves, fields, supersessions, and the records under a name.

    `bound`: as if what is told in another repository were not there.
    """

    def __init__(
        self,
        reader: Reader,
        settings: SharedSettings,
        witnesses: Witnesses,
        *,
        bound: str | None = None,
        by_agreement: bool = False,
    ) -> None:
        """`by_agreement`: as HOT has them where one node's word is not enough."""
        self._reader = reader
        self._settings = settings
        self._bound = bound
        self._witnesses = witnesses
        self._agreement = AgreedRegisters(reader, settings, witnesses) if by_agreement else None
        self._moves = _latest_moves(reader) if self._agreement is None else self._agreement.moves()
        self._moved_to: dict[str, list[bytes]] = {}
        for tag, slug in self._moves.items():
            if slug is not None:  # to what is no name: then it counts nowhere
                self._moved_to.setdefault(slug, []).append(tag)
        self.rights = _rights(reader, self._moved_to) if settings.is_guarded else None
        self._said: dict[str, dict[str, Assigned]] = {}
        self._names = PatternNames(())
        if self._agreement is None:
            self.aliases = self.counted("alias_of")  # a name's own word decides which names stand for one
            self._names = PatternNames((slug, said.value) for slug, said in self.aliases.items() if is_slug(said.value))
        else:
            self._names = PatternNames(self._agreement.aliases())
        self._archived = self.counted("archived")
        # Slugs that something was moved away from, or whose repository is not the one that their tally says.
        edited = {*self._placed(), *self._moves}
        self._left = reader.named_by(edited) if edited else set()
        self._superseded: Successions | None = None

    def names(self, slug: str) -> frozenset[str]:
        """All names of the pattern that has this one."""
        return self._names.of(slug)

    def is_marked_global(self, slug: str) -> bool:
        """Whether somebody said that it holds everywhere."""
        if self._agreement is not None:
            return self._agreement.is_global(slug)
        said = self._of("global").get(slug)
        return said is not None and said.value is True

    def rule_of(self, slug: str) -> str:
        """The rule that was set for the pattern, under any of its names; empty if it has only what its records say."""
        names = self.names(slug)
        return self._latest("rule", names) if self._sees_all(names) else ""

    def topic_of(self, slug: str) -> str:
        """The topic that was set for the pattern, under any of its names; empty if there is none."""
        names = self.names(slug)
        return self._latest("topic", names) if self._sees_all(names) else ""

    def edits(self, tag: bytes) -> Mapping[str, Any]:
        """What was edited of a record, as far as it holds."""
        return self._reader.fields(tag) if self._agreement is None else self._agreement.fields(tag)

    def counted(self, field: str) -> dict[str, Assigned]:
        """What counts of what was said in a field of patterns, by their names."""
        rights = self.rights
        if rights is None:
            return of_patterns(self._reader.assigned(field))
        found = {
            slug: rights.word(field, said, self.names(slug))
            for slug, said in of_patterns(self._reader.said(field)).items()
        }
        return {slug: one for slug, one in found.items() if one is not None}

    def _of(self, field: str) -> dict[str, Assigned]:
        if field not in self._said:
            self._said[field] = self.counted(field)
        return self._said[field]

    def _latest(self, field: str, names: Iterable[str]) -> str:
        registers = self._of(field)
        said = [registers[name] for name in sorted(names) if name in registers and type(registers[name].value) is str]
        return max(said, key=lambda one: one.at).value if said else ""

    def _placed(self) -> Iterable[bytes]:
        """The records whose repository was edited."""
        if self._agreement is not None:
            return self._agreement.repos()
        return [tag for tag in self._reader.assigned("repo") if isinstance(tag, bytes)]

    def superseded_by(self, names: Iterable[str]) -> list[str]:
        """The patterns that took its place: several, if nodes decided at the same time. They stand side by side."""
        found = self._supersessions().by_name
        return sorted({new for name in names for new in found.get(name, ())} - set(names))

    def superseded(self) -> list[str]:
        """Every name in whose place another was put."""
        return sorted(self._supersessions().by_name)

    def closes_circle(self, old: str, new: str) -> bool:
        """Whether a supersession does not count because it would close a circle. One that is only proposed closes none."""
        return (old, new) in self._supersessions().circles

    def _supersessions(self) -> Successions:
        if self._superseded is None:
            entries = reversed(self._reader.newest(SUPERSESSIONS, _SUPERSESSIONS))
            said = [entry for entry in entries if self._bound is None or self._sees(self._read(entry))]
            found = [(entry.node, entry.record.get("old"), entry.record.get("new")) for entry in said]
            sound = [(node, old, new) for node, old, new in found if type(old) is str and type(new) is str]
            self._superseded = Successions(self._names, self._agreed(sound))
        return self._superseded

    def _agreed(self, said: list[tuple[bytes, str, str]]) -> list[tuple[str, str]]:
        """The supersessions that count of those that were written: old and new name."""
        if self.rights is None:
            return [(old, new) for _, old, new in said]
        first = self._names.first
        nodes: dict[tuple[str, str], set[bytes]] = {}
        for node, old, new in said:
            nodes.setdefault((first(old), first(new)), set()).add(node)
        enough = {pair for pair, wanting in nodes.items() if self.rights.are_enough(wanting, self.names(pair[0]))}
        return [(old, new) for _, old, new in said if (first(old), first(new)) in enough]

    def eldest(self, slug: str) -> Note | None:
        """The oldest record that is counted under this very name: who wrote it has founded it."""
        notes = self._notes((slug,)) if is_slug(slug) else []
        return notes[0] if notes else None

    def is_told(self, slug: str) -> bool:
        """Whether anything is said under a name that may be seen here."""
        return self._bound is None or slug in said_under(self._notes((slug,)))

    def known(self, limit: int = 2000) -> list[str]:
        """Names of patterns, of the records written last, newest first."""
        found: dict[str, None] = {}
        for log in (PATTERNS, CORRECTIONS):
            for entry in self._reader.newest(log, limit):
                slug = entry.record.get("pattern")
                if type(slug) is str:
                    found[slug] = None
        return [*found, *(slug for slug in self._moved_to if slug not in found)]

    def _is_special(self, slug: str) -> bool:
        return self._bound is not None or slug in self._names or slug in self._moved_to or slug in self._left

    def _archived_at(self, slug: str) -> int:
        """The stamp at which this very name was archived; -1 if it was not."""
        said = self._archived.get(slug)
        return said.at if said is not None and said.value else -1

    def _notes(self, names: Iterable[str]) -> list[Note]:
        return [note for note in self._all_notes(names) if self._sees(note)]

    def _sees_all(self, names: Iterable[str]) -> bool:
        """Whether nothing of a pattern is hidden. What was said of one as a whole names no repository: it may be about what is hidden."""
        return self._bound is None or all(map(self._sees, self._all_notes(names)))

    def _all_notes(self, names: Iterable[str]) -> list[Note]:
        notes = {}
        for name in names:
            for entry in self._reader.of_pattern(name):
                if entry.tag not in self._moves:
                    notes[entry.tag] = self._read(entry)
            for tag in self._moved_to.get(name, ()):
                entry_moved = self._reader.entry(tag)
                if entry_moved is not None and "pattern" in entry_moved.record:  # others have none to change
                    notes[tag] = self._read(entry_moved)
        kept = [note for note in notes.values() if note.log in (CORRECTIONS, PATTERNS)]
        return sorted(kept, key=lambda note: (note.stamp, note.tag))

    def _sees(self, note: Note) -> bool:
        return self._bound is None or note.repo in ("", self._bound)

    def _read(self, entry: Entry) -> Note:
        return Note(entry, self.edits(entry.tag))


def of_patterns(registers: dict[bytes | str, Any]) -> dict[str, Any]:
    """The registers whose key is a pattern's, by its slug."""
    return {
        key.removeprefix(KEY): said
        for key, said in registers.items()
        if isinstance(key, str) and key.startswith(KEY) and key != KEY
    }


def _slug(value: object) -> str | None:
    return value if type(value) is str and is_slug(value) else None


def _rights(reader: Reader, moved_to: dict[str, list[bytes]]) -> EditRights:

    return EditRights(reader, moved_to)


def _latest_moves(reader: Reader) -> dict[bytes, str | None]:
    """The records that were moved, and to which name; None: to none."""
    said = reader.assigned("pattern").items()
    return {tag: one.value if is_slug(one.value) else None for tag, one in said if isinstance(tag, bytes)}


def said_under(notes: Iterable[Note]) -> frozenset[str]:
    """The names that notes say themselves."""
    return frozenset(note.pattern for note in notes)
