"""What waits outside the store: pointers to transcripts for the harvester, and writes of commands that could reach no store.

Pointers are ours. A queued write lies in the temporary folder and is read as if a stranger had put it there: it may say only what a
command line could say, and its place and file name mean nothing. All its values are texts; neither names nor types are trusted.
"""

from __future__ import annotations

import os
import stat
import time

from clan_learnings.agents.light_json import flat, loads
from mesh.core.ids import digest

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


WRITE_BYTES = 64 * 1024

# What it may say, and how that is read back: the options of the two commands, nothing else.
_COMMON = {
    "agent": "text",
    "category": "text",
    "confidence": "number",
    "evidence": "text",
    "is_global": "flag",
    "minutes_lost": "whole",
    "private": "flag",
    "repo": "text",
    "request_id": "id",
    "request_seconds": "whole",
    "session": "text",
    "severity": "text",
    "tags": "list",
    "topic": "text",
}
KINDS: dict[str, dict[str, str]] = {
    "discover": {**_COMMON, "text": "text", "anyway": "flag"},
    "correct": {**_COMMON, "wrong": "text", "right": "text", "pattern": "text", "source": "text"},
}
_NEEDED = {"discover": ("text",), "correct": ("wrong", "right")}


def encode(kind: str, arguments: Mapping[str, Any]) -> bytes:
    """A command's arguments without their secrets and what is private. What was not said is left out."""
    from clan_learnings.redaction import redact_value

    kinds = KINDS[kind]
    written = {name: _option_text(value, kinds[name]) for name, value in arguments.items()}
    said = {name: text for name, text in written.items() if text is not None}
    kept, _ = redact_value({name: _public(text) for name, text in said.items() if kinds[name] != "id"})
    kept |= {name: text for name, text in said.items() if kinds[name] == "id"}  # looks like a secret, and is none
    return f'{{"kind": "{kind}", "arguments": {flat(kept)}}}'.encode()


def _public(text: str) -> str:
    if "<" not in text:  # a plain look: what is needed to look closer is loaded by who needs it
        return text
    from clan_learnings.redaction.private_passages import without_private

    return without_private(text)


def decode(data: bytes) -> tuple[str, dict[str, Any]] | None:
    """Kind and arguments; None for anything that our commands would not have written."""
    try:
        value = loads(data.decode())
    except (ValueError, RecursionError):
        return None
    if type(value) is not dict or value.keys() != {"kind", "arguments"}:
        return None
    kind, said = value["kind"], value["arguments"]
    if type(kind) is not str or kind not in KINDS or type(said) is not dict:
        return None
    arguments = {}
    for name, text in said.items():
        read = _read_option(text, KINDS[kind].get(name, ""))
        if read is None:
            return None
        arguments[name] = read
    if any(not arguments.get(name) for name in _NEEDED[kind]):
        return None
    return kind, arguments


def _option_text(value: Any, kind: str) -> str | None:
    """An option as text; None if it was not given."""
    if value is None:
        return None
    if kind == "flag":
        return "yes" if value else None
    if kind == "list":
        return "\n".join(value) or None
    return str(value)


def _read_option(text: object, kind: str) -> Any:
    """The option that a text stands for; None if it stands for none."""
    if type(text) is not str or "\0" in text:
        return None
    try:
        text.encode()  # half a surrogate pair is no text
        match kind:
            case "text" | "id":
                return text
            case "flag":
                return True if text == "yes" else None
            case "list":
                return tuple(text.split("\n"))
            case "whole":
                return int(text[:20])
            case "number":
                return float(text[:40])
    except ValueError:
        return None
    return None  # an option that the command does not have


FOLDER, POINTERS, DROPPED = "spool", "pointers.jsonl", "dropped"
POINTERS_BYTES = 50 * 1024 * 1024
_DROPPED_BYTES = 1024 * 1024  # a byte each: beyond that the number does not matter any more

REJECTED = "rejected"
_WRITE, _DRAFT = ".write", ".draft"
_DRAFT_SECONDS = 3600
WRITES = 1000  # that wait at once
_REJECTED_FILES = 100  # kept to be looked at
_OTHERS = 0o022
_SHARED_TEMP = "/tmp"  # noqa: S108 (the folder in it is ours alone, and checked)


class SpoolState:
    """How full everything is, for `mesh doctor`."""

    __slots__ = ("aside", "bytes", "dropped", "folder", "queued", "rejected")

    def __init__(self, home: str, environ: Mapping[str, str] = os.environ) -> None:
        """`folder`, `aside`: what to delete to be rid of pointers, and of writes that were put aside."""
        self.folder = os.path.join(home, FOLDER)
        self.bytes = _size(os.path.join(home, FOLDER, POINTERS))
        self.dropped = _size(os.path.join(home, FOLDER, DROPPED))
        folders = [folder for folder in _folders(environ) if _is_ours(folder)]
        self.queued = sum(len(_waiting(folder, home)) for folder in folders)
        self.aside = [os.path.join(folder, REJECTED) for folder in folders]
        self.rejected = sum(_size(os.path.join(folder, DROPPED)) for folder in self.aside)


# Pointers


