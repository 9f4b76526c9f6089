"""Learning documents at a desk: written, changed, listed, counted, exchanged with a folder. What a document is, and what passes, is not decided here."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from clan_learnings.accesses import accesses, month_of
from clan_learnings.documents import folder as folders
from clan_learnings.documents.drafts import draft_learning, draft_revision, learnings
from clan_learnings.documents.incoming import CHANGED, NEW, SKIPPED, UNCHANGED, told_by
from clan_learnings.documents.learning import learning_of
from clan_learnings.documents.markdown import with_id
from clan_learnings.notebook import draft_retraction
from mesh.core.errors import MeshError, UnknownId, UsageError
from mesh.core.ids import parse_id, text_id
from mesh.sidecar.answers import iso
from mesh.sidecar.snapshot import memory_of, private_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from clan_learnings.documents.incoming import Told
    from clan_learnings.documents.learning import Learning
    from clan_learnings.memory import Memory
    from clan_learnings.records import Note
    from mesh.sidecar.desk import Desk

_DAY_MS = 86_400_000
_MONTHS = 240  # of openings that are summed, at most
QUALITIES = ((0.9, "0.9 and more"), (0.7, "0.7 to 0.9"), (0.5, "0.5 to 0.7"), (0.0, "below 0.5"))
AGES = ((7, "a week"), (30, "a month"), (365, "a year"))
_GONE = "its file was removed from the folder"


def add(desk: Desk, learning: Learning, *, private: bool = False, is_new: bool = False, **said: Any) -> dict[str, Any]:
    """Record a document that passes the gate. State `known`: one with the same sections is there already."""
    at_ms = learning.at_ms or 0
    return desk.write(
        lambda memory, about, pen: draft_learning(memory, learning, about, pen, at_ms=at_ms, is_new=is_new),
        private=private,
        **said,
    )


def change(desk: Desk, text: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Give fields of a document other values; the answer is the whole record."""

    def make(memory: Memory, note: Note, pen: Any) -> Any:
        drafts, after = draft_revision(memory, note, changes, pen)
        return drafts, {"fields": sorted({draft.field for draft in drafts}), "quality": after.quality}  # type: ignore[union-attr]

    return desk.change(text, make)


def listed(
    memory: Memory,
    repo: str | None,
    *,
    category: str = "",
    tag: str = "",
    severity: str = "",
    min_quality: float = 0.0,
    since_ms: int | None = None,
) -> Iterator[tuple[Note, Learning]]:
    """The documents of a scope that fit, newest first."""
    for note in learnings(memory, repo):
        if since_ms is not None and note.at_ms < since_ms:
            return
        learning = learning_of(note)
        if (
            (not category or learning.category == category)
            and (not tag or tag in learning.tags)
            and (not severity or learning.severity == severity)
            and (learning.quality or 0.0) >= min_quality
        ):
            yield note, learning


def row(memory: Memory, note: Note, learning: Learning) -> dict[str, Any]:
    """A document, as lists have it."""
    return {
        "id": memory.reader.short_id(note.tag),
        "title": learning.title,
        "category": learning.category,
        "severity": learning.severity,
        "tags": list(learning.tags),
        "quality": learning.quality,
        "confidence": learning.confidence,
        "opened": opened(memory, note),
        "repo": learning.repo,
        "session": learning.session,
        "at": iso(note.at_ms),
        "tier": memory.tier_of(note),
        "chars": learning.chars,
    }


def opened(memory: Memory, note: Note) -> int:
    """How often a document was opened on purpose, on any node, since it was written."""
    year, month = map(int, month_of(note.at_ms).split("-"))
    last = month_of(max(memory.now_ms, note.at_ms))
    months: list[str] = []
    while len(months) < _MONTHS and (not months or months[-1] < last):
        months.append(f"{year:04d}-{month:02d}")
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return accesses(memory.reader, note.tag, months)


