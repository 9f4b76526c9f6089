"""Records and patterns as plain dicts, the same for commands, the MCP server and the local API. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from clan_learnings.context.harmless_lines import harmless
from clan_learnings.records.memory import HotItem, Memory
from clan_learnings.records.notebook import PatternChoice
from clan_learnings.records.patterns import Pattern
from clan_learnings.records.record import KINDS, Note
from clan_learnings.records.tiers import ordinal
from clan_learnings.search.record_search import SearchHit
from mesh.core.ids import display_name, text_id
from mesh.core.operation import Add, parse
from mesh.store.feeds import Feeds
from mesh.store.receipts import Receipt

_DAY_MS = 86_400_000
_ALIKE = 10  # ids of near-duplicates that are named
_PAIR, _VOICES, _WORDS = 2, 4, 200  # of those that do not agree: so many are named, each with so many characters

# Of a private correction: it is kept apart, so it makes nothing HOT, however often it comes.
PRIVATE = {"tier": "PRIVATE", "says": "private: it stays on this machine and makes nothing HOT"}


def shown(memory: Memory, note: Note) -> dict[str, Any]:
    """A record, as lists have it. `own_words`: its own text, where something else is told in the name of its HOT pattern."""
    text, own = memory.text_of(note), note.text
    return {
        "id": memory.reader.short_id(note.tag),
        "log": note.log,
        "kind": KINDS.get(note.log, note.log),
        "text": text or note.word("text"),
        "own_words": None if text == own else own,
        "repo": note.repo,
        "at": iso(note.at_ms),
        "author": display_name(memory.name_of(note.node), note.node),
        "topic": note.word("topic"),
        "pattern": note.pattern,
        "tier": memory.tier_of(note),
    }


def found(memory: Memory, hit: SearchHit) -> dict[str, Any]:
    """A record that was found, and why."""
    return shown(memory, hit.note) | {
        "score": hit.score,
        "relevance": hit.relevance,
        "why": hit.why,
        "words": list(hit.words),
        "parts": dict(hit.parts),
        "age_days": max(0, memory.now_ms - hit.note.at_ms) // _DAY_MS,
        "also": len(hit.also) + hit.more,
        "also_ids": [memory.reader.short_id(note.tag) for note in hit.also[:_ALIKE]],
    }


def whole(memory: Memory, note: Note) -> dict[str, Any]:
    """A record with everything that it says."""
    return shown(memory, note) | {"whole_id": text_id(note.tag), "author_id": text_id(note.node), "record": note.record}


def hot_item(memory: Memory, item: HotItem) -> dict[str, Any]:
    """A HOT pattern, or one that is told here only."""
    return {
        "id": memory.reader.short_id(item.tag),
        "pattern": item.slug,
        "rule": item.rule,
        "wrong": item.wrong,
        "sessions": item.sessions,
        "nodes": item.nodes,
        "repos": item.repos,
        "repo": item.repo,
        "last": iso(item.last_ms)[:10],
    }


def pattern(memory: Memory, standing: Pattern) -> dict[str, Any]:
    """A pattern as it stands."""
    hot = memory.patterns.is_hot(standing)
    rule, wrong = memory.rule_of(standing)
    ended = bool(standing.superseded_by) or (standing.further is not None and not hot)
    return {
        "pattern": standing.slug,
        "names": sorted(standing.names),
        "rule": rule,
        "wrong": wrong,
        "topic": standing.topic,
        "tier": "HOT"
        if hot
        else "ARCHIVE"
        if ended
        else memory.tier_of((standing.corrections or standing.records)[-1]),
        "sessions": standing.sessions,
        "nodes": standing.nodes,
        "repos": standing.repos,
        "scope": standing.scope,
        "logged": standing.logged,
        "last": iso(standing.last >> 16)[:10],
        "archived": standing.archived or None,
        "superseded_by": standing.superseded_by,
        "joined_by_one": memory.joined_by_one(standing),
        "approved": memory.is_approved(standing.slug),
        **_witnesses(memory, standing.names),
    }


def _witnesses(memory: Memory, names: Iterable[str]) -> dict[str, Any]:
    """Of a pattern that was needed often enough: how many machines bear witness to it, and how many it takes. None: it lacks none."""
    slug = next((name for name in sorted(names) if memory.lacking(name) is not None), None)
    return lacking(memory, slug) if slug is not None else {"witnesses": None, "witnesses_needed": None, "disputed": []}


def lacking(memory: Memory, slug: str) -> dict[str, Any]:
    """The same of a pattern that lacks some. `disputed`: what single machines say, if that is all that is in the way."""
    return {
        "witnesses": memory.lacking(slug),
        "witnesses_needed": memory.witnesses.needed,
        "disputed": [
            {"text": vote.text, "by": display_name(memory.name_of(vote.node), vote.node), "at": iso(vote.at >> 16)}
            for vote in memory.disputed(slug)
        ],
    }


def dispute(disputed: list[dict[str, str]]) -> str:
    """What machines say that do not agree, in a sentence."""
    said = [f'"{harmless(each["text"], _WORDS)}" ({each["by"]})' for each in disputed]
    more = f" and {len(said) - _VOICES} more" if len(said) > _VOICES else ""
    count = "two" if len(said) == _PAIR else len(said)
    return f"{count} machines say different things: {', '.join(said[:_VOICES])}{more}"


def counted(memory: Memory, found: PatternChoice, before: tuple[int, bool]) -> dict[str, Any]:
    """What a correction has made of its pattern. `before`: its sessions until then, and whether it was HOT."""
    told = {"sureness": round(found.sureness, 2), "why": found.why, "founded": found.founded}
    told["similar"] = list(found.similar)
    weighed = memory.weigh(found.slug)
    if weighed is None:  # what was written does not count yet: this node is not a member
        return told | {"pattern": found.slug} | dict.fromkeys(("sessions", "nodes", "repos", "tier", "says"))
    hot = memory.is_hot(found.slug)
    ended = not hot and not found.founded and memory.patterns.has_ended(found.slug)
    further = memory.patterns.further(found.slug) if ended else None
    superseded = ended and bool(memory.patterns.superseded_by(memory.patterns.names(found.slug)))
    return (
        told
        | {
            "pattern": weighed.slug,
            "sessions": weighed.sessions,
            "nodes": weighed.nodes,
            "repos": list(weighed.repos),
            "tier": "HOT" if hot else "ARCHIVE" if ended else "WARM",  # what was just written is of the last two days
            "says": _promotion(
                weighed.sessions, further, before, memory.settings.hot_at, hot=hot, superseded=superseded
            ),
        }
        | _unwitnessed(memory, found.slug, weighed.sessions, before)
    )


def _unwitnessed(memory: Memory, slug: str, sessions: int, before: tuple[int, bool]) -> dict[str, Any]:
    """The same, and what it says then: more sessions of the same machine are of no use."""
    told = _witnesses(memory, memory.patterns.names(slug))
    if told["witnesses"] is None:
        return told
    said = _counted_so_far(sessions, before)
    if told["disputed"]:
        what = dispute(told["disputed"])
        return told | {"says": f"{said}; not HOT: {what}; it is, once two say the same, or an admin approves the words"}
    machines = f"{told['witnesses']} of {told['witnesses_needed']} machines needed it"
    return told | {"says": f"{said}; {machines}: HOT once another one does, or an admin approves it"}


def count(memory: Memory, slug: str) -> tuple[int, bool]:
    """The sessions of a pattern, and whether it is HOT."""
    weighed = memory.weigh(slug)
    return (0, False) if weighed is None else (weighed.sessions, memory.is_hot(slug))


def _promotion(
    sessions: int, further: int | None, before: tuple[int, bool], hot_at: int, *, hot: bool, superseded: bool
) -> str:
    """What the last correction has brought about. `further`: as of `Patterns.further`, if the pattern is not HOT."""
    had, was_hot = before
    if hot and not was_hot:
        return f"{ordinal(sessions)} session: HOT from now on, on every node"
    is_again = sessions == had
    said = _counted_so_far(sessions, before)
    if hot:
        return f"{said}: HOT" if is_again else f"{said}: HOT as before"
    if superseded:
        return f"{said}, but another pattern took its place"
    if is_again and further is None:
        return said
    since = "" if further is None else f", {further} since it was archived"
    more = hot_at - (sessions if further is None else further)
    return f"{said}{since}: {more} more {'makes' if more == 1 else 'make'} it HOT"


def _counted_so_far(sessions: int, before: tuple[int, bool]) -> str:
    return (
        f"this session was counted already, {sessions} so far"
        if sessions == before[0]
        else f"{ordinal(sessions)} session"
    )


def iso(milliseconds: int) -> str:
    """A time, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(milliseconds // 1000))


def recorded(memory: Memory, receipt: Receipt) -> dict[str, Any]:
    """That it is there, and where."""
    return {
        "state": "recorded",
        "id": memory.reader.short_id(receipt.tags[0]),
        "counts": receipt.counts,
        "node": text_id(receipt.feed.node),
        "new_epoch": receipt.new_epoch or None,
    }


def counted_before(memory: Memory, tag: bytes) -> dict[str, Any]:
    """What a correction that was there already is counted under now. If it counts no more, or not yet: what it was written with."""
    note = memory.note(tag)
    record = note.record if note is not None else _written(memory, tag)
    slug, sureness = str(record.get("pattern", "")), record.get("sureness")
    sure = sureness if isinstance(sureness, float) else 1.0
    found = PatternChoice(slug, sure, "counted when this was first asked for", founded=False)
    return counted(memory, found, count(memory, slug))


def _written(memory: Memory, tag: bytes) -> dict[str, Any]:
    """A record as it was written, though it is not live; empty if it was erased."""
    for _, row in Feeds(memory.reader.connection, b"").by_tag(tag):  # whose mesh it is plays no part in reading
        parsed = None if row.body is None else parse(row.kind, row.hlc, row.body)
        if isinstance(parsed, Add):
            return parsed.record
    return {}
