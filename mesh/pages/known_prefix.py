"""What of a text was known to whoever began the one that follows it. It stands in registers, so it may be anything.

Of each client: how far its insertions went, which tells exactly what is in the text; and the stamp of its last operation, by
which those are told that only delete.
"""

from __future__ import annotations

from mesh.core.tuples import NamedTuple
from mesh.pages.update import client_of, parse

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from mesh.pages.ledger import PageOp


class Reach(NamedTuple):
    """How far one client was known."""

    clock: int
    at: int


Seen = dict[int, Reach]


def seen_in(ops: Iterable[PageOp]) -> Seen:
    """What is known to who has these operations, all of which count."""
    seen: Seen = {}
    clients: dict[tuple[bytes, int], int] = {}
    for op in ops:
        client = clients.get((op.node, op.epoch))
        if client is None:
            client = clients[op.node, op.epoch] = client_of(op.node, op.epoch)
        before = seen.get(client, Reach(0, 0))
        seen[client] = Reach(max(before.clock, parse(op.update).end), max(before.at, op.at))
    return seen


def is_covered(op: PageOp, seen: Seen) -> bool:
    """Whether an operation is in the text that follows already. It has to be a sound one."""
    reach = seen.get(client_of(op.node, op.epoch), Reach(0, 0))
    update = parse(op.update)
    return op.at <= reach.at if update.client is None else update.end <= reach.clock


def written(seen: Seen) -> list[list[int]]:
    """As it stands in a register."""
    return [[client, *reach] for client, reach in sorted(seen.items())]


def read(value: Any) -> Seen:
    """From a register, as far as it says anything."""
    found = [item for item in value if _is_reach(item)] if isinstance(value, list) else []
    return {client: Reach(clock, at) for client, clock, at in found}


def _is_reach(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 3 and all(type(part) is int for part in item)
