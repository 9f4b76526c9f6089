"""Drafts of records from candidates: corrections and fixes become corrections under their pattern, everything else discoveries. Writes nothing.

Each is stamped with the time of its session, and says from which line of which session it comes. What is there already, be it
that the agent logged it live or that another node harvested the same transcript, is found and not written again.
"""

from typing import Any, NamedTuple

from clan_learnings.agents.surroundings import is_session
from clan_learnings.harvest.candidates import RULES, HarvestCandidate, Signal
from clan_learnings.records.matching import comparable
from clan_learnings.records.memory import Memory
from clan_learnings.records.notebook import CorrectionQuery, completed, find_pattern, named_pattern
from clan_learnings.records.patterns import counter
from clan_learnings.records.record import (
    CORRECTIONS,
    CURATED,
    DISCOVERIES,
    HARVESTED,
    OLD_NEWS_MS,
    SOURCES,
    About,
    Note,
)
from clan_learnings.redaction.text_cleaner import TextCleaner
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.likeness import LINK, covering, likeness, near_notes
from mesh.core.draft import Draft, Increment, NewRecord

_SOURCE = "agent"


class RecordDraft(NamedTuple):
    """What is to be written for a signal, or the record that already says it."""

    drafts: list[Draft]
    known: bytes = b""  # tag
    pattern: str = ""


class Heat(NamedTuple):
    """What one more harvested occurrence makes of its pattern."""

    becomes_hot: bool = False  # through harvested occurrences alone
    is_old_news: bool = False  # it would, were one of them younger


def draft_signal(
    memory: Memory, candidate: HarvestCandidate, signal: Signal, repo: str, pen: TextCleaner, now_ms: int
) -> RecordDraft:
    """The draft of a record for one signal. `repo`: where it holds."""
    if candidate.family == RULES:
        return _draft_correction(memory, candidate, signal, repo, pen, now_ms)
    text = pen.clean(candidate.text)
    cover = covering(memory, text, repo)
    if cover is not None:
        return RecordDraft([], cover.note.tag)
    record = {"text": text} | _about(memory, candidate, signal, repo, pen, now_ms)
    return RecordDraft([NewRecord(DISCOVERIES, record, signal.at_ms)])


def _draft_correction(
    memory: Memory, candidate: HarvestCandidate, signal: Signal, repo: str, pen: TextCleaner, now_ms: int
) -> RecordDraft:
    wrong, right = _words(candidate, signal)
    wrong, right = pen.clean(wrong), pen.clean(right)
    logged = _logged_live(memory, wrong, right, repo, signal.session)
    if logged is not None:
        return RecordDraft([], logged.tag, logged.pattern)
    found = named_pattern(memory, candidate.pattern) if candidate.pattern else find_pattern(memory, wrong, right, repo)
    standing = None if found.founded else memory.patterns.standing(found.slug)
    for note in standing.corrections if standing is not None else ():
        if note.session == signal.session:
            return RecordDraft([], note.tag, found.slug)
    record = {"wrong": wrong, "right": right, "pattern": found.slug, "sureness": round(found.sureness, 3)}
    record |= _about(memory, candidate, signal, repo, pen, now_ms)
    return RecordDraft(
        [NewRecord(CORRECTIONS, record, signal.at_ms), Increment(counter(found.slug))], pattern=found.slug
    )


def _words(candidate: HarvestCandidate, signal: Signal) -> tuple[str, str]:
    """What was wrong and what is right, as this session said it, unless a person has put it better."""
    if candidate.is_edited:
        return candidate.wrong, candidate.right or candidate.text
    return signal.item.wrong, signal.item.right or signal.item.text


def _logged_live(memory: Memory, wrong: str, right: str, repo: str, session: str) -> Note | None:
    """What the same session has logged about the same thing, in whatever words: that counts, and this does not once more."""
    sought = CorrectionQuery(memory, wrong, right)
    notes, _ = near_notes(memory, sought.text, sought.words, SearchFilters(repo or None, logs=(CORRECTIONS,)))
    mine = comparable(wrong, right)
    for note in notes:
        if note.session == session and likeness(mine, comparable(note.word("wrong"), note.word("right"))) >= LINK:
            return note
    return None


def _about(
    memory: Memory, candidate: HarvestCandidate, signal: Signal, repo: str, pen: TextCleaner, now_ms: int
) -> dict[str, Any]:
    item = signal.item
    source = item.source if item.source in SOURCES and not signal.is_by_model else _SOURCE
    line = f"line {item.line}" + (f", put right in line {item.fix_line}" if item.fix_line else "")
    about = About(
        repo=repo,
        agent=signal.flavour,
        session=signal.session if is_session(signal.session) else "",
        category=candidate.category if candidate.category in memory.settings.categories else "",
        confidence=item.confidence if signal.is_by_model else candidate.confidence,
        evidence=f"imported from {signal.item.quote}, {line}"
        if signal.is_imported
        else f"session {signal.session}, {line}",
    )
    fields = completed(memory, about, candidate.text, source, pen).fields()
    harvested: dict[str, Any] = {"kind": candidate.kind, "source": source, HARVESTED: now_ms}
    return fields | harvested | ({CURATED: True} if candidate.is_accepted else {})


def heat(memory: Memory, slug: str, signal: Signal, now_ms: int) -> Heat:
    """What one more occurrence makes of a pattern. A live one among them, and it is no matter of harvesting."""
    standing = memory.patterns.standing(slug)
    if standing is None:
        before, notes = 0, []
    else:
        before = standing.sessions if standing.further is None else standing.further
        notes = standing.corrections
        if standing.superseded_by or memory.patterns.is_hot(standing):
            return Heat()
    if before + 1 < memory.settings.hot_at or not all(HARVESTED in note.record for note in notes):
        return Heat()
    if any(note.record.get(CURATED) is True for note in notes):
        return Heat()
    young = now_ms - OLD_NEWS_MS
    is_old = (signal.at_ms or now_ms) <= young and all(note.is_old_news for note in notes)
    return Heat(becomes_hot=not is_old, is_old_news=is_old)