def point(home: str, pointer: Mapping[str, str | int]) -> bool:
    """Note where a transcript is and how far it goes. False if there is no room left: then it is only counted."""
    folder = os.path.join(home, FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    descriptor = _append(os.path.join(folder, POINTERS))
    try:
        line = flat(pointer).encode() + b"\n"
        if os.fstat(descriptor).st_size + len(line) <= POINTERS_BYTES:
            os.write(descriptor, line)  # in one piece: other hooks append at the same time
            return True
    finally:
        os.close(descriptor)
    _count(os.path.join(folder, DROPPED))
    return False


# Queued writes


class Queued:
    """A queued write, locked while this object holds it."""

    __slots__ = ("_descriptor", "_path", "arguments", "kind")

    def __init__(self, path: str, descriptor: int, kind: str, arguments: dict[str, Any]) -> None:
        self.kind = kind
        self.arguments = arguments
        self._path = path
        self._descriptor = descriptor

    def done(self) -> None:
        """It is in the store: forget it."""
        os.unlink(self._path)
        self.later()

    def reject(self) -> None:
        """It cannot be taken in, now or ever: put it aside for a person to look at."""
        _put_aside(self._path)
        self.later()

    def later(self) -> None:
        """Let go of it: the next hook may have it, if it is still there."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def queue(kind: str, arguments: Mapping[str, Any], home: str, environ: Mapping[str, str] = os.environ) -> str:
    """Leave a write for the next hook; returns the file. Raises OSError if that cannot be done either.

    `arguments`: as the command was given them, the surroundings filled in, because the hook will have others.
    """
    data = encode(kind, arguments)
    if len(data) > WRITE_BYTES:
        raise OSError(f"more than {WRITE_BYTES} bytes cannot be queued")
    problem: OSError | None = None
    for folder in _folders(environ):
        try:
            return _leave(folder, home, data)
        except OSError as error:
            problem = error
    raise problem or OSError("there is no folder for temporary files")


def take(home: str, limit: int, environ: Mapping[str, str] = os.environ) -> Iterator[Queued]:
    """The writes that wait for this home, oldest first, each locked until it is done, rejected or left for later."""
    for folder in _folders(environ):
        if _is_ours(folder):
            _forget_drafts(folder)
            for name in _waiting(folder, home)[:limit]:
                limit -= 1
                found = _read(os.path.join(folder, name))
                if found is not None:
                    yield found


def is_waiting(home: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether there is anything to take in; costs nothing if there never was."""
    return any(_waiting(folder, home) for folder in _folders(environ) if _is_ours(folder))


def own_folders(environ: Mapping[str, str]) -> Iterator[str]:
    """Our folders in the temporary ones, made if they can be, and ours alone."""
    for folder in _folders(environ):
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError:
            continue
        if _is_ours(folder):
            yield folder


def _folders(environ: Mapping[str, str]) -> list[str]:
    """Where to look. The shared folder comes first: a sandbox may give a shell a temporary folder of its own."""
    given = environ.get("MESH_SPOOL", "")
    if given:
        return [given]
    temporary = environ.get("TMPDIR", "")
    places = [_SHARED_TEMP, temporary if os.path.isabs(temporary) else _SHARED_TEMP]
    return list(dict.fromkeys(os.path.join(place, f"clan-mesh-{os.geteuid()}") for place in places))


def _is_ours(folder: str) -> bool:
    """Whether only this user can have put anything there."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & _OTHERS


def _mark(home: str) -> str:
    """How the file of a write begins: several teams on a machine have several homes, and nothing crosses."""
    return digest(os.fsencode(os.path.realpath(home))).hex()[:16]


def _waiting(folder: str, home: str) -> list[str]:
    begins = f"{_mark(home)}-"
    try:
        return sorted(name for name in os.listdir(folder) if name.startswith(begins) and name.endswith(_WRITE))
    except OSError:
        return []


def _leave(folder: str, home: str, data: bytes) -> str:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if not _is_ours(folder):
        raise PermissionError(f"{folder} is not ours alone")
    if len(os.listdir(folder)) >= WRITES:
        raise OSError(f"{WRITES} writes wait in {folder} already")
    name = f"{_mark(home)}-{time.time_ns():020d}-{os.getpid()}{_WRITE}"
    path = os.path.join(folder, name)
    draft = path + _DRAFT
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(draft, path)  # a hook never sees half of it
    return path


def _forget_drafts(folder: str) -> None:
    """Those of shells that were killed while they wrote."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        try:
            if name.endswith(_DRAFT) and time.time() - os.lstat(path).st_mtime > _DRAFT_SECONDS:
                os.unlink(path)
        except OSError:
            continue


def _read(path: str) -> Queued | None:
    """One write, if it is valid and no other process holds it."""
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError:  # a link, for one
        _put_aside(path)
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = os.fstat(descriptor)
        if os.lstat(path).st_ino != found.st_ino:
            raise FileNotFoundError  # taken in by another hook while we came
    except OSError:
        os.close(descriptor)
        return None
    said = _understood(descriptor, found)
    if said is None:
        _put_aside(path)
        os.close(descriptor)
        return None
    return Queued(path, descriptor, *said)


def _understood(descriptor: int, found: os.stat_result) -> tuple[str, dict[str, Any]] | None:
    """Kind and arguments; None if others may have changed the file, or our commands would not have written it."""
    is_plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and not found.st_mode & _OTHERS
    if not is_plain or found.st_uid != os.geteuid() or found.st_size > WRITE_BYTES:
        return None
    return decode(os.read(descriptor, WRITE_BYTES + 1))


def _put_aside(path: str) -> None:
    """Count it, and keep it for a person, if not too many are kept already."""
    folder = os.path.join(os.path.dirname(path), REJECTED)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _count(os.path.join(folder, DROPPED))
        if len(os.listdir(folder)) <= _REJECTED_FILES:
            os.rename(path, os.path.join(folder, os.path.basename(path)))
        else:
            os.unlink(path)
    except OSError:  # a folder under that name, or another hook was quicker: it waits, and harms nothing
        return


def _append(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _count(path: str) -> None:
    """One more: a byte each, because appending needs no lock."""
    descriptor = _append(path)
    try:
        if os.fstat(descriptor).st_size < _DROPPED_BYTES:
            os.write(descriptor, b".")
    finally:
        os.close(descriptor)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
