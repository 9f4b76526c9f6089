"""What the clan knows, as it is read: HOT, WARM and BANK for a repository, the tier of a record. One snapshot; writes nothing.

Everything here is a function of merged state and mesh time, but for what this node has muted, which only hides. A memory that is
bound to a repository tells nothing of records that name another one, whichever way it is asked: they might as well not be there.
"""

from __future__ import annotations

from itertools import islice

from clan_learnings.records import tiers
from clan_learnings.records.access_counts import accesses, lately
from clan_learnings.records.patterns import DISPUTED, IS_HOT, NOT_HOT, UNWITNESSED, Pattern, Patterns
from clan_learnings.records.recent_records import WarmRecords
from clan_learnings.records.record import CORRECTIONS, KINDS, LOGS, PATTERNS, Note, said_of
from clan_learnings.records.shared_settings import KEY as SETTINGS
from clan_learnings.records.shared_settings import SharedSettings
from clan_learnings.records.witnesses import Witnesses, are_alike
from mesh.core.ids import text_id

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from clan_learnings.records.witnesses import Ballot, Vote
    from clan_learnings.search.finder import Finder
    from mesh.store.reading import Entry, Reader, Tally

_EXAMPLES = 20  # newest corrections of a pattern looked at for one that is not muted
_BANK_LOOK = 100  # newest records of a repository that are weighed for a context without a task


class HotItem:
    """A HOT pattern, as it is shown: its rule, and the correction that stands for it."""

    __slots__ = ("last_ms", "nodes", "note", "repo", "repos", "rule", "sessions", "slug", "wrong")

    def __init__(
        self,
        slug: str,
        note: Note,
        rule: str,
        wrong: str,
        *,
        sessions: int,
        nodes: int,
        repos: list[str],
        repo: str,
        last_ms: int,
    ) -> None:
        self.slug = slug
        self.note = note
        self.rule = rule
        self.wrong = wrong
        self.sessions = sessions
        self.nodes = nodes
        self.repos = repos
        self.repo = repo  # empty: everywhere
        self.last_ms = last_ms

    @property
    def tag(self) -> bytes:
        """The record that is cited."""
        return self.note.tag


class PatternWording:
    """What is said in the name of a HOT pattern, and in which records. `cited`: the one to look at; None if there is no correction."""

    __slots__ = ("ballot", "cited", "rule", "wrong")

    def __init__(self, rule: str, wrong: str, cited: Entry | None, ballot: Ballot) -> None:
        self.rule = rule
        self.wrong = wrong
        self.cited = cited
        self.ballot = ballot

    def says(self, note: Note) -> bool:
        """Whether a record says the same, but for what makes no difference."""
        own = note.word("right") if note.log == CORRECTIONS else note.word("rule")
        return are_alike(own, self.rule) and (note.log != CORRECTIONS or are_alike(note.word("wrong"), self.wrong))


