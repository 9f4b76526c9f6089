"""Vectors of erased records, overwritten where no node runs that would do it: a text can be guessed from its vector."""

from __future__ import annotations

import os
from contextlib import suppress
from json import load
from logging import getLogger

from clan_learnings.search.index_status import FOLDER, VECTORS
from mesh.store.changes import Touches
from mesh.store.reading import open_reading

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from mesh.store.home import Home


def wipe_erased(home: Home) -> None:
    """The vectors of what others have erased, if that came while no sidecar ran: it is what one would find out at its start."""
    folder = home.file(os.path.join(FOLDER, VECTORS))
    try:
        with open(os.path.join(folder, "state.json"), encoding="utf-8") as file:
            before = load(file)["progress"]
        reader = open_reading(home.path)
    except (OSError, ValueError, TypeError, KeyError):
        return
    try:
        touches = Touches(reader.connection)
        now = touches.progress()
        if type(before) is dict and all(now[name] == before.get(name) for name in ("erased", "erasures")):
            return
        found = touches.since(before) if type(before) is dict else None
    finally:
        reader.connection.close()
    if found is None:  # too much has come to say which: without a state all are overwritten
        with suppress(OSError):
            os.unlink(os.path.join(folder, "state.json"))
    wipe_vectors(folder, set() if found is None else {*found.erased, *found.records})


def wipe_vectors(folder: str, tags: set[bytes]) -> None:
    """What a sidecar would do, if one ran: there may never be another one."""
    if not os.path.isdir(folder):
        return
    from clan_learnings.search.vectors.vector_file import wipe_rows  # brings numpy, and few homes have vectors

    try:
        wipe_rows(folder, tags)
    except OSError as error:
        says = "vectors of what was erased may still be in %s: %s; next: delete that folder"
        getLogger("mesh.erase").warning(says, folder, error.strerror)
