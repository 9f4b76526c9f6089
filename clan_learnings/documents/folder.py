"""Learning documents as a folder of Markdown files: `<category>/<slug>.md`. Trusts no file, and writes only our own.

We may replace a file if it has our mark and nobody has changed it since, or if the changes are in the record by now. Nothing outside the
folder is read or written, and no link is followed. What is recorded of it is decided in `mesh.app.learnings_exchange`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clan_learnings.documents.learning import BYTES, Learning, learning_of, slug_of
from clan_learnings.documents.learning_markdown import Parsed, digits, parsed, rendered
from clan_learnings.records.record import LEARNINGS, Note
from clan_learnings.records.shared_settings import is_category
from clan_learnings.render import owned_files
from mesh.core.errors import UsageError
from mesh.core.ids import text_id

FILE_BYTES = 4 * BYTES  # we write no longer ones
FILES = 20_000
LISTING = ".clan-mesh-learnings"  # which records were written here: a file that is gone is known by it
_OTHER = "other"
_ID_CHARS = 8  # of a record's id behind a name that another file has
_ENDING = ".md"


@dataclass(frozen=True, slots=True)
class File:
    """A Markdown file of the folder. `why`: what is wrong with it, if it is no learning."""

    name: str  # within the folder, with slashes
    text: str
    parsed: Parsed | None
    why: str = ""


@dataclass(slots=True)
class Exported:
    """What became of the files. Names within the folder."""

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)  # the document has another name now, or is no more
    kept: list[tuple[str, str]] = field(default_factory=list)  # left alone, and why
    stale: list[str] = field(default_factory=list)  # of documents that are not live any more


def export(
    folder: str, documents: Sequence[tuple[bytes, Learning]], is_live: Callable[[str], bool], *, prune: bool = False
) -> Exported:
    """Write documents, the oldest first, into a folder. `is_live`: whether the record of a whole id still counts."""
    owned_files.make_folder(folder)
    done = Exported()
    found = {file.name: file for file in files(folder)}
    places = {read.id: file for file in found.values() if (read := file.parsed) is not None and read.id}
    going = {text_id(tag) for tag, _ in documents}
    taken: set[str] = set()
    left: list[str] = []
    for tag, learning in documents:
        record = text_id(tag)
        name = _free_name(learning, record, taken)
        taken.add(name)
        before, there = places.get(record), found.get(name)
        if before is not None and (why := _why_kept(before, learning, folder)):
            done.kept.append((before.name, why))
        elif there is not None and (why := _why_in_the_way(there, record, learning, going, is_live)):
            done.kept.append((name, why))
        else:
            _put(folder, name, rendered(learning, record).encode(), done)
            left += [before.name] if before is not None and before.name != name else []
    for name in left:  # now: another document may have its name by now
        _remove(folder, name, done)
    _clear(
        folder,
        [file for record, file in places.items() if record not in going and not is_live(record)],
        done,
        prune=prune,
    )
    _list(folder, going | {record for record in _listing(folder) if is_live(record)})
    return done


def is_unsaved(file: Parsed, learning: Learning) -> bool:
    """Whether a file says something that a person has changed and the record does not say yet."""
    return any(getattr(file.learning, name) != getattr(learning, name) for name in file.changed())


def files(folder: str) -> Iterator[File]:
    """Every Markdown file in a folder and below it, by name. What cannot be one is told apart, not left out."""
    count = 0
    for place, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.endswith(_ENDING) or name.startswith("."):
                continue
            count += 1
            if count > FILES:
                raise UsageError(f"there are more than {FILES:,} Markdown files in {folder}", "name a smaller folder")
            path = os.path.join(place, name)
            yield _file(path, os.path.relpath(path, folder).replace(os.sep, "/"))


def missing(folder: str, found: Iterable[File]) -> list[str]:
    """The ids of documents that were written here and whose files are gone."""
    there = {file.parsed.id for file in found if file.parsed is not None}
    return sorted(set(_listing(folder)) - there)


def forget(folder: str, records: Iterable[str]) -> None:
    """Some documents are not expected in the folder any more."""
    _list(folder, set(_listing(folder)) - set(records))


def rewrite(folder: str, file: File, text: str) -> bool:
    """Give a file another text, unless somebody has written to it since it was read."""
    return owned_files.replace_same(_path(folder, file.name), text.encode(), file.text.encode())


def category_folder(category: str) -> str:
    """A category as the name of a folder, whatever somebody has written there."""
    return category if is_category(category) else _OTHER


def _file(path: str, name: str) -> File:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            about = os.fstat(opened.fileno())
            if not stat.S_ISREG(about.st_mode):
                return File(name, "", None, "it is not a file")
            if about.st_size > FILE_BYTES:
                return File(name, "", None, f"it has {about.st_size:,} bytes, more than a learning can have")
            data = opened.read(FILE_BYTES + 1)
    except OSError as error:
        return File(name, "", None, f"it cannot be read: {error.strerror}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return File(name, "", None, "it is not UTF-8 text")
    read = parsed(text)
    return File(name, text, read, "" if read is not None else "it has neither a problem nor a solution")


def _free_name(learning: Learning, record: str, taken: set[str]) -> str:
    """The oldest of several with one title has the plain name; the others have a part of their id behind it."""
    base = f"{category_folder(learning.category)}/{slug_of(learning.title)}"
    name = base + _ENDING
    return name if name not in taken else f"{base}-{record[:_ID_CHARS]}{_ENDING}"


def _why_kept(before: File, learning: Learning, folder: str) -> str:
    """Why the file that a document has is left alone; empty if it is not."""
    read = before.parsed
    if read is not None and not read.is_ours:
        return "it is kept by hand: it has our id and not our mark"
    return f"it was edited by hand: mesh learnings import {folder}" if read and is_unsaved(read, learning) else ""


def _why_in_the_way(
    there: File, record: str, learning: Learning, going: Collection[str], is_live: Callable[[str], bool]
) -> str:
    """Why a file that lies where a document belongs stays there; empty if it does not."""
    read = there.parsed
    if not there.text and not there.why:
        return ""  # an empty one holds nothing to lose
    if read is None or not read.is_ours or not read.id:
        return "a file that is not ours has that name: move it away"
    if read.id == record:
        return "a copy of it was edited by hand" if is_unsaved(read, learning) else ""
    if not read.base or read.changed():
        return "a file that was edited by hand has that name"
    is_free = read.id in going or not is_live(read.id)
    return "" if is_free else "the file of another learning has that name"


def _put(folder: str, name: str, data: bytes, done: Exported) -> None:
    place = _path(folder, name.rpartition("/")[0])
    if os.path.islink(place):
        done.kept.append((name, "its folder is a link, and links are not followed"))
        return
    owned_files.make_folder(place)
    path = _path(folder, name)
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        done.kept.append((name, "it is not a file"))
        return
    try:
        (done.written if owned_files.replace_if_other(path, data) else done.unchanged).append(name)
    except OSError as error:
        raise owned_files.cannot(path, error) from error


def _remove(folder: str, name: str, done: Exported) -> None:
    """Remove a file whose document was written elsewhere, unless another one was written there."""
    if name not in done.written and name not in done.unchanged and owned_files.remove(_path(folder, name)):
        done.removed.append(name)


def _clear(folder: str, dead: list[File], done: Exported, *, prune: bool) -> None:
    """What is left of documents that were retracted or erased: told, and removed if that was asked for and nobody edited it."""
    for file in sorted(dead, key=lambda one: one.name):
        read = file.parsed
        if read is None or not read.is_ours or file.name in done.written or file.name in done.unchanged:
            continue
        if prune and read.base and not read.changed():
            _remove(folder, file.name, done)
        else:
            done.stale.append(file.name)


def _list(folder: str, records: Iterable[str]) -> None:
    owned_files.replace_if_other(_path(folder, LISTING), "".join(f"{one}\n" for one in sorted(records)).encode())


def _listing(folder: str) -> list[str]:
    try:
        with open(_path(folder, LISTING), encoding="ascii", errors="replace") as file:
            return [line.strip() for line in file.read(FILES * 64).split("\n") if line.strip()]
    except OSError:
        return []


def _path(folder: str, name: str) -> str:
    return os.path.join(folder, *name.split("/"))


NEW, CHANGED, UNCHANGED, SKIPPED = "new", "changed", "unchanged", "skipped"


@dataclass(frozen=True, slots=True)
class FileEdit:
    """The edits in one file. `also`: what others have made of the same fields since the file was written."""

    state: str
    file: File
    why: str = ""
    learning: Learning | None = None  # of a new one
    has_repo: bool = False  # of a new one: it says where it holds
    record: str = ""  # of one that is there: its whole id
    changes: dict[str, Any] | None = None
    also: dict[str, Any] = field(default_factory=dict)


def told_by(
    file: File, find: Callable[[str], Note | None], was_known: Callable[[str], bool], categories: Collection[str]
) -> FileEdit:
    """What a file has to tell. `find`: the live record of a whole id. `was_known`: whether there ever was one here."""
    read = file.parsed
    if read is None:
        return FileEdit(SKIPPED, file, file.why)
    note = find(read.id) if read.id else None
    if note is None and read.id and was_known(read.id):
        return FileEdit(
            SKIPPED, file, "its record was retracted or erased; without the line `id:` it becomes a new one"
        )
    if note is not None and note.log != LEARNINGS:
        return FileEdit(SKIPPED, file, "its id is that of another sort of record")
    if note is None:
        return _new(file, read, categories)
    now = learning_of(note)
    changed = sorted(name for name in read.changed() if getattr(read.learning, name) != getattr(now, name))
    if not changed:
        return FileEdit(UNCHANGED, file, record=read.id)
    also = {
        name: theirs
        for name in changed
        if name in read.base and read.base[name] != digits(theirs := getattr(now, name))
    }
    changes = {name: getattr(read.learning, name) for name in changed}
    return FileEdit(CHANGED, file, record=read.id, changes=changes, also=also)


def _new(file: File, read: Parsed, categories: Collection[str]) -> FileEdit:
    """One without a category is of the category whose folder it lies in, if there is such a one."""
    learning = read.learning
    place = file.name.rpartition("/")[0].rpartition("/")[2]
    if not learning.category and place in categories:
        learning = replace(learning, category=place)
    return FileEdit(NEW, file, learning=learning, has_repo="repo" in read.said)
