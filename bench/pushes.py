"""Operations pushed one by one, as neighbours do when something was just written. Bulk is `merge`."""

import time
from collections.abc import Iterator

from bench.homes import LOG, PUSHER
from bench.notes import notes
from bench.processes import Measures
from mesh.core import clock
from mesh.core.feed import Link, encode_range, sign_range
from mesh.core.ids import Feed, digest, first_prev
from mesh.core.operation import ADD, Add, encode
from mesh.store.home import open_home
from mesh.store.merge_outcome import Merged
from mesh.store.store import wall_clock


def push_singles(home: str, count: int, together: int) -> Measures:
    """Ranges of one operation as they come from a neighbour, each with a signature of its own.

    `together`: how many a transaction takes, as when a few have queued up while the one before was written.
    """
    author = open_home(home).author()
    ranges = list(_singles(author.store.mesh, count, epoch=together))
    wall, processor = time.perf_counter(), time.process_time()
    outcomes = []
    for first in range(0, count, together):
        outcomes += author.merge_ranges(ranges[first : first + together])
    author.store.sync()
    measures = {"seconds": time.perf_counter() - wall, "processor_seconds": time.process_time() - processor}
    if outcomes != [Merged(1)] * count:
        raise RuntimeError("a pushed operation did not come to count")
    return measures | {"count": count}


def _singles(mesh: bytes, count: int, epoch: int) -> Iterator[bytes]:
    feed = Feed(PUSHER.public, epoch)
    prev, stamp = first_prev(mesh, feed), 0
    for seq, note in enumerate(notes(count, seed=2), 1):
        stamp = clock.tick(stamp, wall_clock())
        body = encode(Add(stamp, LOG, note), digest(seq.to_bytes(8, "big"))[:16])
        item = sign_range(mesh, PUSHER, feed, seq, prev, [Link(stamp, ADD, body, digest(body))])
        prev = item.head
        yield encode_range(item)
