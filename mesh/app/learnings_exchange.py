"""Learning documents and a folder of files: export, import, and what became of each file. `clan_learnings.documents` reads the files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from clan_learnings.documents import folder as folders
from clan_learnings.documents.drafts import learnings
from clan_learnings.documents.folder import CHANGED, NEW, SKIPPED, UNCHANGED, FileEdit, told_by
from clan_learnings.documents.learning import Learning, learning_of
from clan_learnings.documents.learning_markdown import with_id
from clan_learnings.records.memory import Memory
from clan_learnings.records.notebook import draft_retraction
from clan_learnings.records.record import Note
from mesh.app.application import Application
from mesh.app.learnings import add, change, listed
from mesh.app.snapshot import memory_of, private_of
from mesh.core.errors import MeshError, UnknownId, UsageError, WriteRefused
from mesh.core.ids import parse_id, text_id

_GONE = "its file was removed from the folder"


def export_to(
    application: Application, folder: str, repo: str | None, *, prune: bool = False, **filters: Any
) -> dict[str, Any]:
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

    return application.ask(ask)


def import_from(
    application: Application,
    folder: str,
    *,
    dry_run: bool = False,
    link: bool = True,
    retract_missing: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Take in what a folder has to tell. Each file stands for itself: what is wrong with one does not keep the others out.

    Where this node may write no more, the rest stays as it is (`stopped`): the same import, later, goes on with it.
    """
    looked = _look(application, folder)
    rows: list[dict[str, Any]] = []
    retracted: list[str] = []
    stopped = None
    try:
        for told in looked.told:
            try:
                rows.append(_taken(application, folder, told, looked.known, dry_run=dry_run, link=link))
            except WriteRefused:
                raise
            except MeshError as error:
                rows.append(_row(told, SKIPPED, why=f"{error}; {error.next_step}".removesuffix("; ")))
            progress(1)
        for record in looked.gone if retract_missing and not dry_run else ():
            _retract(application, record)
            retracted.append(record)
    except WriteRefused as error:
        stopped = error.facts() | {"files": len(looked.told) - len(rows)}
    if retracted:
        folders.forget(folder, retracted)
    counts = {state: sum(one["state"] == state for one in rows) for state in (NEW, CHANGED, UNCHANGED, SKIPPED)}
    missing = [record for record in looked.gone if record not in retracted]
    # Of new ones only: what is there already is changed where it is.
    kept = {"kept_here": why} if counts[NEW] and (why := application.caller.why_unshared) else {}
    answer = {"folder": folder, "files": rows, "missing": missing, "retracted": retracted, "dry_run": dry_run}
    answer["stopped"] = stopped
    return counts | answer | kept


class _Looked(NamedTuple):
    """What a folder has to tell, before anything is done about it."""

    told: list[FileEdit]
    gone: list[str]  # records that are live, and whose files are gone
    known: dict[tuple[str, ...], str]  # the record of each text that there is


def _look(application: Application, folder: str) -> _Looked:
    """Beside all records, shared and private: what was taken in as private once is not taken in again."""
    with memory_of(application.home) as memory, private_of(application.home) as private:
        memories = [one for one in (memory, private) if one is not None]
        known: dict[tuple[str, ...], str] = {}
        for note in (note for one in memories for note in learnings(one, None)):
            known.setdefault(_content(learning_of(note)), text_id(note.tag))

        def find(record: str) -> Note | None:
            return next((note for one in memories if (note := _find(one, record)) is not None), None)

        def was_there(record: str) -> bool:
            return any(_was_there(one, record) for one in memories)

        read = list(folders.files(folder))
        categories = (*memory.settings.categories, *application.caller.categories)
        told = [told_by(one, find, was_there, categories) for one in read]
        return _Looked(told, [record for record in folders.missing(folder, read) if find(record) is not None], known)


def _taken(
    application: Application,
    folder: str,
    told: FileEdit,
    known: dict[tuple[str, ...], str],
    *,
    dry_run: bool,
    link: bool,
) -> dict[str, Any]:
    match told.state:
        case "new":
            return _added(application, folder, told, known, dry_run=dry_run, link=link)
        case "changed":
            return _changed(application, folder, told, dry_run=dry_run, link=link)
        case _:
            return _row(told, told.state, record=told.record, why=told.why)


def _added(
    application: Application,
    folder: str,
    told: FileEdit,
    known: dict[tuple[str, ...], str],
    *,
    dry_run: bool,
    link: bool,
) -> dict[str, Any]:
    assert told.learning is not None
    same = known.get(_content(told.learning))
    if dry_run or same:
        if same and link and not dry_run:
            _link(folder, told, same)
        return _row(told, UNCHANGED if same else NEW, record=same or "")
    place: dict[str, Any] = {"is_global": not told.learning.repo, "repo": told.learning.repo} if told.has_repo else {}
    answer = add(application, told.learning, is_new=True, **place)
    with memory_of(application.home, private="kept_here" in answer) as memory:
        whole = text_id(memory.reader.resolve(answer["id"]))
    known[_content(told.learning)] = whole
    if link:
        _link(folder, told, whole)
    return _row(told, NEW, record=whole, remarks=[*answer["remarks"], *_taken_out(answer)])


def _changed(application: Application, folder: str, told: FileEdit, *, dry_run: bool, link: bool) -> dict[str, Any]:
    assert told.changes is not None
    if dry_run:
        return _row(told, CHANGED, record=told.record, fields=sorted(told.changes))
    changes = dict(told.changes)
    if changes.get("repo"):
        changes["repo"] = application.caller.scope(changes["repo"])
    answer = change(application, told.record, changes)
    if link:
        _link(folder, told, told.record)
    state = CHANGED if answer["fields"] else UNCHANGED
    return _row(told, state, record=told.record, fields=answer["fields"], remarks=_taken_out(answer))


def _row(
    told: FileEdit,
    state: str,
    *,
    record: str = "",
    why: str = "",
    fields: Iterable[str] = (),
    remarks: Iterable[str] = (),
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


def _link(folder: str, told: FileEdit, record: str) -> None:
    """The file knows its record from now on, and that it is in step with it: the same is not taken in twice.

    If it cannot be written, it is known by what it says.
    """
    read = told.file.parsed
    if read is not None:
        text = with_id(told.file.text, record, read.learning)
        with suppress(OSError):
            if text != told.file.text:
                folders.rewrite(folder, told.file, text)


def _retract(application: Application, record: str) -> None:
    application.change(record, lambda _memory, note, pen: (draft_retraction(note, _GONE, pen), {}))


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


def _content(learning: Learning) -> tuple[str, ...]:
    """By what two documents are one: their texts."""
    return tuple(f"{name}:{text}" for name, text in sorted(learning.sections().items()))
