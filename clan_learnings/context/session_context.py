"""What a session is given at its start: chosen from what the clan knows, then composed within the limits. Reads only.

The same state and arguments give the same bytes on every node that is up to date, except for what is private, muted or local, and for
the order of what fits a task, where some nodes search by meaning and others cannot.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

from clan_learnings.context.composition import Context, ContextRecord, HotRule, compose, limits_for
from clan_learnings.records.memory import HotItem, Memory
from clan_learnings.records.record import KINDS, LOGS, Note
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.record_search import search

MIN_CONFIDENCE = 0.7  # what is not believed more than this is not shown
CALL = 'mesh correct --wrong "what you did" --right "what is right"'
HOT_LINES = 40  # more lines than its share of any budget holds; the rest is only counted
_BANK = 40
_PRIVATE = 20
_PRIVATE_PAGES = 10
_HERE = 5


def session_context(
    memory: Memory,
    private: Memory | None,
    *,
    repo: str,
    task: str = "",
    agent: str = "",
    max_chars: int | None = None,
    max_tokens: int | None = None,
    min_confidence: float | None = None,
    program: str = "mesh",
) -> Context:
    """HOT, then WARM, then what BANK has for this repository and task, then what only this node has seen, or is private."""
    least = MIN_CONFIDENCE if min_confidence is None else min_confidence
    hot = memory.hot(repo, HOT_LINES)
    return compose(
        hot_lines(memory, hot),
        _items(memory, in_turns(memory, memory.warm(repo)), least),
        _items(memory, _bank(memory, repo, task), least),
        [] if private is None else _items(private, _newest(private, repo), least),
        limits=limits_for(agent, max_chars, max_tokens),
        repo=repo,
        call=CALL,
        more_hot=memory.count_needed(repo) - HOT_LINES if len(hot) == HOT_LINES else 0,
        here=here_lines(memory, repo),
        program=program,
    )


def here_lines(memory: Memory, repo: str) -> list[HotRule] | None:
    """What this node alone has seen often enough; None where that is HOT, so that no room need be kept for it."""
    return hot_lines(memory, memory.seen_here(repo, _HERE)) if memory.witnesses.are_needed else None


def hot_lines(memory: Memory, items: list[HotItem]) -> list[HotRule]:
    """HOT patterns as a context has them."""
    return [
        HotRule(
            memory.reader.short_id(item.tag), item.rule, item.wrong, item.sessions, item.nodes, day_of(item.last_ms)
        )
        for item in items
    ]


def line_of(memory: Memory, note: Note) -> ContextRecord:
    """A record as a context has it. One of a HOT pattern says what is told in its name, and cites who says so."""
    text, cited = memory.text_of(note), memory.cited_for(note)
    return ContextRecord(memory.reader.short_id(cited.tag), KINDS.get(cited.log, cited.log), text, day_of(cited.at_ms))


def in_turns(memory: Memory, notes: list[Note]) -> list[Note]:
    """So that wherever the room ends no author has more than a third of it, if others have some: newest first otherwise.

    The places of WARM are shared out already, but a context has room for fewer lines than that.
    """
    left: dict[bytes, list[Note]] = {}
    for note in reversed(notes):
        left.setdefault(memory.witnesses.source(note.node), []).append(note)
    taken = dict.fromkeys(left, 0)
    turns: list[Note] = []
    while left:
        share = len(turns) // 3 + 1
        may = [author for author in left if taken[author] < share]
        least = min(map(taken.__getitem__, left))
        author = max(
            may or [author for author in left if taken[author] == least],
            key=lambda each: (left[each][-1].stamp, left[each][-1].tag),
        )
        taken[author] += 1
        turns.append(left[author].pop())
        if not left[author]:
            del left[author]
    return turns


def _items(memory: Memory, notes: list[Note], least: float) -> list[ContextRecord]:
    """Those that are believed. Of some that say the same, as corrections of one session do, only the first."""
    told: dict[tuple[str, str], Note] = {}
    for note in notes:
        if note.confidence > least or least == 0:
            told.setdefault((note.log, note.text), note)
    return [line_of(memory, note) for note in told.values()]


def _bank(memory: Memory, repo: str, task: str) -> list[Note]:
    if not task.strip():
        return memory.bank(repo, _BANK)

    hits = search(memory, task, SearchFilters(repo, archived=False), _BANK)
    return [hit.note for hit in hits if not memory.is_over(hit.note)]


def _newest(memory: Memory, repo: str) -> list[Note]:
    notes = [note for log in LOGS for note in _shown(memory, log, repo)]
    return sorted(notes, key=lambda note: (-note.stamp, note.tag))[:_PRIVATE]


def _shown(memory: Memory, log: str, repo: str) -> Iterator[Note]:
    found = memory.newest(log, repo, _PRIVATE, pages=_PRIVATE_PAGES)
    return islice((note for note in found if not memory.is_muted(note)), _PRIVATE)


def day_of(milliseconds: int) -> str:
    """A date."""
    return time.strftime("%Y-%m-%d", time.gmtime(milliseconds // 1000))
