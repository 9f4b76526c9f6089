"""Group commit: many threads, few transactions, and each receipt is as good as if its batch had been written alone."""

import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from itertools import pairwise
from pathlib import Path

import pytest

from mesh.core.draft import Draft, Increment, NewRecord, Removal, Request
from mesh.core.errors import HomeBusy, UsageError
from mesh.core.limits import OPERATION_BYTES
from mesh.store import writer as writing
from mesh.store.author import Author
from mesh.store.reader import Reader
from mesh.store.receipts import Receipt
from mesh.store.verification import verify_store
from mesh.store.writer import Writer
from tests.worlds import Clan, open_author, open_store

CLAN = Clan()
OWN = CLAN.node(0)
WAIT_SECONDS = 300.0  # before something counts as hanging


@pytest.fixture
def author(tmp_path: Path) -> Iterator[Author]:
    with open_author(tmp_path, CLAN, OWN) as made:
        made.merge_statements([CLAN.member(OWN).encode()])
        yield made


def note(text: str) -> NewRecord:
    return NewRecord("notes", {"text": text})


def said(author: Author) -> list[str]:
    return [entry.record["text"] for entry in Reader(author.store.database.connection).tail(2**31)]


class Gate:
    """Holds the writer's transactions back until it is opened, so that a test decides what queues up."""

    def __init__(self, author: Author, monkeypatch: pytest.MonkeyPatch) -> None:
        self.groups: list[int] = []
        self.reached = threading.Event()
        self._open = threading.Event()
        self._real = author.append_each
        monkeypatch.setattr(author, "append_each", self._append_each)

    def open(self) -> None:
        self._open.set()

    def _append_each(
        self, batches: Sequence[Sequence[Draft]], requests: Sequence[Request | None] = ()
    ) -> list[Receipt | UsageError]:
        self.groups.append(len(batches))
        self.reached.set()
        assert self._open.wait(WAIT_SECONDS)
        return self._real(batches, requests)


