"""Everything that is told about one pattern: how it stands, what is counted under it, what ended it, what contradicts it. Pure."""

from typing import Any

from clan_learnings.memory import Memory
from clan_learnings.patterns import Standing
from clan_learnings.records import Note
from clan_learnings.rivals import Rivals
from mesh.core.errors import UnknownId, UsageError
from mesh.sidecar.answers import pattern, shown

_SHOWN = 50  # newest corrections


def whole_pattern(memory: Memory, text: str) -> dict[str, Any]:
    """A pattern by its name, another of its names, or the beginning of one."""
    standing = memory.patterns.find(text)
    newest = standing.corrections[::-1][:_SHOWN]
    return pattern(memory, standing) | {
        "told": _told_to_all(memory, text),
        "records": [_told(memory, note) for note in standing.records[::-1][:_SHOWN]],
        "corrections": [_told(memory, note) for note in newest],
        "left_out": len(standing.corrections) - len(newest),
        "sessions_since": standing.further,
        "in_its_place": [_other(memory, slug) for slug in standing.superseded_by],
        "contradicts": _contradictions(memory, standing),
    }


def _told_to_all(memory: Memory, text: str) -> dict[str, str] | None:
    """The words that are told in its name, or would be: other ones than the latest, where one node's word is not enough."""
    if not memory.witnesses.are_needed:
        return None
    try:
        standing = memory.patterns.agreed.find(text)
    except (UnknownId, UsageError):  # other names belong together there
        return None
    words = memory.words(standing) if standing.corrections else None
    return None if words is None else {"pattern": standing.slug, "rule": words[1], "wrong": words[2]}


def _told(memory: Memory, note: Note) -> dict[str, Any]:
    return shown(memory, note) | {"session": note.word("session")}


def _other(memory: Memory, slug: str) -> dict[str, Any]:
    """A pattern that stands beside this one; of one that nothing is said of any more, only the name."""
    standing = memory.patterns.standing(slug)
    if standing is None:
        return {"pattern": slug, "rule": ""}
    return {"pattern": standing.slug, "rule": standing.rule}


def _contradictions(memory: Memory, standing: Standing) -> list[dict[str, Any]]:
    found = []
    for pair in Rivals(memory).contradictions:
        if standing.slug in (pair.one.slug, pair.other.slug):
            other = pair.other if pair.one.slug == standing.slug else pair.one
            found.append({"pattern": other.slug, "rule": other.rule, "why": pair.why})
    return found
