"""The thread that works on the store: what use cases of the node write goes through it, in common commits, and gossip is told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clan_learnings.search.index_building import IndexBuilding
from clan_learnings.search.indexes import SearchIndexes
from mesh.app.application import Application
from mesh.core.clock import pack
from mesh.core.draft import NewRecord, Request
from mesh.core.errors import ClockInDoubt, UsageError
from mesh.core.limits import OPERATION_BYTES
from mesh.node.node_store import NodeStore
from mesh.node.store_replica import StoreReplica
from mesh.node.store_thread import StoreThread
from mesh.store.home import Home, create_home
from mesh.store.join_table import Cards
from mesh.store.reader import Reader
from peers.proto.engine_events import Event, NotebookChanged


class Node:
    """The store of a node with its thread, and what gossip was told."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.author = home.author(is_sidecar=True)
        replica = StoreReplica(self.author)
        replica.everything()
        database = self.author.store.database
        self.thread = StoreThread(
            self.author, replica, Cards(database), lambda: int(database.run("PRAGMA data_version").get)
        )
        self.told: list[Event] = []
        self.doubts = 0
        self.thread.answer = self.told.extend
        self.recall = SearchIndexes(home.path, IndexBuilding(home.path))
        self.records = NodeStore(home.node, self.recall, self.thread, self.author.store.clock, self._doubted)

    def _doubted(self) -> None:
        self.doubts += 1

    @contextmanager
    def busy(self) -> Iterator[None]:
        """The thread does something else inside the block, so what is asked of it meanwhile is done together."""
        go = threading.Event()
        self.thread.call(go.wait)
        try:
            yield
        finally:
            go.set()

    def texts(self) -> list[object]:
        return [entry.record.get("text") for entry in Reader(self.author.store.database.connection).tail(1000)]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(create_home(str(tmp_path / "home"), "laptop"))
    with node.thread:
        yield node
    node.author.store.close()


def discovery(text: str) -> list[NewRecord]:
    return [NewRecord("discoveries", {"text": text})]


def test_writes_that_wait_together_are_one_commit_and_told_once(node: Node) -> None:
    """Each has its own receipt, and one that cannot be written spoils no other."""
    other = node.home.store()
    before = int(other.database.run("PRAGMA data_version").get)
    with node.busy():
        good = [node.thread.append(discovery(f"thing {number}")) for number in range(20)]
        bad = node.thread.append(discovery("x" * (OPERATION_BYTES + 1)))
        last = node.thread.append(discovery("the last"))
    receipts = [future.result() for future in (*good, last)]
    with pytest.raises(UsageError):
        bad.result()
    node.thread.call(lambda: None).result()
    assert [receipt.first for receipt in receipts] == [*range(1, 22)]
    assert node.texts() == [f"thing {number}" for number in range(20)] + ["the last"]
    (changed,) = [event for event in node.told if isinstance(event, NotebookChanged)]
    assert [state.accepted.seq for state in changed.changes.feeds] == [21]
    assert int(other.database.run("PRAGMA data_version").get) == before + 1
    other.close()


def test_one_request_that_waits_twice_is_written_once(node: Node) -> None:
    """A command that gave up and asked again, while the first was still in the queue."""
    request = Request("request-1", b"content", 60)
    with node.busy():
        futures = [node.thread.append(discovery("once"), request) for _ in range(2)]
    assert [future.result().repeated for future in futures] == [False, True]
    assert node.texts() == ["once"]


def test_use_cases_of_the_node_write_through_its_thread(node: Node) -> None:
    """Nothing else of the process writes: while the thread is busy, nothing is written."""
    application = Application(node.home.path, {}, "/", recall=node.recall, store=node.records)
    answers: list[str] = []
    with node.busy():
        writer = threading.Thread(target=lambda: answers.append(application.discover("found")["state"]))
        writer.start()
        writer.join(0.2)
        assert node.texts() == []
    writer.join()
    assert answers == ["recorded"]
    told = application.correct("ran npm", "run pnpm", session="s1", request_id="request-1")
    again = application.correct("ran npm", "run pnpm", session="s1", request_id="request-1")
    assert (told["repeated"], again["repeated"], again["id"]) == (False, True, told["id"])
    edited = application.edit(told["id"], {"severity": "high"})
    assert edited["record"]["severity"] == "high"
    assert application.discover("found", private=True)["state"] == "recorded"
    assert node.texts() == ["found", None]  # the private one is in a database of its own


def test_who_cannot_write_for_the_clock_has_it_looked_at(node: Node) -> None:
    """Only the node finds out from its peers which is wrong, the clock or the stamps."""
    node.records.append(discovery("of tomorrow"))
    ahead = pack(node.author.store.clock() + 86_400_000)
    node.author.store.database.run("UPDATE feeds SET hlc=?, held_hlc=?", (ahead, ahead))
    with pytest.raises(ClockInDoubt):
        node.records.append(discovery("of today"))
    assert node.doubts == 1
