"""The peer of `pages`: the same edits in plain pycrdt documents in one process. Nothing of ours but the histories.

Nothing is signed, checked, synced or sent, and a document that is in memory is lost with its process.
"""

import random
import time
from typing import Any

from pycrdt import Doc, Text, TransactionEvent

from bench.machine import resident_bytes
from bench.page_histories import SCATTERED, history
from bench.processes import Measures

_ROOT = "text"
_WORDS = "one more edit "


def apply_all(kind: str, edits: int, path: str) -> Measures:
    """Every update of a history, one by one, until the text is there. The state is left in a file."""
    past = history(kind, edits)
    updates = [edit.update for edit in past.edits]
    _document()  # the first one loads more of pycrdt
    begin = time.perf_counter()
    document, text = _document()
    for update in updates:
        document.apply_update(update)
    found = str(text)
    seconds = time.perf_counter() - begin
    if found != past.text:
        raise RuntimeError("pycrdt makes another text of this history than the one it was made with")
    half, _ = _document()
    begin = time.perf_counter()
    for update in updates[: edits // 2]:
        half.apply_update(update)
    half_seconds = time.perf_counter() - begin
    state = document.get_update()
    with open(path, "wb") as file:
        file.write(state)
    sizes = {"chars": len(found), "state_bytes": len(state), "update_bytes": sum(map(len, updates))}
    return sizes | {"seconds": seconds, "half_seconds": half_seconds}


def open_state(path: str) -> Measures:
    """From the file to the text, in a process that has loaded pycrdt; then what the process holds."""
    _document()  # the first one loads more of it
    begin = time.perf_counter()
    document, text = _document()
    with open(path, "rb") as file:
        document.apply_update(file.read())
    found = str(text)
    return {"seconds": time.perf_counter() - begin, "chars": len(found), "memory": resident_bytes()}


def edit_state(path: str, count: int) -> Measures:
    """Edits of a loaded document, each at another place: the update and the whole text, as whoever shows it needs them."""
    document, text = _document()
    with open(path, "rb") as file:
        document.apply_update(file.read())
    updates = _observed(document)
    chance, seconds = random.Random(1), []
    for _ in range(count):
        place = chance.randrange(len(text))
        begin = time.perf_counter()
        text.insert(place, _WORDS)
        str(text)
        seconds.append(time.perf_counter() - begin)
    if len(updates) != count:
        raise RuntimeError(f"{len(updates)} updates of {count} edits")
    return {"seconds": seconds}


def pass_on(count: int, text: str) -> Measures:
    """Edits of one document, each passed to a second one in the same process, until that one has the text."""
    (one, mine), (two, theirs) = _document(), _document()
    updates = _observed(one)
    mine += text
    two.apply_update(updates.pop())
    seconds = []
    for number in range(count):
        begin = time.perf_counter()
        mine.insert(len(mine) // 2, f"- a line that was saved as number {number}\n")
        two.apply_update(updates.pop())
        str(theirs)
        seconds.append(time.perf_counter() - begin)
    return {"seconds": seconds}


def hold_many(pages: int, edits: int) -> Measures:
    """So many documents at once, and what the process holds then."""
    held = []
    for number in range(pages):
        document, text = _document()
        for edit in history(SCATTERED, edits, seed=number + 1).edits:
            document.apply_update(edit.update)
        held.append((document, text))
    return {"memory": resident_bytes(), "chars": sum(len(str(text)) for _, text in held)}


def _document() -> tuple["Doc[Any]", Text]:
    document: Doc[Any] = Doc()
    return document, document.get(_ROOT, type=Text)


def _observed(document: "Doc[Any]") -> list[bytes]:
    """Grows by the update of every transaction from now on."""
    updates: list[bytes] = []

    def keep(event: TransactionEvent) -> None:
        updates.append(event.update)

    document.observe(keep)
    return updates
