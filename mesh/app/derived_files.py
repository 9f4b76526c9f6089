"""Files that are derived from records by another process than the one that erases: which of them have not taken in the last erase.

Each remembers, beside itself, how many bodies had been erased in the state that it is of. So one that was left alone for a while, or
whose worker was dead at the time, is known by that number.
"""

import json
import os

from clan_learnings.render.files import MEMORY_FILE, RENDERED_FOLDER
from clan_learnings.render.owned_files import STATE_FILE
from clan_learnings.search.index_files import FOLDER, VECTORS, WORDS
from clan_learnings.search.index_state import STATE
from clan_learnings.search.vectors.vector_wiping import FILE
from mesh.store.reader import open_reading

# What may hold words of a record, and where it is remembered which state that is of.
_DERIVED = (
    (os.path.join(FOLDER, WORDS, "index"), os.path.join(FOLDER, WORDS, STATE)),
    (os.path.join(FOLDER, VECTORS, FILE), os.path.join(FOLDER, VECTORS, STATE)),
    (os.path.join(RENDERED_FOLDER, MEMORY_FILE), os.path.join(RENDERED_FOLDER, STATE_FILE)),
)


def unerased(home: str) -> list[str]:
    """The folders of a home, as paths in it, that may hold what was erased."""
    here = [(path, state) for path, state in _DERIVED if os.path.exists(os.path.join(home, path))]
    erased = _erased(home) if here else 0
    return [os.path.dirname(path) for path, state in here if _taken_in(os.path.join(home, state)) < erased]


def _erased(home: str) -> int:
    reader = open_reading(home)
    try:
        return int(reader.connection.execute("SELECT count(*) FROM erased_bodies").get)
    finally:
        reader.connection.close()


def _taken_in(path: str) -> int:
    try:
        with open(path, encoding="utf-8") as file:
            return int(json.load(file)["progress"]["erasures"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return 0
