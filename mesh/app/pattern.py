"""One pattern in full: its state, the corrections counted under it, what ended it, what contradicts it. Pure."""

from typing import Any

from clan_learnings.records.memory import Memory
from clan_learnings.records.pattern_conflicts import PatternConflicts
from clan_learnings.records.patterns import Pattern
from clan_learnings.records.record import Note
from clan_learnings.records.witnesses import are_alike
from mesh.app.record_json import iso, pattern, shown
from mesh.core.ids import display_name

_SHOWN = 50  # newest corrections
_WORDINGS = 10


def whole_pattern(memory: Memory, text: str) -> dict[str, Any]:
    """A pattern by its name, another of its names, or the beginning of one."""
    standing = memory.find(text)
    newest = standing.corrections[::-1][:_SHOWN]
    return pattern(memory, standing) | {
        "told": _told_to_all(memory, standing.slug),
        "not_agreed": _not_agreed(memory, standing),
        "records": [_told(memory, note) for note in standing.records[::-1][:_SHOWN]],
        "corrections": [_told(memory, note) for note in newest],
        "left_out": len(standing.corrections) - len(newest),
        "sessions_since": standing.further,
        "in_its_place": [_other(memory, slug) for slug in standing.superseded_by],
        "contradicts": _contradictions(memory, standing),
    }


def changed_pattern(memory: Memory, text: str) -> dict[str, Any]:
    """A pattern as it stands after this node changed it. `not_told`: the rule that it said last, if HOT does not say that."""
    standing = memory.find(text)
    wording = memory.wording((standing.slug, *sorted(standing.names)))
    own = () if wording is None else [vote for vote in wording.ballot.rules if vote.node == memory.reader.own]
    last = max(own, key=lambda vote: vote.at, default=None)
    is_told = wording is None or last is None or are_alike(last.text, wording.rule)
    return pattern(memory, standing) | {"not_told": last.text if last is not None and not is_told else None}


def _told_to_all(memory: Memory, slug: str) -> dict[str, str] | None:
    """The words that are told in its name, or would be: other ones than the latest, where one node's word is not enough."""
    if not memory.witnesses.are_needed:
        return None
    standing = memory.patterns.agreed.standing(slug)
    words = memory.words(standing) if standing is not None and standing.corrections else None
    return (
        None if standing is None or words is None else {"pattern": standing.slug, "rule": words[1], "wrong": words[2]}
    )


def _not_agreed(memory: Memory, standing: Pattern) -> list[dict[str, str]]:
    """What single nodes say in the place of the words of a HOT pattern, each with its node, newest first."""
    wording = memory.wording((standing.slug, *sorted(standing.names)))
    if wording is None:
        return []
    votes = [("rule", vote) for vote in wording.ballot.rules if not are_alike(vote.text, wording.rule)]
    votes += [("wrong", vote) for vote in wording.ballot.wrongs if not are_alike(vote.text, wording.wrong)]
    votes.sort(key=lambda each: (-each[1].at, each[1].text))
    found = {
        (field, vote.text, vote.node): {
            "field": field,
            "text": vote.text,
            "by": display_name(memory.name_of(vote.node), vote.node),
            "at": iso(vote.at >> 16),
        }
        for field, vote in reversed(votes)
    }
    return [*reversed(found.values())][:_WORDINGS]


def _told(memory: Memory, note: Note) -> dict[str, Any]:
    note = memory.note(note.tag) or note  # with what others have edited: HOT has them without
    return shown(memory, note) | {"session": note.word("session")}


def _other(memory: Memory, slug: str) -> dict[str, Any]:
    """A pattern that stands beside this one; of one that nothing is said of any more, only the name."""
    standing = memory.patterns.standing(slug)
    if standing is None:
        return {"pattern": slug, "rule": ""}
    return {"pattern": standing.slug, "rule": memory.rule_of(standing)[0]}


def _contradictions(memory: Memory, standing: Pattern) -> list[dict[str, Any]]:
    found = []
    for pair in PatternConflicts(memory).contradictions:
        if standing.slug in (pair.one.slug, pair.other.slug):
            other = pair.other if pair.one.slug == standing.slug else pair.one
            found.append({"pattern": other.slug, "rule": memory.rule_of(other)[0], "why": pair.why})
    return found
