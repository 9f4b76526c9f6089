"""Histories of a small clan, and folders they are rendered into. No test lives here."""

import os
import random
from pathlib import Path

from clan_learnings.render import files, listed_patterns
from clan_learnings.render.files import RenderedFiles, Rendering
from clan_learnings.render.owned_files import STATE_FILE as STATE
from mesh.core import clock
from mesh.core.identity import Identity
from mesh.core.operation import Add, Count, Remove, Set
from mesh.core.statement import Statement
from mesh.store.reader import Reader
from mesh.store.record_changes import ChangeCollector
from mesh.store.store import Store
from tests.worlds import NOW_MS, Chain, Clan

SPAN_MS = 75 * 86_400_000  # over three months at least
SLUGS = ("pnpm-not-npm", "ruff-first", "no-sleep", "utc", "branch")
REPOS = ("", "github.com/o/api", "github.com/o/web")


def shrink(monkeypatch: object) -> None:
    """Bounds that a small history reaches."""
    patch = monkeypatch.setattr  # type: ignore[attr-defined]
    patch(files, "NEWEST", 6)
    patch(files, "_PAGE", 2)
    patch(files, "CORRECTIONS_SHOWN", 5)
    patch(listed_patterns, "_RECENT", 7)
    patch(listed_patterns, "_PAGE", 3)
    patch(listed_patterns, "LISTED", 4)


def render(store: Store, into: RenderedFiles | Path) -> Rendering:
    """Bring a folder up to date with a store."""
    folder = into if isinstance(into, RenderedFiles) else RenderedFiles(os.fspath(into))
    connection = store.database.connection
    return folder.render(Reader(connection), ChangeCollector(connection))


def content(folder: Path) -> dict[str, bytes]:
    """Every rendered file, byte for byte; there must be no others."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != STATE:
            found[os.fspath(path.relative_to(folder))] = path.read_bytes()
    return found


class History:
    """Chains of several members, growing by chance: records with old and new stamps, edits, moves, aliases, removals."""

    def __init__(self, rng: random.Random, clan: Clan, members: int = 3) -> None:
        self.rng = rng
        self.clan = clan
        self.nodes: list[Identity] = [clan.node(index) for index in range(members)]
        self.chains = [Chain(clan, node, 1) for node in self.nodes]
        self.sent = [0] * members
        self.tags: list[bytes] = []
        self.edits: list[bytes] = []

    def members(self) -> list[Statement]:
        """Their certificates."""
        return [self.clan.member(node, f"node-{index}") for index, node in enumerate(self.nodes)]

    def grow(self, count: int) -> None:
        """So many operations, each by somebody."""
        for _ in range(count):
            chain = self.rng.choice(self.chains)
            body, stamp = self._body(chain)
            tag = chain.add(body, stamp)
            if isinstance(body, Add):
                self.tags.append(tag)
            elif isinstance(body, Set):
                self.edits.append(tag)

    def ranges(self, index: int) -> list[bytes]:
        """What is new of one member, in one range or in two."""
        chain, first = self.chains[index], self.sent[index] + 1
        last = len(chain.links)
        if first > last:
            return []
        self.sent[index] = last
        middle = self.rng.randint(first, last)
        return [chain.encoded(first, middle), *([chain.encoded(middle + 1, last)] if middle < last else [])]

    def _body(self, chain: Chain) -> tuple[Add | Remove | Set | Count, int]:
        rng = self.rng
        before = chain.links[-1].hlc if chain.links else clock.pack(NOW_MS - SPAN_MS)
        stamp = clock.tick(before, NOW_MS - SPAN_MS + rng.randrange(SPAN_MS))
        stamp = min(stamp, max(before + 1, clock.pack(NOW_MS)))
        at = stamp if rng.random() < 0.7 else rng.randint(clock.pack(NOW_MS - SPAN_MS), stamp)
        choice = rng.random()
        tag = rng.choice(self.tags) if self.tags else bytes(32)
        if choice < 0.62:
            body: Add | Remove | Set | Count = Add(at, *self._record())
        elif choice < 0.7:
            body = Remove([tag], "because")
        elif choice < 0.85:
            field = rng.choice(("text", "right", "rule", "topic", "repo", "pattern", "tags"))
            body = Set(at, tag, field, rng.choice((*SLUGS, *REPOS, ["a"], 7)))
        elif choice < 0.97:
            of_patterns: list[tuple[str, object]] = [
                ("alias_of", rng.choice(SLUGS)),
                ("alias_of", None),
                ("archived", "old"),
                ("archived", None),
                ("global", True),
                ("rule", "another rule"),
                ("topic", "another topic"),
            ]
            body = Set(at, f"pattern:{rng.choice(SLUGS)}", *rng.choice(of_patterns))
            if rng.random() < 0.1:
                body = Set(at, "settings", "hot_at", 2)
        else:
            body = Count("pattern:utc", rng.randint(1, 9))
        return body, stamp

    def _record(self) -> tuple[str, dict[str, object]]:
        rng = self.rng
        about: dict[str, object] = {"repo": rng.choice(REPOS), "session": f"claude-code:{rng.randint(1, 6)}"}
        about |= rng.choice(
            ({}, {"topic": rng.choice(("builds", "Builds", "time", "## x"))}, {"category": "build-errors"})
        )
        slug = rng.choice(SLUGS)
        records: list[tuple[str, dict[str, object]]] = [
            ("discoveries", about | {"text": f"found {rng.random()}\u202e\x00"}),
            ("discoveries", about | {"text": f"found {rng.random()}", "id": "forged", "odd": {"b": b"\x00\xff"}}),
            ("corrections", about | {"wrong": "this", "right": f"that {rng.random()}", "pattern": slug}),
            ("corrections", about | {"wrong": "this", "right": f"that {rng.random()}", "pattern": slug}),
            ("patterns", about | {"rule": f"rule {rng.random()}", "pattern": slug}),
            ("supersessions", {"repo": "", "old": slug, "new": rng.choice(SLUGS)}),
            ("facts", about | {"text": "of nobody's interest"}),
        ]
        return rng.choice(records)
