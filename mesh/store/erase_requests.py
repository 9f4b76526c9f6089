"""Requests to erase: what `mesh erase` leaves of a member that may not erase a record. Writes nothing.

A body goes only by an erase statement of its author, an admin or a root. Anyone else's command signs none: it writes a record
of a log of its own, which says what is to go and why. The record that is meant stays as it is until somebody with the right
erases it, or says no. Until version 3 of the fold the request was a remove, whose reason began with `asked to erase: `.
"""

from mesh.core.clock import milliseconds
from mesh.core.errors import UsageError
from mesh.core.ids import digest, parse_id, tag_of, text_id
from mesh.core.limits import TEXT_CHARS
from mesh.core.operation import REMOVE, Remove, parse
from mesh.core.tuples import NamedTuple
from mesh.store.moderation_judge import Judge
from mesh.store.reading import Reader
from mesh.store.store import Store

LOG = "erase-requests"
_ASKED = "asked to erase: "  # before the reason of a remove: nothing else tells it from a retraction
REASON_CHARS = TEXT_CHARS - len(_ASKED)
_LOOK = 1000  # newest requests that are read: any member may write as many as it likes

# Of a proposal, or of a request: the key of the register in which somebody says no to it, by its own tag as text.
PROPOSAL, DISMISSED = "proposal:", "dismissed"


class Request(NamedTuple):
    """Another member wants a record to be erased. `asking`: the tag of what says so."""

    tag: bytes
    node: bytes
    at_ms: int
    reason: str
    asking: bytes
    author: bytes
    is_live: bool


def request_record(tag: bytes, reason: str) -> dict[str, str]:
    """A record of the log that asks for one to be erased."""
    return {"record": text_id(tag), "reason": reason}


def requests(store: Store, own: bytes, *, of_all: bool, tag: bytes | None = None) -> list[Request]:
    """What others asked to erase of what is still held, oldest first, as far as `own` can grant it; of one record, if it is named.

    `of_all`: whoever wrote it, else only of its own. Of several requests of one member for one record the last one stands.
    """
    connection = store.database.connection
    reader, judge = Reader(connection), Judge(connection, "main")
    judge.begin()
    said_no = {key: {one.node for one in said if one.value is True} for key, said in reader.said(DISMISSED).items()}
    found: dict[tuple[bytes, bytes], Request] = {}
    for asked in sorted([*_removes(store), *_records(reader)], key=lambda asked: asked.at_ms):
        if asked.tag != (tag or asked.tag) or asked.node == own:
            continue
        author = judge.author(asked.tag, held=True)
        if author is None or author == asked.node or not (of_all or author == own):
            continue
        if said_no.get(PROPOSAL + text_id(asked.asking), set()).isdisjoint({own, author, *judge.admins()}):
            found[asked.tag, asked.node] = asked._replace(author=author, is_live=reader.entry(asked.tag) is not None)
        else:
            found.pop((asked.tag, asked.node), None)
    return list(found.values())


def _records(reader: Reader) -> list[Request]:
    found = []
    for entry in reader.newest(LOG, _LOOK):
        target, reason = entry.record.get("record"), entry.record.get("reason")
        if type(target) is str and type(reason) is str:
            try:
                tag = parse_id(target)
            except UsageError:
                continue
            found.append(Request(tag, entry.node, milliseconds(entry.at), reason, entry.tag, b"", is_live=True))
    return found


def _removes(store: Store) -> list[Request]:
    rows = store.database.run(
        "SELECT removals.tag, node, ops.hlc, body FROM removals JOIN ops USING(op) JOIN feeds USING(feed)"
        " WHERE instr(body, ?)",
        (_ASKED.encode(),),
    )
    found = []
    for tag, node, hlc, body in rows.fetchall():
        parsed = parse(REMOVE, hlc, body)
        if isinstance(parsed, Remove) and parsed.reason.startswith(_ASKED):
            reason = parsed.reason.removeprefix(_ASKED)
            found.append(Request(tag, node, milliseconds(hlc), reason, tag_of(node, digest(body)), b"", is_live=False))
    return found
