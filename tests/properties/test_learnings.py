"""What the clan knows is a function of what was signed: any delivery, one answer, and the one that the design asks for."""

import itertools
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clan_learnings.context.session_context import session_context
from clan_learnings.records.memory import HotItem, Memory
from clan_learnings.records.notebook import draft_correction
from clan_learnings.records.pattern_drafts import draft_unalias
from clan_learnings.records.pattern_merging import draft_merges
from clan_learnings.records.patterns import Pattern, Patterns
from clan_learnings.records.recent_records import recent
from clan_learnings.records.record import About
from clan_learnings.records.witnesses import seal_of
from clan_learnings.redaction.text_cleaner import TextCleaner
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.record_search import search
from mesh.core.draft import Assignment, Draft, NewRecord, Removal
from mesh.core.ids import tag_of, text_id
from mesh.core.operation import Add, Count, Remove, Set, parse
from mesh.core.statement import ADMIN, EPHEMERAL, MEMBER, READER, Statement
from mesh.store.reader import Reader
from mesh.store.store import Store
from tests.oracle import Oracle
from tests.worlds import NOW_MS, Chain, Clan, open_store

CLAN = Clan()
EXAMPLES = 3000 if settings.get_current_profile_name() == "soak" else 24
DAY_MS = 86_400_000

SLUGS = ("use-pnpm", "pin-versions", "run-linter", "a", "b")
REPOS = ("github.com/acme/api", "github.com/acme/web", "")
SESSIONS = ("codex:1", "codex:2", "claude:1", "claude:2", "gemini:1")
WORDINGS = (
    ("npm install", "pnpm install"),
    ("used npm", "use pnpm, not npm"),
    ("ran the tests", "run the linter before the tests"),
    ("left the version open", "pin versions in requirements.txt"),
)
LOGS = ("discoveries", "corrections", "patterns")
ODD: tuple[Any, ...] = (None, 7, True, "", [], ["x"], {"a": 1}, 1.5, "x" * 600, b"\xff", -3)
EDITABLE = (
    *("text", "wrong", "right", "rule", "topic", "tags", "category", "severity"),
    *("confidence", "evidence", "minutes_lost", "repo", "pattern"),
)
ALWAYS = ("topic", "tags", "category", "severity", "confidence", "evidence", "minutes_lost", "repo")
SEVERITIES = ("low", "medium", "high", "critical")


