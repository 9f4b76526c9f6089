"""The history of a record: its author, its place in the chain, every change, and what it counts for. Reads only."""

from typing import Any

from clan_learnings.records.memory import Memory
from clan_learnings.records.provenance_table import Provenance, provenance
from clan_learnings.records.record import CORRECTIONS, HARVESTED, Note
from mesh.app.record_json import iso, pattern
from mesh.app.status import erase_requests
from mesh.core.errors import UnknownId
from mesh.core.ids import display_name, text_id
from mesh.core.operation import Add, parse
from mesh.store.home import Home, open_home
from mesh.store.reader import Reader
from mesh.store.store import Store


def locate(home: Home, text: str, bound: str | None = None) -> tuple[Store, bytes]:
    """The store that has a record, the shared one first, and the record's tag."""
    store = home.store()
    try:
        return store, _resolved(store, text, bound)
    except UnknownId:
        if not home.has_private:
            raise
    private = home.store(private=True)
    return private, _resolved(private, text, bound)


def _resolved(store: Store, text: str, bound: str | None) -> bytes:
    reader = Reader(store.database.connection)
    if bound is None:
        return reader.resolve(text)
    memory = Memory(reader, bound=bound)
    return reader.resolve(text, lambda tag: _is_told(store, memory, tag))


def _is_told(store: Store, memory: Memory, tag: bytes) -> bool:
    """Whether a record, live or removed, is one that a bound memory tells of. What is erased, or is no record, says nothing of where it was."""
    if memory.reader.entry(tag) is not None:
        return memory.note(tag) is not None
    written = [parse(row.kind, row.hlc, row.body) for _, row in store.feeds.by_tag(tag) if row.body is not None]
    added = next((each for each in written if isinstance(each, Add)), None)
    if added is None or not isinstance(added.record, dict):
        return False
    repo = memory.reader.fields(tag).get("repo", added.record.get("repo"))
    return memory.sees(added.log, repo if type(repo) is str else "")


def history(home: str, text: str, bound: str | None = None) -> dict[str, Any]:
    """Everything known here about an id. `bound`: as of `Memory`."""
    opened = open_home(home)
    store, tag = locate(opened, text, bound)
    try:
        with store.database.savepoint():  # one state: it may be erased meanwhile
            if bound is not None:
                tag = _resolved(store, text, bound)  # or become another repository's
            return _history(store, tag, bound) | {"erase_requests": erase_requests(opened, store, tag)}
    finally:
        store.close()


def _history(store: Store, tag: bytes, bound: str | None) -> dict[str, Any]:
    story = provenance(store, tag)
    memory = Memory(Reader(store.database.connection), bound=bound)
    note = memory.note(tag)
    has_pattern = note is not None and memory.patterns.standing(note.pattern) is not None
    standing = memory.find(note.pattern) if note is not None and has_pattern else None
    return {
        "id": text_id(tag),
        "kind": story.kind,
        "author": text_id(story.node),
        "name": _name(store, story.node),
        "written": _exact(_written_ms(story)),
        "feed": story.feed,
        "seq": story.seq,
        "hash": story.hash.hex(),
        "signed_at": story.point,
        "signature_holds": story.signature_holds,
        "state": story.state,
        "copies": story.copies,
        # As it was written; who is bound to a repository is told what it says now, for it may have named another.
        "record": story.record if note is None or bound is None else note.record,
        "replaces": None if story.replaces is None else text_id(story.replaces),
        "replaced_by": None if story.replaced_by is None else text_id(story.replaced_by),
        "tier": None if note is None else memory.tier_of(note),
        "told_as": None if note is None or (told := memory.text_of(note)) == note.text else told,
        "session": None if note is None else note.word("session") or None,
        "counts_for": None
        if standing is None or note is None
        else pattern(memory, standing) | {"sureness": _sureness(note), "is_correction": note.log == CORRECTIONS},
        "events": [
            {
                "what": event.what,
                "by": text_id(event.node),
                "name": _name(store, event.node),
                "at": _exact(event.at_ms),
                "detail": event.detail,
            }
            for event in story.events
        ],
    }


def _written_ms(story: Provenance) -> int:
    """What was harvested is stamped with its session's time, and says itself when it was written."""
    said = story.record.get(HARVESTED) if isinstance(story.record, dict) else None
    return said if type(said) is int and 0 < said < 1 << 47 else story.written_ms or 0


def _sureness(note: Note) -> float | None:
    """How sure the writer was of the pattern; None if nothing sensible was written."""
    value = note.record.get("sureness")
    return float(value) if isinstance(value, int | float) and type(value) is not bool and 0 <= value <= 1 else None


def _exact(milliseconds: int) -> str:
    return f"{iso(milliseconds)[:-1]}.{milliseconds % 1000:03d}Z"


def _name(store: Store, node: bytes) -> str:
    trust = store.trust()
    if node in trust.roots:
        return "the root key"
    member = trust.members.get(node)
    return display_name(member.name if member else "", node)
