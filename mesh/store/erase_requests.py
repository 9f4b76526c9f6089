"""Signing erasures of records and pages, as far as this node may; and the requests of others for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mesh.core.clock import milliseconds
from mesh.core.errors import UsageError
from mesh.core.identity import Identity
from mesh.core.ids import digest, parse_id, tag_of, text_id
from mesh.core.limits import TAGS_PER_BODY, TEXT_CHARS
from mesh.core.operation import ADD, REMOVE, Remove, Set, parse
from mesh.core.statement import Erase, sign
from mesh.store.author import Author
from mesh.store.home import Home
from mesh.store.merge_outcome import Waiting
from mesh.store.moderation_judge import Judge
from mesh.store.reader import Reader
from mesh.store.republication import with_counterparts
from mesh.store.store import Store
from mesh.store.subject import subjects


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
        for subject in subjects():
            subject.wiped(home.path, about.union(mine))
    return Erased(mine, new, len(authors) - len(mine), waits)


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


LOG = "erase-requests"
_ASKED = "asked to erase: "  # before the reason of a remove: nothing else tells it from a retraction
REASON_CHARS = TEXT_CHARS - len(_ASKED)
_LOOK = 1000  # newest requests that are read: any member may write as many as it likes

# Of a proposal, or of a request: the key of the register in which somebody says no to it, by its own tag as text.
PROPOSAL, DISMISSED = "proposal:", "dismissed"


class EraseRequest(NamedTuple):
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


def requests(store: Store, own: bytes, *, of_all: bool, tag: bytes | None = None) -> list[EraseRequest]:
    """What others asked to erase of what is still held, oldest first, as far as `own` can grant it; of one record, if it is named.

    `of_all`: whoever wrote it, else only of its own. Of several requests of one member for one record the last one stands.
    """
    connection = store.database.connection
    reader, judge = Reader(connection), Judge(connection, "main")
    judge.begin()
    said_no = {key: {one.node for one in said if one.value is True} for key, said in reader.said(DISMISSED).items()}
    found: dict[tuple[bytes, bytes], EraseRequest] = {}
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


def _records(reader: Reader) -> list[EraseRequest]:
    found = []
    for entry in reader.newest(LOG, _LOOK):
        target, reason = entry.record.get("record"), entry.record.get("reason")
        if type(target) is str and type(reason) is str:
            try:
                tag = parse_id(target)
            except UsageError:
                continue
            found.append(EraseRequest(tag, entry.node, milliseconds(entry.at), reason, entry.tag, b"", is_live=True))
    return found


def _removes(store: Store) -> list[EraseRequest]:
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
            found.append(
                EraseRequest(tag, node, milliseconds(hlc), reason, tag_of(node, digest(body)), b"", is_live=False)
            )
    return found
