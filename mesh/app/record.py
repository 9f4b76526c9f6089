"""Records: recording a discovery or a correction, moving it to another pattern, editing and retracting it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clan_learnings.documents.drafts import documents_beside
from clan_learnings.records.memory import Memory
from clan_learnings.records.notebook import (
    draft_correction,
    draft_discovery,
    draft_edit,
    draft_move,
    draft_retraction,
    named_pattern,
)
from clan_learnings.records.record import HARVESTED, About, Note
from clan_learnings.redaction.text_cleaner import TextCleaner
from mesh.app import record_json
from mesh.app.record_store import RecordStore
from mesh.app.store_writer import StoreWriter, append, pending
from mesh.core.draft import Request
from mesh.store.receipts import Receipt

if TYPE_CHECKING:
    from mesh.app.application import Application


def discover(
    application: Application, text: str, *, private: bool = False, anyway: bool = False, **said: Any
) -> dict[str, Any]:
    """Record a discovery, unless a record covers it. `anyway`: also then."""

    def write(store: RecordStore, about: About, pen: TextCleaner, request: Request) -> dict[str, Any]:
        with writer.memory(store) as memory:
            drafts, hit = draft_discovery(memory, text, about, pen)
            if hit is not None and not anyway:
                earlier = store.earlier(request)  # another process may have been quicker, and be what covers it
                if earlier is not None:
                    return answer(store, earlier)
                known = record_json.shown(memory, hit.note)
                return {"state": "known", "id": known["id"], "covered_by": known, "sureness": round(hit.score, 2)}
        return answer(store, store.append(drafts, request))

    def answer(store: RecordStore, receipt: Receipt) -> dict[str, Any]:
        with writer.memory(store) as memory:
            return record_json.recorded(memory, receipt) | {"covered_by": None, "repeated": receipt.repeated}

    writer = StoreWriter(application)
    kept = writer.kept_here(private=private)
    told = {"text": text, "anyway": anyway} | said
    return writer.write_once("discover", write, answer, told, private=private or bool(kept)) | kept


def correct(
    application: Application,
    wrong: str,
    right: str,
    *,
    pattern: str = "",
    source: str = "agent",
    private: bool = False,
    **said: Any,
) -> dict[str, Any]:
    """Record a correction. The answer names the pattern it was counted under, and what it makes of that."""

    def write(store: RecordStore, about: About, pen: TextCleaner, request: Request) -> dict[str, Any]:
        with writer.memory(store) as memory:
            drafts, found = draft_correction(memory, wrong, right, about, pen, pattern=pattern, source=source)
            before = record_json.count(memory, found.slug)
        receipt = store.append(drafts, request)
        if receipt.repeated:
            return repeated(store, receipt)
        return counted(store, receipt, lambda memory: record_json.counted(memory, found, before))

    def repeated(store: RecordStore, receipt: Receipt) -> dict[str, Any]:
        return counted(store, receipt, lambda memory: record_json.counted_before(memory, receipt.tags[0]))

    def counted(store: RecordStore, receipt: Receipt, count: Callable[[Memory], dict[str, Any]]) -> dict[str, Any]:
        with writer.memory(store) as memory:
            answer = record_json.recorded(memory, receipt) | count(memory) | {"repeated": receipt.repeated}
        return answer | record_json.PRIVATE if private or kept else answer

    writer = StoreWriter(application)
    kept = writer.kept_here(private=private)
    told = {"wrong": wrong, "right": right, "pattern": pattern, "source": source} | said
    return writer.write_once("correct", write, repeated, told, private=private or bool(kept)) | kept


def move(application: Application, text: str, slug: str) -> dict[str, Any]:
    """Count a correction under another pattern."""
    writer = StoreWriter(application)

    def write(store: RecordStore, _pen: TextCleaner) -> dict[str, Any]:
        with writer.record(store, text) as (memory, note):
            before, found = record_json.count(memory, slug), named_pattern(memory, slug, "moved by hand")
        answer = append(store, draft_move(note, slug))
        with writer.memory(store) as memory:
            counted = record_json.counted(memory, found, before)
            return answer | {"id": memory.reader.short_id(note.tag), "from": note.pattern} | counted

    return writer.write_about(write)


def edit(application: Application, text: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Change fields of a record."""
    writer = StoreWriter(application)

    def write(store: RecordStore, pen: TextCleaner) -> dict[str, Any]:
        with writer.record(store, text) as (memory, note):
            drafts = draft_edit(memory, note, changes, pen)
        waiting = pending(append(store, drafts))
        with writer.memory(store) as memory:
            return record_json.whole(memory, memory.note(note.tag) or note) | waiting

    return writer.write_about(write)


def retract(application: Application, text: str, reason: str) -> dict[str, Any]:
    """Retract a record."""
    writer = StoreWriter(application)

    def write(store: RecordStore, pen: TextCleaner) -> dict[str, Any]:
        with writer.record(store, text) as (memory, note):
            shown, before = record_json.shown(memory, note), record_json.count(memory, note.pattern)
            documents = _documents_beside(memory, note)
        waiting = pending(append(store, draft_retraction(note, reason, pen)))
        with writer.memory(store) as memory:
            sessions, hot = record_json.count(memory, note.pattern)
        counts = {"sessions": sessions, "was_hot": before[1], "is_hot": hot, "documents": documents}
        return shown | counts | waiting

    return writer.write_about(write)


def _documents_beside(memory: Memory, note: Note) -> list[str]:
    """The ids of learning documents that were harvested beside a record, and say the same."""
    if HARVESTED not in note.record:
        return []

    return [memory.reader.short_id(found.tag) for found in documents_beside(memory, note.tag, note.record)]
