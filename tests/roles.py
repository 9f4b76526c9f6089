"""Homes in a role, and homes that have written as much as they may. No test lives here."""

import os
from pathlib import Path

from mesh.core.draft import NewRecord
from mesh.core.statement import EPHEMERAL, Member, sign
from mesh.store.home import Home, create_home
from mesh.store.store import wall_clock

_TEXT_CHARS = 60_000  # of one record that fills


def founder(folder: Path, name: str = "founder") -> Home:
    """A home with a mesh of its own."""
    return create_home(os.fspath(folder / name), name)


def admitted(folder: Path, by: Home, role: str, name: str = "node") -> Home:
    """A home of the same mesh, in a role; both know it."""
    home = create_home(os.fspath(folder / name), name, by.mesh)
    root = by.root_identity()
    said = sign(by.mesh, root, Member(root.public, wall_clock(), home.node, name, role)).encode()
    theirs, ours = by.author(), home.author()
    theirs.merge_statements([said])
    founders = theirs.store.founders()
    assert founders is not None
    ours.store.learn_founders(*founders)
    ours.merge_statements([item.encode() for item in theirs.store.all_statements()])
    theirs.store.close()
    ours.store.close()
    return home


def throw_away(folder: Path, name: str = "job") -> Home:
    """A throw-away node in a mesh of its own founder: its quota is small enough to be filled."""
    return admitted(folder, founder(folder, f"{name}-founder"), EPHEMERAL, name)


def free(home: Home) -> int:
    """How many bytes a node may still write by now."""
    store = home.store()
    left = store.trust().allowance(home.node, store.clock()) - store.feeds.held_weight(home.node)
    store.close()
    return left


def fill(home: Home, left: int = 0) -> None:
    """Write until so many bytes are free, and too few more for another record."""
    before = free(home)
    _write(home, 10)
    cost = before - free(home) - 10  # of a record, beside its text
    texts = (free(home) - left - 2 * cost) // (_TEXT_CHARS + cost + 4)
    _write(home, *[_TEXT_CHARS] * texts)
    _write(home, free(home) - left - cost - 4)
    assert left <= free(home) < left + 8


def _write(home: Home, *lengths: int) -> None:
    author = home.author()
    results = author.append_each([[NewRecord("filling", {"text": "x" * length})] for length in lengths])
    author.store.close()
    assert not any(isinstance(result, Exception) for result in results)
