"""Drafts of learning documents: a new one that passes the quality gate, and edits of an existing one. Writes nothing itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from clan_learnings.documents.learning import Learning, learning_of, require_room
from clan_learnings.documents.learning_markdown import CHANGEABLE
from clan_learnings.documents.quality_gate import Assessment, judge
from clan_learnings.records.memory import Memory
from clan_learnings.records.notebook import completed, source_of
from clan_learnings.records.record import BESIDE, HARVESTED, LEARNINGS, SECTIONS, SOURCES, About, Note, checked, one_of
from clan_learnings.records.shared_settings import is_category
from clan_learnings.redaction.text_cleaner import TextCleaner
from mesh.core.draft import Assignment, Draft, NewRecord
from mesh.core.errors import UsageError
from mesh.core.ids import text_id

MOST = 20_000  # documents that are gone through for one that says the same
_PAGE = 500
_FACTS = ("category", "severity", "confidence", "topic", "tags", "evidence", "minutes_lost")


def draft_learning(
    memory: Memory, learning: Learning, about: About, pen: TextCleaner, *, at_ms: int = 0, is_new: bool = False
) -> tuple[list[Draft], dict[str, Any]]:
    """A new document, and what to answer: its quality and what the gate said. No draft if a document says the same already.

    `about`: who speaks, where; what the document says itself comes first. `at_ms`: when it was learned, if that was before now.
    `is_new`: the caller has looked whether there is the same already. Raises UsageError where the gate refuses.
    """
    clean = cleaned(learning, pen)
    for name in (*_FACTS, "session", "agent"):
        value = getattr(clean, name)
        if value not in (None, "", ()) and (name != "category" or value in categories(memory, pen)):
            setattr(about, name, value)
    source = clean.source or source_of(about)
    one_of(source, SOURCES, "source")
    text = f"{clean.title} {clean.problem} {clean.root_cause} {clean.solution}"
    about = completed(memory, about, text, source, pen)
    whole = replace(clean, session=about.session, confidence=about.confidence, repo=about.repo, evidence=about.evidence)
    verdict = require_passing(judge(whole, categories(memory, pen)))
    require_room(whole)
    same = None if is_new else same_learning(memory, whole)
    if same is not None:
        return [], {"id": memory.reader.short_id(same.tag), "quality": learning_of(same).quality, "remarks": []}
    quality = verdict.quality if clean.quality is None else clean.quality
    record = replace(whole, quality=quality).document() | {"source": source} | about.fields()
    answer = {"title": whole.title, "category": about.category, "quality": quality, "remarks": list(verdict.remarks)}
    return [NewRecord(LEARNINGS, record, at_ms)], answer


def draft_revision(
    memory: Memory, note: Note, changes: Mapping[str, Any], pen: TextCleaner
) -> tuple[list[Draft], Learning]:
    """Drafts that change fields of a document, and its quality with them. None if nothing changes."""
    if note.log != LEARNINGS:
        raise UsageError("this is no learning", "see what it is: mesh show ID; to change it: mesh edit ID")
    for name in changes:
        if name not in CHANGEABLE:
            raise UsageError(f"{name} cannot be edited", f"what can be: {', '.join(CHANGEABLE)}")
    before = learning_of(note)
    after = cleaned(replace(before, **changes), pen)
    altered = {name for name in changes if getattr(after, name) != getattr(before, name)}
    if not altered:
        return [], before
    said = {name: getattr(after, name) for name in _FACTS if name in altered}
    checked(About(**said), categories(memory, pen))
    verdict = require_passing(judge(require_room(after), (*categories(memory, pen), after.category)))
    if "quality" not in altered and altered.intersection(("related", "confidence", *SECTIONS)):
        after = replace(after, quality=verdict.quality)
        altered |= {"quality"} if verdict.quality != before.quality else set()
    drafts: list[Draft] = [Assignment(note.tag, name, _plain(getattr(after, name))) for name in sorted(altered)]
    return drafts, after


def learnings(memory: Memory, repo: str | None) -> Iterator[Note]:
    """The documents of a scope, newest first, but for those that are muted here. None: of all repositories."""
    return (note for note in memory.newest(LEARNINGS, repo, _PAGE) if not memory.is_muted(note))


def same_learning(memory: Memory, learning: Learning) -> Note | None:
    """A live document of the same repository with the same sections, if there is one."""
    wanted = learning.sections()
    for number, note in enumerate(memory.newest(LEARNINGS, learning.repo, _PAGE)):
        if number >= MOST:
            break
        if note.repo == learning.repo and learning_of(note).sections() == wanted:
            return note
    return None


def require_passing(verdict: Assessment) -> Assessment:
    """The same, if the gate lets it through."""
    if not verdict.passes:
        raise UsageError(
            f"this is no learning yet: {'; '.join(verdict.refusals)}",
            'say more (--problem "..." --solution "..."), or record one sentence: mesh discover "..."',
        )
    return verdict


def cleaned(learning: Learning, pen: TextCleaner) -> Learning:
    """The same without secrets, its texts as they are kept."""
    tidy = learning.tidy()  # first: what does not show may stand in the middle of a secret
    texts: dict[str, Any] = {name: pen.clean(getattr(tidy, name)) for name in ("title", *SECTIONS, "evidence", "topic")}
    return replace(
        tidy,
        related=tuple(pen.clean_all(tidy.related)),
        tags=tuple(pen.clean_all(tidy.tags)),
        **texts,
    ).tidy()


def categories(memory: Memory, pen: TextCleaner) -> tuple[str, ...]:
    """The categories of the mesh, and those that the repository adds."""
    known = memory.settings.categories
    return known + tuple(name for name in pen.categories() if is_category(name) and name not in known)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


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
