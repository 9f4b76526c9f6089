"""What the clan knows, as it is read: HOT, WARM and BANK for a repository, the tier of a record. One snapshot; writes nothing.

Everything here is a function of merged state and mesh time, but for what this node has muted, which only hides.
"""

from __future__ import annotations

from heapq import merge

from clan_learnings import tiers
from clan_learnings.patterns import Patterns, Standing
from clan_learnings.records import CORRECTIONS, DISCOVERIES, LOGS, PATTERNS, Note
from clan_learnings.settings import KEY as SETTINGS
from clan_learnings.settings import Settings
from mesh.core.ids import text_id

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mesh.store.reading import Entry, Reader, Tally

_EXAMPLES = 20  # newest corrections of a pattern looked at for one that is not muted
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
        exact = [standing for standing in self.patterns.special_groups() if self.patterns.is_hot(standing)]
        exact.sort(key=_rank)
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
        shown = [note for note in reversed(standing.corrections) if not self.is_muted(note)]
        if not shown:
            return None
        return HotItem(
            standing.slug,
            shown[0],
            standing.rule,
            standing.wrong,
            sessions=standing.sessions,
            nodes=standing.nodes,
            repos=standing.repos,
            repo=standing.scope,
            last_ms=standing.last >> 16,
        )

    def _of_tally(self, tally: Tally) -> HotItem | None:
        note = self._example(tally.slug)
        slug = tally.slug
        if note is None:
            return None
        rule = self.patterns.rule_of(slug)
        if not rule:
            records = self.reader.newest_of(slug, PATTERNS, 1)
            rule = self.read(records[0]).word("rule") if records else note.word("right")
        return HotItem(
            slug,
            note,
            rule,
            note.word("wrong"),
            sessions=tally.sessions,
            nodes=tally.nodes,
            repos=list(tally.repos),
            repo=self._scope(tally),
            last_ms=tally.at >> 16,
        )

    def _example(self, slug: str) -> Note | None:
        for entry in self.reader.newest_of(slug, CORRECTIONS, 1):
            note = self.read(entry)
            if not self.is_muted(note):
                return note
        for entry in self.reader.newest_of(slug, CORRECTIONS, _EXAMPLES)[1:] if self._muted else ():
            note = self.read(entry)
            if not self.is_muted(note):
                return note
        return None

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
            self._warm[repo] = self._find_warm(repo)
        return self._warm[repo]

    def _find_warm(self, repo: str | None) -> list[Note]:
        repos = None if repo is None else ("", repo)
        entries = {entry.tag: entry for entry in self.reader.newest(DISCOVERIES, tiers.WARM_DISCOVERIES, repos)}
        after = (self.now_ms - tiers.WARM_MS) << 16
        for log in LOGS:
            for entry in self.reader.since(log, after, repos, tiers.WARM_MOST):
                entries[entry.tag] = entry
        for tag in self._moved_in(repo):
            found = self.reader.entry(tag)
            if found is not None and found.log in LOGS and found.at >= after:
                entries[tag] = found
        notes = [self.read(entry) for entry in entries.values()]
        kept = [note for note in notes if self._in_scope(note, repo) and self._stays(note)]
        kept.sort(key=lambda note: (note.stamp, note.tag), reverse=True)
        return kept[: tiers.WARM_MOST]

    def bank(self, repo: str | None, count: int) -> list[Note]:
        """Of what is neither HOT nor WARM in a scope, the strongest: what a context has if no task is named."""
        repos = None if repo is None else ("", repo)
        warm = {note.tag for note in self.warm(repo)}
        found = [self.read(entry) for log in LOGS for entry in self.reader.newest(log, _BANK_LOOK, repos)]
        found.sort(key=lambda note: (-self.strength(note), -note.stamp, note.tag))
        kept: list[Note] = []
        for note in found:
            if note.tag not in warm and self._in_scope(note, repo) and self._stays(note):
                kept.append(note)
                if len(kept) == count:
                    break
        return kept

    def strength(self, note: Note) -> float:
        """What is left of the confidence in a record."""
        return tiers.strength(note.confidence, note.severity, self.now_ms - note.at_ms)

    def tier_of(self, note: Note) -> str:
        """The tier of a live record, in its own scope."""
        slug = note.pattern
        hot = bool(slug) and note.log in (CORRECTIONS, PATTERNS) and self.is_hot(slug)
        gone = bool(slug) and not hot and self.patterns.has_ended(slug)
        warm = not hot and not gone and any(other.tag == note.tag for other in self.warm(note.repo))
        return tiers.tier_of(hot=hot, warm=warm, gone=gone, left=self.strength(note))

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

    def _stays(self, note: Note) -> bool:
        """Whether a record may be shown beside HOT: not HOT itself, not muted, not over."""
        return not self.is_muted(note) and self.strength(note) >= tiers.DECAYED and not self.is_over(note)

    def is_over(self, note: Note) -> bool:
        """Whether a record need not be shown beside HOT: its pattern is HOT itself, or has ended."""
        return bool(note.pattern) and (self.is_hot(note.pattern) or self.patterns.has_ended(note.pattern))

    def _in_scope(self, note: Note, repo: str | None) -> bool:
        return repo is None or note.repo in ("", repo)

    def _moved_in(self, repo: str | None) -> list[bytes]:
        """Records that were written for another repository and edited to be of this one."""
        if repo is None:
            return []
        said = self.reader.assigned("repo")
        return sorted(tag for tag, one in said.items() if isinstance(tag, bytes) and one.value in ("", repo))


def _rank(found: Standing | Tally) -> tuple[int, int, str]:
    """HOT in order: of most sessions, then of the newest correction."""
    last = found.last if isinstance(found, Standing) else found.at
    return -found.sessions, -last, found.slug
