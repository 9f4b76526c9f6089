"""Which learning documents were made beside a record: whoever takes the record back has to know that they say the same. Reads only."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from clan_learnings.documents.drafts import MOST
from clan_learnings.documents.learning import learning_of
from clan_learnings.records.record import BESIDE, HARVESTED, LEARNINGS
from mesh.core.ids import text_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clan_learnings.records.memory import Memory
    from clan_learnings.records.record import Note

_PAGE = 500
_TELLING = 12  # characters: what is shorter stands in many documents


def documents_beside(memory: Memory, tag: bytes, record: Mapping[str, Any] | None) -> list[Note]:
    """Harvested documents that name the record, or are of its session and quote it. `record`: what it says, if that is known."""
    name, said = text_id(tag), record or {}
    session = said.get("session")
    words = [
        plain
        for field in ("text", "wrong", "right")
        if isinstance(text := said.get(field), str) and len(plain := _without_case(text)) >= _TELLING
    ]
    return [
        note
        for note in islice(memory.newest(LEARNINGS, None, _PAGE), MOST)
        if note.tag != tag
        and HARVESTED in note.record
        and (note.record.get(BESIDE) == name or (session and note.session == session and _quotes(note, words)))
    ]


def _quotes(note: Note, words: list[str]) -> bool:
    document = learning_of(note)
    whole = _without_case(" ".join((document.title, *document.sections().values())))
    return any(text in whole for text in words)


def _without_case(text: str) -> str:
    return " ".join(text.casefold().split())
