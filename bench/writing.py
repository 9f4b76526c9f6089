"""Writers beside a running sidecar, each in a process of its own: one record at a time, grouped, in batches.

Every write is durable and acknowledged before it counts as made; after a commit the author rings the sidecar's doorbell.
"""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

from bench.homes import LOG
from bench.notes import notes
from bench.processes import Measures
from bench.sidecars import accepted
from mesh.core.draft import NewRecord
from mesh.store.author import Author
from mesh.store.home import open_home
from mesh.store.reader import open_reading
from mesh.store.receipts import Receipt
from mesh.store.writer import Writer

THREADS = 64
_VISIBLE_SECONDS = 10.0
_PAUSE_SECONDS = 0.002  # between two writes, so that what follows the first is over


def write_grouped(home: str, count: int, seed: int) -> Measures:
    """Single writes without waiting for one before the next; ends when the last is acknowledged."""
    drafts, author = _drafts(count, seed), open_home(home).author()
    commits = _commits(author)
    with Writer(author) as writer:
        begin = time.perf_counter()
        receipts: list[Future[Receipt]] = [writer.submit([draft]) for draft in drafts]
        for receipt in receipts:
            receipt.result()
        return {"begin": begin, "end": time.perf_counter(), "commits": len(commits)}


def write_in_threads(home: str, count: int, seed: int) -> Measures:
    """Single writes of many threads, each of which waits for its receipt before it writes again."""
    drafts, author = _drafts(count, seed), open_home(home).author()
    commits = _commits(author)

    def write(part: list[NewRecord]) -> None:
        for draft in part:
            writer.submit([draft]).result()

    with Writer(author) as writer, ThreadPoolExecutor(THREADS) as pool:
        begin = time.perf_counter()
        list(pool.map(write, [drafts[first::THREADS] for first in range(THREADS)]))
        return {"begin": begin, "end": time.perf_counter(), "commits": len(commits)}


def write_batches(home: str, count: int, batch: int, seed: int) -> Measures:
    """Batches, each acknowledged before the next."""
    drafts, author = iter(_drafts(count, seed)), open_home(home).author()
    commits = _commits(author)
    with Writer(author) as writer:
        begin = time.perf_counter()
        while part := list(islice(drafts, batch)):
            writer.submit(part).result()
        return {"begin": begin, "end": time.perf_counter(), "commits": len(commits)}


def write_and_look(home: str, other: str, count: int, seed: int) -> Measures:
    """One record at a time, and without pause a look into the other home's database until it is there.

    One process and one clock. Seconds from the call and from the receipt, one of each a record.
    """
    author, reader = open_home(home).author(), open_reading(other)
    have = accepted(reader)
    from_call, from_receipt = [], []
    for draft in _drafts(count, seed):
        called = time.perf_counter()
        author.append([draft])
        received = time.perf_counter()
        have += 1
        while accepted(reader) < have:
            if time.perf_counter() > received + _VISIBLE_SECONDS:
                raise RuntimeError(f"a record was not visible in {other} after {_VISIBLE_SECONDS:g} s")
        seen = time.perf_counter()
        from_call.append(seen - called)
        from_receipt.append(seen - received)
        time.sleep(_PAUSE_SECONDS)
    return {"from_call": from_call, "from_receipt": from_receipt}


def _commits(author: Author) -> list[None]:
    """Grows by one with every commit from now on."""
    made: list[None] = []

    def note() -> bool:
        made.append(None)
        return False

    author.store.database.connection.set_commit_hook(note)
    return made


def _drafts(count: int, seed: int) -> list[NewRecord]:
    return [NewRecord(LOG, note) for note in notes(count, seed=seed)]
