"""What this node hides: the record, node or pattern that a person means. Changes nothing."""

from typing import Any

from clan_learnings.context.harmless_lines import harmless
from clan_learnings.records.memory import Memory
from clan_learnings.records.mute_list import read_muted
from mesh.app.snapshot import has_private, memory_of
from mesh.core.errors import AmbiguousId, UnknownId, UsageError
from mesh.core.ids import ID_CHARS, display_name, fitting, text_id

_SHOWN = 10
_LEAST = 4  # characters of an id: fewer are rather the beginning of a name


def find_to_hide(home: str, text: str) -> dict[str, Any]:
    """The one thing that goes by this text."""
    found: list[dict[str, Any]] = []
    for private in (False, True) if has_private(home) else (False,):
        with memory_of(home, private=private) as memory:
            found += [thing for thing in _records(memory, text) if thing not in found]
            if not private:
                found += _nodes(memory, text)
                found += _patterns(memory, text)
    if not found:
        raise UnknownId(
            f"nothing here goes by {text!r}",
            "records: mesh tail; nodes: mesh status --feeds; patterns: mesh pattern list",
        )
    return _only(text, found)


def _patterns(memory: Memory, text: str) -> list[dict[str, Any]]:
    """The pattern of that name, else those whose names begin like it."""
    names = [text] if memory.patterns.standing(text) is not None else memory.reader.names_like(text, _SHOWN)
    standings = {standing.slug: standing for name in names if (standing := memory.patterns.standing(name)) is not None}
    return [_pattern(standing.slug, memory.rule_of(standing)[0]) for standing in standings.values()]


def find_hidden(home: str, text: str) -> dict[str, Any]:
    """The one thing among what is hidden here that goes by this text, also if the mesh has it no more."""
    start = text.lower()
    hidden = all_hidden(home)
    found = [thing for thing in hidden if text in (thing["id"], thing["text"])] or [
        thing
        for thing in hidden
        if (thing["kind"] != "pattern" and thing["id"].startswith(start))
        or (thing["kind"] == "node" and thing["text"].partition("·")[0] == text)
    ]
    if not found:
        raise UnknownId(f"{text} is not hidden here", "see what is: mesh mute --list")
    return _only(text, found)


def all_hidden(home: str) -> list[dict[str, Any]]:
    """Everything that is hidden here, with what it is."""
    left = sorted(read_muted(home))
    found = []
    for private in (False, True) if has_private(home) else (False,):
        with memory_of(home, private=private) as memory:
            known = [(thing, _known(memory, thing)) for thing in left]
            found += [what for _, what in known if what is not None]
            left = [thing for thing, what in known if what is None]
    gone = [
        {"kind": "record" if _is_id(thing) else "pattern", "id": thing, "text": "not here any more"} for thing in left
    ]
    return sorted(found + gone, key=lambda thing: (thing["kind"], thing["id"]))


def _records(memory: Memory, text: str) -> list[dict[str, Any]]:
    if len(text) < _LEAST:
        return []
    try:
        tag = memory.reader.resolve(text)
    except AmbiguousId:
        raise
    except UsageError:  # no id at all, or of nothing here
        return []
    return [_record(memory, tag)]


def _nodes(memory: Memory, text: str) -> list[dict[str, Any]]:
    return [_node(memory, node) for node in fitting(text, memory.reader.names(), least=_LEAST)]


def _only(text: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    if len(found) > 1:
        lines = [f"{thing['id']}  {thing['kind']}  {harmless(thing['text'], 80)}" for thing in found]
        raise AmbiguousId(f"{text} fits several things", lines)
    return found[0]


def _known(memory: Memory, thing: str) -> dict[str, Any] | None:
    if _is_id(thing):
        for node in memory.reader.names():
            if text_id(node) == thing:
                return _node(memory, node)
        found = _records(memory, thing)
        if found:
            return found[0]
    standing = memory.patterns.standing(thing)
    return None if standing is None else _pattern(thing, memory.rule_of(standing)[0])


def _is_id(text: str) -> bool:
    return len(text) == ID_CHARS and text.isalnum()


def _record(memory: Memory, tag: bytes) -> dict[str, Any]:
    note = memory.note(tag)
    return {"kind": "record", "id": text_id(tag), "text": "" if note is None else note.text}


def _node(memory: Memory, node: bytes) -> dict[str, Any]:
    return {"kind": "node", "id": text_id(node), "text": display_name(memory.reader.names().get(node, ""), node)}


def _pattern(slug: str, rule: str) -> dict[str, Any]:
    return {"kind": "pattern", "id": slug, "text": rule}
