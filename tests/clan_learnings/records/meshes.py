"""A mesh of several nodes for tests: what each of them signed, merged in whatever order, and what it amounts to."""

import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clan_learnings.records.memory import HotItem, Memory
from clan_learnings.records.witnesses import seal_of
from mesh.core.operation import Add, Body, Set
from mesh.core.statement import ADMIN, MEMBER, Statement
from mesh.store.reader import Reader
from tests.worlds import NOW_MS, Chain, Clan, open_store

REPO, OTHER = "github.com/acme/api", "github.com/acme/web"


class Node:
    """One member and its feed."""

    def __init__(self, mesh: "Mesh", number: int, role: str) -> None:
        self.mesh = mesh
        self.chain = Chain(mesh.clan, mesh.clan.node(number))
        self.id = self.chain.author.public
        self.role = role

    def write(self, body: Body) -> bytes:
        """One operation."""
        return self.chain.add(body, self.mesh.tick())

    def correct(
        self, pattern: str, session: str, right: str = "pnpm install", at: int | None = None, **more: Any
    ) -> bytes:
        """A correction under a pattern. `at`: dated back."""
        record = {"wrong": "npm install", "right": right, "pattern": pattern, "repo": REPO, "session": session} | more
        return self.write(Add(self.mesh.tick() if at is None else at, "corrections", record))

    def sessions(self, pattern: str, count: int, right: str = "pnpm install", **more: Any) -> list[bytes]:
        """Corrections of so many sessions of this node."""
        first = len(self.chain.links)
        return [self.correct(pattern, f"codex:{self.id.hex()[:4]}{first + n}", right, **more) for n in range(count)]

    def discover(self, text: str, repo: str = REPO, **more: Any) -> bytes:
        """A discovery."""
        return self.write(Add(self.mesh.tick(), "discoveries", {"text": text, "repo": repo} | more))

    def set(self, target: bytes | str, field: str, value: Any) -> bytes:
        """A register."""
        return self.write(Set(self.mesh.tick(), target, field, value))

    def approve(self, pattern: str, rule: str = "pnpm install", wrong: str = "npm install") -> bytes:
        """As the command writes it."""
        return self.set(f"pattern:{pattern}", "approved", seal_of(rule, wrong))


class Mesh:
    """An admin, and members as they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.clan = Clan()
        self.folder = folder
        self.now = NOW_MS - 1_000_000 << 16
        self.nodes: list[Node] = []
        self.more: list[Statement] = []
        self._stores = itertools.count()

    def tick(self) -> int:
        """A later stamp than any before."""
        self.now += 1 << 16
        return self.now

    def node(self, role: str = MEMBER) -> Node:
        """One more member."""
        self.nodes.append(Node(self, len(self.nodes), role))
        return self.nodes[-1]

    def trio(self) -> tuple[Node, Node, Node]:
        """An admin and two members: one node's word is not enough."""
        return self.node(ADMIN), self.node(), self.node()

    def revoke(self, node: Node) -> None:
        """What it has written so far stays."""
        chain = node.chain
        heads = [(chain.feed.epoch, len(chain.links), chain.head)] if chain.links else []
        self.more.append(self.clan.revoke(chain.author, heads))

    @contextmanager
    def memory(self, own: Node | None = None, order: int = 0, muted: frozenset[str] = frozenset()) -> Iterator[Memory]:
        """What everybody's operations amount to, delivered in one of many orders."""
        statements = [self.clan.member(node.chain.author, f"node{n}", node.role) for n, node in enumerate(self.nodes)]
        parcels = [(True, statement.encode()) for statement in (*statements, *self.more)]
        rng = random.Random(order)
        for node in self.nodes:
            length = len(node.chain.links)
            cuts = sorted({0, length, *(rng.randint(0, length) for _ in range(2 if order else 0))})
            parcels += [(False, node.chain.encoded(one + 1, end)) for one, end in itertools.pairwise(cuts)]
        with open_store(self.folder / str(next(self._stores)), self.clan) as store:
            for is_statement, data in [*(rng.sample(parcels, len(parcels)) if order else ()), *parcels]:
                (store.merge_statements if is_statement else store.merge_ranges)([data])
            yield Memory(Reader(store.database.connection, own=None if own is None else own.id), muted=muted)

    def hot(self, repo: str | None = REPO) -> dict[str, tuple[str, str]]:
        """The rules that are HOT, by name: rule, and what was wrong."""
        with self.memory() as memory:
            return {item.slug: (item.rule, item.wrong) for item in memory.hot(repo)}

    def seen_here(self, own: Node) -> list[HotItem]:
        """What only one node is told."""
        with self.memory(own) as memory:
            return memory.seen_here(REPO)
