"""Drafts of discoveries and corrections: a sentence becomes a record, without its secrets, counted under the pattern it belongs to.

Decides and drafts; the author of the home writes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from clan_learnings.agents.surroundings import SHELL
from clan_learnings.records import matching
from clan_learnings.records.memory import Memory
from clan_learnings.records.patterns import counter
from clan_learnings.records.record import (
    CONFIDENCE,
    CORRECTIONS,
    DISCOVERIES,
    EDITABLE,
    MEDIUM,
    PATTERNS,
    SOURCES,
    About,
    Note,
    category_of,
    checked,
    one_of,
    required_text,
)
from clan_learnings.records.shared_settings import is_category
from clan_learnings.redaction.text_cleaner import TextCleaner
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.likeness import CoveringRecord, covering, judge, near_notes, telling_words
from mesh.core.draft import Assignment, Draft, Increment, NewRecord, Removal
from mesh.core.errors import UsageError

_PATTERNS = 20  # patterns compared with it
_SIMILAR = 3  # names that are offered in the place of a new one
_TEXTS = 4  # newest corrections of each
SLUG_CHARS = 96
REASON_CHARS = 400

_DISCOVERY = 'mesh discover "HTTP 405 on push means branch protection"'
_CORRECTION = 'mesh correct --wrong "npm install" --right "pnpm install in this repo"'
# What a command must be told: how that is called in an error, and how it is done right.
_ALWAYS = ("category", "severity")  # in every record; the rest of what it is about may be taken out again
REQUIRED = {
    "text": ("the discovery", _DISCOVERY),
    "wrong": ("what went wrong", _CORRECTION),
    "right": ("the right way", _CORRECTION),
}


class PatternChoice:
    """The pattern a correction is counted under, how sure that is, and why."""

    __slots__ = ("founded", "similar", "slug", "sureness", "why")

    def __init__(self, slug: str, sureness: float, why: str, *, founded: bool, similar: Sequence[str] = ()) -> None:
        """`similar`: names that begin like a new one that was given by hand, which may have been meant."""
        self.similar = similar
        self.slug = slug
        self.sureness = sureness
        self.why = why
        self.founded = founded


def draft_discovery(
    memory: Memory, text: str, about: About, pen: TextCleaner
) -> tuple[list[Draft], CoveringRecord | None]:
    """A discovery, and the record that covers it already, if there is one."""
    text = pen.sentence(text, *REQUIRED["text"])
    about = completed(memory, about, text, source_of(about), pen)
    return [NewRecord(DISCOVERIES, {"text": text} | about.fields())], covering(memory, text, about.repo)


def draft_correction(
    memory: Memory, wrong: str, right: str, about: About, pen: TextCleaner, *, pattern: str = "", source: str = "agent"
) -> tuple[list[Draft], PatternChoice]:
    """A correction under its pattern: the one that was named, else the one its words belong to, else a new one."""
    wrong, right = pen.sentence(wrong, *REQUIRED["wrong"]), pen.sentence(right, *REQUIRED["right"])
    if wrong == right:
        raise UsageError("the wrong way and the right way are the same", f"like this: {_CORRECTION}")
    one_of(source, SOURCES, "source")
    about = completed(memory, about, f"{wrong} {right}", source, pen)
    found = named_pattern(memory, pen.clean(pattern)) if pattern else find_pattern(memory, wrong, right, about.repo)
    record: dict[str, Any] = {
        "wrong": wrong,
        "right": right,
        "pattern": found.slug,
        "sureness": round(found.sureness, 3),
        "source": source,
    }
    return [NewRecord(CORRECTIONS, record | about.fields()), Increment(counter(found.slug))], found


def find_pattern(memory: Memory, wrong: str, right: str, repo: str) -> PatternChoice:
    """The pattern that a correction belongs to by its words."""
    own = matching.slug_of(wrong, right)
    if memory.weigh(own) is not None:  # not what was written under it and moved elsewhere since
        return PatternChoice(own, 1.0, "the same words", founded=False)
    match = best_pattern(memory, wrong, right, repo)
    if match is None:
        return PatternChoice(own, 1.0, "the first of its kind", founded=True)
    return PatternChoice(match.slug, match.sureness, match.why, founded=False)


def best_pattern(memory: Memory, wrong: str, right: str, repo: str) -> matching.Match | None:
    """The pattern in scope that says the same, if there is one."""
    sought = CorrectionQuery(memory, wrong, right)
    near = candidates(memory, sought, repo, repo)
    match = matching.best_match(wrong, right, near, judge)
    if match is not None or not repo:
        return match
    # Of other repositories only what holds everywhere by now: looked at if there is nothing nearer.
    seen = {one.slug for one in near}
    return matching.best_match(wrong, right, candidates(memory, sought, repo, None, seen), judge)


def all_candidates(memory: Memory, wrong: str, right: str, repo: str) -> list[matching.PatternCandidate]:
    """Every pattern in scope whose records are near a correction."""
    sought = CorrectionQuery(memory, wrong, right)
    near = candidates(memory, sought, repo, repo)
    far = candidates(memory, sought, repo, None, {one.slug for one in near}) if repo else []
    return near + far


class CorrectionQuery:
    """A correction that is looked for: as a record of it reads, and by its telling words."""

    __slots__ = ("text", "words")

    def __init__(self, memory: Memory, wrong: str, right: str) -> None:
        self.text = f"{right} (not: {wrong})" if wrong else right
        self.words = telling_words(memory, self.text)


def candidates(
    memory: Memory, sought: CorrectionQuery, repo: str, within: str | None, seen: Collection[str] = ()
) -> list[matching.PatternCandidate]:
    """The patterns in scope whose records are near a correction: of this repository and global ones, or (None) of all.

    `seen`: names that need not be looked at again.
    """
    found: dict[str, list[Note]] = {}
    notes, cosines = near_notes(
        memory, sought.text, sought.words, SearchFilters(within or None, logs=(CORRECTIONS, PATTERNS))
    )
    for note in notes:
        is_near = not repo or note.repo in ("", repo)
        if not memory.in_scope(note, None):
            continue
        if note.pattern and note.pattern not in seen and (is_near or _is_global(memory, note.pattern)):
            found.setdefault(note.pattern, []).append(note)
    return [_candidate(memory, slug, kept, cosines) for slug, kept in list(found.items())[:_PATTERNS]]


def _candidate(
    memory: Memory, slug: str, notes: list[Note], cosines: Mapping[bytes, float]
) -> matching.PatternCandidate:
    """A pattern as it is compared: what several have said in the same words stands there as often, for most of it must agree."""
    texts = [_said(note) for note in notes if note.log == CORRECTIONS][:_TEXTS]
    rules = [note.word("rule") for note in notes if note.log == PATTERNS]
    rule = memory.patterns.rule_of(slug) or (rules[-1] if rules else "")
    known = {_said(note): cosines[note.tag] for note in notes if note.tag in cosines}
    return matching.PatternCandidate(slug, texts, rule, min(note.stamp for note in notes), known)


def _said(note: Note) -> tuple[str, str]:
    return (note.word("wrong"), note.word("right")) if note.log == CORRECTIONS else ("", note.word("rule"))


def _is_global(memory: Memory, slug: str) -> bool:
    tally = memory.reader.tally(slug, CORRECTIONS)
    several = tally is not None and (len(tally.repos) > 1 or "" in tally.repos)
    return several or memory.patterns.is_marked_global(slug)


def named_pattern(memory: Memory, slug: str, why: str = "named by hand") -> PatternChoice:
    """A pattern that was named by hand; one that is not there yet is founded."""
    require_slug(slug)
    is_counted = memory.bound is None and memory.reader.sessions(slug, CORRECTIONS)
    if is_counted or memory.patterns.standing(slug) is not None:
        return PatternChoice(slug, 1.0, why, founded=False)
    similar = [name for name in memory.reader.names_like(slug, _SIMILAR) if memory.patterns.is_told(name)]
    return PatternChoice(slug, 1.0, why, founded=True, similar=similar)


def require_slug(slug: str) -> str:
    """A name that a pattern may have."""
    allowed = (
        slug.isascii() and slug == slug.lower() and slug.replace("-", "").replace("_", "").replace(".", "").isalnum()
    )
    if not allowed or len(slug) > SLUG_CHARS or slug[0] in "-._":
        raise UsageError(
            f"{slug!r} cannot name a pattern",
            f"small letters, digits and - . _, at most {SLUG_CHARS}: --pattern pnpm-not-npm",
        )
    return slug


def draft_move(note: Note, slug: str) -> list[Draft]:
    """A correction is counted under another pattern from now on."""
    if note.log != CORRECTIONS:
        raise UsageError("only corrections are counted under patterns", "see what it is: mesh show ID")
    return [Assignment(note.tag, "pattern", require_slug(slug))]


def draft_edit(memory: Memory, note: Note, changes: dict[str, Any], pen: TextCleaner) -> list[Draft]:
    """Fields of a record get other values. What it was stays in the history."""
    if not changes:
        raise UsageError("nothing to change", 'name a field: mesh edit ID --text "..." or --severity high')
    for name, value in changes.items():
        if name not in EDITABLE:
            raise UsageError(f"{name} cannot be edited", f"what can be: {', '.join(sorted(EDITABLE))}")
        if name in (*_SENTENCES, "pattern") and name not in note.record:
            has = ", ".join(sorted(EDITABLE & set(note.record)))
            raise UsageError(f"this record has no {name}", f"it has: {has}")
        if name in _ALWAYS and not value:
            raise UsageError(f"a record always has a {name}", f"give it another one: mesh edit ID --{name} ...")
    about = About(**{name: value for name, value in changes.items() if name in _ABOUT})
    checked(about, _allowed(memory, about, pen))
    cleaned: dict[str, Any] = {
        name: pen.clean_all(value) if name == "tags" else pen.clean(value) if type(value) is str else value
        for name, value in changes.items()
    }
    for name in _SENTENCES:
        if name in cleaned:
            cleaned[name] = required_text(cleaned[name], f"the {name}", f'mesh edit ID --{name} "..."')
    if "pattern" in cleaned:
        draft_move(note, cleaned["pattern"])
    return [Assignment(note.tag, name, value) for name, value in sorted(cleaned.items())]


_SENTENCES = ("text", "wrong", "right", "rule")
_ABOUT = frozenset(("topic", "tags", "category", "severity", "confidence", "evidence", "minutes_lost"))


def draft_retraction(note: Note, reason: str, pen: TextCleaner) -> list[Draft]:
    """A record is taken back: it counts no more, anywhere."""
    said = pen.clean(reason.strip())[:REASON_CHARS]
    if not said:
        raise UsageError("say why it is taken back", 'mesh retract ID --reason "it was the proxy after all"')
    return [Removal((note.tag,), said)]


def completed(memory: Memory, about: About, text: str, source: str, pen: TextCleaner) -> About:
    """What was not said is found by rule, what was said is checked. No secrets are left in it."""
    pen.about(about)
    about.category = about.category or category_of(text)
    about.severity = about.severity or MEDIUM
    about.confidence = CONFIDENCE[source] if about.confidence is None else about.confidence
    return checked(about, _allowed(memory, about, pen))


def source_of(about: About) -> str:
    """Who speaks, if it was not said: an agent, or else a person."""
    return "human" if about.agent in ("", SHELL) else "agent"


def _allowed(memory: Memory, about: About, pen: TextCleaner) -> tuple[str, ...]:
    """The categories of the mesh; for one that is not among them those of the repository are looked up too."""
    known = memory.settings.categories
    if not about.category or about.category in known:
        return known
    return known + tuple(name for name in pen.categories() if is_category(name) and name not in known)
