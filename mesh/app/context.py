"""What sessions are given: the context at their start, the HOT patterns, the newest records. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clan_learnings.context.session_context import session_context
from clan_learnings.records.recent_records import recent as newest_of
from mesh.app import record_json
from mesh.app.snapshot import memory_of, private_of

if TYPE_CHECKING:
    from mesh.app.application import Application

_LISTED = 1000  # the local API builds a whole answer in memory


def context(
    application: Application,
    *,
    repo: str | None = None,
    task: str = "",
    agent: str = "",
    max_chars: int | None = None,
    max_tokens: int | None = None,
    min_confidence: float | None = None,
) -> dict[str, Any]:
    """What a session is given at its start."""
    home, bound = application.home, application.bound
    # By keywords alone, also where there are vectors: the same bytes on every node in step.
    with memory_of(home, bound=bound) as memory, private_of(home, bound) as private:
        made = session_context(
            memory,
            private,
            repo=application.scope(repo) or "",
            task=task,
            agent=agent or application.caller.agent,
            max_chars=max_chars,
            max_tokens=max_tokens,
            min_confidence=min_confidence,
        )
    return {name: getattr(made, name) for name in ("text", "digest", "tokens", "chars", "left_out", "is_too_small")}


def hot(application: Application, *, repo: str | None = None, everywhere: bool = False) -> dict[str, Any]:
    """The HOT patterns of a scope, those of most sessions first."""
    with memory_of(application.home, recall=application.recall, bound=application.bound) as memory:
        scope = application.scope(repo, everywhere=everywhere)
        hot, here = (
            [record_json.hot_item(memory, item) for item in items]
            for items in (memory.hot(scope), memory.seen_here(scope))
        )
        return {
            "repo": scope,
            "hot_at": memory.settings.hot_at,
            "witnesses_needed": memory.witnesses.needed,
            "hot": hot,
            "seen_here": here,
        }


def recent(
    application: Application,
    *,
    count: int = 20,
    topic: str = "",
    repo: str | None = None,
    everywhere: bool = False,
) -> dict[str, Any]:
    """The newest records of a scope, newest first; a thousand at most."""
    with memory_of(application.home, recall=application.recall, bound=application.bound) as memory:
        scope = application.scope(repo, everywhere=everywhere)
        notes = newest_of(memory, scope, min(count, _LISTED), topic)
        return {"repo": scope, "records": [record_json.shown(memory, note) for note in notes]}
