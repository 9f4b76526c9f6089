"""Snapshots of what a home knows, for a `with` block: nothing written or erased meanwhile changes them. Reads only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clan_learnings.records.memory import Memory
from clan_learnings.records.mute_list import read_muted
from clan_learnings.records.record import Note
from mesh.core.errors import UnknownId, UsageError
from mesh.store.reader import open_reading, read_errors

if TYPE_CHECKING:
    from clan_learnings.search.indexes import SearchIndexes


@contextmanager
def memory_of(
    home: str, *, private: bool = False, recall: SearchIndexes | None = None, bound: str | None = None
) -> Iterator[Memory]:
    """The shared records of a home, or the private ones. `recall`: a running sidecar's own indexes of the shared ones.

    `bound`: the only repository of which anything is told, beside what names none.
    """
    with read_errors(home, private=private):
        if recall is not None and not private:
            with recall.memory() as memory:
                yield memory if bound is None else memory.bound_to(bound)
            return
        reader = open_reading(home, private=private)
        try:
            reader.connection.execute("BEGIN")
            yield Memory(reader, muted=read_muted(home), bound=bound)
        finally:
            reader.connection.close()


@contextmanager
def private_of(home: str, bound: str | None = None) -> Iterator[Memory | None]:
    """The private records, if this home has any."""
    if not has_private(home):
        yield None
        return
    with memory_of(home, private=True, bound=bound) as memory:
        yield memory


@contextmanager
def memory_with(home: str, text: str, bound: str | None = None) -> Iterator[tuple[Memory, bytes]]:
    """The records among which an id is found, the shared ones first, and the tag it stands for."""
    private = False
    with memory_of(home, bound=bound) as memory:
        try:
            tag = memory.resolve(text)
        except UnknownId:
            if not has_private(home):
                raise
            private = True
        else:
            yield memory, tag
    if private:
        with memory_of(home, private=True, bound=bound) as memory:
            yield memory, memory.resolve(text)


def has_private(home: str) -> bool:
    """Whether a private record was ever written here."""
    return os.path.exists(os.path.join(home, "private.db"))


def live_note(memory: Memory, tag: bytes, text: str) -> Note:
    """The record of a tag, as it is now. An error if it is retracted or erased."""
    note = memory.note(tag)
    if note is None:
        raise UsageError(f"{text} is not live any more", f"see what became of it: mesh why {text}")
    return note
