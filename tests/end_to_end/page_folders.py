"""The folders in which sidecars keep pages: saved to as editors do, read, waited for. No test lives here."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.end_to_end.commands import wait_until
from tests.end_to_end.fleet import Sidecar


def file_of(node: Sidecar, name: str) -> Path:
    """Where a node keeps a page."""
    return Path(node.home) / "pages" / f"{name}.md"


def text_of(node: Sidecar, name: str) -> str | None:
    """What its file says, as it lies there; None if there is none."""
    try:
        return file_of(node, name).read_bytes().decode()
    except FileNotFoundError:
        return None


# Editors


def write(path: Path, text: str) -> None:
    """A save as most programs do it: the file is emptied and written anew."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text)


def write_like_vim(path: Path, text: str) -> None:
    """A save with `backup` set: a probe, the old file renamed away, a new one in its place. The backup stays."""
    probe = path.parent / "4913"
    probe.touch()
    probe.unlink()
    if path.exists():
        path.rename(f"{path}~")
    write(path, text)


def write_beside(path: Path, text: str) -> None:
    """A save in one step: a file beside it is written, and renamed over it."""
    beside = path.with_name(f".{path.name}.tmp")
    write(beside, text)
    beside.replace(path)


def write_in_pieces(path: Path, text: str, pause: Callable[[], None]) -> None:
    """A save by a slow program: emptied first, then the halves, with pauses."""
    half = len(text) // 2
    with path.open("w", encoding="utf-8") as file:
        for piece in (text[:half], text[half:]):
            pause()
            file.write(piece)
            file.flush()
            os.fsync(file.fileno())


def change(node: Sidecar, name: str, old: str, new: str) -> None:
    """Somebody opens the file, puts one text in the place of another, and saves."""
    path = file_of(node, name)
    text = path.read_bytes().decode()
    assert old in text, f"{old!r} is not in {text!r}"
    write(path, text.replace(old, new, 1))


# Waiting


def agreed(fleet: Sequence[Sidecar], name: str) -> str | None:
    """What all files of a page say, if they say the same."""
    texts = {text_of(node, name) for node in fleet}
    return texts.pop() if len(texts) == 1 else None


def wait_until_all_say(fleet: Sequence[Sidecar], name: str, *words: str) -> str:
    """Wait until the files of a page are the same everywhere and hold all the words; returns what they say."""
    found = ""

    def all_say() -> bool:
        nonlocal found
        found = agreed(fleet, name) or ""
        return bool(found) and all(word in found for word in words)

    try:
        wait_until(all_say)
    except AssertionError:
        told = {os.path.basename(node.home): text_of(node, name) for node in fleet}
        raise AssertionError(f"{name} with {words}: {told}") from None
    return found


def wait_until_all_are(fleet: Sequence[Sidecar], name: str, text: str) -> None:
    """Wait until the files of a page say exactly this."""
    try:
        wait_until(lambda: agreed(fleet, name) == text)
    except AssertionError:
        told = {os.path.basename(node.home): text_of(node, name) for node in fleet}
        raise AssertionError(f"{name} is not {text!r}: {told}") from None


def wait_until_gone(fleet: Sequence[Sidecar], name: str) -> None:
    """Wait until no node has a file of this name."""
    wait_until(lambda: all(text_of(node, name) is None for node in fleet))


def spread(fleet: Sequence[Sidecar], name: str, text: str) -> None:
    """A new page, made by a file on the first, that all have."""
    write(file_of(fleet[0], name), text)
    wait_until_all_are(fleet, name, text)


# Workers


def workers_of(pid: int) -> list[int]:
    """The page workers that a process has started."""
    return [found for found in _processes() if _parent(found) == pid and _is_worker(found)]


def is_running(pid: int) -> bool:
    """Whether a worker is there: not even as one that has ended and was not asked for."""
    return _is_worker(pid)


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _is_worker(pid: int) -> bool:
    try:
        return b"mesh.pages.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
