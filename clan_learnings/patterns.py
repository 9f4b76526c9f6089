"""Patterns as they stand: which names belong together, which corrections count under them, how often, and what ended them.

A pattern is nothing that is stored: it is what corrections, pattern records, aliases and supersessions amount to.
"""

from __future__ import annotations

from clan_learnings.records import CORRECTIONS, PATTERNS, SUPERSESSIONS, Note
from clan_learnings.tiers import is_hot
from mesh.core.errors import UnknownId, UsageError

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clan_learnings.settings import Settings
    from mesh.store.reading import Assigned, Reader

KEY = "pattern:"  # before a slug: the key of its registers and of its counter
_SUPERSESSIONS = 10_000  # the newest so many are looked at
_SHOWN = 10


class Standing:
    """One pattern: what is said under all its names."""

    __slots__ = (
        "archived",
        "corrections",
        "further",
        "is_global",
        "logged",
        "names",
        "records",
        "rule",
        "slug",
        "superseded_by",
        "topic",
        "wrong",
    )

    def __init__(
        self, slug: str, names: frozenset[str], corrections: list[Note], records: list[Note], superseded_by: list[str]
    ) -> None:
        self.slug = slug
        self.names = names
        self.corrections = corrections  # oldest first
        self.records = records  # the pattern records, oldest first
        self.superseded_by = superseded_by
        self.archived = ""
        self.further: int | None = None  # sessions since it was archived; None if it was not
        self.is_global = False
        self.logged = 0
        newest = corrections[-1] if corrections else None
        self.rule = records[-1].word("rule") if records else newest.word("right") if newest else ""
        self.wrong = newest.word("wrong") if newest else records[-1].word("wrong") if records else ""
        self.topic = next((note.word("topic") for note in reversed([*corrections, *records]) if note.word("topic")), "")

    @property
    def sessions(self) -> int:
        """In how many sessions it happened: what promotes it."""
        return len({note.session for note in self.corrections})

    @property
    def nodes(self) -> int:
        """On how many machines."""
        return len({note.node for note in self.corrections})

    @property
    def repos(self) -> list[str]:
        """In which repositories it was seen; an empty name means everywhere."""
        return sorted({note.repo for note in self.corrections or self.records})

    @property
    def last(self) -> int:
        """The stamp of the newest correction, or of the pattern record if there is none."""
        return max((note.stamp for note in self.corrections or self.records), default=0)

    @property
    def scope(self) -> str:
        """Where it holds: in one repository, or everywhere (empty)."""
        repos = self.repos
        return repos[0] if len(repos) == 1 and not self.is_global else ""


