"""Patterns as they stand: which names belong together, which corrections count under them, how often, and what ended them.

A pattern is nothing that is stored: it is what corrections, pattern records, aliases and supersessions amount to.
"""

from __future__ import annotations

from clan_learnings.names import Names, Successions, is_slug
from clan_learnings.records import CORRECTIONS, OLD_NEWS_MS, PATTERNS, SUPERSESSIONS, Note
from clan_learnings.tiers import is_hot
from mesh.core.errors import UnknownId, UsageError
from mesh.core.ids import named_digest
from mesh.core.limits import TEXT_CHARS

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clan_learnings.settings import Settings
    from mesh.store.reading import Assigned, Reader

KEY = "pattern:"  # before a slug: the key of its registers
_LOGGED, _PURPOSE = "logged:", b"clan-mesh logged"  # before a hash of a slug: the key of its counter
_SUPERSESSIONS = 10_000  # the newest so many are looked at
_SHOWN = 10
_SLACK_MS = 86_400_000  # mesh time may lag behind the clock of who writes


def counter(slug: str) -> str:
    """The key of what counts how often a pattern was logged. Counters outlive an erase, and a slug is made of what was said: so, no slug."""
    return _LOGGED + named_digest(_PURPOSE, slug.encode("utf-8", "surrogatepass")).hex()[:32]


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
        self.further: int | None = None  # sessions that came to it after it was archived; None if it was not
        self.is_global = False
        self.logged = 0
        newest = corrections[-1] if corrections else None
        self.rule = records[-1].word("rule") if records else newest.word("right") if newest else ""
        self.wrong = newest.word("wrong") if newest else records[-1].word("wrong") if records else ""
        self.topic = next((note.word("topic") for note in reversed([*corrections, *records]) if note.word("topic")), "")

    @property
    def sessions(self) -> int:
        """In how many sessions it happened: what promotes it."""
        return len(_sessions(self.corrections))

    @property
    def nodes(self) -> int:
        """On how many machines."""
        return len({note.node for note in self.corrections})

    @property
    def repos(self) -> list[str]:
        """In which repositories it was seen; an empty name means everywhere."""
        return sorted({_repo(note) for note in self.corrections or self.records})

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
        aliases = _of_patterns(reader.assigned("alias_of"))
        self._names = Names((slug, said.value) for slug, said in aliases.items() if is_slug(said.value))
        self._archived = _of_patterns(reader.assigned("archived"))
        self._global = {slug for slug, said in _of_patterns(reader.assigned("global")).items() if said.value is True}
        self._rules = _of_patterns(reader.assigned("rule"))
        self._topics = _of_patterns(reader.assigned("topic"))
        self._moved_to: dict[str, list[bytes]] = {}
        self._moved: set[bytes] = set()
        for tag, said in reader.assigned("pattern").items():
            if isinstance(tag, bytes):  # to what is no name: then it counts nowhere
                self._moved.add(tag)
                if is_slug(said.value):
                    self._moved_to.setdefault(said.value, []).append(tag)
        # Slugs that something was moved away from, or whose repository is not the one that their tally says.
        edited = {tag for tag in reader.assigned("repo") if isinstance(tag, bytes)} | self._moved
        self._left = reader.named_by(edited) if edited else set()
        self._superseded: dict[str, list[str]] | None = None
        self._fresh: int | None = None
        self._hot: dict[str, bool] = {}
        self._hot_groups: list[Standing] | None = None

    def names(self, slug: str) -> frozenset[str]:
        """All names of the pattern that has this one."""
        return self._names.of(slug)

    def is_marked_global(self, slug: str) -> bool:
        """Whether somebody said that it holds everywhere."""
        return slug in self._global

    def rule_of(self, slug: str) -> str:
        """The rule somebody gave the pattern, under any of its names; empty if it has only what its records say."""
        return self._latest(self._rules, self.names(slug))

    def special(self) -> set[str]:
        """The names whose count is not simply that of the records written under them."""
        return {*self._names, *self._moved_to, *self._left}

    def hot_special(self) -> list[Standing]:
        """Those patterns of these names that are HOT, each once."""
        if self._hot_groups is None:
            self._hot_groups = []
            done: set[str] = set()
            for slug in sorted(self.special()):
                if slug not in done:
                    done |= self.names(slug)
                    standing = self.standing(slug) if self._may_be_hot(slug) else None
                    if standing is not None and self.is_hot(standing):
                        self._hot_groups.append(standing)
        return self._hot_groups

    def _is_hot_special(self, slug: str) -> bool:
        if self._hot_groups is not None:
            return any(slug in standing.names for standing in self._hot_groups)
        standing = self.standing(slug) if self._may_be_hot(slug) else None
        return standing is not None and self.is_hot(standing)

    def _may_be_hot(self, slug: str) -> bool:
        """Whether there is enough to count, if all of it counts: most that was joined or moved once is not looked at for it."""
        most = 0
        for name in self.names(slug):
            most += len(self._moved_to.get(name, ())) + self._reader.sessions(name, CORRECTIONS)
            if most >= self._settings.hot_at:
                return True
        return False

    def standing(self, slug: str) -> Standing | None:
        """The pattern that has this name, as it stands; None if nothing live is said under it."""
        if not is_slug(slug):
            return None
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
        made.logged = sum(self._reader.total(counter(name)) for name in sorted(names))
        made.rule = self._latest(self._rules, names) or made.rule
        made.topic = self._latest(self._topics, names) or made.topic
        ended = [said for name in sorted(names) if (said := self._archived.get(name)) is not None and said.value]
        if ended:
            last = max(ended, key=lambda said: said.at)
            made.archived = last.value if type(last.value) is str else "archived"
            before = _sessions(note for note in corrections if note.stamp <= last.at)
            made.further = len(_sessions(corrections) - before)
        return made

    def eldest(self, slug: str) -> Note | None:
        """The oldest record that is counted under this very name: who wrote it has founded it."""
        notes = self._notes((slug,)) if is_slug(slug) else []
        return notes[0] if notes else None

    def is_hot(self, standing: Standing) -> bool:
        """Whether it is to be in every context of its scope."""
        return is_hot(
            standing.sessions, standing.further, self._settings.hot_at, superseded=bool(standing.superseded_by)
        ) and not self._are_old_news(standing.corrections)

    def is_hot_name(self, slug: str) -> bool:
        """The same by a name. Most patterns are decided by their tally, without a look at their records."""
        known = self._hot.get(slug)
        if known is None:
            if not is_slug(slug):
                known = False
            elif self._is_special(slug):
                known = self._is_hot_special(slug)
            else:
                enough = self._reader.sessions(slug, CORRECTIONS, self._archived_at(slug)) >= self._settings.hot_at
                known = enough and not self.superseded_by((slug,)) and not self._is_old_news(slug)
            self._hot[slug] = known
        return known

    def further(self, slug: str) -> int | None:
        """How many sessions came to a pattern after it was archived; None if it was not. One that was counted before does not count again."""
        if self._is_special(slug):
            standing = self.standing(slug)
            return None if standing is None else standing.further
        after = self._archived_at(slug)
        return None if after < 0 else self._reader.sessions(slug, CORRECTIONS, after)

    def _is_special(self, slug: str) -> bool:
        return slug in self._names or slug in self._moved_to or slug in self._left

    def _archived_at(self, slug: str) -> int:
        """The stamp at which somebody archived this very name; -1 if nobody did."""
        said = self._archived.get(slug)
        return said.at if said is not None and said.value else -1

    def _is_old_news(self, slug: str) -> bool:
        """Whether all that is counted under a name was harvested long after it happened. Few patterns have to be read for it."""
        if self._reader.last(slug, CORRECTIONS) >= self._oldest_news():
            return False
        newest = self._reader.newest_of(slug, CORRECTIONS, 1)
        return self._are_old_news(Note(entry, {}) for entry in newest) and self._are_old_news(
            Note(entry, {}) for entry in self._reader.of_pattern(slug) if entry.log == CORRECTIONS
        )

    def _are_old_news(self, corrections: Iterable[Note]) -> bool:
        before = self._oldest_news()
        return all(note.stamp < before and note.is_old_news for note in corrections)

    def _oldest_news(self) -> int:
        """From this stamp on nothing is old news, whatever it says of its writing."""
        if self._fresh is None:
            self._fresh = (self._reader.mesh_ms() + _SLACK_MS - OLD_NEWS_MS) << 16
        return self._fresh

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

    def _notes(self, names: Iterable[str]) -> list[Note]:
        notes = {}
        for name in names:
            for entry in self._reader.of_pattern(name):
                if entry.tag not in self._moved:
                    notes[entry.tag] = Note(entry, self._reader.fields(entry.tag))
            for tag in self._moved_to.get(name, ()):
                entry_moved = self._reader.entry(tag)
                if entry_moved is not None and "pattern" in entry_moved.record:  # others have none to change
                    notes[tag] = Note(entry_moved, self._reader.fields(tag))
        kept = [note for note in notes.values() if note.log in (CORRECTIONS, PATTERNS)]
        return sorted(kept, key=lambda note: (note.stamp, note.tag))

    def _latest(self, registers: dict[str, Assigned], names: Iterable[str]) -> str:
        said = [registers[name] for name in sorted(names) if name in registers and type(registers[name].value) is str]
        return max(said, key=lambda one: one.at).value if said else ""

    def _supersessions(self) -> dict[str, list[str]]:
        """Old name to new ones."""
        if self._superseded is None:
            said = [entry.record for entry in reversed(self._reader.newest(SUPERSESSIONS, _SUPERSESSIONS))]
            pairs = [(record.get("old"), record.get("new")) for record in said]
            sound = [(old, new) for old, new in pairs if type(old) is str and type(new) is str]
            self._superseded = Successions(self._names, sound).by_name
        return self._superseded


def _sessions(notes: Iterable[Note]) -> set[str | bytes]:
    """The sessions that corrections count for; one without a session counts for itself, whatever others call theirs."""
    return {note.word("session") or note.tag for note in notes}


def _repo(note: Note) -> str:
    """Where a record holds, as the index over records has it: what is too long to name a repository names none."""
    return note.repo if len(note.repo) <= TEXT_CHARS else ""


def _of_patterns(registers: dict[bytes | str, Assigned]) -> dict[str, Assigned]:
    """The registers whose key is a pattern's, by its slug."""
    return {
        key.removeprefix(KEY): said
        for key, said in registers.items()
        if isinstance(key, str) and key.startswith(KEY) and key != KEY
    }
