"""Patterns: what the corrections, pattern records, aliases and supersessions of a notebook add up to. None is stored as such.

How often each was needed, on how many machines and in which words, and so whether it is HOT. What was written of patterns is read
in `pattern_registers`.
"""

from __future__ import annotations

from collections.abc import Iterable

from clan_learnings.records.pattern_names import is_slug
from clan_learnings.records.pattern_registers import KEY as KEY  # noqa: PLC0414 (writers of registers import it from here)
from clan_learnings.records.pattern_registers import PatternRegisters, of_patterns, said_under
from clan_learnings.records.record import CORRECTIONS, OLD_NEWS_MS, PATTERNS, Note
from clan_learnings.records.shared_settings import SharedSettings
from clan_learnings.records.tiers import is_hot
from clan_learnings.records.witnesses import EACH, Ballot, Support, Witnesses, is_seal
from mesh.core.errors import UnknownId, UsageError
from mesh.core.ids import named_digest
from mesh.core.limits import TEXT_CHARS
from mesh.store.reader import Assigned, Entry, PatternTally, Reader

_LOGGED, _PURPOSE = "logged:", b"clan-mesh logged"  # before a hash of a slug: the key of its counter
_SHOWN = 10
# The states of a pattern: needed often enough, by enough machines, in the same words.
NOT_HOT, UNWITNESSED, DISPUTED, IS_HOT = range(4)
_SLACK_MS = 86_400_000  # mesh time may lag behind the clock of who writes


def counter(slug: str) -> str:
    """The key of what counts how often a pattern was logged. Counters outlive an erase, and a slug is made of what was said: so, no slug."""
    return _LOGGED + named_digest(_PURPOSE, slug.encode("utf-8", "surrogatepass")).hex()[:32]


