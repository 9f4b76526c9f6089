"""One page's text as pycrdt holds it. The only module that names pycrdt; only the worker process loads it.

Callers count in code points, pycrdt's texts in bytes of UTF-8: the change from one to the other happens here. What pycrdt
raises is left to fly: some of it are panics, after which nothing in the process can be relied on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any, NamedTuple

from mesh.core.errors import Malformed
from mesh.pages.edit_codec import CLIENTS, DELETE_RANGES, ITEMS, ROOT, parse
from mesh.pages.text_difference import Edit, applied

if TYPE_CHECKING:
    from pycrdt._pycrdt import Doc, Text, Transaction

_READER = 1  # the client id of a document nothing is inserted into
_NOBODY = b"\x00"  # the state vector of somebody who has nothing yet
# What an update takes beside its characters, at the most: itself; an inserted item, with the ids of its neighbours; a deleted
# range. How many ranges a deletion falls into is seen only when it is made: one for each character if it comes to the worst.
_UPDATE_BYTES, _ITEM_BYTES, _RANGE_BYTES = 64, 48, 28
_LEAST_BYTES = _UPDATE_BYTES + _ITEM_BYTES + _RANGE_BYTES + 4


def _engine() -> Any:
    """The compiled half of pycrdt. The other half brings asyncio along, which takes longer than all the rest of a worker's start."""
    name = "pycrdt._pycrdt"
    if name not in sys.modules:
        package = find_spec("pycrdt")
        folder = ((package and package.submodule_search_locations) or [""])[0]
        file = next(file for file in os.listdir(folder) if file.startswith("_pycrdt.") and not file.endswith(".pyi"))
        spec = spec_from_file_location(name, os.path.join(folder, file))
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


class WrongEdit(ValueError):
    """Changes that cannot be made to this text. It is as it was."""


class _PendingChange(NamedTuple):
    """A change that is still to be made: what is inserted at a byte of the text, and which characters go behind that."""

    at: int
    removed: str
    inserted: str


class _Limits(NamedTuple):
    """What one transaction may do."""

    update_bytes: int
    changes: int
    removed: int