def stats(memory: Memory, repo: str | None) -> dict[str, Any]:
    """How many there are, by category, by quality and by age, and which are opened most."""
    rows = [(note, learning, opened(memory, note)) for note, learning in listed(memory, repo)]
    by_category: dict[str, list[tuple[Note, Learning, int]]] = {}
    for one in rows:
        by_category.setdefault(one[1].category or "none", []).append(one)
    qualities = dict.fromkeys((name for _, name in QUALITIES), 0)
    ages = dict.fromkeys([*(f"up to {name}" for _, name in AGES), "older"], 0)
    for note, learning, _ in rows:
        qualities[next(name for least, name in QUALITIES if (learning.quality or 0.0) >= least)] += 1
        days = max(0, memory.now_ms - note.at_ms) // _DAY_MS
        ages[next((f"up to {name}" for most, name in AGES if days <= most), "older")] += 1
    most = sorted((one for one in rows if one[2]), key=lambda one: (-one[2], one[0].tag))[:5]
    return {
        "repo": repo,
        "learnings": len(rows),
        "opened": sum(count for *_, count in rows),
        "quality": _mean([learning.quality or 0.0 for _, learning, _ in rows]),
        "by_category": [
            {
                "category": name,
                "learnings": len(group),
                "quality": _mean([learning.quality or 0.0 for _, learning, _ in group]),
                "opened": sum(count for *_, count in group),
                "newest": iso(max(note.at_ms for note, *_ in group))[:10],
            }
            for name, group in sorted(by_category.items(), key=lambda item: (-len(item[1]), item[0]))
        ],
        "by_quality": qualities,
        "by_age": ages,
        "most_opened": [row(memory, note, learning) for note, learning, _ in most],
    }


def export_to(desk: Desk, folder: str, repo: str | None, *, prune: bool = False, **filters: Any) -> dict[str, Any]:
    """Write the documents of a scope into a folder."""

    def ask(memory: Memory) -> dict[str, Any]:
        found = sorted(listed(memory, repo, **filters), key=lambda one: (one[0].stamp, one[0].tag))
        documents = [(note.tag, learning) for note, learning in found]
        done = folders.export(folder, documents, lambda record: _find(memory, record) is not None, prune=prune)
        return {
            "folder": folder,
            "learnings": len(documents),
            "written": done.written,
            "unchanged": len(done.unchanged),
            "removed": done.removed,
            "stale": done.stale,
            "kept": [{"file": name, "why": why} for name, why in done.kept],
        }

    return desk.ask(ask)


