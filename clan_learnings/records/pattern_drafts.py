"""Drafts that maintain patterns: create, word, join, supersede, archive; and settings of the mesh. Writes nothing itself.

What a session writes is drafted in `notebook`.
"""

from __future__ import annotations

from typing import Any

from clan_learnings.records import matching
from clan_learnings.records.memory import Memory
from clan_learnings.records.notebook import REASON_CHARS, best_pattern, completed, require_slug, source_of
from clan_learnings.records.patterns import KEY, Pattern
from clan_learnings.records.record import CATEGORIES, PATTERNS, SUPERSESSIONS, WORD_CHARS, About, checked
from clan_learnings.records.shared_settings import (
    CATEGORY,
    HOT_AT,
    HOT_NODES,
    LEAST_HOT,
    MOST_HOT,
    MOST_NODES,
    QUIET,
    RECALL_WEIGHT,
    USUAL_HOT,
    USUAL_NODES,
    USUAL_WEIGHT,
    is_category,
    require_admin,
)
from clan_learnings.records.shared_settings import KEY as SETTINGS
from clan_learnings.records.witnesses import seal_of
from clan_learnings.redaction.text_cleaner import TextCleaner
from mesh.core.draft import Assignment, Draft, NewRecord
from mesh.core.errors import UsageError
from mesh.core.moderation import GUARDED, MODERATION, OPEN


def draft_pattern(
    memory: Memory,
    rule: str,
    about: About,
    pen: TextCleaner,
    *,
    slug: str = "",
    wrong: str = "",
    everywhere: bool = False,
) -> tuple[list[Draft], str]:
    """A pattern of its own, before any correction: what works. Returns its name too."""
    rule = pen.sentence(rule, "the rule", 'mesh pattern add "retry uploads with a fresh token"')
    wrong = pen.clean(wrong.strip())
    about = completed(memory, about, rule, source_of(about), pen)
    named = bool(slug)
    slug = require_slug(pen.clean(slug)) if named else matching.slug_of(wrong, rule)
    if any(note.log == PATTERNS for note in memory.reader.of_pattern(slug)):
        raise UsageError(
            f"there is a pattern {slug} already", f'change its rule: mesh pattern edit {slug} --rule "..."'
        )
    if not named:
        known = best_pattern(memory, wrong, rule, about.repo)
        if known is not None:
            raise UsageError(
                f"the pattern {known.slug} says this already: {known.why}",
                f"mesh pattern show {known.slug}; if yours is another, give it a name: --name NAME",
            )
    record: dict[str, Any] = {"pattern": slug, "rule": rule} | ({"wrong": wrong} if wrong else {})
    drafts: list[Draft] = [NewRecord(PATTERNS, record | about.fields())]
    if everywhere:  # also once its corrections come from one repository only
        drafts.append(Assignment(KEY + slug, "global", True))
    return drafts, slug


def draft_supersession(memory: Memory, old: str, new: str, about: About, reason: str, pen: TextCleaner) -> list[Draft]:
    """One pattern takes the place of another."""
    first, second = memory.patterns.find(old), memory.patterns.find(new)
    if first.slug == second.slug:
        raise UsageError("a pattern cannot take its own place", "name two patterns: mesh pattern supersede OLD NEW")
    if _leads(memory, second, first):
        raise UsageError(
            f"{second.slug} was superseded by {first.slug}, so it cannot take its place",
            f"see both: mesh pattern show {first.slug}",
        )
    names = {"old": memory.patterns.agreed.find(old).slug, "new": memory.patterns.agreed.find(new).slug}
    record = names | ({"reason": pen.clean(reason)[:REASON_CHARS]} if reason else {})
    return [NewRecord(SUPERSESSIONS, record | pen.about(about).fields())]


def _leads(memory: Memory, start: Pattern, end: Pattern) -> bool:
    """Whether a pattern was, by whatever steps, superseded by another."""
    seen, todo = set(start.names), [start.names]
    while todo:
        for new in memory.patterns.superseded_by(todo.pop()):
            if new in end.names:
                return True
            names = memory.patterns.names(new)
            if seen.isdisjoint(names):
                seen |= names
                todo.append(names)
    return False