class Document:
    """A page's text. What is inserted here carries the id `client` and continues that client's clock."""

    def __init__(self, client: int = _READER, updates: Iterable[bytes] = ()) -> None:
        self.client = client
        self._load(updates)

    def _load(self, updates: Iterable[bytes]) -> None:
        self._known: str | None = (
            None  # the text, if it is known: reading it takes longer than a small edit of a large page
        )
        self._doc: Doc = _engine().Doc(self.client, None, None)
        with self._transaction() as transaction:
            self._text: Text = self._doc.get_or_insert_text(transaction, ROOT)
        for update in updates:
            self.apply(update)

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        transaction = self._doc.create_transaction()
        yield transaction  # after an error nothing is put right: the process ends
        transaction.commit()
        transaction.drop()

    def apply(self, update: bytes) -> None:
        """Take in an update, or a whole state."""
        self._known = None
        with self._transaction() as transaction:
            self._doc.apply_update(transaction, update)

    def text(self) -> str:
        """The characters that are not deleted, in their order."""
        if self._known is None:
            with self._transaction() as transaction:
                self._known = self._text.get_string(transaction)
        return self._known

    def state(self) -> bytes:
        """Everything, as one update."""
        with self._transaction() as transaction:
            return self._doc.get_update(transaction, _NOBODY)

    def edit(self, changes: Sequence[Edit], most_bytes: int, beat: Callable[[], None]) -> list[bytes]:
        """Make changes and return the update of each transaction it took, every one fit to be published.

        An update that comes out too large is taken back, and less is done at once: a deletion may fall into very many ranges.
        """
        if most_bytes < _LEAST_BYTES:
            raise WrongEdit(f"no update can be as small as {most_bytes} bytes")
        text = self.text()
        steps = _steps(text, changes)  # made from the last to the first: none moves the place of the next
        updates: list[bytes] = []
        before, known = b"", 0  # a state to go back to, and how many of the updates are in it
        limits = _Limits(most_bytes, ITEMS // 2, sys.maxsize)
        are_few = self._clients() < CLIENTS
        while steps:
            batch = _batch(steps, limits)
            removed = sum(len(step.removed) for step in batch)
            if not before and not (_is_small(batch, removed, most_bytes) and (are_few or _names_few(batch, removed))):
                before, known = self.state(), len(updates)
            update = self._make(batch, beat)
            if len(update) <= most_bytes and _is_sound(update):
                updates.append(update)
            elif before and (removed > 1 or len(batch) > 1):
                self._load([before, *updates[known:]])
                steps += batch[::-1]
                limits = _Limits(most_bytes, max(1, len(batch) // 2), max(1, removed // 2))
            else:
                raise RuntimeError(f"an edit gave an update of {len(update)} bytes that cannot be published")
        self._known = applied(text, changes)
        return updates

    def _clients(self) -> int:
        """How many ids have inserted something: a state vector begins with their number."""
        with self._transaction() as transaction:
            vector = self._doc.get_state(transaction)
        return vector[0] if vector[0] < 0x80 else vector[0] - 0x80 + (vector[1] << 7)  # enough to tell few from many

    def _make(self, batch: Sequence[_PendingChange], beat: Callable[[], None]) -> bytes:
        """One transaction; what it told its observers."""
        seen: list[bytes] = []
        subscription = self._doc.observe(lambda event: seen.append(event.update))
        with self._transaction() as transaction:
            for at, removed, inserted in batch:
                if inserted:
                    self._text.insert(transaction, at, inserted)
                if removed:
                    self._text.remove_range(transaction, at + _size(inserted), _size(removed))
                beat()  # pycrdt looks for each place from the beginning of the text
        subscription.drop()
        (update,) = seen
        return update

    def watch(self, update: bytes, before: bytes) -> tuple[list[Edit], bytes]:
        """Take in an update; what it did to the text, which was `before` (as UTF-8), and the text as it is now."""
        seen: list[list[dict[str, Any]]] = []

        def see(event: Any) -> None:  # its delta is nowhere declared, and can be read only now
            seen.append(event.delta)

        subscription = self._text.observe(see)
        self.apply(update)
        subscription.drop()
        return _edits(before, seen[0]) if seen else ([], before)


def deltas(updates: Iterable[bytes], beat: Callable[[], None]) -> list[list[Edit]]:
    """What each update in turn does to the text, from nothing on."""
    document, text, found = Document(), b"", []
    for update in updates:
        edits, text = document.watch(update, text)
        found.append(edits)
        beat()
    return found


def texts(updates: Sequence[bytes], stops: Iterable[int], beat: Callable[[], None]) -> list[str]:
    """The text after the first so many updates, for each of the stops."""
    document, found = Document(), {}
    wanted = set(stops := list(stops))
    for made in range(len(updates) + 1):
        if made:
            document.apply(updates[made - 1])
        if made in wanted:
            found[made] = document.text()
        beat()
    return [found[stop] for stop in stops]


def proven(updates: Iterable[bytes], beat: Callable[[], None]) -> tuple[bytes, str]:
    """State and text after all the updates, having shown that the state can be loaded again; the text is read from that."""
    document = Document()
    for update in updates:
        document.apply(update)
        beat()
    state = document.state()
    document.text()
    return state, Document(updates=[state]).text()


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _is_sound(update: bytes) -> bool:
    try:
        parse(update)
    except Malformed:
        return False
    return True


def _steps(text: str, changes: Sequence[Edit]) -> list[_PendingChange]:
    """The changes with their places in bytes. Raises WrongEdit for changes that are not of this text."""
    steps = []
    seen = at = 0  # characters and bytes passed so far
    for start, removed, inserted in changes:
        end = start + removed
        if not seen <= start <= end <= len(text):
            raise WrongEdit("an edit lies outside of the text, or before the one it follows")
        at += _size(text[seen:start])
        if removed or inserted:
            steps.append(_PendingChange(at, text[start:end], inserted))
        at += _size(text[start:end])
        seen = end
    return steps


def _batch(steps: list[_PendingChange], limits: _Limits) -> list[_PendingChange]:
    """Take the steps of one transaction from the end of the list. One that alone is too much is cut: its rest stays there."""
    batch: list[_PendingChange] = []
    used, removed = _UPDATE_BYTES, 0
    while steps and len(batch) < limits.changes:
        at, going, coming = step = steps.pop()
        room = limits.update_bytes - used - _ITEM_BYTES - _RANGE_BYTES
        if len(coming) > room or _size(coming) > room or removed + len(going) > limits.removed:
            if batch:
                steps.append(step)
                break
            coming = coming[:room].encode()[:room].decode(errors="ignore")
            going = going[: limits.removed]
            steps.append(_PendingChange(at + _size(coming), step.removed[len(going) :], step.inserted[len(coming) :]))
        batch.append(_PendingChange(at, going, coming))
        used += _ITEM_BYTES + _RANGE_BYTES + _size(coming)
        removed += len(going)
    return batch


def _is_small(batch: Sequence[_PendingChange], removed: int, most_bytes: int) -> bool:
    """Whether the update of a batch fits even if every removed character is a range of its own."""
    inserted = sum(_ITEM_BYTES + _size(step.inserted) for step in batch)
    return removed <= DELETE_RANGES and _UPDATE_BYTES + inserted + removed * _RANGE_BYTES <= most_bytes


def _names_few(batch: Sequence[_PendingChange], removed: int) -> bool:
    """Whether the update of a batch names few clients even if all it touches is by different ones."""
    return 1 + 2 * len(batch) + removed <= CLIENTS


def _edits(before: bytes, delta: Iterable[dict[str, Any]]) -> tuple[list[Edit], bytes]:
    """What pycrdt tells of a change, which counts in bytes, as edits; and the text after them."""
    edits: list[Edit] = []
    after: list[bytes] = []
    seen = at = 0  # bytes and characters passed so far
    is_open = False  # whether the last edit goes on
    for part in delta:
        if "retain" in part:
            kept = before[seen : seen + part["retain"]]
            after.append(kept)
            seen, at = seen + len(kept), at + len(kept.decode())
            is_open = False
            continue
        edit = edits.pop() if is_open else Edit(at, 0, "")
        if "insert" in part:
            after.append(part["insert"].encode())
            edit = edit._replace(inserted=edit.inserted + part["insert"])
        else:
            gone = before[seen : seen + part["delete"]].decode()
            seen, at = seen + part["delete"], at + len(gone)
            edit = edit._replace(removed=edit.removed + len(gone))
        edits.append(edit)
        is_open = True
    after.append(before[seen:])
    return edits, b"".join(after)