class Pattern:
    """One pattern: what is said under all its names."""

    __slots__ = (
        "archived",
        "archived_at",
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
        self.archived_at = -1
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
    def counted(self) -> list[Note]:
        """The corrections that may make it HOT: if it was archived, those of further sessions."""
        if self.further is None:
            return self.corrections
        before = _sessions(note for note in self.corrections if note.stamp <= self.archived_at)
        return [note for note in self.corrections if _session(note) not in before]

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


class PatternVotes:
    """The records whose words stand for a pattern, what was said in them and of them, and how many witnesses each wording has."""

    __slots__ = ("ballot", "entries", "rule", "wrong")

    def __init__(self, entries: list[Entry], ballot: Ballot, witnesses: Witnesses) -> None:
        self.entries = entries
        self.ballot = ballot
        self.rule = Support(ballot.rules, witnesses)
        self.wrong = Support(ballot.wrongs, witnesses)


class Patterns(PatternRegisters):
    """The patterns of one snapshot: what each amounts to, how often it was needed, by whom, and whether it is HOT."""

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
        super().__init__(reader, settings, witnesses, bound=bound, by_agreement=by_agreement)
        self.agreed = self  # those that decide what is HOT
        self._approved: dict[str, Assigned] | None = None
        self._fresh: int | None = None
        self._states: dict[str, int] = {}
        self._voiced: dict[frozenset[str], PatternVotes] = {}
        self._groups: list[tuple[Pattern, int]] | None = None

    def special(self) -> set[str]:
        """The names whose count is not simply that of the records written under them; who sees but some sees no such count."""
        found = {*self._names, *self._moved_to, *self._left}
        if self._bound is not None:
            found.update(tally.slug for tally in self._reader.tallies(self._settings.hot_at, CORRECTIONS))
        return found

    def special_in(self, state: int) -> list[Pattern]:
        """Those patterns of these names that stand so, each once."""
        if self._groups is None:
            self._groups = []
            done: set[str] = set()
            for slug in sorted(self.special()):
                if slug not in done:
                    done |= self.names(slug)
                    standing = self.standing(slug) if self._may_be_hot(slug) else None
                    if standing is not None:
                        self._groups.append((standing, self._state_of(standing)))
        return [standing for standing, found in self._groups if found == state]

    def _state_special(self, slug: str) -> int:
        if self._groups is not None:
            return next((state for standing, state in self._groups if slug in standing.names), NOT_HOT)
        standing = self.standing(slug) if self._may_be_hot(slug) else None
        return NOT_HOT if standing is None else self._state_of(standing)

    def _may_be_hot(self, slug: str) -> bool:
        """Whether there is enough to count, if all of it counts: most that was joined or moved once is not looked at for it."""
        most = 0
        for name in self.names(slug):
            most += len(self._moved_to.get(name, ())) + self._reader.sessions(name, CORRECTIONS)
            if most >= self._settings.hot_at:
                return True
        return False

    def standing(self, slug: str) -> Pattern | None:
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
        is_whole = self._sees_all(names)
        told = names if is_whole else said_under([*corrections, *records])
        eldest = min([*corrections, *records], key=lambda note: (note.stamp, note.tag))
        own = eldest.pattern if eldest.pattern in names else min(names)
        made = Pattern(own, told, corrections, records, self.superseded_by(names))
        made.is_global = any(map(self.is_marked_global, names))
        if is_whole:
            made.logged = sum(self._reader.total(counter(name)) for name in sorted(names))
            made.rule = self._latest("rule", names) or made.rule
            made.topic = self._latest("topic", names) or made.topic
        else:
            made.logged = len(corrections)
        ended = [said for name in sorted(names) if (said := self._archived.get(name)) is not None and said.value]
        if ended:
            last = max(ended, key=lambda said: said.at)
            made.archived = last.value if type(last.value) is str and is_whole else "archived"
            made.archived_at = last.at
            made.further = 0
            made.further = len(_sessions(made.counted))
        return made

    def is_hot(self, standing: Pattern) -> bool:
        """Whether it is to be in every context of its scope."""
        return any(map(self.is_hot_name, standing.names))

    def is_hot_name(self, slug: str) -> bool:
        """The same by a name."""
        return self.agreed.state(slug) == IS_HOT

    def state(self, slug: str, tally: PatternTally | None = None) -> int:
        """How a pattern stands. Most are decided by their tally, without a look at their records. `tally`: if it is at hand."""
        known = self._states.get(slug)
        if known is None:
            if not is_slug(slug):
                known = NOT_HOT
            elif self._is_special(slug):
                known = self._state_special(slug)
            else:
                known = self._state_plain(slug, tally)
            self._states[slug] = known
        return known

    def is_needed(self, slug: str, tally: PatternTally) -> bool:
        """Whether a pattern was needed often enough, by enough machines: what they say is not looked at, so it is sooner known."""
        if self._is_special(slug):
            return self.state(slug) in (DISPUTED, IS_HOT)
        return self._state_plain(slug, tally, by_words=False) in (DISPUTED, IS_HOT)

    def _state_plain(self, slug: str, tally: PatternTally | None, *, by_words: bool = True) -> int:
        after = self._archived_at(slug)
        enough = self._reader.sessions(slug, CORRECTIONS, after) >= self._settings.hot_at
        if not enough or self.superseded_by((slug,)) or self._is_old_news(slug):
            return NOT_HOT
        if not self._witnesses.are_needed:
            return IS_HOT
        if after >= 0:  # seldom: who needed it since is in its records
            standing = self.standing(slug)
            return NOT_HOT if standing is None else self._state_of(standing)
        tally = tally or self._reader.tally(slug, CORRECTIONS)
        return self._witnessed((slug,), () if tally is None else tally.authors, after, by_words=by_words)

    def _state_of(self, standing: Pattern) -> int:
        enough = is_hot(
            standing.sessions, standing.further, self._settings.hot_at, superseded=bool(standing.superseded_by)
        )
        if not enough or self._are_old_news(standing.corrections):
            return NOT_HOT
        return self._witnessed(standing.names, [note.node for note in standing.counted], standing.archived_at)

    def _witnessed(self, names: Iterable[str], nodes: Iterable[bytes], after: int, *, by_words: bool = True) -> int:
        """Whether what was needed often enough has its witnesses, or was approved, both after it was archived."""
        if not self._witnesses.are_needed:
            return IS_HOT
        names, state = [*names], UNWITNESSED
        if len(self._witnesses.among(nodes)) >= self._witnesses.needed:
            if not by_words or self.voiced(names).rule.has_enough():
                return IS_HOT
            state = DISPUTED
        return IS_HOT if self._approved_words(names, after) is not None else state

    def approval(self, names: Iterable[str]) -> Assigned | None:
        """The words that an admin has approved for a pattern: as the admin has it that spoke last."""
        if self._approved is None:
            admins = self._witnesses.admins
            said = of_patterns(self._reader.said("approved"))
            last = {
                slug: max(own, key=lambda one: one.at)
                for slug, words in said.items()
                if (own := [one for one in words if one.node in admins])
            }
            self._approved = last
        found = [self._approved[name] for name in sorted(names) if name in self._approved]
        latest = max(found, key=lambda one: one.at, default=None)
        return latest if latest is not None and is_seal(latest.value) else None

    def _approved_words(self, names: list[str], after: int) -> tuple[str, str] | None:
        said = self.approval(names)
        return None if said is None or said.at <= after else self.voiced(names).ballot.approved(said.value)

    def voiced(self, names: Iterable[str]) -> PatternVotes:
        """Everything that was said in the name of a pattern, and which of it has witnesses."""
        key = frozenset(names)
        if key not in self._voiced:
            entries = self.spoken(sorted(key))
            self._voiced[key] = PatternVotes(entries, self.ballot(key, entries), self._witnesses)
        return self._voiced[key]

    def ballot(self, names: Iterable[str], entries: list[Entry]) -> Ballot:
        """What was said in the name of a pattern, in these records, in edits of them, and as its rule."""
        edits = self._reader.said_in([entry.tag for entry in entries], ("right", "rule", "wrong"))
        names = sorted(names)
        rules = [said for name in names for said in self._reader.said_of(KEY + name, "rule")]
        rules = rules if self._sees_all(names) else []
        return Ballot(entries, edits, rules, self._witnesses.admins)

    def spoken(self, names: Iterable[str]) -> list[Entry]:
        """The records whose words stand for a pattern, oldest first: of each node the oldest so many in each log."""
        entries = [entry for name in names for entry in self._reader.words_of_pattern(name, EACH)]
        kept = {entry.tag: entry for entry in entries if entry.tag not in self._moves}
        for tag in [tag for name in names for tag in self._moved_to.get(name, ())]:
            entry = self._reader.entry(tag)
            if entry is not None and "pattern" in entry.record:
                kept[tag] = entry
        counts: dict[tuple[bytes, str], int] = {}
        found = []
        for entry in sorted(kept.values(), key=lambda entry: (entry.at, entry.tag)):
            place = counts[entry.node, entry.log] = counts.get((entry.node, entry.log), 0) + 1
            if entry.log in (CORRECTIONS, PATTERNS) and place <= EACH:
                found.append(entry)
        return found if self._bound is None else [entry for entry in found if self._sees(self._read(entry))]

    def further(self, slug: str) -> int | None:
        """How many sessions came to a pattern after it was archived; None if it was not. One that was counted before does not count again."""
        if self._is_special(slug):
            standing = self.standing(slug)
            return None if standing is None else standing.further
        after = self._archived_at(slug)
        return None if after < 0 else self._reader.sessions(slug, CORRECTIONS, after)

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

    def find(self, text: str) -> Pattern:
        """The pattern of a name, or of the beginning of one."""
        standing = self.standing(text)
        if standing is not None:
            return standing
        close = sorted({slug for slug in self.known() if slug.startswith(text)}) if text else []
        close = [slug for slug in close if self.is_told(slug)]
        groups = {self.names(slug) for slug in close}
        if len(groups) == 1:
            standing = self.standing(close[0])
            if standing is not None:
                return standing
        if len(groups) > 1:
            raise UsageError(f"several patterns begin with {text!r}", f"one of: {', '.join(close[:_SHOWN])}")
        raise UnknownId(f"there is no pattern {text!r}", "see which there are: mesh pattern list")


def _sessions(notes: Iterable[Note]) -> set[str | bytes]:
    """The sessions that corrections count for; one without a session counts for itself, whatever others call theirs."""
    return {_session(note) for note in notes}


def _session(note: Note) -> str | bytes:
    return note.word("session") or note.tag


def _repo(note: Note) -> str:
    """Where a record holds, as the index over records has it: what is too long to name a repository names none."""
    return note.repo if len(note.repo) <= TEXT_CHARS else ""
