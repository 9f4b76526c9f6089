"""What the hot ways cost, counted and not timed: a busy machine changes nothing here, so a count that grows is a change of ours.

The figures are in `operation_counts.json` beside this file: `release` is of the last release (before 0.2.0: of main on 19 November 2026),
`most` what a count may be now. Who makes something cheaper lowers `most`; who has to make something dearer raises it, and says why in
the commit. With a release, each `release` becomes what `most` is. A failing test prints what it counted.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import apsw
import pytest

from mesh.app.application import Application
from mesh.app.record_store import OpenedStore
from mesh.cli.command_server import CommandServer
from mesh.core.draft import NewRecord
from mesh.core.feed import encode_range
from mesh.node.store_replica import StoreReplica
from mesh.store.author import Author
from mesh.store.home import create_home
from peers.proto.replica import MergeVerdict
from peers.simulate.world import World
from peers.transport.network_conditions import Conditions
from tests.cli.test_startup import EVENT, loaded
from tests.worlds import Clan, open_author

_TABLE = Path(__file__).with_name("operation_counts.json")
_KNOWN, _TIMES, _BATCH = 300, 20, 1_000
_OURS = ("mesh", "clan_learnings", "peers")
_SLACK = 1.02  # of bytes: SQLite draws some numbers of its own, so a page may be split sooner


class Counts:
    """SQL statements that were run, and bytes that went to the database's log."""

    def __init__(self, author: Author) -> None:
        self._statements = self._bytes = 0
        connection = author.store.database.connection
        page = int(connection.execute("PRAGMA page_size").get) + 24  # and its header in the log
        connection.execute("PRAGMA wal_autocheckpoint=0")  # from here on the log only grows
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._pages = 0

        def statement(_cursor: apsw.Cursor, _sql: str, _bindings: object) -> bool:
            self._statements += 1
            return True

        def committed(_connection: apsw.Connection, _name: str, pages: int) -> int:
            self._bytes += (pages - self._pages) * page
            self._pages = pages
            return 0

        connection.set_exec_trace(statement)
        connection.set_wal_hook(committed)

    @contextmanager
    def of(self, what: str, times: int = 1) -> Iterator[None]:
        """Compare what happens in the block, for each of so many, with the table."""
        self._statements = self._bytes = 0
        yield
        compare(what, statements=self._statements / times, bytes=self._bytes / times)


def compare(what: str, **counted: float) -> None:
    """The counts with what the table allows."""
    allowed = json.loads(_TABLE.read_text(encoding="utf-8"))[what]
    found = {name: round(value, 1) for name, value in counted.items()}
    grown = [
        name for name, value in found.items() if value > allowed[name]["most"] * (_SLACK if name == "bytes" else 1)
    ]
    assert not grown, f"{what} costs more {' and '.join(grown)} than {_TABLE.name} allows; counted: {json.dumps(found)}"


def sentence(number: int) -> str:
    """Every time the same, and no two say the same."""
    made = Random(number)
    words = (
        "".join(made.choice("bdfgklmnprstvwz") + made.choice("aeiou") for _ in range(size % 3 + 1))
        for size in range(15)
    )
    return " ".join([f"case {number}:", *words])


@pytest.fixture
def clan(monkeypatch: pytest.MonkeyPatch) -> Clan:
    """The same keys, the same salts: the same pages."""
    monkeypatch.setattr(os, "urandom", Random(7).randbytes)
    return Clan(8)


@pytest.fixture
def author(tmp_path: Path, clan: Clan) -> Iterator[Author]:
    """A member's, with some records to compare with."""
    with open_author(tmp_path / "home", clan, clan.node(0)) as author:
        author.merge_statements([clan.member(clan.node(index)).encode() for index in range(2)])
        author.append([NewRecord("discoveries", {"text": sentence(number), "repo": ""}) for number in range(_KNOWN)])
        yield author