class Memory:
    """Reads one snapshot of a notebook: the caller opens a transaction around it if it wants one."""

    def __init__(
        self,
        reader: Reader,
        *,
        muted: frozenset[str] = frozenset(),
        finder: Finder | None = None,
        bound: str | None = None,
    ) -> None:
        """`muted`: whole text ids of records and nodes, and slugs, that are hidden here. `finder`: what searches, if not the database.

        `bound`: the only repository of which anything is told, beside what names none.
        """
        self.reader = reader
        self.bound = bound
        self.settings = SharedSettings(reader.fields(SETTINGS))
        self.witnesses = Witnesses(reader.members(), self.settings.hot_nodes)
        self.patterns = Patterns(reader, self.settings, self.witnesses, bound=bound)
        if self.witnesses.are_needed:
            self.patterns.agreed = Patterns(reader, self.settings, self.witnesses, bound=bound, by_agreement=True)
        self.now_ms: int = reader.mesh_ms()
        self._muted = muted
        self._finder = finder
        self._warm = WarmRecords(self)
        self._wordings: dict[frozenset[str], PatternWording] = {}
        self._tallies: list[Tally] | None = None  # of the patterns that were needed often enough
        self._ended: dict[str, bool] = {}
        self._names: dict[bytes, str] | None = None
        self._edited: list[tuple[bytes, str]] | None = None
        self._months: list[str] | None = None  # in which being opened counts

    def bound_to(self, repo: str) -> Memory:
        """The same snapshot, of which nothing is told that names another repository."""
        return Memory(self.reader, muted=self._muted, finder=self._finder, bound=repo)

    def resolve(self, text: str) -> bytes:
        """The tag that an id, or the beginning of one, stands for, among all that may be seen here."""
        if self.bound is None:
            return self.reader.resolve(text)
        return self.reader.resolve(text, lambda tag: self.note(tag) is not None)

    def sees(self, log: str, repo: str) -> bool:
        """Whether a record of a log and a repository may be told of at all. What is no record of ours names no repository."""
        return self.bound is None or (log in KINDS and repo in ("", self.bound))

    @property
    def finder(self) -> Finder:
        """What finds candidates for a search."""
        if self._finder is None:
            from clan_learnings.search.finder import Keywords  # most who read do not search

            self._finder = Keywords(self.reader)
        return self._finder

    # HOT

    def hot(
        self, repo: str | None, limit: int | None = None, wanted: Callable[[str], bool] | None = None
    ) -> list[HotItem]:
        """The HOT patterns of a scope, those of most sessions first. None: of all repositories. `wanted`: by their names."""
        found = self._standing_so((IS_HOT,), repo)
        items = (self._item(each) for each in found if wanted is None or wanted(each.slug))
        return list(islice((item for item in items if item is not None), limit))

    def hot_names(self, repo: str | None, limit: int) -> list[str]:
        """The names of these, without a look at what they say; also those that are muted here."""
        return [found.slug for found in islice(self._standing_so((IS_HOT,), repo), limit)]

    def count_hot(self, repo: str | None) -> int:
        """How many there are; also those that are muted here."""
        return sum(1 for _ in self._standing_so((IS_HOT,), repo))

    def count_needed(self, repo: str | None) -> int:
        """How many were needed often enough by enough machines, HOT ones and those whose words are disputed: without a look at most records."""
        agreed = self.patterns.agreed
        special = agreed.special()
        exact: list[Pattern | Tally] = [each for state in (IS_HOT, DISPUTED) for each in agreed.special_in(state)]
        plain = (each for each in self._often() if each.slug not in special and agreed.is_needed(each.slug, each))
        return sum(repo is None or self._scope(found) in ("", repo) for found in (*exact, *plain))

    def unwitnessed(self, repo: str | None) -> Iterator[Pattern | Tally]:
        """The patterns of a scope that were needed often enough, by too few machines or in no words that enough of them say."""
        return self._lacking(repo) if self.witnesses.are_needed else iter(())

    def seen_here(self, repo: str | None, limit: int | None = None) -> list[HotItem]:
        """Of these what this very node has seen often enough by itself, in its own words: it is told here, and nowhere else."""
        if not self.witnesses.are_needed:
            return []
        enough = self.settings.hot_at
        found = self._lacking(
            repo,
            lambda tally: (
                self.reader.own in tally.authors and self.reader.own_sessions(tally.slug, CORRECTIONS) >= enough
            ),
        )
        items = (self._seen_here(each.slug) for each in found)
        return list(islice((item for item in items if item is not None), limit))

    def _seen_here(self, slug: str) -> HotItem | None:
        standing = self.patterns.agreed.standing(slug)
        own = [] if standing is None else [note for note in standing.counted if note.node == self.reader.own]
        sessions = len({note.session for note in own})
        note = self._newest_shown(own)
        if standing is None or note is None or sessions < self.settings.hot_at:
            return None
        said = self.reader.said_in([note.tag], ("right", "wrong"))
        right, wrong = (
            next((one.value for one in said.get((note.tag, field), ()) if one.node == note.node), note.word(field))
            for field in ("right", "wrong")
        )
        return HotItem(
            standing.slug,
            note,
            right if type(right) is str else "",
            wrong if type(wrong) is str else "",
            sessions=sessions,
            nodes=1,
            repos=standing.repos,
            repo=standing.scope,
            last_ms=note.at_ms,
        )

    def _lacking(self, repo: str | None, may: Callable[[Tally], bool] = lambda _: True) -> Iterator[Pattern | Tally]:
        return self._standing_so((UNWITNESSED, DISPUTED), repo, may)

    def _standing_so(
        self, states: Sequence[int], repo: str | None, may: Callable[[Tally], bool] = lambda _: True
    ) -> Iterator[Pattern | Tally]:
        """Two streams in one order: patterns whose tally says most, and the few that have to be looked at. `may`: by the tally."""
        from heapq import merge  # a search does without

        agreed = self.patterns.agreed
        special = agreed.special()
        exact = sorted((each for state in states for each in agreed.special_in(state)), key=_rank)
        plain = (
            tally
            for tally in self._often()
            if tally.slug not in special and may(tally) and agreed.state(tally.slug, tally) in states
        )
        streams: list[Iterable[Pattern | Tally]] = [plain, exact]
        for found in merge(*streams, key=_rank):
            if repo is None or self._scope(found) in ("", repo):
                yield found

    def _often(self) -> list[Tally]:
        if self._tallies is None:
            self._tallies = self.reader.tallies(self.settings.hot_at, CORRECTIONS)
        return self._tallies

    def _scope(self, found: Pattern | Tally) -> str:
        """Where a pattern holds: in the one repository it was seen in, or everywhere (empty)."""
        if isinstance(found, Pattern):
            return found.scope
        is_local = len(found.repos) == 1 and not self.patterns.agreed.is_marked_global(found.slug)
        return found.repos[0] if is_local else ""

    def _item(self, found: Pattern | Tally) -> HotItem | None:
        words = self.words(found)
        if words is None:
            return None
        note, rule, wrong = words
        return HotItem(
            found.slug,
            note,
            rule,
            wrong,
            sessions=found.sessions,
            nodes=found.nodes,
            repos=list(found.repos),
            repo=self._scope(found),
            last_ms=_last(found) >> 16,
        )

    def words(self, found: Pattern | Tally) -> tuple[Note, str, str] | None:
        """What is said in the name of a pattern: a record to cite, the rule, what was wrong. None if all of it is hidden here."""
        return self._agreed_words(found) if self.witnesses.are_needed else self._latest_words(found)

    def _latest_words(self, found: Pattern | Tally) -> tuple[Note, str, str] | None:
        """Of the newest correction, but for a rule that somebody gave."""
        if isinstance(found, Pattern):
            note = self._newest_shown(found.corrections)
            if note is None:
                return None
            rule = found.rule
            if self.has_muted:  # what is said in the name of all must not be the words of who is hidden
                written = self._newest_shown(found.records)
                rule = self.patterns.rule_of(found.slug) or _rule(written, note)
        else:
            note = self._example(found.slug, CORRECTIONS)
            if note is None:
                return None
            rule = self.patterns.rule_of(found.slug) or _rule(self._example(found.slug, PATTERNS), note)
        return note, rule, note.word("wrong")

    def _agreed_words(self, found: Pattern | Tally) -> tuple[Note, str, str] | None:
        wording = self._wording(found.names if isinstance(found, Pattern) else frozenset((found.slug,)))
        if wording.cited is None or not wording.rule:
            return None
        return self.read(wording.cited), wording.rule, wording.wrong

    def wording(self, names: Iterable[str]) -> PatternWording | None:
        """The words of the first HOT pattern among these names, where one node's word is not enough; else None: the latest are told.

        Whatever is called HOT, or is told as a rule, is told in these.
        """
        slug = next(filter(self.is_hot, names), None) if self.witnesses.are_needed else None
        if slug is None:
            return None
        agreed = self.patterns.agreed
        standing = None if self.bound is None else agreed.standing(slug)
        found = self._wording(agreed.names(slug) if standing is None else standing.names)
        return found if found.rule else None

    def rule_of(self, standing: Pattern) -> tuple[str, str]:
        """The rule of a pattern, and what was wrong, as they are shown."""
        wording = self.wording((standing.slug, *sorted(standing.names)))
        return (standing.rule, standing.wrong) if wording is None else (wording.rule, wording.wrong)

    def text_of(self, note: Note) -> str:
        """The sentence to show for a record: of a HOT pattern, what is told in its name."""
        wording = self.wording(filter(None, (_counted_under(note),)))
        if wording is None or wording.says(note):
            return note.text
        return said_of(wording.rule, wording.wrong if note.log == CORRECTIONS else "")

    def told_words(self, note: Note) -> tuple[str, str]:
        """What is right and what was wrong, as a correction is shown: of a HOT pattern, what is told in its name."""
        wording = self.wording(filter(None, (_counted_under(note),)))
        if wording is None or wording.says(note):
            return note.word("right"), note.word("wrong")
        return wording.rule, wording.wrong

    def cited_for(self, note: Note) -> Note:
        """The record to cite for these words: its own, if it says so itself."""
        wording = self.wording(filter(None, (_counted_under(note),)))
        return note if wording is None or wording.cited is None or wording.says(note) else self.read(wording.cited)

    def _wording(self, names: frozenset[str]) -> PatternWording:
        """What an admin approved, else what most witnesses say: of what is HOT, as many as it takes."""
        if names not in self._wordings:
            self._wordings[names] = self._worded(sorted(names))
        return self._wordings[names]

    def _worded(self, names: list[str]) -> PatternWording:
        agreed = self.patterns.agreed
        voiced = agreed.voiced(names)
        entries = [entry for entry in voiced.entries if not self._is_hidden(entry)]
        corrections = [entry for entry in entries if entry.log == CORRECTIONS]
        ballot = voiced.ballot
        if self._muted:
            ballot = agreed.ballot(names, entries)
            for votes in (ballot.rules, ballot.wrongs):
                votes[:] = [vote for vote in votes if text_id(vote.node) not in self._muted]
        approval = agreed.approval(names)
        approved = None if approval is None else ballot.approved(approval.value)
        least = self.witnesses.needed if agreed.is_hot_name(names[0]) else 1
        # Whoever is hidden here is a witness to the words of others all the same.
        rule, wrong = approved or (
            voiced.rule.elected(ballot.rules, least),
            voiced.wrong.elected(ballot.wrongs, least),
        )
        saying = (entry for entry in corrections if entry.record.get("right") == rule)
        return PatternWording(rule, wrong, next(saying, corrections[0] if corrections else None), ballot)

    def _is_hidden(self, entry: Entry) -> bool:
        return self.has_muted and self.is_muted(Note(entry, self.patterns.agreed.edits(entry.tag)))

    def _example(self, slug: str, log: str) -> Note | None:
        """The newest record of a log that was written under a name and is not muted."""
        entries = self.reader.newest_of(slug, log, _EXAMPLES if self._muted else 1)
        return self._newest_shown([self.read(entry) for entry in reversed(entries)])

    def _newest_shown(self, notes: list[Note]) -> Note | None:
        return next((note for note in reversed(notes) if not self.is_muted(note)), None)

    def weigh(self, slug: str) -> Pattern | Tally | None:
        """How often, where and by whom a pattern was needed; None if nothing live is counted under it."""
        if self.bound is not None or slug in self.patterns.special():
            return self.patterns.standing(slug)
        return self.reader.tally(slug, CORRECTIONS)

    def lacking(self, slug: str) -> int | None:
        """How many witnesses a pattern has that would be HOT if it had enough; None if that is not what it lacks."""
        agreed = self.patterns.agreed
        if not self.witnesses.are_needed or agreed.state(slug) not in (UNWITNESSED, DISPUTED):
            return None
        standing = agreed.standing(slug)
        return 0 if standing is None else len(self.witnesses.among(note.node for note in standing.counted))

    def disputed(self, slug: str) -> list[Vote]:
        """What single machines say of a pattern that is not HOT only because no wording has enough witnesses: of each its newest."""
        agreed = self.patterns.agreed
        if not self.witnesses.are_needed or agreed.state(slug) != DISPUTED:
            return []
        standing = agreed.standing(slug)
        ballot = None if standing is None else self._wording(standing.names).ballot
        votes = [] if ballot is None else sorted(ballot.rules, key=lambda vote: (vote.at, vote.text))
        return [*{vote.node: vote for vote in votes if self.witnesses.among((vote.node,))}.values()]

    def find(self, text: str) -> Pattern:
        """A pattern by a name, or the beginning of one: as HOT has it, where it was needed often enough to be HOT."""
        return self._as_hot_has_it(self.patterns.find(text), text)

    def standing(self, slug: str) -> Pattern | None:
        """The same by a name alone; None if nothing live is said under it."""
        standing = self.patterns.standing(slug)
        return None if standing is None else self._as_hot_has_it(standing, slug)

    def _as_hot_has_it(self, standing: Pattern, name: str) -> Pattern:
        agreed = self.patterns.agreed
        if agreed is self.patterns or all(agreed.state(each) == NOT_HOT for each in standing.names):
            return standing
        own = agreed.standing(name) or agreed.standing(standing.slug) or standing
        return standing if _tags(own) == _tags(standing) else own

    def joined_by_one(self, standing: Pattern) -> list[str]:
        """The names that belong to a pattern too, but that HOT does not count to it: one machine alone has joined them."""
        names = self.patterns.names(standing.slug) - self.patterns.agreed.names(standing.slug) - standing.names
        return [name for name in sorted(names) if self.patterns.is_told(name)]

    def is_approved(self, slug: str) -> bool:
        """Whether a pattern is HOT in words that an admin approved."""
        agreed = self.patterns.agreed
        if not self.witnesses.are_needed or not agreed.is_hot_name(slug):
            return False
        names = agreed.names(slug)
        said = agreed.approval(names)
        return said is not None and agreed.voiced(names).ballot.approved(said.value) is not None

    def is_hot(self, slug: str) -> bool:
        """Whether a correction under this name is one of a HOT pattern."""
        return self.patterns.is_hot_name(slug)

    # WARM and BANK

    def warm(self, repo: str | None) -> list[Note]:
        """The last discoveries of a scope and all its records of the last two days, newest first. HOT ones are not repeated."""
        return self._warm.notes(repo)

    def newest(
        self,
        log: str | Sequence[str],
        repo: str | None,
        page: int,
        least: int = 0,
        pages: int | None = None,
        before: tuple[int, bytes] | None = None,
        without: Sequence[bytes] = (),
    ) -> Iterator[Note]:
        """The records of a log, or of several, in a scope, newest first, read as they are asked for, a page at a time.

        What was edited to be of another repository is there and not here. `least`: none with an earlier stamp. `before`: those
        behind this place. `without`: none of these nodes.
        """
        repos = None if repo is None else ("", repo)
        also = self.moved_into(repo)
        while page > 0 and pages != 0:
            pages = None if pages is None else pages - 1
            entries = self.reader.newest(log, page, repos, before, least=least, also=also, without=without)
            for note in self.read_all(entries):
                if self.in_scope(note, repo):
                    yield note
            if len(entries) < page:
                break
            before = (entries[-1].at, entries[-1].tag)

    def bank(self, repo: str | None, count: int) -> list[Note]:
        """Of what is neither HOT nor WARM in a scope, the strongest: what a context has if no task is named."""
        warm = {note.tag for note in self.warm(repo)}
        found = [note for log in LOGS for note in islice(self.newest(log, repo, _BANK_LOOK), _BANK_LOOK)]
        found.sort(key=lambda note: (-round(self.strength(note), 6), -note.stamp, note.tag))
        return list(islice((note for note in found if note.tag not in warm and self.is_shown(note)), max(count, 0)))

    def strength(self, note: Note) -> float:
        """What is left of the quality of a record, whoever has opened it."""
        return tiers.strength(quality(note), self.now_ms - note.at_ms)

    def has_decayed(self, note: Note) -> bool:
        """Whether a record is so old, and so rarely opened, that it is in the archive."""
        left = tiers.strength(quality(note), self.now_ms - note.at_ms)
        if left >= tiers.DECAYED:
            return False
        if tiers.has_decayed(left, tiers.ENOUGH):
            return True  # however often it was opened: most of what is so old is decided without a look at counters
        if self._months is None:
            self._months = lately(self.now_ms)
        return tiers.has_decayed(left, accesses(self.reader, note.tag, self._months))

    def tier_of(self, note: Note) -> str:
        """The tier of a live record, in its own scope."""
        return self.tier_in(note, note.repo)

    def tier_in(self, note: Note, repo: str | None) -> str:
        """The tier of a live record as a scope sees it; None: all of them."""
        hot, gone = self.stays_hot(note), self.is_archived(note)
        warm = not hot and not gone and self._warm.has(note, repo)
        return tiers.tier_of(hot=hot, warm=warm, gone=gone)

    def stays_hot(self, note: Note) -> bool:
        """Whether a record is one of a HOT pattern: then it neither decays nor ends."""
        slug = _counted_under(note)
        return bool(slug) and self.is_hot(slug)

    def is_archived(self, note: Note) -> bool:
        """Whether a record is in the archive, in whatever scope: it has decayed, or its pattern has ended."""
        slug = _counted_under(note)
        return not (slug and self.is_hot(slug)) and ((bool(slug) and self.has_ended(slug)) or self.has_decayed(note))

    def has_ended(self, slug: str) -> bool:
        """Whether a pattern was archived or superseded; if it is HOT again, that counts for nothing."""
        found = self._ended.get(slug)
        if found is None:
            found = self._ended[slug] = self.patterns.has_ended(slug)
        return found

    def note(self, tag: bytes) -> Note | None:
        """A live record."""
        entry = self.reader.entry(tag)
        note = None if entry is None else self.read(entry)
        return note if note is not None and self.sees(note.log, note.repo) else None

    def read(self, entry: Entry) -> Note:
        """A live record that was found, with its edits."""
        return Note(entry, self.reader.fields(entry.tag))

    def read_all(self, entries: Iterable[Entry]) -> list[Note]:
        """The same for many at once, which is sooner done."""
        found = list(entries)
        edits = self.reader.edits(entry.tag for entry in found)
        return [Note(entry, edits.get(entry.tag, {})) for entry in found]

    def name_of(self, node: bytes) -> str:
        """What a member is called; empty if it is none."""
        if self._names is None:
            self._names = self.reader.names()
        return self._names.get(node, "")

    @property
    def has_muted(self) -> bool:
        """Whether anything is hidden here."""
        return bool(self._muted) or self.bound is not None

    def is_muted(self, note: Note) -> bool:
        """Whether this node does not want to see a record, its author or its pattern; or must not."""
        if not self.sees(note.log, note.repo):
            return True
        return bool(self._muted) and (
            text_id(note.tag) in self._muted
            or text_id(note.node) in self._muted
            or (bool(note.pattern) and not self._muted.isdisjoint(self.patterns.names(note.pattern)))
        )

    def is_shown(self, note: Note) -> bool:
        """Whether a record has a place beside HOT, and nobody has muted it here."""
        return not self.is_muted(note) and self.stays(note)

    def stays(self, note: Note) -> bool:
        """Whether a record has a place beside HOT: neither HOT itself nor over."""
        return not self.has_decayed(note) and not self.is_over(note)

    def is_over(self, note: Note) -> bool:
        """Whether a record need not be shown beside HOT: its pattern is HOT itself, or has ended."""
        slug = _counted_under(note)
        return bool(slug) and (self.is_hot(slug) or self.has_ended(slug))

    def in_scope(self, note: Note, repo: str | None) -> bool:
        """Whether a record holds in a repository; None: all are."""
        return (repo is None or note.repo in ("", repo)) and self.sees(note.log, note.repo)

    def moved_into(self, repo: str | None) -> list[bytes]:
        """The records that were edited to be of a repository, or to hold everywhere, wherever they were before."""
        return [] if repo is None else [tag for tag, value in self.moved() if value in ("", repo)]

    def moved(self) -> list[tuple[bytes, str]]:
        """Every record that was edited to be of another repository, and of which."""
        if self._edited is None:
            said = self.reader.assigned("repo")
            edited = ((tag, one.value) for tag, one in said.items() if isinstance(tag, bytes))
            self._edited = [(tag, value if type(value) is str else "") for tag, value in edited]  # as `Note` reads it
        return self._edited


def quality(note: Note) -> float:
    """How good a record is, from 0 to 1: as somebody has rated it, else as sure as its author was."""
    value = note.record.get("quality")
    if value is not None and isinstance(value, int | float) and type(value) is not bool and 0 <= value <= 1:
        return float(value)
    return note.confidence


def _counted_under(note: Note) -> str:
    """The pattern of a record of those logs that patterns are made of; others may say what they want."""
    return note.pattern if note.log in (CORRECTIONS, PATTERNS) else ""


def _tags(standing: Pattern) -> set[bytes]:
    return {note.tag for note in (*standing.corrections, *standing.records)}


def _rule(written: Note | None, note: Note) -> str:
    """The rule of a pattern that nobody has given one: of its newest pattern record, or else of its newest correction."""
    return note.word("right") if written is None else written.word("rule")


def _rank(found: Pattern | Tally) -> tuple[int, int, str]:
    """HOT in order: of most sessions, then of the newest correction."""
    return -found.sessions, -_last(found), found.slug


def _last(found: Pattern | Tally) -> int:
    return found.last if isinstance(found, Pattern) else found.at
