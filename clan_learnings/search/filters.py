"""The filters of a search. Exact, on a record with its edits applied, before anything is ranked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from clan_learnings.records.memory import Memory
from clan_learnings.records.record import LOGS, Note, one_of
from clan_learnings.records.tiers import ARCHIVE, BANK, HOT, WARM
from mesh.core.errors import AmbiguousId, UnknownId, UsageError
from mesh.core.ids import display_name, fitting, text_id
from mesh.core.time_expression import span


class SearchFilters:
    """Filters; empty and None mean: any. An index may use them to look at less, what it finds is checked all the same."""

    __slots__ = ("agent", "archived", "author", "category", "logs", "repo", "since_ms", "tags", "tier", "until_ms")

    def __init__(
        self,
        repo: str | None = None,
        *,
        logs: Sequence[str] = LOGS,
        category: str = "",
        tags: Sequence[str] = (),
        agent: str = "",
        author: bytes | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
        tier: str = "",
        archived: bool = True,
    ) -> None:
        """`repo`: this one and what holds everywhere. `tags`: at least one of them. `archived`: also what is in the archive."""
        self.repo = repo
        self.logs = tuple(logs)
        self.category = category
        self.tags = tuple(tags)
        self.agent = agent
        self.author = author
        self.since_ms = since_ms
        self.until_ms = until_ms
        self.tier = tier
        self.archived = archived or tier == ARCHIVE

    @property
    def is_narrow(self) -> bool:
        """Whether more is asked for than a repository: then few of those that share words may be left."""
        times = (self.since_ms, self.until_ms)
        return bool(self.category or self.tags or self.agent or self.tier or self.author) or (
            self.logs != LOGS or times != (None, None)
        )

    def takes(self, memory: Memory, note: Note) -> bool:
        """Whether a record may be found. What is muted here never is."""
        return (
            note.log in self.logs
            and (self.repo is None or note.repo in ("", self.repo))
            and (not self.category or note.word("category") == self.category)
            and (not self.tags or not set(self.tags).isdisjoint(note.tags))
            and (not self.agent or note.word("agent") == self.agent)
            and (self.author is None or note.node == self.author)
            and (self.since_ms is None or note.at_ms >= self.since_ms)
            and (self.until_ms is None or note.at_ms < self.until_ms)
            and not memory.is_muted(note)
            and self._has_tier(memory, note)
        )

    def leaves_out(self, memory: Memory, pattern: str) -> bool:
        """Whether nothing that was written under a pattern may be found."""
        return not self.archived and not memory.is_hot(pattern) and memory.has_ended(pattern)

    def _has_tier(self, memory: Memory, note: Note) -> bool:
        if self.tier:
            return memory.tier_in(note, self.repo) == self.tier
        # What is WARM takes long to find out, and makes no difference.
        return self.archived or not memory.is_archived(note)


_TIERS = (HOT, WARM, BANK, ARCHIVE)
_NAMED = 10  # nodes that an error lists


def filters(
    memory: Memory,
    repo: str | None,
    own_categories: Callable[[], Iterable[str]],
    now_ms: int,
    *,
    category: str = "",
    tags: Sequence[str] = (),
    agent: str = "",
    author: str = "",
    since: str = "",
    until: str = "",
    tier: str = "",
    archived: bool = False,
) -> SearchFilters:
    """Checked. `own_categories`: those that only this repository has; asked for if one is named that the mesh does not know."""
    if category and category not in memory.settings.categories:
        one_of(category, dict.fromkeys((*memory.settings.categories, *own_categories())), "category")
    first, last = _span(since, now_ms)[0], _span(until, now_ms)[1]
    if first is not None and last is not None and first > last:
        raise UsageError(f"nothing is since {since} and until {until}", "the earlier time belongs after since")
    wanted = [tag.strip() for tag in tags if tag.strip()]
    if tags and not wanted:
        raise UsageError("there is no tag in the list of tags", "name one, or leave it out")
    return SearchFilters(
        repo,
        category=category,
        tags=wanted,
        agent=agent,
        author=_node(memory, author) if author else None,
        since_ms=first,
        until_ms=None if last is None else last + 1,
        tier=tier.upper() if tier.upper() in _TIERS else one_of(tier, _TIERS, "tier"),
        archived=archived,
    )


def _span(text: str, now_ms: int) -> tuple[int | None, int | None]:
    if not text:
        return None, None

    return span(text, now_ms)


def _node(memory: Memory, text: str) -> bytes:
    """The member that is meant: by name, by name and the beginning of its id, or by its id."""
    names = memory.reader.names()
    found = fitting(text, names)
    if len(found) == 1:
        return found[0]
    shown = [display_name(names[node], node) for node in found or sorted(names, key=names.__getitem__)]
    if found:
        raise AmbiguousId(
            f"{text!r} fits several nodes",
            [f"{text_id(node)}  {name}" for node, name in zip(found, shown, strict=True)],
        )
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    raise UnknownId(
        f"no node has the name or id {text!r}", f"one of: {', '.join(shown[:_NAMED])}{more}; see: mesh peers"
    )
