"""The patterns that are listed in files: HOT ones, then the most recent. What makes a pattern HOT is decided in `patterns`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge

from clan_learnings.records.memory import HotItem, Memory
from clan_learnings.records.pattern_names import is_slug
from clan_learnings.records.record import CORRECTIONS, PATTERNS, Note
from mesh.store.reader import Entry

LISTED = 500
_RECENT, _PAGE = 1000, 200  # newest records of each log, for the patterns seen last; read as they are needed


class ListedPattern:
    """One pattern as it is listed."""

    __slots__ = ("last_ms", "nodes", "repo", "rule", "sessions", "slug", "tag", "topic", "wrong")

    def __init__(
        self,
        slug: str,
        note: Note,
        rule: str,
        wrong: str,
        topic: str,
        *,
        counts: tuple[int, int],
        repo: str,
        last_ms: int,
    ) -> None:
        self.slug = slug
        self.tag = note.tag  # of the record that stands for it
        self.rule = rule
        self.wrong = wrong
        self.topic = topic
        self.sessions, self.nodes = counts
        self.repo = repo  # empty: everywhere
        self.last_ms = last_ms


class Listing:
    """What is to be listed: HOT ones by their sessions, the others by when they were seen last."""

    __slots__ = ("hot", "is_cut", "others")

    def __init__(self, hot: list[ListedPattern], others: list[ListedPattern], *, is_cut: bool) -> None:
        self.hot = hot
        self.others = others
        self.is_cut = is_cut  # whether there may be others that are not listed


def hot_rules(memory: Memory, breathe: Callable[[], None]) -> list[ListedPattern]:
    """Every HOT pattern of every repository."""
    rules = []
    for item in memory.hot(None):
        breathe()
        rules.append(_of_hot(memory, item))
    return rules


def listing(
    memory: Memory, hot: list[ListedPattern], known: dict[str, ListedPattern | None], breathe: Callable[[], None]
) -> Listing:
    """HOT patterns, and as many others as there is room for. `known`: those that need not be counted again."""
    special = memory.patterns.special()
    seen = {memory.patterns.names(rule.slug) for rule in hot}
    others: list[ListedPattern] = []
    for slug in _recent(memory):
        names = memory.patterns.names(slug)
        if names in seen or (memory.witnesses.are_needed and memory.is_hot(slug)):
            continue  # other names belong together where HOT takes witnesses
        if len(hot) + len(others) >= LISTED:
            return Listing(hot, others, is_cut=True)
        breathe()
        seen.add(names)
        if not memory.patterns.has_ended(slug):
            if names & special:
                rule = _of_standing(memory, slug)
            else:
                if slug not in known:
                    known[slug] = _of_tally(memory, slug)
                rule = known[slug]
            if rule is not None:
                others.append(rule)
    return Listing(hot, others, is_cut=False)


def _of_hot(memory: Memory, item: HotItem) -> ListedPattern:
    return ListedPattern(
        item.slug,
        item.note,
        item.rule,
        item.wrong,
        _topic(memory, item.slug, item.note),
        counts=(item.sessions, item.nodes),
        repo=item.repo,
        last_ms=item.last_ms,
    )


def _of_standing(memory: Memory, slug: str) -> ListedPattern | None:
    standing = memory.patterns.standing(slug)
    if standing is None:
        return None
    note = (standing.corrections or standing.records)[-1]
    return ListedPattern(
        standing.slug,
        note,
        standing.rule,
        standing.wrong,
        _topic(memory, standing.slug, note),
        counts=(standing.sessions, standing.nodes),
        repo=standing.scope,
        last_ms=standing.last >> 16,
    )


def _of_tally(memory: Memory, slug: str) -> ListedPattern | None:
    """A pattern that is nothing but what was written under its one name: its newest records say it all."""
    patterns, tally = memory.patterns, memory.reader.tally(slug, CORRECTIONS)
    newest, written = _newest(memory, slug, CORRECTIONS), _newest(memory, slug, PATTERNS)
    note = newest or written
    if note is None:
        return None
    repos = list(tally.repos) if tally is not None else [note.repo]
    return ListedPattern(
        slug,
        note,
        patterns.rule_of(slug) or (written.word("rule") if written is not None else note.word("right")),
        note.word("wrong"),
        _topic(memory, slug, note),
        counts=(tally.sessions, tally.nodes) if tally is not None else (0, 0),
        repo=repos[0] if len(repos) == 1 and not patterns.is_marked_global(slug) else "",
        last_ms=(tally.at if tally is not None else note.stamp) >> 16,
    )


def _topic(memory: Memory, slug: str, note: Note) -> str:
    """What somebody said it is about, else what its newest record says, else the category of that."""
    return memory.patterns.topic_of(slug) or note.word("topic") or note.word("category")


def _newest(memory: Memory, slug: str, log: str) -> Note | None:
    return next((memory.read(entry) for entry in memory.reader.newest_of(slug, log, 1)), None)


def _recent(memory: Memory) -> Iterator[str]:
    """Names of patterns by their newest record, newest first, each once."""
    logs = (_newest_first(memory, log) for log in (CORRECTIONS, PATTERNS))
    newest = merge(*logs, key=lambda entry: (entry.at, entry.tag), reverse=True)
    moved = memory.reader.assigned("pattern")
    seen: set[str] = set()
    for entry in newest:
        slug = moved[entry.tag].value if entry.tag in moved else entry.record.get("pattern")
        if type(slug) is str and is_slug(slug) and slug not in seen:
            seen.add(slug)
            yield slug


def _newest_first(memory: Memory, log: str) -> Iterator[Entry]:
    before: tuple[int, bytes] | None = None
    left = _RECENT
    while left > 0:
        page = memory.reader.newest(log, min(_PAGE, left), before=before)
        yield from page
        if len(page) < min(_PAGE, left):
            return
        before = (page[-1].at, page[-1].tag)
        left -= len(page)