class World:
    """Histories that authors wrote without waiting for each other, and statements that take some of it away."""

    def __init__(self, rng: random.Random, operations: int = 60, most: int = 5) -> None:
        self.rng = rng
        self.authors = [CLAN.node(index) for index in range(rng.randint(2, most))]
        self.chains = [Chain(CLAN, author) for author in self.authors]
        self.tags: list[bytes] = []
        self.is_harvested = rng.random() < 0.3
        span = rng.choice((400, 2000) if self.is_harvested else (0, 1, 3, 100, 400, 2000))  # days that all of it takes
        stamps = sorted(NOW_MS - int(rng.random() * span * DAY_MS) for _ in range(operations))
        for chain, stamp in itertools.product(self.chains, stamps):  # so two authors often have the same stamp
            if rng.random() < 0.6:
                hlc = max(stamp << 16, (chain.links[-1].hlc if chain.links else 0) + 1)
                self._write(chain, hlc, stamp << 16 if rng.random() < 0.5 else hlc)
        roles = (MEMBER, MEMBER, MEMBER, ADMIN, EPHEMERAL, READER) if most > 2 else (MEMBER,)
        self.statements: list[Statement] = [CLAN.member(author, role=rng.choice(roles)) for author in self.authors]
        if self.tags and rng.random() < 0.4:
            some = rng.sample(self.tags, min(len(self.tags), rng.randint(1, 4)))
            self.statements.append(CLAN.erase(CLAN.root, *some))
        if rng.random() < 0.2:
            chain = rng.choice(self.chains)
            seq = rng.randint(0, len(chain.links))
            heads = [(chain.feed.epoch, seq, chain.hash_at(seq))] if seq else []
            self.statements.append(CLAN.revoke(chain.author, heads))

    def _write(self, chain: Chain, hlc: int, at: int) -> None:
        rng = self.rng
        choice = rng.random()
        if choice < 0.45:
            self.tags.append(chain.add(Add(at, "corrections", self._correction(at)), hlc))
        elif choice < 0.58:
            text = " ".join(rng.choice(WORDINGS)) + f" {rng.randint(1, 3)}"
            self.tags.append(chain.add(Add(at, "discoveries", {"text": text} | self._about()), hlc))
        elif choice < 0.63:
            record = {"rule": rng.choice(WORDINGS)[1], "pattern": rng.choice(SLUGS)}
            self.tags.append(chain.add(Add(at, "patterns", record | self._about()), hlc))
        elif choice < 0.66:
            record = {"old": rng.choice(SLUGS), "new": rng.choice(SLUGS), "repo": rng.choice(REPOS)}
            self.tags.append(chain.add(Add(at, "supersessions", record), hlc))
        elif choice < 0.82:
            self._edit(chain, hlc, at)
        elif choice < 0.87:
            chain.add(Remove([self._some_tag()], "wrong"), hlc)
        elif choice < 0.96:
            self._of_pattern(chain, hlc, at)
        elif choice < 0.99:
            month = time.strftime("%Y-%m", time.gmtime((NOW_MS - rng.choice((0, 20, 60, 89, 130)) * DAY_MS) // 1000))
            chain.add(Count(f"opened:{text_id(self._some_tag())}:{month}", rng.randint(1, 6)), hlc)
        else:
            chain.add(Set(at, "settings", "hot_at", rng.choice((2, 3, 4, 0, "3", None, True))), hlc)

    def _about(self) -> dict[str, Any]:
        rng = self.rng
        said: dict[str, Any] = {"repo": rng.choice(REPOS), "session": rng.choice(SESSIONS)}
        if rng.random() < 0.3:
            said["severity"] = rng.choice(("low", "medium", "high", "critical", "no", 7))
        if rng.random() < 0.3:
            said["confidence"] = rng.choice((0.2, 0.5, 0.75, 0.9, 1, 0, 7, True, "1"))
        if rng.random() < 0.1:
            said["quality"] = rng.choice((0.1, 0.3, 0.6, 2, False))
        if rng.random() < 0.3:
            said["topic"] = rng.choice(("pnpm", "ci"))
        if rng.random() < 0.1:
            del said["session"]
        if rng.random() < 0.1:
            said[rng.choice(("repo", "session", "pattern"))] = rng.choice(ODD)
        if rng.random() < 0.03:
            del said["repo"]
        return said

    def _correction(self, at: int) -> dict[str, Any]:
        wrong, right = self.rng.choice(WORDINGS)
        source = self.rng.choice(("human", "agent", "build"))
        said = {"wrong": wrong, "right": right, "pattern": self.rng.choice(SLUGS), "source": source} | self._about()
        return said | self._harvested(at) if self.is_harvested else said

    def _harvested(self, at: int) -> dict[str, Any]:
        """What a harvester says of its writing; others may say anything."""
        rng = self.rng
        is_odd = rng.random() < 0.05
        days = rng.choice((0, 10, 89, 91, 200, 3000)) if rng.random() < 0.05 else rng.choice((91, 200, 3000))
        later = (at >> 16) + days * DAY_MS
        said = {"harvested_ms": rng.choice((str(later), True, None)) if is_odd else later}
        return said | ({"curated": rng.choice((True, 1, "yes"))} if rng.random() < 0.05 else {})

    def _edit(self, chain: Chain, hlc: int, at: int) -> None:
        rng = self.rng
        field = rng.choice(("pattern", "pattern", "repo", "session", *EDITABLE))
        sound = {
            "pattern": rng.choice(SLUGS),
            "repo": rng.choice(REPOS),
            "tags": ["pnpm"],
            "confidence": rng.random(),
            "minutes_lost": 7,
            "severity": rng.choice(SEVERITIES),
        }
        value = rng.choice(ODD) if rng.random() < 0.15 else sound.get(field, rng.choice(WORDINGS)[1])
        chain.add(Set(at, self._some_tag(), field, value), hlc)

    def _of_pattern(self, chain: Chain, hlc: int, at: int) -> None:
        rng = self.rng
        slug = rng.choice((*SLUGS, *SLUGS, ""))
        fields = ("alias_of", "alias_of", "archived", "archived", "approved", "global", "rule", "topic", "logged")
        field = rng.choice(fields)
        if field == "logged":
            chain.add(Count(f"pattern:{slug}", rng.randint(1, 9)), hlc)
            return
        sound = {
            "alias_of": rng.choice((*SLUGS, None, None)),
            "archived": rng.choice(("over", "done", None)),
            "global": rng.random() < 0.6,
            "approved": seal_of(rng.choice(WORDINGS)[1], rng.choice(WORDINGS)[0]),
        }
        value = rng.choice(ODD) if rng.random() < 0.15 else sound.get(field, rng.choice(WORDINGS)[0])
        chain.add(Set(at, f"pattern:{slug}", field, value), hlc)

    def _some_tag(self) -> bytes:
        """Of a record, whoever wrote it, or of none that anybody will ever see."""
        return self.rng.choice(self.tags) if self.tags and self.rng.random() < 0.97 else bytes(32)

    def deliver(self, store: Store) -> None:
        """Everything in some order, in some pieces, some of it twice."""
        rng = self.rng
        parcels: list[tuple[bool, bytes]] = [(True, statement.encode()) for statement in self.statements]
        for chain in self.chains:
            cuts = sorted({0, len(chain.links), *(rng.randint(0, len(chain.links)) for _ in range(3))})
            parcels += [(False, chain.encoded(one + 1, other)) for one, other in itertools.pairwise(cuts)]
        for is_statement, data in [*rng.sample(parcels, len(parcels)), *rng.sample(parcels, 2), *parcels]:
            (store.merge_statements if is_statement else store.merge_ranges)([data])


@contextmanager
def opened(world: World, count: int = 2) -> Iterator[list[Store]]:
    """The same world, delivered to several stores in several ways."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stores = [stack.enter_context(open_store(Path(folder) / str(number), CLAN)) for number in range(count)]
        for store in stores:
            world.deliver(store)
        yield stores


def memory_of(store: Store, muted: frozenset[str] = frozenset()) -> Memory:
    """A fresh look at a store."""
    return Memory(Reader(store.database.connection), muted=muted)


def live_notes(memory: Memory) -> list[bytes]:
    """Every live record of the logs that people read."""
    return [entry.tag for log in (*LOGS, "supersessions") for entry in memory.reader.newest(log, 10_000)]


# What a store says


def of_hot(item: HotItem) -> tuple[Any, ...]:
    return (
        *(item.slug, item.tag, item.rule, item.wrong, item.sessions),
        *(item.nodes, item.repos, item.repo, item.last_ms),
    )


def of_standing(made: Pattern | None) -> tuple[Any, ...] | None:
    if made is None:
        return None
    return (
        *(made.slug, sorted(made.names), made.rule, made.wrong, made.topic, made.archived, made.further),
        *(
            made.is_global,
            made.logged,
            made.superseded_by,
            made.sessions,
            made.nodes,
            made.repos,
            made.last,
            made.scope,
        ),
        [note.tag for note in made.corrections],
        [note.tag for note in made.records],
    )


def said(store: Store) -> dict[Any, Any]:
    """Everything that is read of a store, in values that can be compared."""
    memory = memory_of(store)
    answers: dict[Any, Any] = {"standing": {slug: of_standing(memory.patterns.standing(slug)) for slug in SLUGS}}
    for repo in (None, *REPOS):
        answers["hot", repo] = [of_hot(item) for item in memory.hot(repo)]
        answers["count", repo] = memory.count_hot(repo)
        answers["warm", repo] = [note.tag for note in memory.warm(repo)]
        answers["bank", repo] = [note.tag for note in memory.bank(repo, 1000)]
        answers["recent", repo] = [note.tag for note in recent(memory, repo, 1000)]
        answers["few", repo] = [note.tag for note in recent(memory, repo, 3)]
        for query in ("npm install", "pnpm 2"):
            hits = search(memory, query, SearchFilters(repo), 100)
            answers["search", repo, query] = [(hit.note.tag, hit.score, hit.why) for hit in hits]
    notes = [memory.note(tag) for tag in live_notes(memory)]
    answers["tiers"] = {note.tag: memory.tier_of(note) for note in notes if note is not None}
    asked = (("", None, ""), ("codex", 1500, ""), ("claude-code", 4000, "pin the linter"))
    for repo, (agent, chars, task) in itertools.product(REPOS, asked):
        made = session_context(memory, None, repo=repo, agent=agent, max_chars=chars, task=task)
        answers["context", repo, agent] = (made.text, made.digest, made.left_out)
    return answers


# What the design asks for, the slow and obvious way. Nothing of `patterns` or `memory` is used here.


class Live:
    """A live record with its edits: those of an editable field that the record has, or that any record may have."""

    def __init__(self, tag: bytes, node: bytes, add: Add, edits: dict[str, Any]) -> None:
        self.tag, self.node, self.at, self.log, self.written = tag, node, add.at, add.log, add.record
        kept = {name: value for name, value in edits.items() if name in EDITABLE and name in (*ALWAYS, *add.record)}
        self.record = add.record | kept
        self.is_moved = "repo" in kept

    def word(self, field: str) -> str:
        value = self.record.get(field)
        return value if isinstance(value, str) else ""

    @property
    def slug(self) -> str:
        """What it counts under, if it is of a log that counts at all."""
        word = self.word("pattern")
        return word if self.log in ("corrections", "patterns") and len(word) <= 512 else ""

    @property
    def session(self) -> str | bytes:
        return self.word("session") or self.tag

    @property
    def repo(self) -> str:
        return self.word("repo") if len(self.word("repo")) <= 512 else ""

    @property
    def is_old_news(self) -> bool:
        """Written ninety days after it happened, by no person's decision."""
        written = self.record.get("harvested_ms")
        is_late = type(written) is int and written - (self.at >> 16) > 90 * DAY_MS
        return is_late and self.record.get("curated") is not True

    def is_in(self, repo: str | None) -> bool:
        """What was never said to be of a repository is only in the list of all."""
        written = self.written.get("repo")
        says = self.is_moved or (isinstance(written, str) and len(written) <= 512)
        return repo is None or (says and self.word("repo") in ("", repo))

    def strength(self, now_ms: int) -> float:
        rated = [
            self.record.get("quality"),
            self.record.get("confidence"),
            {"human": 0.9}.get(self.word("source"), 0.8),
        ]
        sound = (one for one in rated if isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one <= 1)
        return float(next(sound) * 0.95 ** (max(0, now_ms - (self.at >> 16)) // (30 * DAY_MS)))


def shared_out(newest: list[Live], places: int) -> list[Live]:
    """A third of the places for each author at first; what is left then is for the newest."""
    first: list[Live] = []
    for one in newest:
        if len(first) < places and sum(other.node == one.node for other in first) < places // 3:
            first.append(one)
    more = [one for one in newest if one not in first][: places - len(first)]
    return [one for one in newest if one in first or one in more]


class Clever:
    """Tiers, counts and scopes of a world, from its live records and registers."""

    def __init__(self, world: World) -> None:
        oracle = Oracle(CLAN, world.chains, world.statements)
        views = oracle.views()
        elements: Any = views["elements"]
        registers: Any = views["registers"]
        self.counters: Any = views["counters"]
        winners = {tag: key for key, (_, tag) in registers.items()}
        adds: dict[bytes, tuple[bytes, Add]] = {}
        self.registers: dict[bytes | str, dict[str, tuple[Any, int]]] = defaultdict(dict)
        stamps = [0]
        for feed, links in oracle.accepted.items():
            for link in links:
                tag, body = tag_of(feed.node, link.body_hash), parse(link.kind, link.hlc, link.body or b"")
                stamps.append(link.hlc)
                if tag in elements and isinstance(body, Add):
                    adds[tag] = (feed.node, body)
                elif tag in winners and isinstance(body, Set):
                    self.registers[body.target][body.field] = (body.value, body.at)
        self.now_ms = (max(stamps) >> 16) // 3_600_000 * 3_600_000
        self.live = [
            Live(tag, node, add, {name: value for name, (value, _) in self.registers[tag].items()})
            for tag, (node, add) in adds.items()
        ]
        self.live.sort(key=lambda one: (one.at, one.tag))
        wanted, _ = self.registers["settings"].get("hot_at", (3, 0))
        self.hot_at = wanted if type(wanted) is int and 2 <= wanted <= 100 else 3
        self._known: dict[Any, Any] = {}  # what was worked out once
        self.superseded = self._superseded()

    def names(self, slug: str) -> set[str]:
        """Everything that aliases lead to, in either direction."""
        return set(self._once(self._find_names, slug))

    def _once(self, work: Callable[[Any], Any], about: str | None) -> Any:
        key = (work.__name__, about)
        if key not in self._known:
            self._known[key] = work(about)
        return self._known[key]

    def _find_names(self, slug: str) -> set[str]:
        pairs = [
            (key.removeprefix("pattern:"), fields["alias_of"][0])
            for key, fields in self.registers.items()
            if isinstance(key, str) and key.startswith("pattern:") and "alias_of" in fields
        ]
        pairs = [(one, other) for one, other in pairs if isinstance(other, str) and one and other and len(other) <= 512]
        found = {slug}
        for _ in pairs:
            found |= {name for pair in pairs if found & set(pair) for name in pair}
        return found

    def _superseded(self) -> set[tuple[str, str]]:
        """Who was put in whose place, oldest first; who already stands behind the other is not put before it."""
        kept: set[tuple[str, str]] = set()
        for one in self.live:
            old, new = one.written.get("old"), one.written.get("new")
            if one.log == "supersessions" and isinstance(old, str) and isinstance(new, str):
                later = self.names(new)
                for _ in range(len(kept) + 1):
                    later |= {name for before, after in kept if before in later for name in self.names(after)}
                if old not in later:
                    kept |= {(name, new) for name in self.names(old)}
        return kept

    def notes(self, slug: str, log: str) -> list[Live]:
        names = self.names(slug)
        return [one for one in self.live if one.log == log and one.slug and one.slug in names]

    def register(self, slug: str, field: str) -> list[tuple[Any, int]]:
        found = [self.registers[f"pattern:{name}"].get(field) for name in sorted(self.names(slug))]
        return [one for one in found if one is not None]

    def ended(self, slug: str) -> int:
        """The stamp of the last archive that stands; 0 if there is none."""
        return max((at for value, at in self.register(slug, "archived") if value), default=0)

    def further(self, slug: str) -> set[str | bytes]:
        """The sessions that met it for the first time after that archive, under whichever name."""
        first: dict[str | bytes, int] = {}
        for one in self.notes(slug, "corrections"):
            first[one.session] = min(one.at, first.get(one.session, one.at))
        return {session for session, at in first.items() if at > self.ended(slug)}

    def new_names(self, slug: str) -> list[str]:
        names = self.names(slug)
        return sorted({new for old, new in self.superseded if old in names} - names)

    def is_hot(self, slug: str) -> bool:
        return bool(self._once(self._find_hot, slug))

    def _find_hot(self, slug: str) -> bool:
        notes = self.notes(slug, "corrections")
        counted = self.further(slug) if self.ended(slug) else {one.session for one in notes}
        stale = all(one.is_old_news and one.at < (self.now_ms - 89 * DAY_MS) << 16 for one in notes)
        return len(counted) >= self.hot_at and not self.new_names(slug) and not stale

    def has_ended(self, slug: str) -> bool:
        return bool(self._once(self._find_end, slug))

    def _find_end(self, slug: str) -> bool:
        return bool(slug) and (self.ended(slug) > 0 or bool(self.new_names(slug))) and not self.is_hot(slug)

    def title(self, slug: str) -> str:
        """The oldest name stands for all."""
        eldest = [*self.notes(slug, "corrections"), *self.notes(slug, "patterns")]
        return min(eldest, key=lambda one: (one.at, one.tag)).slug

    def scope(self, slug: str) -> str:
        repos = {one.repo for one in self.notes(slug, "corrections")}
        marked = any(value is True for value, _ in self.register(slug, "global"))
        return repos.pop() if len(repos) == 1 and not marked else ""

    def hot(self, repo: str | None) -> list[tuple[Any, ...]]:
        found = {}
        for slug in {one.slug for one in self.live if one.slug and self.is_hot(one.slug)}:
            if repo is None or self.scope(slug) in ("", repo):
                notes = self.notes(slug, "corrections")
                sessions, nodes = len({one.session for one in notes}), len({one.node for one in notes})
                repos = sorted({one.repo for one in notes})
                found[self.title(slug)] = (sessions, nodes, repos, self.scope(slug), notes[-1].tag, notes[-1].at)
        order = sorted(found, key=lambda slug: (-found[slug][0], -found[slug][5], slug))
        return [(slug, *found[slug][:5]) for slug in order]

    def stays(self, one: Live) -> bool:
        if one.slug and (self.is_hot(one.slug) or self.has_ended(one.slug)):
            return False
        return not self.has_decayed(one)

    def has_decayed(self, one: Live) -> bool:
        """Openings count for as long as a day of their month is among the last ninety."""
        days = [time.gmtime(max(0, self.now_ms - days * DAY_MS) // 1000) for days in range(91)]
        keys = {f"opened:{text_id(one.tag)}:{time.strftime('%Y-%m', day)}" for day in days}
        opened: int = sum(total for (key, _), total in self.counters.items() if key in keys)
        return bool(round(one.strength(self.now_ms) + min(0.25, 0.05 * opened), 6) < 0.3)

    def warm(self, repo: str | None) -> list[bytes]:
        return list(self._once(self._find_warm, repo))

    def _find_warm(self, repo: str | None) -> list[bytes]:
        newest = [one for one in reversed(self.live) if one.log in LOGS and one.is_in(repo)]
        last = shared_out([one for one in newest if one.log == "discoveries"], 20)
        fresh = [one for one in newest if one.at >= self.now_ms - 2 * DAY_MS << 16]
        staying = [one for one in newest if self.stays(one)]
        late = [one for one in staying if one in fresh]
        authors = [one.node for one in late[:50]]
        if len(late) >= 50 and max(map(authors.count, authors)) <= 50 // 3:
            return [one.tag for one in late[:50]]
        return [one.tag for one in shared_out([one for one in staying if one in last or one in fresh], 50)]

    def bank(self, repo: str | None) -> list[bytes]:
        warm = self.warm(repo)
        left = [one for one in self.live if one.log in LOGS and one.is_in(repo) and self.stays(one)]
        left.sort(key=lambda one: (-round(one.strength(self.now_ms), 6), -one.at, one.tag))
        return [one.tag for one in left if one.tag not in warm]

    def recent(self, repo: str | None) -> list[bytes]:
        found = [one for one in self.live if one.log in LOGS and one.is_in(repo)]
        return [one.tag for one in sorted(found, key=lambda one: (-one.at, one.tag))]

    def tier(self, one: Live) -> str:
        if one.slug and self.is_hot(one.slug):
            return "HOT"
        if self.has_ended(one.slug) or self.has_decayed(one):
            return "ARCHIVE"
        return "WARM" if one.tag in self.warm(one.word("repo")) else "BANK"


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES)
def test_equal_roots_say_the_same_whatever_came_when(number: int) -> None:
    """Records, edits, moves, aliases, archives, supersessions, settings, erasures: in any order, pieces and number of times."""
    world = World(random.Random(number))
    with opened(world) as stores:
        assert stores[0].root() == stores[1].root()
        one, other = said(stores[0]), said(stores[1])
        assert {key: value for key, value in one.items() if value != other[key]} == {}


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES)
def test_tiers_and_counts_are_those_of_the_design(number: int) -> None:
    """Occurrences, names, scopes, archives, supersessions, WARM, BANK and the tier of every record, against a plain look."""
    world = World(random.Random(number), most=2)  # with three it takes witnesses: see `test_witnesses`
    clever = Clever(world)
    with opened(world, 1) as (store,):
        memory = memory_of(store)
        assert memory.now_ms == clever.now_ms
        for slug in SLUGS:
            made = memory.patterns.standing(slug)
            corrections, records = clever.notes(slug, "corrections"), clever.notes(slug, "patterns")
            assert (made is None) == (not corrections and not records)
            if made is not None:
                assert [note.tag for note in made.corrections] == [one.tag for one in corrections]
                assert [note.tag for note in made.records] == [one.tag for one in records]
                assert (made.slug, made.names) == (clever.title(slug), frozenset(clever.names(slug)))
                assert made.superseded_by == clever.new_names(slug)
                assert bool(made.archived) == bool(clever.ended(slug))
                further = len(clever.further(slug)) if clever.ended(slug) else None
                assert made.further == memory.patterns.further(slug) == further
                assert memory.patterns.is_hot(made) == memory.is_hot(slug) == clever.is_hot(slug)
        for repo in (None, *REPOS):
            found = [
                (item.slug, item.sessions, item.nodes, item.repos, item.repo, item.tag) for item in memory.hot(repo)
            ]
            assert found == clever.hot(repo)
            assert memory.count_hot(repo) == len(found)
            assert [note.tag for note in memory.warm(repo)] == clever.warm(repo)
            assert [note.tag for note in memory.bank(repo, 1000)] == clever.bank(repo)
            assert [note.tag for note in recent(memory, repo, 1000)] == clever.recent(repo)
            for log in LOGS:
                pages = [[note.tag for note in memory.newest(log, repo, page)] for page in (1, 3, 1000)]
                assert pages[0] == pages[1] == pages[2]
        notes = {tag: memory.note(tag) for tag in live_notes(memory)}
        assert set(notes) == {one.tag for one in clever.live}
        tiers = {tag: memory.tier_of(note) for tag, note in notes.items() if note is not None}
        assert tiers == {one.tag: clever.tier(one) for one in clever.live}


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES // 2)
def test_hot_by_tallies_is_hot_by_a_look_at_every_record(number: int) -> None:
    """The short way of a session start, and the standing of every name that any record has."""
    world = World(random.Random(number), 40, most=2)
    with opened(world, 1) as (store,):
        memory, patterns = memory_of(store), memory_of(store).patterns
        written = [entry.record.get("pattern") for log in LOGS for entry in memory.reader.newest(log, 10_000)]
        standings = {slug: patterns.standing(slug) for slug in (*SLUGS, *(one for one in written if type(one) is str))}
        hot = [made for made in standings.values() if made is not None and patterns.is_hot(made)]
        for repo in (None, *REPOS):
            slow = {
                made.slug: (
                    *(made.slug, made.corrections[-1].tag, made.rule, made.wrong, made.sessions),
                    *(made.nodes, made.repos, made.scope, made.last >> 16),
                )
                for made in hot
                if repo is None or made.scope in ("", repo)
            }
            quick = memory_of(store).hot(repo)
            assert {item.slug: of_hot(item) for item in quick} == slow
            assert len(quick) == len(slow)
            assert [item.slug for item in memory.hot(repo, 2)] == [item.slug for item in quick[:2]]
        for slug in standings:
            assert memory_of(store).is_hot(slug) == any(slug in made.names for made in hot)


# Mesh time


@contextmanager
def written(folder: Path, *bodies: tuple[int, str, dict[str, Any]], now_ms: int = NOW_MS) -> Iterator[Memory]:
    """A store with these records, each written at its millisecond."""
    with open_store(folder, CLAN, now_ms=now_ms) as store:
        store.merge_statements([CLAN.member(CLAN.node(0)).encode()])
        chain = Chain(CLAN, CLAN.node(0))
        for ms, log, record in bodies:
            chain.add(Add(ms << 16, log, record), max(ms << 16, (chain.links[-1].hlc if chain.links else 0) + 1))
        store.merge(chain.encoded())
        yield memory_of(store)


HOUR_MS = 3_600_000
MIDDAY = NOW_MS // HOUR_MS * HOUR_MS  # an hour of mesh time begins


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES // 4)
def test_no_wall_clock_changes_what_is_said(number: int) -> None:
    """Two nodes of which one is opened ten years later say the same, once they have the same."""
    world = World(random.Random(number), 25)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        answers = []
        for years in (0, 10):
            now_ms = NOW_MS + years * 365 * DAY_MS
            store = stack.enter_context(open_store(Path(folder) / str(years), CLAN, now_ms=now_ms))
            world.deliver(store)
            answers.append(said(store))
        assert answers[0] == answers[1]


def test_mesh_time_is_the_hour_of_the_newest_operation_and_warm_ends_two_days_before(tmp_path: Path) -> None:
    """A record of exactly two days is WARM, one of a millisecond more is not, and the minutes of the hour do not matter."""
    border = MIDDAY - 2 * DAY_MS
    record = {"rule": "pin versions", "pattern": "pin", "repo": ""}
    bodies = [(ms, "patterns", record | {"topic": str(ms - border)}) for ms in (border - 1, border, border + 1)]
    for minutes in (0, 59):
        newest = (MIDDAY + minutes * 60_000, "learnings", {"text": "mesh time"})
        with written(tmp_path / str(minutes), *bodies, newest, now_ms=MIDDAY + DAY_MS) as memory:
            assert memory.now_ms == MIDDAY
            assert [note.word("topic") for note in memory.warm("")] == ["1", "0"]
            (oldest,) = memory.bank("", 10)
            assert (oldest.word("topic"), memory.tier_of(oldest)) == ("-1", "BANK")
    newest = (MIDDAY + HOUR_MS, "learnings", {"text": "mesh time"})
    with written(tmp_path / "later", *bodies, newest, now_ms=MIDDAY + DAY_MS) as memory:
        assert memory.warm("") == []


def test_a_record_decays_at_the_millisecond_and_not_before(tmp_path: Path) -> None:
    """0.31 is under 0.3 after one month of thirty days, and not a millisecond sooner."""
    record = {"text": "thing", "repo": "", "confidence": 0.31}
    bodies = [(MIDDAY - 30 * DAY_MS + extra, "discoveries", record) for extra in (0, 1)]
    with written(tmp_path, *bodies, (MIDDAY, "learnings", {"text": "mesh time"})) as memory:
        notes = [memory.read(entry) for entry in memory.reader.newest("discoveries", 9)]
        assert [memory.tier_of(note) for note in notes] == ["WARM", "ARCHIVE"]


def test_an_archive_ends_what_has_its_very_stamp(tmp_path: Path) -> None:
    """Only what is later counts again, and three later sessions are enough."""
    with open_store(tmp_path, CLAN) as store:
        store.merge_statements([CLAN.member(CLAN.node(0)).encode()])
        chain = Chain(CLAN, CLAN.node(0))
        at = NOW_MS << 16
        for number, stamp in enumerate([at, at, at, at + 1, at + 1]):
            record = {"right": "x", "pattern": "p", "session": f"codex:{number}", "repo": ""}
            chain.add(Add(stamp, "corrections", record), at + 10 + number)
        chain.add(Set(at, "pattern:p", "archived", "over"), at + 20)
        store.merge(chain.encoded())
        assert memory_of(store).hot("") == []
        assert memory_of(store).tier_of(memory_of(store).read(memory_of(store).reader.of_pattern("p")[0])) == "ARCHIVE"
        for seq, session in ((7, "codex:0"), (8, "codex:5")):  # one that was counted before, and a further one
            assert memory_of(store).hot("") == []
            record = {"right": "x", "pattern": "p", "session": session, "repo": ""}
            chain.add(Add(at + 1, "corrections", record), at + 14 + seq)
            store.merge(chain.encoded(seq))
        assert [item.slug for item in memory_of(store).hot("")] == ["p"]


# What may differ between nodes: what is private, and what is muted


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES // 3)
def test_what_is_private_is_in_no_digest_and_what_is_muted_only_hides(number: int) -> None:
    """Also a second look at the same store gives the same bytes; no count, tier or standing changes by muting."""
    rng = random.Random(number)
    world = World(rng, 40)
    with opened(world, 2) as stores:
        memory, again, private = memory_of(stores[0]), memory_of(stores[0]), memory_of(stores[1])
        tags = live_notes(memory)
        ids = [text_id(tag) for tag in tags] + [text_id(author.public) for author in world.authors] + list(SLUGS)
        muting = memory_of(stores[0], frozenset(rng.sample(ids, min(len(ids), rng.randint(1, 6)))))
        for repo, (chars, task) in itertools.product(REPOS, ((None, ""), (1800, "pin the linter"))):
            bare = session_context(memory, None, repo=repo, max_chars=chars, task=task)
            assert bare.text == session_context(again, None, repo=repo, max_chars=chars, task=task).text
            both = session_context(memory, private, repo=repo, max_chars=chars, task=task)
            assert both.digest == bare.digest
            assert both.text.startswith(bare.text.removesuffix("</clan-mesh>"))
            assert max(len(bare.text), len(both.text)) <= (chars or 8000)
            hidden = session_context(muting, muting, repo=repo, max_chars=chars, task=task)
            assert len(hidden.text) <= (chars or 8000)
            lost = [note for tag in tags if (note := memory.note(tag)) is not None and muting.is_muted(note)]
            assert [note for note in lost if f"[{memory.reader.short_id(note.tag)}]" in hidden.text] == []
            assert memory.count_hot(repo) == muting.count_hot(repo)
        for tag in tags:
            note = memory.note(tag)
            assert note is not None
            assert memory.tier_of(note) == muting.tier_of(note)
        for slug in SLUGS:
            assert of_standing(memory.patterns.standing(slug)) == of_standing(muting.patterns.standing(slug))


# The second look


class Peer:
    """A node that writes what its notebook says, with what it has heard so far."""

    def __init__(self, number: int, folder: Path, stack: ExitStack) -> None:
        self.chain = Chain(CLAN, CLAN.node(number))
        self.own = self.chain.author.public
        self.store = stack.enter_context(open_store(folder / str(number), CLAN))
        self.store.merge_statements([CLAN.member(CLAN.node(index)).encode() for index in range(3)])

    def write(self, drafts: Iterable[Draft], ms: int) -> None:
        """Drafts become operations of this node, which it has at once."""
        first = len(self.chain.links) + 1
        for draft in drafts:
            hlc = max(ms << 16, (self.chain.links[-1].hlc if self.chain.links else 0) + 1)
            if isinstance(draft, NewRecord):
                self.chain.add(Add(hlc, draft.log, draft.record), hlc)
            elif isinstance(draft, Assignment):
                self.chain.add(Set(hlc, draft.target, draft.field, draft.value), hlc)
            elif isinstance(draft, Removal):
                self.chain.add(Remove(list(draft.tags), draft.reason), hlc)
        if len(self.chain.links) >= first:
            self.store.merge(self.chain.encoded(first))

    def hear(self, peers: Iterable["Peer"]) -> None:
        """Everything that others have."""
        for peer in peers:
            if peer.chain.links:
                self.store.merge(peer.chain.encoded())


SAME = (
    ("npm install was run", "run pnpm install"),
    ("ran npm install", "pnpm install must be run"),
    ("used npm to install", "use pnpm to install, not npm"),
    ("npm was used for installing", "install with pnpm instead of npm"),
    ("left the version open", "pin the version in requirements.txt"),
    ("open versions", "always pin versions in requirements.txt"),
    ("tests before the linter", "run the linter before the tests"),
)


def apart(peers: list[Peer], rng: random.Random, ms: int) -> None:
    """Everybody writes, and hears only some of the others."""
    for _ in range(rng.randint(4, 9)):
        peer = rng.choice(peers)
        wrong, right = rng.choice(SAME)
        about = About(repo=rng.choice(REPOS[1:]), session=rng.choice(SESSIONS))
        drafts, _ = draft_correction(memory_of(peer.store), wrong, right, about, TextCleaner())
        peer.write(drafts, ms + rng.randint(0, 3))
        if rng.random() < 0.2:
            peer.hear(rng.sample(peers, 1))
        if rng.random() < 0.2:
            entries = memory_of(peer.store).reader.newest("corrections", 100)
            chosen = rng.choice(entries)
            moved: Draft = Assignment(chosen.tag, "pattern", rng.choice(entries).record["pattern"])
            peer.write([rng.choice([moved, Removal((chosen.tag,), "wrong")])], ms + 3)


def hear_all(peers: list[Peer]) -> None:
    """Nobody is apart any more."""
    for peer in peers:
        peer.hear(peers)


def look_until_quiet(peers: list[Peer], ms: int) -> list[tuple[bytes, Assignment]]:
    """Everybody looks at the same state at the same time, until nobody has anything to join. What was joined, by whom."""
    joined: list[tuple[bytes, Assignment]] = []
    slugs = {entry.record["pattern"] for entry in memory_of(peers[0].store).reader.newest("corrections", 1000)}
    for _ in range(len(slugs) + 1):
        found = [(peer, draft_merges(memory_of(peer.store), peer.own)) for peer in peers]
        for peer, drafts in found:
            assert drafts == draft_merges(memory_of(peer.store), peer.own)
            peer.write(drafts, ms)
            joined += [(peer.own, draft) for draft in drafts if isinstance(draft, Assignment)]
        hear_all(peers)
        if not any(drafts for _, drafts in found):
            return joined
    raise AssertionError("the second look never comes to rest")


class Person:
    """Joins and parts names by hand, in either direction, and remembers what was parted."""

    def __init__(self, peers: list[Peer], rng: random.Random) -> None:
        self.peers = peers
        self.rng = rng
        self.parted: list[frozenset[str]] = []

    def patterns(self) -> Patterns:
        return memory_of(self.peers[0].store).patterns

    def act(self, ms: int) -> None:
        rng = self.rng
        slugs = sorted(self.patterns().known())
        free = [slug for slug in slugs if not any(slug in pair for pair in self.parted)]
        if len(free) > 1 and rng.random() < 0.5:
            one, other = rng.sample(free, 2)
            self._say([Assignment(f"pattern:{one}", "alias_of", other)], ms)
        for names in sorted({self.patterns().names(slug) for slug in slugs}, key=sorted):
            if len(names) > 1 and rng.random() < 0.6:
                slug = rng.choice(sorted(names))
                self._say(draft_unalias(memory_of(self.peers[0].store), slug), ms)
                self.parted += [frozenset((slug, name)) for name in names - self.patterns().names(slug)]

    def _say(self, drafts: list[Draft], ms: int) -> None:
        self.rng.choice(self.peers).write(drafts, ms)
        hear_all(self.peers)


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES // 2)
def test_founders_join_each_pair_once_come_to_rest_and_never_join_what_was_parted(number: int) -> None:
    """Each node each pair once, until a person points a name elsewhere: among three, a name that two have written under is joined by both. Nodes that were apart, with moves and retractions; then a person joins and parts some, and they are apart again."""
    rng = random.Random(number)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        peers = [Peer(index, Path(folder), stack) for index in range(rng.randint(2, 3))]
        person = Person(peers, rng)
        for day in range(3):
            ms = NOW_MS - (3 - day) * DAY_MS
            apart(peers, rng, ms)
            hear_all(peers)
            assert len({peer.store.root() for peer in peers}) == 1
            joined = look_until_quiet(peers, ms + 10)
            pairs = [(node, frozenset((str(draft.target), f"pattern:{draft.value}"))) for node, draft in joined]
            assert len(pairs) == len(set(pairs))
            assert [pair for pair in person.parted if pair <= person.patterns().names(min(pair))] == []
            person.act(ms + 20)


@pytest.mark.parametrize("names", [("older", "younger"), ("younger", "older")])
def test_what_a_person_has_parted_stays_parted_in_whichever_direction_it_was_joined(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    """Also when the older name is no more the older one: its first record was taken back."""
    with ExitStack() as stack:
        peer = Peer(0, tmp_path, stack)
        found = []
        for number, slug in enumerate(("older", "younger", "older")):
            record = dict(zip(("wrong", "right"), SAME[number % 2], strict=True))
            peer.write([NewRecord("corrections", record | {"pattern": slug, "repo": ""})], NOW_MS + number)
            found.append(memory_of(peer.store).reader.newest("corrections", 1)[0].tag)
        assert draft_merges(memory_of(peer.store), peer.own) == [Assignment("pattern:younger", "alias_of", "older")]
        peer.write([Assignment(f"pattern:{names[0]}", "alias_of", names[1])], NOW_MS + 10)
        peer.write(draft_unalias(memory_of(peer.store), "older"), NOW_MS + 11)
        assert draft_merges(memory_of(peer.store), peer.own) == []
        peer.write([Removal((found[0],), "wrong")], NOW_MS + 12)
        assert draft_merges(memory_of(peer.store), peer.own) == []


def test_a_correction_that_was_moved_takes_its_old_name_nowhere(tmp_path: Path) -> None:
    """A person said where this one belongs; what else is counted under the name it had says something else."""
    with ExitStack() as stack:
        peer = Peer(0, tmp_path, stack)
        for number, (slug, words) in enumerate((("use-pnpm", SAME[0]), ("pin", SAME[0]), ("pin", SAME[4]))):
            record = dict(zip(("wrong", "right"), words, strict=True)) | {"pattern": slug, "repo": ""}
            peer.write([NewRecord("corrections", record)], NOW_MS + number)
        misfiled = memory_of(peer.store).reader.of_pattern("pin")[0]
        peer.write([Assignment(misfiled.tag, "pattern", "use-pnpm")], NOW_MS + 10)
        assert draft_merges(memory_of(peer.store), peer.own) == []