def import_from(
    desk: Desk,
    folder: str,
    *,
    dry_run: bool = False,
    link: bool = True,
    retract_missing: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Take in what a folder has to tell. Each file stands for itself: what is wrong with one does not keep the others out."""
    read = list(folders.files(folder))
    known: dict[tuple[str, ...], str] = {}

    def look(memory: Memory, private: Memory | None) -> dict[str, Any]:
        memories = [one for one in (memory, private) if one is not None]
        for note in (note for one in memories for note in learnings(one, None)):
            known.setdefault(_content(learning_of(note)), text_id(note.tag))

        def find(record: str) -> Note | None:
            return next((note for one in memories if (note := _find(one, record)) is not None), None)

        def was_there(record: str) -> bool:
            return any(_was_there(one, record) for one in memories)

        found = [told_by(one, find, was_there, _categories(desk, memory)) for one in read]
        gone = [record for record in folders.missing(folder, read) if find(record) is not None]
        return {"told": found, "gone": gone}

    with private_of(desk.home) as private:
        looked = desk.ask(lambda memory: look(memory, private))
    rows = []
    for told in looked["told"]:
        try:
            rows.append(_taken(desk, folder, told, known, dry_run=dry_run, link=link))
        except MeshError as error:
            rows.append(_row(told, SKIPPED, why=f"{error}; {error.next_step}".removesuffix("; ")))
        progress(1)
    retracted = []
    if retract_missing and not dry_run:
        for record in looked["gone"]:
            _retract(desk, record)
            retracted.append(record)
        folders.forget(folder, retracted)
    counts = {state: sum(one["state"] == state for one in rows) for state in (NEW, CHANGED, UNCHANGED, SKIPPED)}
    missing = [record for record in looked["gone"] if record not in retracted]
    # Of new ones only: what is there already is changed where it is.
    kept = {"kept_here": why} if counts[NEW] and (why := desk.place.why_unshared) else {}
    told = {"folder": folder, "files": rows, "missing": missing, "retracted": retracted, "dry_run": dry_run}
    return counts | told | kept


def _taken(
    desk: Desk, folder: str, told: Told, known: dict[tuple[str, ...], str], *, dry_run: bool, link: bool
) -> dict[str, Any]:
    match told.state:
        case "new":
            assert told.learning is not None
            same = known.get(_content(told.learning))
            if dry_run or same:
                if same and link and not dry_run:
                    _link(folder, told, same)
                return _row(told, UNCHANGED if same else NEW, record=same or "")
            place: dict[str, Any] = (
                {"is_global": not told.learning.repo, "repo": told.learning.repo} if told.has_repo else {}
            )
            answer = add(desk, told.learning, is_new=True, **place)
            with memory_of(desk.home, private="kept_here" in answer) as memory:
                whole = text_id(memory.reader.resolve(answer["id"]))
            known[_content(told.learning)] = whole
            if link:
                _link(folder, told, whole)
            return _row(told, NEW, record=whole, remarks=[*answer["remarks"], *_taken_out(answer)])
        case "changed":
            assert told.changes is not None
            if dry_run:
                return _row(told, CHANGED, record=told.record, fields=sorted(told.changes))
            changes = dict(told.changes)
            if changes.get("repo"):
                changes["repo"] = desk.place.scope(changes["repo"])
            answer = change(desk, told.record, changes)
            if link:
                _link(folder, told, told.record)
            state = CHANGED if answer["fields"] else UNCHANGED
            return _row(told, state, record=told.record, fields=answer["fields"], remarks=_taken_out(answer))
        case _:
            return _row(told, told.state, record=told.record, why=told.why)


def _row(
    told: Told, state: str, *, record: str = "", why: str = "", fields: Iterable[str] = (), remarks: Iterable[str] = ()
) -> dict[str, Any]:
    read = told.file.parsed
    return {
        "file": told.file.name,
        "state": state,
        "id": record,
        "fields": list(fields),
        "why": why,
        "also_changed": told.also,
        "remarks": [*(read.problems if read is not None else ()), *remarks],
    }


def _taken_out(answer: dict[str, Any]) -> list[str]:
    return [f"taken out before it was written: {answer['redacted']}"] if answer["redacted"] else []


def _link(folder: str, told: Told, record: str) -> None:
    """The file knows its record from now on, and that it is in step with it: the same is not taken in twice.

    If it cannot be written, it is known by what it says.
    """
    read = told.file.parsed
    if read is not None:
        text = with_id(told.file.text, record, read.learning)
        with suppress(OSError):
            if text != told.file.text:
                folders.rewrite(folder, told.file, text)


def _retract(desk: Desk, record: str) -> None:
    desk.change(record, lambda _memory, note, pen: (draft_retraction(note, _GONE, pen), {}))


def _find(memory: Memory, record: str) -> Note | None:
    try:
        return memory.note(parse_id(record))
    except UsageError:
        return None


def _was_there(memory: Memory, record: str) -> bool:
    try:
        memory.reader.resolve(record)
    except UnknownId:
        return False
    return True


def _categories(desk: Desk, memory: Memory) -> tuple[str, ...]:
    return (*memory.settings.categories, *desk.place.categories)


def _content(learning: Learning) -> tuple[str, ...]:
    """By what two documents are one: their texts."""
    return tuple(f"{name}:{text}" for name, text in sorted(learning.sections().items()))


def _mean(figures: list[float]) -> float | None:
    return round(sum(figures) / len(figures), 2) if figures else None
