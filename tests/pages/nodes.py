"""Nodes that keep pages: each a store in a folder, a book, an editor, and one of a few workers that all tests share."""

from __future__ import annotations

import atexit
import os
import random
import signal
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import cast

from mesh.app.checks.page_checks import examine_pages
from mesh.core.feed import encode_range
from mesh.core.identity import Identity
from mesh.core.statement import ADMIN, MEMBER, Statement
from mesh.pages.book import Book, PageInfo, PageText
from mesh.pages.editor import Editor
from mesh.pages.page_links import Links
from mesh.pages.page_merging import PageJoiner
from mesh.pages.worker_client import WorkerClient
from mesh.store.author import Author
from mesh.store.feeds import FeedRow
from mesh.store.home import Home
from tests.worlds import NOW_MS, Clan, open_author, open_store

CLAN = Clan(77)
MOST = 6


@cache
def workshop(index: int) -> WorkerClient:
    """One of the workers: started when it is first asked something. Bodies have random ids, so tests do not meet in it."""
    made = WorkerClient(seconds=300)
    atexit.register(made.close)
    return made


class Keys:
    """What erasing wants of a home: who signs."""

    has_root_key = False
    mesh = b""  # no home of this mesh: it has no vectors that an erase could reach

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    def identity(self) -> Identity:
        return self._identity


class Node:
    """One node. `restart` is what a new process would find."""

    def __init__(self, index: int, folder: Path) -> None:
        self.identity = CLAN.node(index)
        self.folder = folder
        self.workshop = workshop(index)
        self._open: ExitStack | None = None
        self._told: dict[bytes, int] = {}  # by feed: how far its own operations were collected
        self.restart()

    def restart(self) -> None:
        self.close()
        self._open = ExitStack()
        self.author: Author = self._open.enter_context(open_author(self.folder, CLAN, self.identity, NOW_MS))
        self.book = Book(self.author, self.workshop)
        self.editor = Editor(self.book)
        self.joiner = PageJoiner(self.editor)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()

    @property
    def home(self) -> Home:
        return cast("Home", Keys(self.identity))

    # What others hear of it

    def statements(self) -> list[bytes]:
        store = self.author.store
        return [item.encode() for item in (*store.all_statements(), *store.statements.held())]

    def ranges(self) -> list[bytes]:
        """Everything that is held, of everybody."""
        feeds = self.author.store.feeds
        return [encode_range(item) for row in feeds.all() for item in feeds.ranges(row, 0)]

    def collect(self) -> list[bytes]:
        """What it wrote since it was last asked."""
        feeds, parcels = self.author.store.feeds, list[bytes]()
        for row in feeds.of_node(self.identity.public):
            name = row.feed.encode()
            parcels += [encode_range(item) for item in feeds.ranges(row, self._told.get(name, 0))]
            self._told[name] = row.held.seq
        return parcels

    def feed(self) -> FeedRow:
        """The feed it writes to."""
        row = self.author.store.feeds.find(self.author.place()[0])
        assert row is not None
        return row

    # Pages

    def find(self, name: str) -> PageInfo:
        return self.book.find(name)

    def read(self, name: str) -> PageText:
        return self.book.read(self.book.find(name))

    def text(self, name: str) -> str:
        return self.read(name).text

    def save(self, name: str, text: str) -> None:
        """Make a page say this and nothing else."""
        info = self.book.find(name)
        self.editor.save(info, self.book.read(info).text, text)

    def shown(self) -> dict[str, str]:
        """Every page as a reader sees it."""
        return {info.shown: self.book.read(info).text for info in self.book.pages()}

    def from_nothing(self) -> dict[str, str]:
        """The same, worked out from the operations alone."""
        book = Book(self.author, self.workshop)
        for info in book.pages():
            book.shelf.reset(info.body)
        return {info.shown: book.read(info).text for info in book.pages()}

    def look_at_everything(self) -> None:
        """All that a sidecar and `doctor` do with pages on their own."""
        self.joiner.join_twins()
        self.joiner.carry()
        links = Links(self.book)
        links.broken()
        for info in self.book.pages():
            self.book.read(info)
            links.out(info)
            links.into(info)
            self.book.history(info)
            self.book.generations(info)
        list(examine_pages(self.book))

    def kill_worker(self) -> None:
        """End the worker as a hostile update would."""
        process = self.workshop._process
        if process is not None and process.is_alive():
            os.kill(process._process.pid, signal.SIGKILL)
            process._process.wait()


@contextmanager
def nodes(count: int, folder: Path | None = None, admins: Iterable[int] = ()) -> Iterator[list[Node]]:
    """So many nodes of one clan that know of each other and of nothing else."""
    database = _database(count, tuple(admins))
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made = []
        for index in range(count):
            home = folder / f"node{index}"
            home.mkdir(parents=True)
            (home / "mesh.db").write_bytes(database)
            node = Node(index, home)
            stack.callback(node.close)
            made.append(node)
        yield made


@cache
def _database(count: int, admins: tuple[int, ...]) -> bytes:
    """What a node's database begins with: made once, because making it takes longer than most tests."""
    roles = [ADMIN if index in admins else MEMBER for index in range(count)]
    members = [CLAN.member(CLAN.node(index), f"node{index}", role) for index, role in enumerate(roles)]
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder), CLAN) as store:
        store.merge_statements([member.encode() for member in members])
        assert store.database.checkpoint()
        return (Path(folder) / "mesh.db").read_bytes()


def exchange(giver: Node, taker: Node, rng: random.Random | None = None, part: float = 1.0) -> None:
    """Bring what one store holds to another: in whole, or a part of it, in any order, some of it twice."""
    statements, ranges = giver.statements(), giver.ranges()
    if rng is not None:
        ranges = [item for item in ranges if rng.random() < part]
        ranges += rng.sample(ranges, rng.randint(0, len(ranges)))
        rng.shuffle(ranges)
    taker.author.merge_statements(statements)
    taker.author.merge_ranges(ranges)


def meet(*everybody: Node) -> None:
    """Until all have heard everything, and all that follows from it."""
    for _ in range(12):
        before = [node.author.store.root() for node in everybody]
        first, *others = everybody
        for node in others:
            exchange(node, first)
        for node in others:
            exchange(first, node)
        for node in everybody:
            node.joiner.join_twins()
            node.joiner.carry()
        if [node.author.store.root() for node in everybody] == before and len(set(before)) == 1:
            return
    raise AssertionError("the nodes keep changing each other")


def agree(*everybody: Node) -> dict[str, str]:
    """What all of them show, having made sure that it is the same, and the same from nothing."""
    first, *others = everybody
    pages = first.shown()
    for node in others:
        assert node.shown() == pages
    for node in everybody:
        assert node.from_nothing() == pages
        assert node.shown() == pages
    return pages


def tell(node: Node, *said: Statement) -> None:
    node.author.merge_statements([item.encode() for item in said])


def remains(folder: Path, secret: str) -> list[str]:
    """The files that hold a secret."""
    raw = secret.encode()
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and raw in path.read_bytes())
