"""Requests to erase: what `mesh erase` leaves of a member that may not erase a record. Writes nothing.

A body goes only by an erase statement of its author, an admin or a root. Anyone else's command signs none: it writes a
remove, which takes the record out of the views of every node, and whose reason says that more was meant. The text stays
in every database until somebody with the right erases it, so its author has to be told.
"""

from mesh.core.clock import milliseconds
from mesh.core.ids import digest, signed_prefix, tag_of
from mesh.core.limits import TEXT_CHARS
from mesh.core.operation import ADD, REMOVE, Remove, parse
from mesh.core.tuples import NamedTuple
from mesh.store.store import Store

_ASKED = "asked to erase: "  # before the reason of the remove: nothing else tells it from a retraction
REASON_CHARS = TEXT_CHARS - len(_ASKED)


class Request(NamedTuple):
    """Another member wants a record to be erased."""

    tag: bytes
    node: bytes
    at_ms: int
    reason: str


def as_request(reason: str) -> str:
    """The reason of a remove that stands for an erase."""
    return _ASKED + reason


def requests(store: Store, author: bytes, tag: bytes | None = None) -> list[Request]:
    """What others asked to erase of the records of an author that are still held, oldest first; of one record, if it is named.

    Of several requests of one member for one record the last one stands.
    """
    which = "" if tag is None else " AND removals.key=?4"
    rows = store.database.run(
        "SELECT removals.tag, asking.node, removal.hlc, removal.body, ops.body FROM removals"
        " JOIN ops AS removal ON removal.op=removals.op JOIN feeds AS asking ON asking.feed=removal.feed"
        " JOIN ops ON ops.key=removals.key AND ops.kind=?2 AND ops.body IS NOT NULL JOIN feeds ON feeds.feed=ops.feed"
        f" WHERE feeds.node=?1 AND asking.node!=?1 AND instr(removal.body, ?3){which}"
        " ORDER BY removal.hlc, removals.tag",
        (author, ADD, _ASKED.encode(), *(() if tag is None else (signed_prefix(tag),))),
    )
    found = {}
    for asked, node, hlc, removal, body in rows:
        if asked == tag_of(author, digest(body)) and asked == (tag or asked):
            parsed = parse(REMOVE, hlc, removal)
            if isinstance(parsed, Remove) and parsed.reason.startswith(_ASKED):
                found[asked, node] = Request(asked, node, milliseconds(hlc), parsed.reason.removeprefix(_ASKED))
    return list(found.values())
