"""What was erased as a record is erased as a candidate too: its words go, its id stays, so that it does not come back."""

import os
from collections.abc import Collection

from mesh.core.ids import text_id
from mesh.sidecar.harvesting.shelf import KeptShelf
from mesh.store.candidates import FOLDER, Candidates, are_there
from mesh.store.lock import FileLock

LOCK = "harvest.lock"  # in the folder of the candidates: who changes them holds it
_WAIT_SECONDS = 30.0


def forget_erased(home: str, tags: Collection[bytes]) -> list[str]:
    """Take the words of candidates that became these records out of the home. Returns the sessions they were harvested from."""
    if not tags or not are_there(home):
        return []
    with FileLock(os.path.join(home, FOLDER, LOCK)).held(_WAIT_SECONDS), Candidates(home) as kept:
        return forget_in(KeptShelf(kept), tags)


def forget_in(shelf: KeptShelf, tags: Collection[bytes]) -> list[str]:
    """The same, for who holds the lock."""
    names = {text_id(tag) for tag in tags}
    gone = [each for each in shelf.every() if any(signal.record in names for signal in each.signals)]
    if not gone:
        return []
    with shelf.writing():
        for candidate in gone:
            shelf.remove(candidate.id)
            shelf.put(candidate.wiped("erased"), [])
    shelf.kept.rewrite()
    return sorted({signal.session for candidate in gone for signal in candidate.signals})
