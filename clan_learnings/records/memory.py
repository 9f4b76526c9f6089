"""What the clan knows, as it is read: HOT, WARM and BANK for a repository, the tier of a record. One snapshot; writes nothing.

Everything here is a function of merged state and mesh time; what this node has muted is only hidden. A memory that is bound to a
repository tells nothing of records that name another one, whichever way it is asked, as if they did not exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from clan_learnings.records import tiers
from clan_learnings.records.access_counts import accesses, lately
from clan_learnings.records.hot_patterns import HotItem as HotItem  # noqa: PLC0414 (readers of a memory import it from here)
from clan_learnings.records.hot_patterns import HotPatterns, counted_under
from clan_learnings.records.patterns import DISPUTED, NOT_HOT, UNWITNESSED, Pattern
from clan_learnings.records.recent_records import WarmRecords
from clan_learnings.records.record import CORRECTIONS, LOGS, Note
from clan_learnings.records.witnesses import Vote
from clan_learnings.search.finder import Finder, KeywordFinder
from mesh.store.reader import Entry, PatternTally, Reader

_BANK_LOOK = 100  # newest records of a repository that are weighed for a context without a task


class Memory(HotPatterns):
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
        super().__init__(reader, muted, bound)
        self.now_ms: int = reader.mesh_ms()
        self._finder = finder
        self._warm = WarmRecords(self)
        self._ended: dict[str, bool] = {}
        self._names: dict[bytes, str] | None = None
        self._edited: list[tuple[bytes, str]] | None = None
        self._months: list[str] | None = None  # in which being opened counts

    def bound_to(self, repo: str) -> Memory:
        """The same snapshot without records of other repositories."""
        return Memory(self.reader, muted=self._muted, finder=self._finder, bound=repo)

    def resolve(self, text: str) -> bytes:
        """The tag that an id, or the beginning of one, stands for, among all that may be seen here."""
        if self.bound is None:
            return self.reader.resolve(text)
        return self.reader.resolve(text, lambda tag: self.note(tag) is not None)

    @property
    def finder(self) -> Finder:
        """What finds candidates for a search."""
        if self._finder is None:
            self._finder = KeywordFinder(self.reader)
        return self._finder

    # Patterns

    def weigh(self, slug: str) -> Pattern | PatternTally | None:
        """How often, where and by whom a pattern was needed; None if nothing live is counted under it."""
        if self.bound is not None or slug in self.patterns.special():
            return self.patterns.standing(slug)
        return self.reader.tally(slug, CORRECTIONS)

    def lacking(self, slug: str) -> int | None:
        """How many witnesses a pattern has that lacks only witnesses to be HOT; None if it lacks something else, or nothing."""
        agreed = self.patterns.agreed
        if not self.witnesses.are_needed or agreed.state(slug) not in (UNWITNESSED, DISPUTED):
            return None
        standing = agreed.standing(slug)
        return 0 if standing is None else len(self.witnesses.among(note.node for note in standing.counted))

    def disputed(self, slug: str) -> list[Vote]:
        """The newest wording of each machine, for a pattern that is not HOT only because no wording has enough witnesses."""
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
        """Names that one machine alone has joined to a pattern, so HOT does not count them."""
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
        """The strongest records of a scope that are neither HOT nor WARM, for a context without a task."""
        warm = {note.tag for note in self.warm(repo)}
        found = [note for log in LOGS for note in islice(self.newest(log, repo, _BANK_LOOK), _BANK_LOOK)]
        found.sort(key=lambda note: (-round(self.strength(note), 6), -note.stamp, note.tag))
        return list(islice((note for note in found if note.tag not in warm and self.is_shown(note)), max(count, 0)))

    def strength(self, note: Note) -> float:
        """What is left of the quality of a record by its age alone, however often it was opened."""
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
        """Whether a record belongs to a HOT pattern, and so never decays or ends."""
        slug = counted_under(note)
        return bool(slug) and self.is_hot(slug)

    def is_archived(self, note: Note) -> bool:
        """Whether a record is in the archive, in whatever scope: it has decayed, or its pattern has ended."""
        slug = counted_under(note)
        return not (slug and self.is_hot(slug)) and ((bool(slug) and self.has_ended(slug)) or self.has_decayed(note))

    def has_ended(self, slug: str) -> bool:
        """Whether a pattern was archived or superseded, and is not HOT again."""
        found = self._ended.get(slug)
        if found is None:
            found = self._ended[slug] = self.patterns.has_ended(slug)
        return found

    def note(self, tag: bytes) -> Note | None:
        """A live record."""
        entry = self.reader.entry(tag)
        note = None if entry is None else self.read(entry)
        return note if note is not None and self.sees(note.log, note.repo) else None

    def read_all(self, entries: Iterable[Entry]) -> list[Note]:
        """The same for many at once, which is faster."""
        found = list(entries)
        edits = self.reader.edits(entry.tag for entry in found)
        return [Note(entry, edits.get(entry.tag, {})) for entry in found]

    def name_of(self, node: bytes) -> str:
        """The name of a member; empty if the node is none."""
        if self._names is None:
            self._names = self.reader.names()
        return self._names.get(node, "")

    def is_shown(self, note: Note) -> bool:
        """Whether a record has a place beside HOT, and is not muted here."""
        return not self.is_muted(note) and self.stays(note)

    def stays(self, note: Note) -> bool:
        """Whether a record has a place beside HOT: neither HOT itself nor over."""
        return not self.has_decayed(note) and not self.is_over(note)

    def is_over(self, note: Note) -> bool:
        """Whether a record need not be shown beside HOT: its pattern is HOT itself, or has ended."""
        slug = counted_under(note)
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
    """The quality of a record, from 0 to 1: its rating, or else its author's confidence."""
    value = note.record.get("quality")
    if value is not None and isinstance(value, int | float) and type(value) is not bool and 0 <= value <= 1:
        return float(value)
    return note.confidence


def _tags(standing: Pattern) -> set[bytes]:
    return {note.tag for note in (*standing.corrections, *standing.records)}
