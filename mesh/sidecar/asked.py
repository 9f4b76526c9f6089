"""What a search was asked for, as people and agents say it, made into filters. A wrong value gets an error that lists the right ones."""

from __future__ import annotations

from clan_learnings.recall.within import Within
from clan_learnings.records.record import one_of
from clan_learnings.records.tiers import ARCHIVE, BANK, HOT, WARM
from mesh.core.errors import AmbiguousId, UnknownId, UsageError
from mesh.core.ids import display_name, fitting, text_id

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clan_learnings.records.memory import Memory

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
) -> Within:
    """Checked. `own_categories`: those that only this repository has; asked for if one is named that the mesh does not know."""
    if category and category not in memory.settings.categories:
        one_of(category, dict.fromkeys((*memory.settings.categories, *own_categories())), "category")
    first, last = _span(since, now_ms)[0], _span(until, now_ms)[1]
    if first is not None and last is not None and first > last:
        raise UsageError(f"nothing is since {since} and until {until}", "the earlier time belongs after since")
    wanted = [tag.strip() for tag in tags if tag.strip()]
    if tags and not wanted:
        raise UsageError("there is no tag in the list of tags", "name one, or leave it out")
    return Within(
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
    from mesh.core.moment import span  # most searches name no time, and it brings regular expressions with it

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
