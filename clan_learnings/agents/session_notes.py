"""Notes that session starts leave: which session later commands of the same agent belong to, and which repository a session is bound to.

An agent's start hook and its later commands share the agent's process, so the note is a small file named after that process. Where
processes cannot be told apart, it is found by the folder, if only one session was started there. A note holds names, no content.
"""

from __future__ import annotations

import os
import time
from collections import namedtuple

from clan_learnings.repository.git_config import read_text

TYPE_CHECKING = False  # see `mesh`


FILE = "bound-sessions"
_LIST_BYTES = 16 * 1024 * 1024  # some hundred thousand sessions


def bind(home: str, session: str, repo: str) -> None:
    """Note the repository of a session, once. Raises OSError if that fails."""
    if bound_sessions(home).get(session) == repo:
        return
    path = os.path.join(home, FILE)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        line = f"{session}\t{repo}\n".encode("utf-8", "surrogateescape")
        if os.fstat(descriptor).st_size + len(line) > _LIST_BYTES:
            raise OSError(f"{path} has its {_LIST_BYTES} bytes: the session is not bound for the harvester")
        os.write(descriptor, line)  # in one piece: other hooks append at the same time
    finally:
        os.close(descriptor)


def bound_sessions(home: str) -> dict[str, str]:
    """The repository of every session that was bound."""
    text = read_text(os.path.join(home, FILE), _LIST_BYTES) or ""
    found = {}
    for line in text.split("\n")[:-1]:  # the last may be cut by a full disk
        session, tab, repo = line.partition("\t")
        if tab and session and repo:
            found[session] = repo
    return found


if TYPE_CHECKING:
    from typing import NamedTuple

    class Process(NamedTuple):
        """One process: number, start in the system's ticks (0: not known), name of its program."""

        number: int
        start: int
        name: str

else:
    Process = namedtuple("Process", ("number", "start", "name"))  # noqa: PYI024

_DEPTH = 32


def ancestors(proc: str = "/proc") -> tuple[Process, ...]:
    """The parent first, then its parent, and so on. Without /proc only the parent is known."""
    parent = os.getppid()
    found: list[Process] = []
    while parent > 1 and len(found) < _DEPTH:
        process, parent = _look(proc, parent)
        if process is None:
            break
        found.append(process)
    return tuple(found) or (Process(os.getppid(), 0, ""),)


def is_alive(number: int, start: int, proc: str = "/proc") -> bool:
    """Whether that very process still runs."""
    process, _ = _look(proc, number)
    return process is not None and process.start == start


def _look(proc: str, number: int) -> tuple[Process | None, int]:
    """A process and its parent's number."""
    try:
        with open(f"{proc}/{number}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
        # The name stands in parentheses and may hold any character; the fields after it are numbers.
        name, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        return Process(number, int(fields[19]), name), int(fields[1])
    except (OSError, ValueError, IndexError):
        return None, 0


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
        return ""  # the whole tree is known, and none of its processes has a note
    here = {note.session for note in _all(notes) if note.folder == folder and _is_current(notes, note)}
    return here.pop() if len(here) == 1 else ""


def _sweep(notes: str) -> None:
    """Delete the notes of processes that have ended, so that there are never more than running agents."""
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
