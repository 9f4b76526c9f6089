"""What the read side hands out: a record, a register, the tally of a pattern. Plain values; `reading` makes them."""

from __future__ import annotations

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any


class Entry:
    """A live record."""

    __slots__ = ("at", "log", "node", "record", "tag")

    def __init__(self, tag: bytes, log: str, at: int, node: bytes, record: dict[str, Any]) -> None:
        self.tag = tag
        self.log = log
        self.at = at
        self.node = node
        self.record = record


class Assigned:
    """What a register holds, since when, and by whom."""

    __slots__ = ("at", "node", "value")

    def __init__(self, value: Any, at: int, node: bytes) -> None:
        self.value = value
        self.at = at
        self.node = node


class Tally:
    """A pattern as the records of one log name it: in how many sessions, by how many nodes, in which repos, when last."""

    __slots__ = ("at", "nodes", "repos", "sessions", "slug")

    def __init__(self, slug: str, sessions: int, at: int, nodes: int, repos: list[str]) -> None:
        self.slug = slug
        self.sessions = sessions
        self.at = at
        self.nodes = nodes
        self.repos = repos
