"""What erases still owe on the disk of a home, database by database, and paying it. Which text that is, nobody knows any more.

A text that was erased, or that a person wanted forgotten, is out of the tables at once. It is out of the files when each
database has been written anew and its WAL is empty, and that has to wait for whoever reads an older state.
"""

import os

from mesh.store.database import Database, open_reader, translated
from mesh.store.erasure import is_owed, scrub
from mesh.store.local_database import is_rewrite_owed

_RECORDS = ("mesh.db", "private.db")
_LOCAL = tuple(os.path.join("capture", name) for name in ("candidates.db", "catalogue.db"))


def unfinished(home: str) -> list[str]:
    """The databases of a home, as paths in it, that may still hold erased text."""
    records = [name for name in _RECORDS if _owes(os.path.join(home, name))]
    return records + [name for name in _LOCAL if is_rewrite_owed(os.path.join(home, name))]


def finish(home: str) -> list[str]:
    """Try to pay what is owed, without waiting long for anybody. Returns what is still unfinished."""
    for name in unfinished(home):
        if name in _LOCAL:
            _open_local(home, name)  # opening it pays
            continue
        database = Database(os.path.join(home, name))
        try:
            with translated(database.path):
                scrub(database)
        finally:
            database.close()
    return unfinished(home)


def _owes(path: str) -> bool:
    if not os.path.exists(path):
        return False
    with translated(path):
        reader = open_reader(path)
        try:
            return is_owed(reader.execute)
        finally:
            reader.close()


def _open_local(home: str, name: str) -> None:
    from mesh.store.candidates import (
        FILE,
        Candidates,
    )  # only here: whoever just asks whether something is owed need not load them
    from mesh.store.catalogue import Catalogue

    (Candidates(home) if os.path.basename(name) == FILE else Catalogue(home)).close()
