"""What is told of a receipt: of a write that was just made, and of one that was made before, for the same request. Writes nothing."""

from __future__ import annotations

from clan_learnings.records.notebook import Found
from mesh.core.ids import text_id
from mesh.core.operation import Add, parse
from mesh.sidecar import answers
from mesh.store.reading import Reader

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

    from clan_learnings.records.memory import Memory
    from mesh.store.author import Author
    from mesh.store.receipts import Receipt


def recorded(author: Author, receipt: Receipt) -> dict[str, Any]:
    """That it is there, and where."""
    return {
        "state": "recorded",
        "id": Reader(author.store.database.connection).short_id(receipt.tags[0]),
        "counts": receipt.counts,
        "node": text_id(receipt.feed.node),
        "new_epoch": receipt.new_epoch or None,
    }


def counted_before(author: Author, memory: Memory, tag: bytes) -> dict[str, Any]:
    """What a correction that was there already is counted under now. If it counts no more, or not yet: what it was written with."""
    note = memory.note(tag)
    record = note.record if note is not None else _written(author, tag)
    slug, sureness = str(record.get("pattern", "")), record.get("sureness")
    sure = sureness if isinstance(sureness, float) else 1.0
    found = Found(slug, sure, "counted when this was first asked for", founded=False)
    return answers.counted(memory, found, answers.count(memory, slug))


def _written(author: Author, tag: bytes) -> dict[str, Any]:
    """A record as it was written, though it is not live; empty if it was erased."""
    for _, row in author.store.feeds.by_tag(tag):
        parsed = None if row.body is None else parse(row.kind, row.hlc, row.body)
        if isinstance(parsed, Add):
            return parsed.record
    return {}