@pytest.fixture
def application(tmp_path: Path, author: Author) -> Application:
    """Its use cases, in this process, with the database's own index."""
    store = OpenedStore(str(tmp_path / "home"), author)
    store.close = lambda: None
    return Application(str(tmp_path / "home"), {}, "/", store=store)


def test_a_discovery_runs_no_more_statements_than_before(author: Author, application: Application) -> None:
    """The check for duplicates included, from the first question to the answer."""
    with Counts(author).of("discover", _TIMES):
        for number in range(_TIMES):
            assert application.discover(sentence(1000 + number), repo="")["state"] == "recorded"


def test_a_correction_runs_no_more_statements_than_before(author: Author, application: Application) -> None:
    """Finding its pattern included."""
    with Counts(author).of("correct", _TIMES):
        for number in range(_TIMES):
            words = sentence(2000 + number).split()
            assert application.correct(" ".join(words[:8]), " ".join(words[8:]), repo="")["state"] == "recorded"


def test_a_batch_is_written_with_no_more_bytes_than_before(author: Author) -> None:
    """A thousand records in one commit."""
    drafts = [NewRecord("discoveries", {"text": sentence(number)}) for number in range(3000, 3000 + _BATCH)]
    with Counts(author).of("batch of 1,000"):
        author.append(drafts)


def test_what_peers_send_is_merged_with_no_more_statements_than_before(
    tmp_path: Path, author: Author, clan: Clan
) -> None:
    """Single records, each a push and a commit of its own, then a batch; gossip is told what has changed."""
    with open_author(tmp_path / "other", clan, clan.node(1)) as other:
        other.merge_statements([clan.member(clan.node(index)).encode() for index in range(2)])
        other.append([NewRecord("discoveries", {"text": "the feed has begun"})])
        begin = list(_ranges(other, 0))
        pushes = [list(_written(other, [sentence(4000 + number)])) for number in range(_TIMES)]
        batch = list(_written(other, [sentence(5000 + number) for number in range(_BATCH)]))
    replica = StoreReplica(author)
    replica.everything()
    replica.merge([], begin)
    counts = Counts(author)
    with counts.of("merged record", _TIMES):
        for push in pushes:
            assert replica.merge([], push).ranges == [MergeVerdict.NEW]
    with counts.of("merged batch of 1,000"):
        assert set(replica.merge([], batch).ranges) == {MergeVerdict.NEW}


def _written(author: Author, texts: list[str]) -> Iterator[bytes]:
    """Write, and encode just that as it travels."""
    before = author.store.feeds.all()[0].held.seq
    author.append([NewRecord("discoveries", {"text": text}) for text in texts])
    yield from _ranges(author, before)


def _ranges(author: Author, after: int) -> Iterator[bytes]:
    yield from map(encode_range, author.store.feeds.ranges(author.store.feeds.all()[0], after))


def test_a_write_is_sent_in_no_more_messages_and_bytes_than_before() -> None:
    """Two engines in virtual time, a write every half second: pings and answers are counted, too."""
    world = World(1, 2, conditions=Conditions((0.005, 0.005)))
    world.start_connected()
    world.run(30.0)
    world.meter.forget_traffic()
    for number in range(_TIMES):
        world.write(world.nodes[0], sentence(number))
        world.run(0.5)
    assert world.agreed()
    sent, messages = sum(world.meter.sent.values()), sum(world.meter.messages.values())
    compare("single write to one neighbour", messages=messages / _TIMES, sent=sent / _TIMES)


@pytest.mark.parametrize("command", ["tail", "discover note", "hook SessionStart"])
def test_the_small_client_loads_no_more_modules_than_before(tmp_path: Path, command: str) -> None:
    """Of ours: those of the standard library differ between versions. Which they may be says `tests/cli/test_startup.py`."""
    home = create_home(str(tmp_path / "home"), "laptop").path
    name, *words = command.split()
    with CommandServer(home, None, None):
        found = loaded("from mesh.cli.client import main; main()", name, "--home", home, *words, event=EVENT)
    compare(f"mesh {command}", modules=sum(module.startswith(_OURS) for module in found))
