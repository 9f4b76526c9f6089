"""The search indexes of a home as files: their state, which embedder is chosen, deleting them, and wiping vectors of erased records.

The keyword index is part of the database. What a running node keeps beside it, words and vectors, is in one folder and disposable.
Everyday commands import this: nothing slow at the top.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from json import dump, load
from logging import getLogger
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from clan_learnings.search.embedders.embedder import AUTO, CHOICES, MINILM, NONE, available, is_address
from mesh.core.errors import UsageError
from mesh.store.file_access import unwritable
from mesh.store.reader import Reader, open_reading
from mesh.store.record_changes import ChangeCollector

if TYPE_CHECKING:
    from clan_learnings.search.indexes import SearchIndexes
    from mesh.store.home import Home


FOLDER = "recall"  # in the home
WORDS, VECTORS = "words", "vectors"  # in the folder
EMBEDDER = "embedder"  # in the home: one line, the choice
VARIABLE = "MESH_EMBEDDER"  # counts where there is no such file; without both: auto
USUAL = "auto"
_CHOICE_BYTES = 4096
KEYWORDS, BOTH = "keywords", "keywords and vectors"


def index_state(home: str, reader: Reader, recall: SearchIndexes | None) -> dict[str, Any]:
    """The state of every index. `recall`: the indexes of the node that answers; None if a command does."""
    choice = chosen(home)
    usable, says = available(choice)
    status = None if recall is None else recall.status()
    folder = os.path.join(home, FOLDER)
    return {
        "by": BOTH if status is not None and status.get("vectors") else KEYWORDS,
        "says": _says(status, usable=usable, says=says),
        "keywords": {"engine": "FTS5", "records": sum(reader.logs().values())},
        "sidecar": status,
        "embedder": {"choice": choice, "usable": usable, "says": says},
        "folder": folder,
        "bytes": {name: _size(os.path.join(folder, name)) for name in _folders(folder)},
    }


def _says(status: dict[str, Any] | None, *, usable: bool, says: str) -> str:
    """What a search runs on now, in a line."""
    if status is None:
        return "keywords only: no sidecar runs; next: mesh up --detach" if usable else f"keywords only: {says}"
    told = status.get("says")
    return told if isinstance(told, str) and told else BOTH if status.get("vectors") else f"keywords only: {says}"


def chosen(home: str, environ: Mapping[str, str] = os.environ) -> str:
    """Which embedder this home is to use."""
    try:
        with open(os.path.join(home, EMBEDDER), encoding="utf-8", errors="replace") as file:
            return file.read(_CHOICE_BYTES).strip().split("\n")[0].strip() or USUAL
    except OSError:
        return environ.get(VARIABLE) or USUAL


def choose(home: str, words: list[str]) -> dict[str, Any]:
    """Use another embedder from now on; a running node notices. A choice that cannot work raises UsageError."""
    choice = " ".join(words)
    if choice not in (AUTO, NONE, MINILM) and not is_address(choice):
        choice = os.path.abspath(os.path.expanduser(choice))
        if not os.path.isdir(choice):
            raise UsageError(f"{words[0]!r} is neither an embedder nor a folder", f"one of: {CHOICES}")
    usable, says = available(choice)
    if not usable and choice not in (AUTO, NONE):
        message, _, step = says.partition("; next: ")
        raise UsageError(message, step)
    path = os.path.join(home, EMBEDDER)
    draft = f"{path}.new-{os.getpid()}"
    try:
        with open(draft, "w", encoding="utf-8") as file:
            file.write(choice + "\n")
        os.replace(draft, path)
    except OSError as error:
        raise unwritable(path, error) from error
    return {"choice": choice, "usable": usable, "says": says}


def drop_indexes(home: str, *, vectors: bool) -> list[str]:
    """Delete the indexes beside the database; a node builds them again."""
    folder = os.path.join(home, FOLDER)
    dropped = [name for name in _folders(folder) if vectors or name == WORDS]
    for name in dropped:
        rmtree(os.path.join(folder, name), ignore_errors=True)
    return dropped


def _folders(folder: str) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _size(folder: str) -> int:
    """The bytes of all files in a folder; they come and go while we count."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_size
            except OSError:
                continue
    return total


def wipe_erased(home: Home) -> None:
    """Overwrite the vectors of what others have erased while no node ran. A node does the same when it starts."""
    folder = home.file(os.path.join(FOLDER, VECTORS))
    state = os.path.join(folder, "state.json")
    try:
        with open(state, encoding="utf-8") as file:
            before = load(file)["progress"]
        reader = open_reading(home.path)
    except (OSError, ValueError, TypeError, KeyError):
        return
    try:
        touches = ChangeCollector(reader.connection)
        now = touches.progress()
        if type(before) is dict and all(now[name] == before.get(name) for name in ("erased", "erasures")):
            return
        found = touches.since(before) if type(before) is dict else None
    finally:
        reader.connection.close()
    if found is None:  # too much has come to say which: without a state all are overwritten
        with suppress(OSError):
            os.unlink(state)
        wipe_vectors(folder, set())
    elif wipe_vectors(folder, {*found.erased, *found.records}):
        _remember(state, now)


def _remember(path: str, now: Mapping[str, Any]) -> None:
    """That these erases were taken in, beside whatever else is known of the state."""
    try:
        with open(path, encoding="utf-8") as file:
            saved = load(file)
        saved["progress"] |= {name: now[name] for name in ("erased", "erasures")}
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            dump(saved, file)
        os.replace(f"{path}.new", path)
    except (OSError, ValueError, TypeError, KeyError):
        return  # it is made anew, then


def wipe_vectors(folder: str, tags: set[bytes]) -> bool:
    """Overwrite these vectors without a running node: there may never be one again, and a text can be guessed from its vector.

    Returns whether that was done.
    """
    if not os.path.isdir(folder):
        return True

    from clan_learnings.search.vectors.vector_wiping import wipe_rows

    try:
        return wipe_rows(folder, tags)
    except OSError as error:
        says = "vectors of what was erased may still be in %s: %s; next: delete that folder"
        getLogger("mesh.erase").warning(says, folder, error.strerror)
        return False
