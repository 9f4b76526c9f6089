"""Proposals: changes to the records and patterns of others that wait for somebody to agree; requests to erase.

In a guarded mesh a node alone changes only what it wrote itself. Its word stands beside: whoever says the same makes it count,
and whoever may decide alone can say no. Reads only; what granting and dismissing write is drafted here.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any, NamedTuple

from clan_learnings.records.edit_rights import EditRights, same
from clan_learnings.records.memory import Memory
from clan_learnings.records.patterns import KEY
from clan_learnings.records.record import SUPERSESSIONS
from mesh.app.record_json import iso
from mesh.core.draft import Assignment, Draft, NewRecord, Removal
from mesh.core.errors import UnknownId, UsageError
from mesh.core.ids import display_name, text_id
from mesh.core.moderation import WITNESSES
from mesh.store.erase_requests import DISMISSED, PROPOSAL
from mesh.store.moderation_judge import Judge
from mesh.store.reader import Assigned

_FIELDS = ("alias_of", "archived", "global", "rule", "topic")  # of a pattern
_SUPERSESSIONS = 1000  # the newest so many are looked at
_LISTED = 500
_CHARS = 200  # of a value


class Proposal(NamedTuple):
    """Something that a node wants and that does not count. `tag`: of the operation that says it."""

    tag: bytes
    sort: str  # remove, edit, alias, unalias, archive, restore, wording, supersede
    node: bytes
    at_ms: int
    about: str  # the short id of a record, or the name of a pattern
    text: str  # what that says now
    change: str
    drafts: tuple[Draft, ...]  # which say the same
    sure: frozenset[bytes]  # who may decide alone
    said: Any  # equal for two that want the same


def proposals(memory: Memory, own: bytes) -> list[Proposal]:
    """What waits for somebody to agree, oldest first, but for what was dismissed, here or by somebody who may decide."""
    found = _waiting(memory)
    said_no = {
        key: {one.node for one in said if one.value is True} for key, said in memory.reader.said(DISMISSED).items()
    }
    left = [item for item in found if said_no.get(PROPOSAL + text_id(item.tag), set()).isdisjoint({own, *item.sure})]
    return sorted(left, key=lambda item: (item.at_ms, item.tag, item.about))[:_LISTED]


def needed(memory: Memory, tags: Container[bytes]) -> str:
    """Who has to say the same before what some operations say counts; empty if none of them waits."""
    waiting = _waiting(memory)
    item = next((item for item in waiting if item.tag in tags), None)
    return "" if item is None else _needed(memory, item, waiting)


def _needed(memory: Memory, item: Proposal, waiting: Iterable[Proposal]) -> str:
    rights = memory.patterns.rights
    assert rights is not None  # else nothing waits
    heard = {other.node for other in waiting if (other.sort, other.said) == (item.sort, item.said)} - rights.passing
    others = "another node that is" if len(heard) >= WITNESSES - 1 else f"{WITNESSES} other nodes that are"
    author = "its author, " if item.sure - rights.admins else ""
    return f"{author}an admin or {others} not throw-away"


def _waiting(memory: Memory) -> list[Proposal]:
    """All that does not count for want of somebody who says the same, dismissed or not."""
    rights = memory.patterns.rights
    if rights is None:
        return []  # the mesh is open: everything counts
    judge = Judge(memory.reader.connection, "main")
    judge.begin()
    return [*_removals(memory, judge), *_edits(memory, judge), *_of_patterns(memory, rights), *_ends(memory, rights)]


def told(memory: Memory, own: bytes, item: Proposal) -> dict[str, Any]:
    """A proposal as it is listed."""
    return {
        "id": text_id(item.tag),
        "sort": item.sort,
        "about": item.about,
        "text": item.text,
        "change": item.change,
        "by": text_id(item.node),
        "name": display_name(memory.name_of(item.node), item.node),
        "at": iso(item.at_ms),
        "is_own": item.node == own,
        "may_decide": own in item.sure,
    }


def resolved(memory: Memory, text: str) -> bytes:
    """What an id, or the beginning of one, stands for."""
    try:
        return memory.reader.resolve(text)
    except UnknownId:
        raise UnknownId(f"nothing has the id {text}", "see what waits: mesh proposals") from None


def named(memory: Memory, own: bytes, text: str) -> list[Proposal]:
    """The proposals that an id, or the beginning of one, stands for: several, if one remove names several records."""
    tag = resolved(memory, text)
    found = [item for item in proposals(memory, own) if item.tag == tag]
    if not found:
        raise UnknownId(f"{text} is no proposal that waits here", "see which do: mesh proposals")
    return found


def draft_grant(memory: Memory, own: bytes, text: str) -> tuple[list[Draft], list[Proposal]]:
    """Say the same, so that it counts, or lacks one word less."""
    found = named(memory, own, text)
    rights, waiting = memory.patterns.rights, _waiting(memory)
    own_words = [(item.sort, item.said) for item in waiting if item.node == own]
    if own not in found[0].sure and all((item.sort, item.said) in own_words for item in found):
        raise UsageError(
            f"this node has said so itself, and one node alone is not enough: it waits for {_needed(memory, found[0], waiting)}",
            f"on another node: mesh proposals grant {text_id(found[0].tag)[:16]}",
        )
    if rights is not None and own in rights.passing - found[0].sure:
        raise UsageError(
            "the word of a throw-away node makes nothing count", "grant it on another node, or ask an admin"
        )
    return [draft for item in found for draft in item.drafts], found


def draft_dismissal(tag: bytes) -> list[Draft]:
    """Say no: for everybody, if this node may decide alone, else for this node."""
    return [Assignment(PROPOSAL + text_id(tag), DISMISSED, True)]


def _removals(memory: Memory, judge: Judge) -> Iterator[Proposal]:
    for tag in judge.foreign_removals():
        note = memory.note(tag)
        if note is not None:
            sure = judge.admins() | {note.node}
            for item in judge.removals_of(tag):
                yield Proposal(
                    item.tag,
                    "remove",
                    item.node,
                    item.at_ms,
                    memory.reader.short_id(tag),
                    note.text,
                    f"take it back: {item.reason}",
                    (Removal((tag,), item.reason),),
                    sure,
                    tag,
                )


def _edits(memory: Memory, judge: Judge) -> Iterator[Proposal]:
    for target, field in judge.foreign_words():
        note = memory.note(target) if isinstance(target, bytes) else None
        if note is None:
            continue
        sure = judge.admins() | {note.node}
        counting = judge.word(target, field)
        now = note.record.get(field)
        for one in _later(memory.reader.said_of(target, field), sure, counting[:2] if counting else None):
            if one.value != now:
                yield Proposal(
                    one.tag,
                    "edit",
                    one.node,
                    one.at >> 16,
                    memory.reader.short_id(note.tag),
                    note.text,
                    f"{field} = {_short(one.value)}, now {_short(now)}",
                    (Assignment(target, field, one.value),),
                    sure,
                    (target, field, same(field, one.value)),
                )


def _of_patterns(memory: Memory, rights: EditRights) -> Iterator[Proposal]:
    patterns = memory.patterns
    for field in _FIELDS:
        counted = patterns.counted(field)
        for key, words in memory.reader.said(field).items():
            if not isinstance(key, str) or not key.startswith(KEY):
                continue
            slug = key.removeprefix(KEY)
            standing = patterns.standing(slug)
            if standing is None:
                continue
            sure = rights.alone((slug,) if field == "alias_of" else patterns.names(slug))
            counts = counted.get(slug)
            now = None if counts is None else counts.value
            rule = memory.rule_of(standing)[0]
            for one in _later(words, sure, None if counts is None else (counts.at, counts.tag)):
                if same(field, one.value) != same(field, now):
                    sort, change = _change_of(field, one.value)
                    drafts = (Assignment(key, field, one.value),)
                    said = key, field, same(field, one.value)
                    yield Proposal(one.tag, sort, one.node, one.at >> 16, slug, rule, change, drafts, sure, said)


def _change_of(field: str, value: object) -> tuple[str, str]:
    if field == "alias_of":
        return ("alias", f"one pattern with {_short(value)}") if value else ("unalias", "a pattern of its own again")
    if field == "archived":
        return ("archive", f"archive it: {_short(value)}") if value else ("restore", "not archived any more")
    return "wording", f"{field} = {_short(value)}"


def _ends(memory: Memory, rights: EditRights) -> Iterator[Proposal]:
    patterns = memory.patterns
    asked: dict[tuple[frozenset[str], frozenset[str]], set[bytes]] = {}
    entries = []
    for entry in memory.reader.newest(SUPERSESSIONS, _SUPERSESSIONS):
        old, new = entry.record.get("old"), entry.record.get("new")
        if type(old) is str and type(new) is str:
            entries.append((entry, old, new))
            asked.setdefault((patterns.names(old), patterns.names(new)), set()).add(entry.node)
    for entry, old, new in entries:
        names = patterns.names(old)
        if names == patterns.names(new) or rights.are_enough(asked[names, patterns.names(new)], names):
            continue
        standing = patterns.standing(old)
        if standing is not None:
            yield Proposal(
                entry.tag,
                "supersede",
                entry.node,
                entry.at >> 16,
                old,
                memory.rule_of(standing)[0],
                f"end it: {_short(new)} takes its place",
                (NewRecord(SUPERSESSIONS, {"old": old, "new": new, "repo": ""}),),
                rights.alone(names),
                (names, patterns.names(new)),
            )


def _later(said: Iterable[Assigned], sure: frozenset[bytes], than: tuple[int, bytes] | None) -> list[Assigned]:
    """The words of those who may not decide alone, as far as nobody who may has spoken since."""
    return [one for one in said if one.node not in sure and (than is None or (one.at, one.tag) > than)]


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _CHARS else text[:_CHARS] + "..."
