"""What commands that take text away do last: have it leave the files too, or say where it may still be and who finishes that."""

from __future__ import annotations

import time

from mesh.app.checks.node_checks import unfinished_sentence, unfinished_step
from mesh.cli.output import plain, tell
from mesh.store.erase_debts import finish, lasting_readers
from mesh.store.node_lock import running

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from mesh.store.home import Home

_PATIENCE_SECONDS = 5.0  # for readers to come to their end; most are gone in a moment
_PAUSE_SECONDS = 0.2


def finish_soon(home: Home) -> list[str]:
    """Have every database of a home written anew that needs it, and wait a little for those who read. Returns what is left."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (left := finish(home.path)) and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
    return left


def tell_unfinished(home: Home, left: list[str]) -> None:
    """What may still hold the text, who is in the way, and what to do. Nothing, if nothing is left."""
    if left:
        sentence = unfinished_sentence(left, lasting_readers([home.file(name) for name in left]))
        step = unfinished_step(has_sidecar=running(home) is not None)
        tell(f"mesh: {plain(sentence, 1000)}", f"  next: {step}")
