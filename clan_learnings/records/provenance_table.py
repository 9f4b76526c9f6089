"""Where a record comes from: who wrote it, when, at which place of which chain, who vouched for it, and what happened to it since."""

from dataclasses import dataclass, field

from mesh.core.clock import milliseconds
from mesh.core.errors import UnknownId
from mesh.core.identity import point_message, verify
from mesh.core.ids import digest, short, tag_of, text_id
from mesh.core.operation import ADD, KIND_NAMES, SET, Add, Set, parse
from mesh.core.statement import Erase
from mesh.store.acceptance import CLIPPING
from mesh.store.feeds import FeedRow, OpRow
from mesh.store.moderation_judge import Judge
from mesh.store.republication import replacements
from mesh.store.store import Store


@dataclass(frozen=True, slots=True)
class RecordEvent:
    """Something that happened to a record: an edit, a removal, an erasure."""

    what: str
    node: bytes
    at_ms: int
    detail: str


@dataclass(slots=True)
class Provenance:
    """The history of one tag on this node."""

    tag: bytes
    kind: str
    node: bytes
    written_ms: int | None
    feed: str
    seq: int
    hash: bytes
    point: int
    signature_holds: bool
    state: str  # live, removed, erased, waiting, clipped, ignored
    copies: int
    record: object
    replaces: bytes | None  # what it was written as before, by a clock that was ahead
    replaced_by: bytes | None
    events: list[RecordEvent] = field(default_factory=list)


def provenance(store: Store, tag: bytes) -> Provenance:
    """Everything known here about a tag."""
    copies = store.feeds.by_tag(tag)
    if not copies:
        raise UnknownId("nothing with that id was ever held here", "list some: mesh tail")
    accepted = [copy for copy in copies if copy[1].seq <= copy[0].accepted.seq]
    feed, row = (accepted or copies)[0]
    item = store.feeds.next_range(feed, row.seq - 1, store.feeds.hash_at(feed, row.seq - 1), shortest=True)
    message = point_message(store.mesh, feed.feed, item.last, item.head)
    parsed = None if row.body is None else parse(row.kind, row.hlc, row.body)
    again = replacements(store.database.connection, feed.feed.node)
    return Provenance(
        tag=tag,
        kind=KIND_NAMES.get(row.kind, f"kind {row.kind}"),
        node=feed.feed.node,
        written_ms=milliseconds(parsed.at if isinstance(parsed, Add | Set) else row.hlc),
        feed=str(feed.feed),
        seq=row.seq,
        hash=item.hash_at(row.seq),
        point=item.last,
        signature_holds=verify(feed.feed.node, message, item.signature),
        state=_state(store, feed, row, tag),
        copies=len(copies),
        record=parsed.record if isinstance(parsed, Add) else (parsed._asdict() if parsed is not None else None),
        replaces=next((old for old, new in again.items() if new == tag), None),
        replaced_by=again.get(tag),
        events=sorted(
            [*_edits(store, tag), *_removals(store, tag), *_erasures(store, tag)], key=lambda item: item.at_ms
        ),
    )


def _state(store: Store, feed: FeedRow, row: OpRow, tag: bytes) -> str:
    run = store.database.run
    if row.body is None:
        return "erased"
    if row.seq > feed.accepted.seq:
        _, why = store.acceptance().allowed(feed)
        return f"clipped: {why}" if why in CLIPPING else f"waiting: {why or 'ahead of the clock'}"
    ignored = run("SELECT reason FROM ignored WHERE op=?", (row.op,)).get
    if ignored is not None:
        return f"ignored: {ignored}"
    if row.kind == ADD and _is_removed(store, tag):
        return "removed"
    return _standing(store, row) if row.kind == SET else "live"


def _is_removed(store: Store, tag: bytes) -> bool:
    judge = Judge(store.database.connection, "main")
    judge.begin()
    return judge.is_removed(tag)


def _standing(store: Store, row: OpRow) -> str:
    """Whether a set is the one its register shows, or which write has replaced it."""
    parsed = parse(SET, row.hlc, row.body or b"")
    assert isinstance(parsed, Set)
    winner = store.database.run(
        "SELECT registers.tag, feeds.node, registers.op FROM registers JOIN ops USING(op) JOIN feeds USING(feed)"
        " WHERE target=? AND field=?",
        (parsed.target, parsed.field),
    ).fetchone()
    if winner is None or winner[2] == row.op:
        return "live"
    return f"replaced by {text_id(winner[0])} of {short(winner[1])}"


def _edits(store: Store, tag: bytes) -> list[RecordEvent]:
    rows = store.database.run(
        "SELECT feeds.node, ops.hlc, ops.body FROM registers JOIN ops USING(op) JOIN feeds USING(feed) WHERE target=?",
        (tag,),
    ).fetchall()
    events = []
    for node, hlc, body in rows:
        parsed = parse(SET, hlc, body)
        assert isinstance(parsed, Set)
        events.append(RecordEvent("set", node, milliseconds(parsed.at), f"{parsed.field} = {parsed.value!r}"))
    return events


def _removals(store: Store, tag: bytes) -> list[RecordEvent]:
    judge = Judge(store.database.connection, "main")
    judge.begin()
    what = "removed" if judge.is_removed(tag) else "proposed"  # by somebody whose word is not enough
    return [
        RecordEvent(
            what, item.node, item.at_ms, item.reason if what == "removed" else f"to take it back: {item.reason}"
        )
        for item in judge.removals_of(tag)
    ]


def _erasures(store: Store, tag: bytes) -> list[RecordEvent]:
    return [
        RecordEvent("erased", fact.signer, fact.at, fact.reason)
        for fact in (statement.fact for statement in store.statements.naming(tag))
        if isinstance(fact, Erase)
    ]


def edits_of(store: Store, target: bytes | str) -> list[tuple[bytes, bytes]]:
    """Tag and author of every unerased `set` on a record or key: their bodies quote it, so an erase must name them too."""
    found = []
    rows = store.database.run(
        "SELECT feeds.node, ops.hlc, ops.body FROM ops JOIN feeds USING(feed) WHERE ops.kind=? AND ops.body IS NOT NULL",
        (SET,),
    )
    for node, hlc, body in rows:
        parsed = parse(SET, hlc, body)
        if isinstance(parsed, Set) and parsed.target == target:
            found.append((tag_of(node, digest(body)), node))
    return found
