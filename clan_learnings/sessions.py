"""What session starts leave behind: a note for the commands that the same agent will run. Keeps nothing of a session but its name.

An agent's start hook and its later commands have the agent's process in common. The note is a small file named by that
process; where processes cannot be told apart it is found by the folder, if only one session was started there.
"""

from __future__ import annotations

import os
import time
from collections import namedtuple

from clan_learnings.process_tree import Process, is_alive
from clan_learnings.repository.git_config import read_text

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import NamedTuple

    class _Note(NamedTuple):
        number: int
        start: int
        session: str
        folder: str

else:
    _Note = namedtuple("_Note", ("number", "start", "session", "folder"))  # noqa: PYI024

_BYTES = 16 * 1024
_NOTES = 1000
_UNSEEN_SECONDS = 12 * 3600
# What stands between an agent and its hook, and is gone when the hook is.
_BETWEEN = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "env", "timeout", "mesh"})


def leave(notes: str, session: str, folder: str, tree: tuple[Process, ...]) -> None:
    """Leave a note for the agent's process: the nearest one above the hook that is no shell. The last session of a process counts."""
    agent = next((process for process in tree if process.name not in _BETWEEN), tree[0] if tree else None)
    if agent is None or "\n" in session + folder:
        return
    os.makedirs(notes, mode=0o700, exist_ok=True)
    path = os.path.join(notes, f"{agent.number}-{agent.start}")
    draft = f"{path}.{os.getpid()}"
    with open(draft, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(f"{session}\n{folder}\n")
    os.rename(draft, path)
    _sweep(notes)


def find(notes: str, folder: str, tree: tuple[Process, ...]) -> str:
    """The session noted for the nearest process above this one, else for this folder; empty if for none."""
    for process in tree:
        note = _read(notes, f"{process.number}-{process.start}") if process.start else None
        if note is not None:
            return note.session
    if any(process.start for process in tree):
        return ""  # the whole tree is known, and no agent of ours is in it
    here = {note.session for note in _all(notes) if note.folder == folder and _is_current(notes, note)}
    return here.pop() if len(here) == 1 else ""


def _sweep(notes: str) -> None:
    """Take away the notes of processes that have ended, so that there are never more than agents at work."""
    for note in _all(notes):
        if not _is_current(notes, note):
            try:
                os.unlink(os.path.join(notes, f"{note.number}-{note.start}"))
            except FileNotFoundError:
                continue


def _is_current(notes: str, note: _Note) -> bool:
    """Whether the agent is still at work. Where only a hook's parent was known, which may have been a shell, a day's work is assumed."""
    if note.start:
        return is_alive(note.number, note.start)
    try:
        return time.time() - os.stat(os.path.join(notes, f"{note.number}-0")).st_mtime < _UNSEEN_SECONDS
    except OSError:
        return False


def _all(notes: str) -> list[_Note]:
    try:
        names = os.listdir(notes)[:_NOTES]
    except OSError:
        return []
    return [note for name in names if (note := _read(notes, name)) is not None]


def _read(notes: str, name: str) -> _Note | None:
    number, _, start = name.partition("-")
    text = read_text(os.path.join(notes, name), _BYTES) if number.isdigit() and start.isdigit() else None
    if text is None or text.count("\n") != 2:
        return None
    session, folder, _ = text.split("\n")
    return _Note(int(number), int(start), session, folder)