def draft_alias(memory: Memory, one: str, other: str) -> list[Draft]:
    """Two names stand for one pattern from now on."""
    first, second = memory.patterns.find(one), memory.patterns.find(other)
    if first.slug == second.slug:
        raise UsageError(f"{one} and {other} are one pattern already", f"see it: mesh pattern show {first.slug}")
    name, is_free = _end(memory, first.names)
    if is_free:
        return [Assignment(KEY + name, "alias_of", second.slug)]
    far, far_is_free = _end(memory, second.names)
    if far_is_free:
        return [Assignment(KEY + far, "alias_of", first.slug)]
    return [Assignment(KEY + name, "alias_of", second.slug)]


def _end(memory: Memory, names: frozenset[str]) -> tuple[str, bool]:
    """The name of a group whose register can be set without parting others, and whether it holds nothing yet.

    Each name has one register, which points to another. Following it one comes to a name that points nowhere or, where
    two were joined from both ends at once, into a circle, which stays whole without one of its links.
    """
    name, seen = min(names), set()
    while name not in seen:
        seen.add(name)
        said = memory.patterns.aliases.get(name)
        if said is None or type(said.value) is not str or said.value == name:
            return name, True
        name = said.value
    return name, False


def draft_unalias(memory: Memory, slug: str) -> list[Draft]:
    """A name stands for itself again: every alias that was said of it is taken back."""
    names = memory.patterns.names(slug)
    if len(names) == 1:  # perhaps the beginning of one
        names = memory.patterns.find(slug).names
        close = sorted(name for name in names if name.startswith(slug))
        if len(close) > 1:
            raise UsageError(f"several of its names begin with {slug!r}", f"one of: {', '.join(close)}")
        slug = close[0] if close else slug
    if len(names) == 1:
        raise UsageError(f"{slug} has no other names", "see which have: mesh pattern list")
    said = memory.patterns.aliases
    drafts: list[Draft] = [
        Assignment(KEY + name, "alias_of", None)
        for name in sorted(names)
        if (register := said.get(name)) is not None and type(register.value) is str and slug in (name, register.value)
    ]
    return drafts


def draft_archive(memory: Memory, slug: str, reason: str, pen: TextCleaner) -> list[Draft]:
    """A pattern is not HOT any more, until enough further sessions need it. Under all its names."""
    standing = memory.patterns.agreed.find(slug)  # a name that one node alone has joined to it ends nothing in HOT
    return [Assignment(KEY + standing.slug, "archived", pen.clean(reason.strip())[:REASON_CHARS] or "archived")]


def draft_restoration(memory: Memory, slug: str) -> list[Draft]:
    """An archived pattern counts again as if it had never been."""
    standing = memory.patterns.find(slug)
    said = {name: memory.reader.register(KEY + name, "archived") for name in sorted(standing.names)}
    drafts: list[Draft] = [
        Assignment(KEY + name, "archived", None) for name, one in said.items() if one is not None and one.value
    ]
    if not drafts:
        raise UsageError(f"{standing.slug} is not archived", f"see it: mesh pattern show {standing.slug}")
    return drafts


def draft_approval(memory: Memory, slug: str, *, undo: bool = False) -> tuple[list[Draft], dict[str, Any]]:
    """An admin lets a pattern be HOT in the words that stand for it now, though one machine alone has needed it. Says the words, too."""
    agreed = memory.patterns.agreed
    standing = agreed.find(slug)
    again = f"mesh pattern approve {standing.slug}{' --undo' if undo else ''}"
    require_admin(memory.reader.members(), memory.reader.own or b"", again)
    if undo:
        said = [name for name in sorted(standing.names) if agreed.approval((name,)) is not None]
        if not said:
            raise UsageError(f"{standing.slug} is not approved", f"see it: mesh pattern show {standing.slug}")
        return [Assignment(KEY + name, "approved", None) for name in said], {"pattern": standing.slug}
    words = memory.words(standing) if standing.corrections else None
    if words is None:
        raise UsageError(f"nothing of {standing.slug} is shown here", f"see it: mesh pattern show {standing.slug}")
    _, rule, wrong = words
    drafts: list[Draft] = [Assignment(KEY + standing.slug, "approved", seal_of(rule, wrong))]
    return drafts, {"pattern": standing.slug, "rule": rule, "wrong": wrong}


