"""Bundles in and out: a state as a file or a stream, for machines that no network joins, and for backups.

Everything held goes out, also what waits here: the receiver judges for itself. A bundle is a magic line, then frames, each of
4 bytes of length, 1 byte of type, and a payload:

H header (first)   S statement   R range   E end (last): the digest of every frame before it
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, BinaryIO, NamedTuple

from mesh.core.errors import Malformed, RemoteError
from mesh.core.feed import encode_range, require_hash
from mesh.core.ids import HASH_BYTES, text_id
from mesh.core.limits import PROTOCOL_VERSION, RANGE_BYTES, STATEMENT_BYTES
from mesh.core.strict_msgpack import pack, unpack
from mesh.core.version_vector import Vector
from mesh.store.author import Author
from mesh.store.feeds import FeedRow
from mesh.store.merge_outcome import AlreadyKnown, Clipped, Forked, Gap, Merged, Outcome, Refused, Waiting
from mesh.store.store import Store

MAGIC = b"clan-mesh bundle 1\n"
HEADER, STATEMENT, RANGE, END = b"H", b"S", b"R", b"E"
FRAME_HEAD_BYTES = 5
_READ = (1, PROTOCOL_VERSION)  # what version 1 wrote says the same today; what counts of it is decided here
FRAME_LIMITS = {HEADER: 4096, STATEMENT: STATEMENT_BYTES, RANGE: RANGE_BYTES, END: 64}


class Header(NamedTuple):
    """Which mesh a bundle is of, and the public keys that name it (empty when the exporter had not learned them)."""

    mesh: bytes
    root_key: bytes
    recovery_key: bytes
    private: bool


def frame(kind: bytes, payload: bytes) -> bytes:
    """One frame."""
    return len(payload).to_bytes(4, "big") + kind + payload


def frame_head(data: bytes) -> tuple[bytes, int]:
    """Type and payload length of a frame, checked against its limit before anything is read."""
    kind, length = data[4:5], int.from_bytes(data[:4], "big")
    limit = FRAME_LIMITS.get(kind)
    if limit is None:
        raise Malformed(f"unknown frame type {kind!r}")
    if length > limit:
        raise Malformed(f"a frame of {length} bytes is above the limit of {limit}")
    return kind, length


def encode_header(header: Header) -> bytes:
    """The payload of the first frame."""
    return pack([PROTOCOL_VERSION, *header])


def decode_header(data: bytes) -> Header:
    """The first frame's payload, or Malformed."""
    value: Any = unpack(data)
    if type(value) is not list or not value or type(value[0]) is not int:
        raise Malformed("a bundle's header is an array that begins with its version")
    if value[0] not in _READ:
        raise Malformed(
            f"the bundle has protocol version {value[0]}, this is {PROTOCOL_VERSION}",
            "upgrade clan-mesh on the older side",
        )
    if len(value) != 5 or type(value[4]) is not bool:
        raise Malformed("a bundle's header has five fields")
    mesh, root_key, recovery_key, private = value[1:]
    keys = [b"" if key == b"" else require_hash(key) for key in (root_key, recovery_key)]
    return Header(require_hash(mesh), keys[0], keys[1], private)


GROUP_BYTES = 4 * 1024 * 1024  # ranges committed together on import: about the best speed measured
_FRAME_COST_BYTES = 256  # so that countless empty frames are not collected for ever
Progress = Callable[[int], None]


@dataclass(slots=True)
class ImportReport:
    """What became of a bundle. Counts are statements and ranges, but `operations` that came to count."""

    operations: int = 0
    statements: int = 0
    known: int = 0
    waiting: int = 0
    clipped: int = 0
    refused: int = 0
    forks: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    complete: bool = False

    def add(self, outcome: Outcome, *, statement: bool = False) -> None:
        """Count one outcome."""
        match outcome:
            case Merged(count=count):
                if statement:
                    self.statements += count
                else:
                    self.operations += count
            case AlreadyKnown():
                self.known += 1
            case Gap(feed=feed, first=first, last=last):
                self.waiting += 1
                self._because(f"{feed} lacks {first} to {last}")
            case Waiting(reason=reason, merged=merged):
                self.operations += merged
                self.waiting += 1
                self._because(reason)
            case Clipped(reason=reason, merged=merged):
                self.operations += merged
                self.clipped += 1
                self._because(reason)
            case Forked(feed=feed, seq=seq):
                self.forks += 1
                self._because(f"{feed} was forked at {seq}")
            case Refused(reason=reason):
                self.refused += 1
                self._because(reason)

    def _because(self, reason: str) -> None:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1


