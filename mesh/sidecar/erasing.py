"""Signing that bodies are to be gone, as far as we may: for records and for pages."""

from __future__ import annotations

import os
from contextlib import suppress

from clan_learnings.search.index_status import FOLDER, VECTORS
from mesh.core.limits import TAGS_PER_BODY
from mesh.core.operation import ADD, Set, parse
from mesh.core.statement import Erase, sign
from mesh.core.tuples import NamedTuple
from mesh.store.merge_outcome import Waiting
from mesh.store.rewriting import with_counterparts

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mesh.core.identity import Identity
    from mesh.store.author import Author
    from mesh.store.home import Home
    from mesh.store.store import Store


class Erased(NamedTuple):
    """What became of it: `mine` may be erased by us, `new` of them were not before, `left` only by others."""

    mine: list[bytes]
    new: list[bytes]
    left: int
    waits: bool  # we are not admitted, so our word counts nowhere yet


def erase(home: Home, author: Author, authors: Mapping[bytes, bytes], reason: str) -> Erased:
    """Erase the bodies with these tags (to their authors), as far as some key here may."""
    store = author.store
    authors = with_counterparts(store.database.connection, dict(authors))
    trust = store.trust()
    signer = _signer(home, author, set(authors.values()))
    mine = sorted(item for item, node in authors.items() if trust.may_erase(signer.public, node))
    new = [item for item in mine if not trust.is_erased(item, authors[item], ADD)]
    about = _targets(store, mine)
    waits = False
    for start in range(0, len(new), TAGS_PER_BODY):
        fact = Erase(signer.public, store.clock(), tuple(new[start : start + TAGS_PER_BODY]), reason)
        (outcome,) = author.merge_statements([sign(store.mesh, signer, fact).encode()])
        waits = waits or isinstance(outcome, Waiting)
    if not waits and store.mesh == home.mesh:
        _wipe_vectors(home.file(os.path.join(FOLDER, VECTORS)), about.union(mine))
    return Erased(mine, new, len(authors) - len(mine), waits)


def wipe_erased(home: Home) -> None:
    """The vectors of what others have erased, if that came while no sidecar ran: it is what one would find out at its start."""
    from json import load

    from mesh.store.changes import Touches
    from mesh.store.reading import open_reading

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
    _wipe_vectors(folder, set() if found is None else {*found.erased, *found.records})


def _wipe_vectors(folder: str, tags: set[bytes]) -> None:
    """What a sidecar would do, if one ran: there may never be another one."""
    if not os.path.isdir(folder):
        return
    from logging import getLogger

    from clan_learnings.search.vectors.vector_file import wipe_rows

    try:
        wipe_rows(folder, tags)
    except OSError as error:
        says = "vectors of what was erased may still be in %s: %s; next: delete that folder"
        getLogger("mesh.erase").warning(says, folder, error.strerror)


def _targets(store: Store, tags: Iterable[bytes]) -> set[bytes]:
    """The records that some of these bodies are edits of."""
    rows = [row for tag in tags for _, row in store.feeds.by_tag(tag)]
    edits = [parse(row.kind, row.hlc, row.body) for row in rows if row.body is not None]
    return {edit.target for edit in edits if isinstance(edit, Set) and isinstance(edit.target, bytes)}


def _signer(home: Home, author: Author, authors: set[bytes]) -> Identity:
    """The least key that reaches furthest: our own where it may erase everything, else the root key if it is here."""
    own = home.identity()
    trust = author.store.trust()
    if home.has_root_key and not all(trust.may_erase(own.public, node) for node in authors):
        return home.root_identity()
    return own
