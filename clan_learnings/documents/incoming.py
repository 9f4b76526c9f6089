"""What a folder of Markdown files has to tell: which documents are new, which were changed by hand, and how. Pure; writes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clan_learnings.documents.learning import learning_of
from clan_learnings.documents.markdown import digits
from clan_learnings.records.record import LEARNINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from clan_learnings.documents.folder import File
    from clan_learnings.documents.learning import Learning
    from clan_learnings.documents.markdown import Parsed
    from clan_learnings.records.record import Note

NEW, CHANGED, UNCHANGED, SKIPPED = "new", "changed", "unchanged", "skipped"


@dataclass(frozen=True, slots=True)
class Told:
    """What one file has to tell. `also`: what somebody else has made of the same fields since the file was written."""

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
) -> Told:
    """What a file has to tell. `find`: the live record of a whole id. `was_known`: whether there ever was one here."""
    read = file.parsed
    if read is None:
        return Told(SKIPPED, file, file.why)
    note = find(read.id) if read.id else None
    if note is None and read.id and was_known(read.id):
        return Told(SKIPPED, file, "its record was retracted or erased; without the line `id:` it becomes a new one")
    if note is not None and note.log != LEARNINGS:
        return Told(SKIPPED, file, "its id is that of another sort of record")
    if note is None:
        return _new(file, read, categories)
    now = learning_of(note)
    changed = sorted(name for name in read.changed() if getattr(read.learning, name) != getattr(now, name))
    if not changed:
        return Told(UNCHANGED, file, record=read.id)
    also = {
        name: theirs
        for name in changed
        if name in read.base and read.base[name] != digits(theirs := getattr(now, name))
    }
    changes = {name: getattr(read.learning, name) for name in changed}
    return Told(CHANGED, file, record=read.id, changes=changes, also=also)


def _new(file: File, read: Parsed, categories: Collection[str]) -> Told:
    """One without a category is of the category whose folder it lies in, if there is such a one."""
    learning = read.learning
    place = file.name.rpartition("/")[0].rpartition("/")[2]
    if not learning.category and place in categories:
        learning = replace(learning, category=place)
    return Told(NEW, file, learning=learning, has_repo="repo" in read.said)