def export_bundle(store: Store, out: BinaryIO, since: Vector | None = None, *, private: bool = False) -> int:
    """Write all that is held, or what `since` lacks of it. Returns the number of operations written."""
    digest = blake2b(digest_size=HASH_BYTES)
    operations = 0

    def write(data: bytes) -> None:
        digest.update(data)
        out.write(data)

    founders = store.founders() or (b"", b"")
    with store.database.savepoint():  # one snapshot for the whole bundle
        write(MAGIC)
        write(frame(HEADER, encode_header(Header(store.mesh, *founders, private))))
        for statement in [*store.all_statements(), *store.statements.held()]:
            write(frame(STATEMENT, statement.encode()))
        for row in store.feeds.all():
            for item in store.feeds.ranges(row, _common(store, row, since)):
                operations += len(item.links)
                write(frame(RANGE, encode_range(item)))
        for stray in store.quarantine.everything():
            write(frame(RANGE, stray.data))
    out.write(frame(END, digest.digest()))
    return operations


def import_bundle(author: Author, source: BinaryIO, report: ImportReport, progress: Progress = lambda _: None) -> None:
    """Merge a bundle as it is read: statements first, then each range whole or not at all.

    Importing twice, or several bundles in any order, ends in the same root. When a bundle turns out bad
    half-way this raises, and the report has what was merged before.
    """
    frames = read_frames(source)
    try:
        kind, payload = next(frames)
        if kind != HEADER:
            raise Malformed("the bundle does not begin with its header")
        _meet(author.store, decode_header(payload))
        statements: list[bytes] = []
        ranges: list[bytes] = []
        held: list[bytes] = []
        size = 0
        for kind, payload in _until_bad(frames, lambda: _merge(author, report, statements, ranges, held)):
            if kind == HEADER:
                _merge(author, report, statements, ranges, held)
                raise Malformed("the bundle has two headers")
            if kind == RANGE and statements:
                _merge(author, report, statements, ranges, held)
                size = 0
            (statements if kind == STATEMENT else ranges).append(payload)
            size += len(payload) + _FRAME_COST_BYTES
            if size > GROUP_BYTES:
                _merge(author, report, statements, ranges, held)
                size = 0
            progress(len(payload))
        _merge(author, report, statements, ranges, held)
        _merge_held(author, report, held)
    except StopIteration:
        raise Malformed("the bundle is empty") from None
    author.store.database.checkpoint()
    report.complete = True


def read_frames(source: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """The frames of a bundle, each bounded before it is read; the end frame's digest is checked, not given out."""
    digest = blake2b(digest_size=HASH_BYTES)
    magic = source.read(len(MAGIC))
    if magic != MAGIC:
        raise Malformed("this is not a clan-mesh bundle of version 1", "make one on another node: mesh export FILE")
    digest.update(magic)
    while True:
        head = source.read(FRAME_HEAD_BYTES)
        if len(head) < FRAME_HEAD_BYTES:
            raise Malformed("the bundle ends early", "copy the file again and import it again")
        kind, length = frame_head(head)
        payload = source.read(length)
        if len(payload) < length:
            raise Malformed("the bundle ends early", "copy the file again and import it again")
        if kind == END:
            if payload != digest.digest():
                raise Malformed("the bundle was altered on its way")
            if source.read(1):
                raise Malformed("something follows the end of the bundle")
            return
        digest.update(head)
        digest.update(payload)
        yield kind, payload


def _until_bad(frames: Iterator[tuple[bytes, bytes]], finish: Callable[[], None]) -> Iterator[tuple[bytes, bytes]]:
    """Pass frames on; when the stream breaks, first merge what was read."""
    try:
        yield from frames
    except RemoteError:
        finish()
        raise


def _merge(
    author: Author, report: ImportReport, statements: list[bytes], ranges: list[bytes], held: list[bytes]
) -> None:
    if statements:
        for data, outcome in zip(statements, author.merge_statements(statements), strict=True):
            if isinstance(outcome, Waiting):
                held.append(data)
            else:
                report.add(outcome, statement=True)
        statements.clear()
    if ranges:
        for outcome in author.merge_ranges(ranges):
            report.add(outcome)
        ranges.clear()


def _meet(store: Store, header: Header) -> None:
    if header.mesh != store.mesh:
        raise RemoteError(
            f"the bundle is of mesh {text_id(header.mesh)[:10]}…, this home belongs to {text_id(store.mesh)[:10]}…",
            "a private bundle needs: mesh import --private" if header.private else "import it into a home of that mesh",
        )
    if header.root_key and header.recovery_key:
        store.learn_founders(header.root_key, header.recovery_key)


def _common(store: Store, row: FeedRow, since: Vector | None) -> int:
    """Up to where the other side has the same chain. If its head is not on ours, nothing is taken for granted.

    A head beyond ours cannot be compared; the other side has all of ours then, or its own bundle shows the fork.
    """
    head = None if since is None else since.get(row.feed)
    if head is None or head.seq > row.held.seq:
        return 0 if head is None else row.held.seq
    return head.seq if store.feeds.hash_at(row, head.seq) == head.hash else 0


def _merge_held(author: Author, report: ImportReport, held: list[bytes]) -> None:
    """Ask once more about statements that did not count when they were read: an erase comes before what it erases."""
    for outcome in author.merge_statements(held):
        report.add(Merged(1) if isinstance(outcome, AlreadyKnown) else outcome, statement=True)