def test_a_receipt_is_given_only_when_others_can_see_the_batch(author: Author, tmp_path: Path) -> None:
    """Each of eight threads looks through a connection of its own, right after each receipt."""
    problems: list[str] = []

    def write(name: int) -> None:
        with open_store(tmp_path, CLAN, OWN) as other:
            reader = Reader(other.database.connection)
            for number in range(25):
                drafts = [note(f"{name} {number} {part}") for part in range(2)]
                receipt = writer.submit(drafts).result(WAIT_SECONDS)
                for draft, tag in zip(drafts, receipt.tags, strict=True):
                    entry = reader.entry(tag)
                    if entry is None or entry.record != draft.record:
                        problems.append(f"{draft.record} is not to be seen")

    with Writer(author) as writer:
        threads = [threading.Thread(target=write, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert problems == []
    assert sorted(said(author)) == sorted(f"{a} {b} {c}" for a in range(8) for b in range(25) for c in range(2))
    assert verify_store(author.store).clean


def test_batches_that_queue_up_share_a_transaction(author: Author, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is being written the next hundred gather, and go out together."""
    gate = Gate(author, monkeypatch)
    with Writer(author) as writer:
        first = writer.submit([note("first")])
        assert gate.reached.wait(WAIT_SECONDS)
        rest = [writer.submit([note(str(number))]) for number in range(100)]
        gate.open()
        receipts = [future.result(WAIT_SECONDS) for future in (first, *rest)]
    assert gate.groups == [1, 100]
    assert [receipt.first for receipt in receipts] == list(range(1, 102))
    assert said(author) == ["first", *map(str, range(100))]


def test_the_first_group_of_a_home_opens_one_feed(author: Author) -> None:
    """The batches of one transaction follow each other in one feed, also where there was none before."""
    results = author.append_each([[note(str(number))] for number in range(10)])
    receipts = [result for result in results if isinstance(result, Receipt)]
    assert [receipt.first for receipt in receipts] == list(range(1, 11))
    assert len({receipt.feed for receipt in receipts}) == 1
    assert said(author) == [str(number) for number in range(10)]


def test_a_group_that_opens_a_new_epoch_opens_one(author: Author, state_folder: Path) -> None:
    """A home whose marker is gone goes on in one new feed, not in one for each batch of the group."""
    old = author.append([note("old")]).feed
    for file in state_folder.iterdir():
        file.unlink()
    results = author.append_each([[note(str(number))] for number in range(10)])
    assert len({result.feed for result in results if isinstance(result, Receipt)} - {old}) == 1


def test_a_group_is_bounded(author: Author, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many have gathered, one transaction takes so many and no more."""
    monkeypatch.setattr(writing, "GROUP_LENGTH", 10)
    gate = Gate(author, monkeypatch)
    with Writer(author) as writer:
        futures = [writer.submit([note("first")])]
        assert gate.reached.wait(WAIT_SECONDS)
        futures += [writer.submit([note(str(number))]) for number in range(25)]
        gate.open()
        for future in futures:
            future.result(WAIT_SECONDS)
    assert gate.groups == [1, 10, 10, 5]


BAD: dict[str, list[Draft]] = {
    "too long": [note("x" * OPERATION_BYTES)],
    "bad log": [NewRecord("No Such Log!", {"text": "x"})],
    "bad value": [NewRecord("notes", {"text": object()})],
    "bad text": [note("half a character: \ud800")],
    "bad counter": [Increment("half a character: \ud800")],
    "no key": [Increment("")],
    "beyond the limit": [Increment("hits", 2**60)],
    "negative": [Increment("hits", -1)],
    "nothing to remove": [Removal((), "because")],
    "good, then bad": [note("never to be seen"), NewRecord("No Such Log!", {})],
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_a_bad_batch_spoils_no_other(author: Author, monkeypatch: pytest.MonkeyPatch, bad: list[Draft]) -> None:
    """It alone fails, whole and with a reason, though it shares a transaction with good ones."""
    gate = Gate(author, monkeypatch)
    with Writer(author) as writer:
        first = writer.submit([note("first")])
        assert gate.reached.wait(WAIT_SECONDS)
        before = writer.submit([note("before"), Increment("hits", 2)])
        wrong = writer.submit(bad)
        after = writer.submit([note("after"), Increment("hits", 3)])
        gate.open()
        good = [future.result(WAIT_SECONDS) for future in (first, before, after)]
        with pytest.raises(UsageError):
            wrong.result(WAIT_SECONDS)
    assert gate.groups == [1, 3]
    assert [receipt.first for receipt in good] == [1, 2, 4]
    assert said(author) == ["first", "before", "after"]
    assert Reader(author.store.database.connection).total("hits") == 5
    assert verify_store(author.store).clean


def test_an_empty_batch_is_refused_like_an_empty_append(author: Author) -> None:
    """A receipt without anything in it would name a place that the next batch gets."""
    with pytest.raises(UsageError):
        author.append([])
    with Writer(author) as writer, pytest.raises(UsageError):
        writer.submit([]).result(WAIT_SECONDS)


def test_a_disk_that_fails_fails_the_group_and_nothing_after_it(
    author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everyone in the group is told; the next group is written."""
    real = author.append_each

    def fail(_batches: Sequence[Sequence[Draft]], _requests: object) -> list[Receipt | UsageError]:
        monkeypatch.setattr(author, "append_each", real)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(author, "append_each", fail)
    with Writer(author) as writer:
        with pytest.raises(OSError, match="No space"):
            writer.submit([note("lost, and told so")]).result(WAIT_SECONDS)
        writer.submit([note("kept")]).result(WAIT_SECONDS)
    assert said(author) == ["kept"]


def test_leaving_writes_what_is_queued(author: Author, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody who got a future is left without an answer."""
    gate = Gate(author, monkeypatch)
    with Writer(author) as writer:
        futures = [writer.submit([note(str(number))]) for number in range(300)]
        assert gate.reached.wait(WAIT_SECONDS)
        gate.open()
    assert all(future.done() for future in futures)
    assert said(author) == [str(number) for number in range(300)]


def test_nothing_is_taken_after_leaving(author: Author) -> None:
    """A late writer is told to come again, instead of waiting for ever."""
    with Writer(author) as writer:
        pass
    with pytest.raises(HomeBusy, match="closing"):
        writer.submit([note("late")])
    assert said(author) == []


def test_a_batch_that_comes_while_the_writer_closes_gets_an_answer(author: Author) -> None:
    """A submitter that was let in just before the end is written or refused, not forgotten."""
    let_in, closed = threading.Event(), threading.Event()

    class SlowQueue(queue.Queue[object]):
        def put(self, item: object, block: bool = True, timeout: float | None = None) -> None:  # noqa: FBT001, FBT002
            if item is None:
                super().put(item, block, timeout)
                closed.set()
            else:
                let_in.set()
                closed.wait(1)  # a writer that closes only after those let in never sets it, and loses a second
                super().put(item, block, timeout)

    answers: list[object] = []

    def submit() -> None:
        try:
            answers.append(writer.submit([note("just in time")]))
        except HomeBusy as error:
            answers.append(error)

    writer = Writer(author)
    writer._queue = SlowQueue()  # type: ignore[assignment]
    with writer:
        late = threading.Thread(target=submit)
        late.start()
        assert let_in.wait(WAIT_SECONDS)
    late.join()
    (answer,) = answers
    if isinstance(answer, Future):
        assert isinstance(answer.result(WAIT_SECONDS), Receipt)
        assert said(author) == ["just in time"]


def test_the_order_of_each_submitter_is_kept(author: Author) -> None:
    """What one thread submits first stands first in the feed, without waiting for receipts in between."""
    futures: dict[int, list[Future[Receipt]]] = {name: [] for name in range(6)}

    def submit(name: int) -> None:
        for number in range(100):
            futures[name].append(writer.submit([note(f"{name} {number}")]))

    with Writer(author) as writer:
        threads = [threading.Thread(target=submit, args=(name,)) for name in futures]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    everything = said(author)
    assert len({future.result(WAIT_SECONDS).feed for promised in futures.values() for future in promised}) == 1
    for name, promised in futures.items():
        places = [future.result(WAIT_SECONDS).first for future in promised]
        assert all(one < other for one, other in pairwise(places))
        assert [text for text in everything if text.startswith(f"{name} ")] == [f"{name} {n}" for n in range(100)]
    assert len(everything) == 600


def test_counters_of_one_group_add_up(author: Author, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch sees the totals of those before it in the same transaction."""
    gate = Gate(author, monkeypatch)
    with Writer(author) as writer:
        futures = [writer.submit([Increment("hits"), Increment("hits", 2)]) for _ in range(50)]
        gate.open()
        for future in futures:
            future.result(WAIT_SECONDS)
    assert Reader(author.store.database.connection).total("hits") == 150


def test_someone_who_no_longer_waits_keeps_nobody_else_waiting(author: Author, monkeypatch: pytest.MonkeyPatch) -> None:
    """A future that was cancelled while its batch was being written does not end the writer."""
    gate = Gate(author, monkeypatch)
    with Writer(author) as writer:
        gone = writer.submit([note("written, but nobody asked")])
        assert gate.reached.wait(WAIT_SECONDS)
        gone.cancel()
        gate.open()
        writer.submit([note("next")]).result(5)
    assert "next" in said(author)


def test_writers_of_one_request_share_one_record(author: Author, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they meet in one transaction or come one after the other, each gets the receipt of the first."""
    gate = Gate(author, monkeypatch)
    request = Request("one-request", b"content")
    with Writer(author) as writer:
        futures = [writer.submit([note("first of all")])]
        assert gate.reached.wait(WAIT_SECONDS)
        futures += [writer.submit([note("once")], request) for _ in range(5)]
        gate.open()
        receipts = [future.result(WAIT_SECONDS) for future in futures][1:]
        receipts.append(writer.submit([note("once")], request).result(WAIT_SECONDS))
    assert gate.groups == [1, 5, 1]
    assert said(author) == ["first of all", "once"]
    assert [receipt.repeated for receipt in receipts] == [False, True, True, True, True, True]
    assert {receipt._replace(repeated=False) for receipt in receipts} == {receipts[0]}