def draft_wording(
    memory: Memory,
    slug: str,
    pen: TextCleaner,
    *,
    rule: str | None = None,
    topic: str | None = None,
    everywhere: bool | None,
) -> list[Draft]:
    """Another rule or topic for a pattern, or another scope: everywhere, or where it was seen."""
    standing = memory.patterns.find(slug)
    drafts: list[Draft] = []
    own = memory.patterns.agreed.find(slug).slug  # not a name that one node alone has joined to it
    key = KEY + own
    if rule is not None:
        example = f'mesh pattern edit {own} --rule "..."'
        drafts.append(Assignment(key, "rule", pen.sentence(rule, "the rule", example)))
    if topic is not None:
        drafts.append(Assignment(key, "topic", pen.clean(checked(About(topic=topic), ()).topic)))
    if everywhere is not None:
        others = [] if everywhere else [name for name in standing.names if memory.patterns.is_marked_global(name)]
        drafts += [Assignment(KEY + name, "global", everywhere) for name in sorted({own, *others})]
    if not drafts:
        raise UsageError("nothing to change", "give one of --rule, --topic, --global, --local")
    return drafts


def draft_hot_at(text: str) -> list[Draft]:
    """In how many sessions a pattern must have been needed to be HOT, in the whole mesh."""
    if not (text.isascii() and text.isdigit() and len(text) < 4 and LEAST_HOT <= int(text) <= MOST_HOT):
        raise UsageError(
            f"{text!r} is no number of sessions",
            f"from {LEAST_HOT} to {MOST_HOT}, like: mesh settings hot-at {USUAL_HOT}",
        )
    return [Assignment(SETTINGS, HOT_AT, int(text))]


def draft_hot_nodes(text: str) -> list[Draft]:
    """Of how many machines these sessions must be, in a mesh of three or more."""
    if not (text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= MOST_NODES):
        raise UsageError(
            f"{text!r} is no number of machines",
            f"from 1 to {MOST_NODES}, like: mesh settings hot-nodes {USUAL_NODES}",
        )
    return [Assignment(SETTINGS, HOT_NODES, int(text))]


def draft_recall_weight(text: str) -> list[Draft]:
    """What meaning counts beside words in a search, in the whole mesh."""
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight <= 1:
        raise UsageError(
            f"{text!r} is no weight",
            f"from 0 (words alone) to 1 (meaning alone): mesh settings recall-weight {USUAL_WEIGHT}",
        )
    return [Assignment(SETTINGS, RECALL_WEIGHT, weight)]


def draft_moderation(text: str) -> list[Draft]:
    """Whether anybody may change what others recorded, or needs somebody who agrees."""
    if text not in (OPEN, GUARDED):
        raise UsageError(f"{text!r} is no way to moderate", f"{OPEN} or {GUARDED}: mesh settings moderation {GUARDED}")
    return [Assignment(SETTINGS, MODERATION, text)]


def draft_quiet(text: str) -> list[Draft]:
    """Whether hooks say nothing, on every node."""
    if text not in ("on", "off"):
        raise UsageError(f"quiet is on or off, not {text!r}", "like this: mesh settings quiet on")
    return [Assignment(SETTINGS, QUIET, text == "on")]


def draft_category(memory: Memory, name: str, *, remove: bool = False) -> list[Draft]:
    """One category more in the whole mesh, or one of its own less."""
    own = [category for category in memory.settings.categories if category not in CATEGORIES]
    if not is_category(name):
        raise UsageError(
            f"{name!r} cannot name a category",
            f"small letters, digits and hyphens, at most {WORD_CHARS}: mesh settings category data-quality",
        )
    if remove and name not in own:
        raise UsageError(
            f"{name} is no category that this mesh has added",
            f"it has added: {', '.join(own) or 'none'}; the others are always there",
        )
    if not remove and name in memory.settings.categories:
        raise UsageError(f"there is a category {name} already", "see all: mesh settings")
    return [Assignment(SETTINGS, CATEGORY + name, not remove)]
