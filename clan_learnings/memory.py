"""What the clan knows, as it is read: HOT, WARM and BANK for a repository, the tier of a record. One snapshot; writes nothing.

Everything here is a function of merged state and mesh time, but for what this node has muted, which only hides.
"""

from __future__ import annotations

from heapq import merge
from itertools import islice

from clan_learnings import tiers
from clan_learnings.patterns import Patterns, Standing
from clan_learnings.records import CORRECTIONS, DISCOVERIES, LOGS, PATTERNS, Note
from clan_learnings.settings import KEY as SETTINGS
from clan_learnings.settings import Settings
from mesh.core.ids import text_id

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mesh.store.reading import Entry, Reader, Tally

_EXAMPLES = 20  # newest corrections of a pattern looked at for one that is not muted
_WARM_PAGES = 4  # of the newest records of a log that are gone through for those that may be WARM
_BANK_LOOK = 100  # newest records of a repository that are weighed for a context without a task


class HotItem:
    """A HOT pattern, as it is shown: its rule, and the newest correction that stands for it."""

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


class Memory:
    """Reads one snapshot of a notebook: the caller opens a transaction around it if it wants one."""

    def __init__(self, reader: Reader, *, muted: frozenset[str] = frozenset()) -> None:
        """`muted`: whole text ids of records and nodes, and slugs, that are hidden here."""
        self.reader = reader
        self.settings = Settings(reader.fields(SETTINGS))
        self.patterns = Patterns(reader, self.settings)
        self.now_ms: int = reader.mesh_ms()
        self._muted = muted
        self._warm: dict[str | None, list[Note]] = {}
        self._warm_tags: dict[str | None, frozenset[bytes]] = {}
        self._edited: list[tuple[bytes, str]] | None = None

    # HOT

    def hot(self, repo: str | None, limit: int | None = None) -> list[HotItem]:
        """The HOT patterns of a scope, those of most sessions first. None: of all repositories."""
        items: list[HotItem] = []
        for found in self._hot(repo):
            item = self._of_standing(found) if isinstance(found, Standing) else self._of_tally(found)
            if item is not None:
                items.append(item)
                if len(items) == limit:
                    break
        return items

    def count_hot(self, repo: str | None) -> int:
        """How many there are, without a look at a single record; also those that are muted here."""
        return sum(1 for _ in self._hot(repo))

    def _hot(self, repo: str | None) -> Iterator[Standing | Tally]:
        """Two streams in one order: patterns whose tally says it all, and the few that have to be looked at."""
        special = self.patterns.special()
        exact = sorted(self.patterns.hot_special(), key=_rank)
        plain = (
            tally
            for tally in self.reader.tallies(self.settings.hot_at, CORRECTIONS)
            if tally.slug not in special and self.patterns.is_hot_name(tally.slug)
        )
        streams: list[Iterable[Standing | Tally]] = [plain, exact]
        for found in merge(*streams, key=_rank):
            if repo is None or self._scope(found) in ("", repo):
                yield found

    def _scope(self, found: Standing | Tally) -> str:
        """Where a pattern holds: in the one repository it was seen in, or everywhere (empty)."""
        if isinstance(found, Standing):
            return found.scope
        is_local = len(found.repos) == 1 and not self.patterns.is_marked_global(found.slug)
        return found.repos[0] if is_local else ""

    def _of_standing(self, standing: Standing) -> HotItem | None:
        note = self._newest_shown(standing.corrections)
        if note is None:
            return None
        rule = standing.rule
        if self._muted:  # what is said in the name of all must not be the words of who is hidden
            written = self._newest_shown(standing.records)
            rule = self.patterns.rule_of(standing.slug) or _rule(written, note)
        return HotItem(
            standing.slug,
            note,
            rule,
            note.word("wrong"),
            sessions=standing.sessions,
            nodes=standing.nodes,
            repos=standing.repos,
            repo=standing.scope,
            last_ms=standing.last >> 16,
        )

    def _of_tally(self, tally: Tally) -> HotItem | None:
        slug = tally.slug
        note = self._example(slug, CORRECTIONS)
        if note is None:
            return None
        return HotItem(
            slug,
            note,
            self.patterns.rule_of(slug) or _rule(self._example(slug, PATTERNS), note),
            note.word("wrong"),
            sessions=tally.sessions,
            nodes=tally.nodes,
            repos=list(tally.repos),
            repo=self._scope(tally),
            last_ms=tally.at >> 16,
        )

    def _example(self, slug: str, log: str) -> Note | None:
        """The newest record of a log that was written under a name and is not muted."""
        entries = self.reader.newest_of(slug, log, _EXAMPLES if self._muted else 1)
        return self._newest_shown([self.read(entry) for entry in reversed(entries)])

    def _newest_shown(self, notes: list[Note]) -> Note | None:
        return next((note for note in reversed(notes) if not self.is_muted(note)), None)

    def weigh(self, slug: str) -> Standing | Tally | None:
        """How often, where and by whom a pattern was needed; None if nothing live is counted under it."""
        if slug in self.patterns.special():
            return self.patterns.standing(slug)
        return self.reader.tally(slug, CORRECTIONS)

    def is_hot(self, slug: str) -> bool:
        """Whether a correction under this name is one of a HOT pattern."""
        return self.patterns.is_hot_name(slug)

    # WARM and BANK

    def warm(self, repo: str | None) -> list[Note]:
        """The last discoveries of a scope and all its records of the last two days, newest first. HOT ones are not repeated."""
        if repo not in self._warm:
            self._warm[repo] = self._find_warm(repo, self._is_shown)
        return self._warm[repo]

    def _find_warm(self, repo: str | None, may_stay: Callable[[Note], bool]) -> list[Note]:
        # Of a log as many as there may be in all; beyond what a busy pattern has, which is HOT or over, too.
        after = (self.now_ms - tiers.WARM_MS) << 16
        last = islice(self.newest(DISCOVERIES, repo, tiers.WARM_DISCOVERIES), tiers.WARM_DISCOVERIES)
        found = {note.tag: note for note in last if may_stay(note)}
        for log in LOGS:
            late = (
                note for note in self.newest(log, repo, tiers.WARM_MOST, after, pages=_WARM_PAGES) if may_stay(note)
            )
            found |= {note.tag: note for note in islice(late, tiers.WARM_MOST)}
        return sorted(found.values(), key=lambda note: (note.stamp, note.tag), reverse=True)[: tiers.WARM_MOST]

    def newest(self, log: str, repo: str | None, page: int, least: int = 0, pages: int | None = None) -> Iterator[Note]:
        """The records of a log and scope, newest first, read as they are asked for, a page at a time.

        What was edited to be of another repository is there and not here. `least`: none with an earlier stamp.
        """
        repos = None if repo is None else ("", repo)
        before: tuple[int, bytes] | None = None
        while page > 0 and pages != 0:
            pages = None if pages is None else pages - 1
            entries = self.reader.newest(log, page, repos, before, least=least, also=self.moved_into(repo))
            for entry in entries:
                note = self.read(entry)
                if self._in_scope(note, repo):
                    yield note
            if len(entries) < page:
                break
            before = (entries[-1].at, entries[-1].tag)

    def bank(self, repo: str | None, count: int) -> list[Note]:
        """Of what is neither HOT nor WARM in a scope, the strongest: what a context has if no task is named."""
        warm = {note.tag for note in self.warm(repo)}
        found = [note for log in LOGS for note in islice(self.newest(log, repo, _BANK_LOOK), _BANK_LOOK)]
        found.sort(key=lambda note: (-self.strength(note), -note.stamp, note.tag))
        return list(islice((note for note in found if note.tag not in warm and self._is_shown(note)), max(count, 0)))

    def strength(self, note: Note) -> float:
        """What is left of the confidence in a record."""
        return tiers.strength(note.confidence, note.severity, self.now_ms - note.at_ms)

    def tier_of(self, note: Note) -> str:
        """The tier of a live record, in its own scope."""
        return self.tier_in(note, note.repo)

    def tier_in(self, note: Note, repo: str | None) -> str:
        """The tier of a live record as a scope sees it; None: all of them."""
        slug = _counted_under(note)
        hot = bool(slug) and self.is_hot(slug)
        gone = bool(slug) and not hot and self.patterns.has_ended(slug)
        warm = not hot and not gone and note.tag in self._all_warm(repo)
        return tiers.tier_of(hot=hot, warm=warm, gone=gone, left=self.strength(note))

    def _all_warm(self, repo: str | None) -> frozenset[bytes]:
        """Everything that is WARM in a scope, also what is hidden here: that changes no tier."""
        if repo not in self._warm_tags:
            notes = self._find_warm(repo, self._stays) if self._muted else self.warm(repo)
            self._warm_tags[repo] = frozenset(note.tag for note in notes)
        return self._warm_tags[repo]

    def note(self, tag: bytes) -> Note | None:
        """A live record."""
        entry = self.reader.entry(tag)
        return None if entry is None else self.read(entry)

    def read(self, entry: Entry) -> Note:
        """A live record that was found, with its edits."""
        return Note(entry, self.reader.fields(entry.tag))

    @property
    def has_muted(self) -> bool:
        """Whether anything is hidden here."""
        return bool(self._muted)

    def is_muted(self, note: Note) -> bool:
        """Whether this node does not want to see a record, its author or its pattern."""
        return bool(self._muted) and (
            text_id(note.tag) in self._muted
            or text_id(note.node) in self._muted
            or (bool(note.pattern) and not self._muted.isdisjoint(self.patterns.names(note.pattern)))
        )

    def _is_shown(self, note: Note) -> bool:
        return not self.is_muted(note) and self._stays(note)

    def _stays(self, note: Note) -> bool:
        """Whether a record has a place beside HOT: neither HOT itself nor over."""
        return self.strength(note) >= tiers.DECAYED and not self.is_over(note)

    def is_over(self, note: Note) -> bool:
        """Whether a record need not be shown beside HOT: its pattern is HOT itself, or has ended."""
        slug = _counted_under(note)
        return bool(slug) and (self.is_hot(slug) or self.patterns.has_ended(slug))

    def _in_scope(self, note: Note, repo: str | None) -> bool:
        return repo is None or note.repo in ("", repo)

    def moved_into(self, repo: str | None) -> list[bytes]:
        """The records that were edited to be of a repository, or to hold everywhere, wherever they were before."""
        if repo is None:
            return []
        if self._edited is None:
            said = self.reader.assigned("repo")
            edited = ((tag, one.value) for tag, one in said.items() if isinstance(tag, bytes))
            self._edited = [(tag, value if type(value) is str else "") for tag, value in edited]  # as `Note` reads it
        return [tag for tag, value in self._edited if value in ("", repo)]


def _counted_under(note: Note) -> str:
    """The pattern of a record of those logs that patterns are made of; others may say what they want."""
    return note.pattern if note.log in (CORRECTIONS, PATTERNS) else ""


def _rule(written: Note | None, note: Note) -> str:
    """The rule of a pattern that nobody has given one: of its newest pattern record, or else of its newest correction."""
    return note.word("right") if written is None else written.word("rule")


def _rank(found: Standing | Tally) -> tuple[int, int, str]:
    """HOT in order: of most sessions, then of the newest correction."""
    last = found.last if isinstance(found, Standing) else found.at
    return -found.sessions, -last, found.slug
