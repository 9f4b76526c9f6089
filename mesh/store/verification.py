"""Checks everything in a database: file, chains, signatures, acceptance, and the fold, folded again from nothing.

The second fold goes into a temporary database that SQLite itself deletes, also after a kill.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b

import apsw

from mesh.core.clock import milliseconds
from mesh.core.errors import HomePermissions, MeshError, RemoteError
from mesh.core.feed import link_hash
from mesh.core.identity import point_message, verify
from mesh.core.ids import HASH_BYTES, digest, first_prev, tag_of
from mesh.core.limits import OPERATION_BYTES, RANGE_OPERATIONS, SALT_BYTES
from mesh.core.operation import fold_key, parse
from mesh.core.statement import decode_statement
from mesh.core.strict_msgpack import pack
from mesh.store import schema
from mesh.store.acceptance import fold_rows
from mesh.store.database import SCRATCH
from mesh.store.feeds import FeedRow
from mesh.store.fold import Fold
from mesh.store.statements import member_rows
from mesh.store.store import Store
from mesh.store.subject import subjects

_CHUNK = 4096
_COMPARED = {
    "elements": "op, (SELECT name FROM {s}.logs WHERE logs.log=elements.log), at FROM {s}.elements",
    "removals": "tag, op, key FROM {s}.removals",
    "registers": "target, field, at, tag, op FROM {s}.registers",
    "said": "field, target, node, at, tag, op FROM {s}.said",
    "counters": "key, slot, total FROM {s}.counters",
    "ignored": "op, reason FROM {s}.ignored",
}


@dataclass(slots=True)
class VerificationResult:
    """What was checked, and what was found wrong: the first of each sort."""

    feeds: int = 0
    operations: int = 0
    points: int = 0
    statements: int = 0
    problems: list[str] = field(default_factory=list)
    views: str = ""  # a digest of the views: nodes with the same root have the same

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def verify_store(store: Store, progress: Callable[[int], None] = lambda _: None) -> VerificationResult:
    """Refold from nothing and compare. Changes nothing but what is due anyway: operations ripe by the clock."""
    with suppress(HomePermissions):  # in a home that we may only read
        store.settle()
    verdict = VerificationResult()
    connection = store.database.connection
    connection.execute(f"ATTACH '{SCRATCH if connection.open_flags & apsw.SQLITE_OPEN_READONLY else ''}' AS refold")
    try:
        connection.execute("BEGIN")  # one snapshot; the scratch database is written inside it
        try:
            _check_all(store, verdict, progress)
        finally:
            connection.execute("ROLLBACK")
    finally:
        connection.execute("DETACH refold")
    return verdict


def _check_all(store: Store, verdict: VerificationResult, progress: Callable[[int], None]) -> None:
    with _noted(verdict, "the file"):
        _check_file(store, verdict)
    with _noted(verdict, "statements"):
        _check_statements(store, verdict)
    with _noted(verdict, "trust"):
        store.trust()
    if verdict.problems:
        return  # what the rest is judged by is not whole
    store.database.run(schema.view_tables("refold"))
    again = Fold(store.database.connection, "refold")
    for row in store.feeds.all():
        with _noted(verdict, f"feed {row.feed}"):
            _check_feed(store, row, again, verdict, progress)
    with _noted(verdict, "views"):
        _compare(store, verdict)
        for subject in subjects():
            verdict.problems += subject.problems(store.database.connection)
        _check_members(store, verdict)
        verdict.views = views_digest(store)


@contextmanager
def _noted(verdict: VerificationResult, what: str) -> Iterator[None]:
    """A check that cannot be made is a problem found, not an end of the checking."""
    try:
        yield
    except (apsw.Error, MeshError, AssertionError, TypeError, ValueError) as error:
        verdict.problems.append(f"{what}: {error or type(error).__name__}")


def views_digest(store: Store) -> str:
    """A digest of elements, registers (and each node's word in them) and counters that does not depend on the order of arrival.

    Rows are hashed one by one and the hashes added up, so nothing has to be sorted or held.
    """
    run = store.database.run
    total = 0

    def add(*parts: object) -> None:
        nonlocal total
        total += int.from_bytes(blake2b(pack(list(parts)), digest_size=HASH_BYTES).digest(), "big")

    for node, body in run("SELECT node, body FROM elements JOIN ops USING(op) JOIN feeds USING(feed)"):
        add("element", tag_of(node, digest(body)))
    for target, name, at, tag in run("SELECT target, field, at, tag FROM registers"):
        add("register", target, name, at, tag)
    for target, name, node, at, tag in run("SELECT target, field, node, at, tag FROM said"):
        add("said", target, name, node, at, tag)
    for key, slot, count in run("SELECT key, slot, total FROM counters"):
        add("counter", key, slot, count)
    return (total % 2**256).to_bytes(32, "big").hex()


def _check_file(store: Store, verdict: VerificationResult) -> None:
    answer = store.database.run("PRAGMA main.quick_check(1)").get
    if answer != "ok":
        verdict.problems.append(f"the file: {answer}")


def _check_statements(store: Store, verdict: VerificationResult) -> None:
    for identity, data in store.database.run("SELECT id, data FROM statements").fetchall():
        verdict.statements += 1
        try:
            if decode_statement(store.mesh, data).id != identity:
                verdict.problems.append(f"statement {identity.hex()[:10]} is kept under a wrong id")
        except RemoteError as error:
            verdict.problems.append(f"statement {identity.hex()[:10]}: {error}")


def _check_feed(
    store: Store, row: FeedRow, again: Fold, verdict: VerificationResult, progress: Callable[[int], None]
) -> None:
    verdict.feeds += 1
    problem = _check_chain(store, row, verdict, progress) or _check_accepted(store, row)
    if problem:
        verdict.problems.append(f"feed {row.feed}: {problem}")
    after = 0
    while after < row.accepted.seq:
        last = min(after + _CHUNK, row.accepted.seq)
        again.apply(row.feed, row.number, list(fold_rows(row.feed, store.feeds.rows(row.number, after + 1, last))))
        after = last


def _check_chain(store: Store, row: FeedRow, verdict: VerificationResult, progress: Callable[[int], None]) -> str:
    points = {seq: (head, signature) for seq, head, signature in store.feeds.points(row.number)}
    if row.held.seq and row.held.seq not in points:
        return "its last operation is not signed"
    stops = [0, *sorted(points)]
    if any(after - before > RANGE_OPERATIONS for before, after in itertools.pairwise(stops)):
        return "its signatures are too far apart"
    value, hlc, seq = first_prev(store.mesh, row.feed), 0, 0
    rows = store.database.run(
        "SELECT op, seq, hlc, kind, key, tag, body FROM ops WHERE feed=? ORDER BY seq", (row.number,)
    )
    for op, found, stamp, kind, key, tag, body in rows:
        seq += 1
        verdict.operations += 1
        if found != seq:
            return f"operation {seq} is missing"
        if stamp <= hlc or (body is not None and not SALT_BYTES <= len(body) <= OPERATION_BYTES):
            return f"operation {seq} breaks the protocol"
        body_hash = store.feeds.erased_hash(op) if body is None else digest(body)
        value, hlc = link_hash(value, stamp, kind, body_hash), stamp
        if body is not None:
            whole = tag_of(row.feed.node, body_hash)
            if (key, tag) != _columns(kind, stamp, body, whole):
                return f"operation {seq} is indexed wrongly"
        for head, remembered in ((row.held, row.held_hlc), (row.accepted, row.accepted_hlc)):
            if head.seq == seq and (head.hash, remembered) != (value, stamp):
                return f"hash or clock after {seq} are not those remembered"
        if seq in points:
            verdict.points += 1
            head_hash, signature = points.pop(seq)
            if head_hash != value or not verify(
                row.feed.node, point_message(store.mesh, row.feed, seq, value), signature
            ):
                return f"the signed point {seq} does not hold"
        if seq % _CHUNK == 0:
            progress(_CHUNK)
    if seq != row.held.seq or points:
        return f"{seq} operations are there, {row.held.seq} are remembered"
    return ""


def _columns(kind: int, hlc: int, body: bytes, tag: bytes) -> tuple[int | None, int | None]:
    prefix = int.from_bytes(tag[:8], "big", signed=True)
    key = fold_key(parse(kind, hlc, body), tag)
    return (key, None) if kind == 1 and key is not None else (key, prefix)


def _check_accepted(store: Store, row: FeedRow) -> str:
    due, _ = store.acceptance().due(row)
    if row.accepted.seq > due:
        return f"{row.accepted.seq} operations count, only {due} may"
    if row.accepted.seq < due:
        waiting = next(store.feeds.rows(row.number, row.accepted.seq + 1, row.accepted.seq + 1))
        if milliseconds(waiting.hlc) <= store.clock():  # not merely ripe since a moment ago
            return f"{due} operations may count, only {row.accepted.seq} do"
    return ""


def _compare(store: Store, verdict: VerificationResult) -> None:
    run = store.database.run
    compared = [_COMPARED, *(subject.compared() for subject in subjects())]
    for table, rows in itertools.chain.from_iterable(some.items() for some in compared):
        main, refold = ("SELECT " + rows.format(s=s) for s in ("main", "refold"))
        for one, other, word in ((main, refold, "should not be there"), (refold, main, "is missing")):
            row = run(f"{one} EXCEPT {other} LIMIT 1").fetchone()
            if row is not None:
                shown = ", ".join(part.hex()[:16] if isinstance(part, bytes) else str(part) for part in row)
                verdict.problems.append(f"view {table}: ({shown}) {word}")


def _check_members(store: Store, verdict: VerificationResult) -> None:
    noted = store.database.run("SELECT node, name, role, revoked FROM members").fetchall()
    if sorted(noted) != sorted(member_rows(store.trust())):
        verdict.problems.append("the list of members is not the one the statements give")
