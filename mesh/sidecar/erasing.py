"""Signing that bodies are to be gone, as far as we may: for records and for pages."""

from __future__ import annotations

from mesh.core.limits import TAGS_PER_BODY
from mesh.core.operation import ADD
from mesh.core.statement import Erase, sign
from mesh.core.tuples import NamedTuple
from mesh.store.outcome import Waiting

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mesh.core.identity import Identity
    from mesh.store.author import Author
    from mesh.store.home import Home


class Erased(NamedTuple):
    """What became of it: `mine` may be erased by us, `new` of them were not before, `left` only by others."""

    mine: list[bytes]
    new: list[bytes]
    left: int
    waits: bool  # we are not admitted, so our word counts nowhere yet


def erase(home: Home, author: Author, authors: Mapping[bytes, bytes], reason: str) -> Erased:
    """Erase the bodies with these tags (to their authors), as far as some key here may."""
    store = author.store
    trust = store.trust()
    signer = _signer(home, author, set(authors.values()))
    mine = sorted(item for item, node in authors.items() if trust.may_erase(signer.public, node))
    new = [item for item in mine if not trust.is_erased(item, authors[item], ADD)]
    waits = False
    for start in range(0, len(new), TAGS_PER_BODY):
        fact = Erase(signer.public, store.clock(), tuple(new[start : start + TAGS_PER_BODY]), reason)
        (outcome,) = author.merge_statements([sign(store.mesh, signer, fact).encode()])
        waits = waits or isinstance(outcome, Waiting)
    return Erased(mine, new, len(authors) - len(mine), waits)


def _signer(home: Home, author: Author, authors: set[bytes]) -> Identity:
    """The least key that reaches furthest: our own where it may erase everything, else the root key if it is here."""
    own = home.identity()
    trust = author.store.trust()
    if home.has_root_key and not all(trust.may_erase(own.public, node) for node in authors):
        return home.root_identity()
    return own
