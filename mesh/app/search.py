"""Search, from question and filters to the answer: records, and the pages beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from clan_learnings.records.memory import Memory
from clan_learnings.search.filters import filters
from clan_learnings.search.record_search import SearchHit, search
from mesh.app.record_json import found
from mesh.app.snapshot import memory_of
from mesh.core.errors import UsageError
from mesh.pages.page_search import pages_about

if TYPE_CHECKING:
    from mesh.app.application import Application

_MOST = 100
_PAGES = 3
_LOOKED_AT = 30  # records, for tags that were perhaps meant
_WORDLESS = "nothing can be looked for: the question has no letter and no digit"


def search_records(
    application: Application,
    query: str,
    *,
    repo: str | None = None,
    everywhere: bool = False,
    limit: int = 10,
    min_relevance: float = 0.0,
    **asked: Any,
) -> dict[str, Any]:
    """Records that fit a question, best first, and pages that have its words. `asked`: filters, as `filters` takes them."""
    if not query.strip():
        raise UsageError("nothing to search for", 'like this: mesh search "405 on push"')
    own = lambda: application.caller.categories  # noqa: E731 (only looked up if it is needed)
    if application.recall is not None:
        application.recall.prepare(query)
    with memory_of(application.home, recall=application.recall, bound=application.bound) as memory:
        scope = application.scope(repo, everywhere=everywhere)
        return search_answer(memory, query, scope, own, limit=limit, min_relevance=min_relevance, **asked)


def search_answer(
    memory: Memory,
    query: str,
    scope: str | None,
    own_categories: Callable[[], Iterable[str]],
    *,
    limit: int,
    min_relevance: float,
    **asked: Any,
) -> dict[str, Any]:
    """The answer, from what is known."""
    if not 1 <= limit <= _MOST:
        raise UsageError(f"{limit} is no limit", f"from 1 to {_MOST}, like: --limit 20")
    if not 0 <= min_relevance <= 1:
        raise UsageError(f"{min_relevance} is no relevance", "from 0 to 1, like: --min-relevance 0.5")
    now_ms = int(time.time() * 1000)
    within = filters(memory, scope, own_categories, now_ms, **asked)
    # Signs alone have no meaning either: any record would be as near as any other.
    is_wordless = not any(map(str.isalnum, query))
    hits = [] if is_wordless else search(memory, query, within, limit, least=min_relevance)
    alike: list[str] = []
    if within.tags and not hits and not is_wordless:
        untagged = filters(memory, scope, own_categories, now_ms, **asked | {"tags": ()})
        others = search(memory, query, untagged, _LOOKED_AT, least=min_relevance, collapse=False)
        alike = _but_for_case(within.tags, (tag for hit in others for tag in hit.note.tags))
    # Pages have nothing of what filters ask for, and name no repository.
    is_narrow = bool(min_relevance or memory.bound is not None) or any(
        value for name, value in asked.items() if name != "archived"
    )
    return {
        "repo": scope,
        "results": [found(memory, hit) for hit in hits],
        "pages": [] if is_narrow or is_wordless else pages_about(memory.reader, query, _PAGES),
        "by": "keywords and vectors" if _has_meaning(memory, hits) else "keywords",
        "tags_alike": alike,
        "says": _WORDLESS if is_wordless else "",
    }


def _has_meaning(memory: Memory, hits: list[SearchHit]) -> bool:
    """Whether meaning had a say: of a question that could not be embedded no record has any."""
    return memory.finder.has_meaning and (not hits or any("meaning" in hit.parts for hit in hits))


def _but_for_case(asked: Iterable[str], there: Iterable[str]) -> list[str]:
    """Tags that are there, and are those asked for but for capital letters."""
    folded = {tag.casefold() for tag in asked}
    return sorted({tag for tag in there if tag.casefold() in folded})