class Patterns:
    """Reads the patterns of one snapshot of a notebook."""

    def __init__(self, reader: Reader, settings: Settings) -> None:
        self._reader = reader
        self._settings = settings
        self._group: dict[str, frozenset[str]] = _groups(_of_patterns(reader.assigned("alias_of")))
        self._archived = _of_patterns(reader.assigned("archived"))
        self._global = {slug for slug, said in _of_patterns(reader.assigned("global")).items() if said.value is True}
        self._rules = _of_patterns(reader.assigned("rule"))
        self._topics = _of_patterns(reader.assigned("topic"))
        self._moved_to: dict[str, list[bytes]] = {}
        self._moved: set[bytes] = set()
        self._left: set[str] = set()  # slugs that something was moved away from, or from whose repository
        for tag, said in reader.assigned("pattern").items():
            if isinstance(tag, bytes) and type(said.value) is str:
                self._moved.add(tag)
                self._moved_to.setdefault(said.value, []).append(tag)
                self._note_leaving(tag)
        for tag in reader.assigned("repo"):  # where it holds is not what the tally of its pattern says
            if isinstance(tag, bytes):
                self._note_leaving(tag)
        self._superseded: dict[str, list[str]] | None = None
        self._hot: dict[str, bool] = {}

    def _note_leaving(self, tag: bytes) -> None:
        entry = self._reader.entry(tag)
        if entry is not None and type(entry.record.get("pattern")) is str:
            self._left.add(entry.record["pattern"])

    def names(self, slug: str) -> frozenset[str]:
        """All names of the pattern that has this one."""
        return self._group.get(slug) or frozenset((slug,))

    def is_marked_global(self, slug: str) -> bool:
        """Whether somebody said that it holds everywhere."""
        return slug in self._global

    def rule_of(self, slug: str) -> str:
        """The rule somebody gave the pattern; empty if it has only what its records say."""
        said = self._rules.get(slug)
        return said.value if said is not None and type(said.value) is str else ""

    def special(self) -> set[str]:
        """The names whose count is not simply that of the records written under them."""
        return {*self._group, *self._moved_to, *self._left}

    def special_groups(self) -> Iterator[Standing]:
        """The patterns of all these names, each once."""
        done: set[str] = set()
        for slug in sorted(self.special()):
            if slug not in done:
                done |= self.names(slug)
                standing = self.standing(slug)
                if standing is not None:
                    yield standing

    def standing(self, slug: str) -> Standing | None:
        """The pattern that has this name, as it stands; None if nothing live is said under it."""
        names = self.names(slug)
        corrections: list[Note] = []
        records: list[Note] = []
        for note in self._notes(names):
            (corrections if note.log == CORRECTIONS else records).append(note)
        if not corrections and not records:
            return None
        eldest = min([*corrections, *records], key=lambda note: (note.stamp, note.tag))
        own = eldest.pattern if eldest.pattern in names else min(names)
        made = Standing(own, names, corrections, records, self.superseded_by(names))
        made.is_global = any(name in self._global for name in names)
        made.logged = sum(self._reader.total(KEY + name) for name in sorted(names))
        made.rule = self._latest(self._rules, names) or made.rule
        made.topic = self._latest(self._topics, names) or made.topic
        ended = [said for name in names if (said := self._archived.get(name)) is not None and said.value]
        if ended:
            last = max(ended, key=lambda said: said.at)
            made.archived = last.value if type(last.value) is str else "archived"
            made.further = len({note.session for note in corrections if note.stamp > last.at})
        return made

    def is_hot(self, standing: Standing) -> bool:
        """Whether it is to be in every context of its scope."""
        return is_hot(
            standing.sessions, standing.further, self._settings.hot_at, superseded=bool(standing.superseded_by)
        )

    def is_hot_name(self, slug: str) -> bool:
        """The same by a name. Most patterns are decided by their tally, without a look at their records."""
        known = self._hot.get(slug)
        if known is None:
            if slug in self._group or slug in self._moved_to or slug in self._left:
                standing = self.standing(slug)
                known = standing is not None and self.is_hot(standing)
            else:
                said = self._archived.get(slug)
                after = said.at if said is not None and said.value else -1
                enough = self._reader.sessions(slug, CORRECTIONS, after) >= self._settings.hot_at
                known = enough and not self.superseded_by((slug,))
            self._hot[slug] = known
        return known

    def has_ended(self, slug: str) -> bool:
        """Whether a pattern was archived or superseded, and has not come back since."""
        names = self.names(slug)
        archived = any((said := self._archived.get(name)) is not None and said.value for name in names)
        return (archived or bool(self.superseded_by(names))) and not self.is_hot_name(slug)

    def superseded_by(self, names: Iterable[str]) -> list[str]:
        """The patterns that took its place: several, if nodes decided at the same time. They stand side by side."""
        found = self._supersessions()
        return sorted({new for name in names for new in found.get(name, ())} - set(names))

    def superseded(self) -> list[str]:
        """Every name in whose place another was put."""
        return sorted(self._supersessions())

    def find(self, text: str) -> Standing:
        """The pattern of a name, or of the beginning of one."""
        standing = self.standing(text)
        if standing is not None:
            return standing
        close = sorted({slug for slug in self.known() if slug.startswith(text)}) if text else []
        groups = {self.names(slug) for slug in close}
        if len(groups) == 1:
            standing = self.standing(close[0])
            if standing is not None:
                return standing
        if len(groups) > 1:
            raise UsageError(f"several patterns begin with {text!r}", f"one of: {', '.join(close[:_SHOWN])}")
        raise UnknownId(f"there is no pattern {text!r}", "see which there are: mesh pattern list")

    def known(self, limit: int = 2000) -> list[str]:
        """Names of patterns, of the records written last, newest first."""
        found: dict[str, None] = {}
        for log in (PATTERNS, CORRECTIONS):
            for entry in self._reader.newest(log, limit):
                slug = entry.record.get("pattern")
                if type(slug) is str:
                    found[slug] = None
        return [*found, *(slug for slug in self._moved_to if slug not in found)]

    def _notes(self, names: frozenset[str]) -> list[Note]:
        notes = {}
        for name in names:
            for entry in self._reader.of_pattern(name):
                if entry.tag not in self._moved:
                    notes[entry.tag] = Note(entry, self._reader.fields(entry.tag))
            for tag in self._moved_to.get(name, ()):
                entry_moved = self._reader.entry(tag)
                if entry_moved is not None:
                    notes[tag] = Note(entry_moved, self._reader.fields(tag))
        kept = [note for note in notes.values() if note.log in (CORRECTIONS, PATTERNS)]
        return sorted(kept, key=lambda note: (note.stamp, note.tag))

    def _latest(self, registers: dict[str, Assigned], names: Iterable[str]) -> str:
        said = [registers[name] for name in sorted(names) if name in registers and type(registers[name].value) is str]
        return max(said, key=lambda one: one.at).value if said else ""

    def _supersessions(self) -> dict[str, list[str]]:
        """Old name to new ones. One that would close a circle is left out: else all of it would be gone."""
        if self._superseded is None:
            found: dict[str, list[str]] = {}
            steps: dict[str, list[str]] = {}  # the same, with one name for all that a pattern has
            for entry in reversed(self._reader.newest(SUPERSESSIONS, _SUPERSESSIONS)):
                old, new = entry.record.get("old"), entry.record.get("new")
                if type(old) is not str or type(new) is not str:
                    continue
                first, second = min(self.names(old)), min(self.names(new))
                if first != second and not _leads(steps, second, first):
                    steps.setdefault(first, []).append(second)
                    found.setdefault(old, []).append(new)
            self._superseded = found
        return self._superseded


def _leads(found: dict[str, list[str]], start: str, end: str) -> bool:
    """Whether one pattern was, by whatever steps, superseded by another, or is it."""
    seen, todo = {start}, [start]
    while todo:
        slug = todo.pop()
        if slug == end:
            return True
        fresh = [new for new in found.get(slug, ()) if new not in seen]
        seen.update(fresh)
        todo += fresh
    return False


def _of_patterns(registers: dict[bytes | str, Assigned]) -> dict[str, Assigned]:
    """The registers whose key is a pattern's, by its slug."""
    return {
        key.removeprefix(KEY): said for key, said in registers.items() if isinstance(key, str) and key.startswith(KEY)
    }


def _groups(aliases: dict[str, Assigned]) -> dict[str, frozenset[str]]:
    """Names that stand for one pattern: whatever an alias joins, in whichever direction it was said."""
    group: dict[str, set[str]] = {}
    for slug, said in aliases.items():
        if type(said.value) is not str or said.value == slug:
            continue
        joined = group.get(slug, {slug}) | group.get(said.value, {said.value})
        for name in joined:
            group[name] = joined
    return {name: frozenset(names) for name, names in group.items()}
