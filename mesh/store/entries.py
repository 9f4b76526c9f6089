"""What the read side hands out: a record, a register, the tally of a pattern, a member. Plain values; `reading` makes them."""

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
    """What a register holds, since when, and by whom. `tag`: of the operation that said it, if it is one node's word."""

    __slots__ = ("at", "node", "tag", "value")

    def __init__(self, value: Any, at: int, node: bytes, tag: bytes = b"") -> None:
        self.value = value
        self.at = at
        self.node = node
        self.tag = tag


class Tally:
    """A pattern as the records of one log name it: in how many sessions, by which nodes, in which repos, when last."""

    __slots__ = ("at", "authors", "repos", "sessions", "slug")

    def __init__(self, slug: str, sessions: int, at: int, authors: frozenset[bytes], repos: list[str]) -> None:
        self.slug = slug
        self.sessions = sessions
        self.at = at
        self.authors = authors
        self.repos = repos

    @property
    def nodes(self) -> int:
        """On how many machines."""
        return len(self.authors)


class MemberRow:
    """A member as the statements have it: its name, its role (`mesh.core.statement.ROLES`), whether it was revoked."""

    __slots__ = ("is_revoked", "name", "node", "role")

    def __init__(self, node: bytes, name: str, role: str, *, is_revoked: bool) -> None:
        self.node = node
        self.name = name
        self.role = role
        self.is_revoked = is_revoked

    # The roles by their names: `mesh.core.statement`, which has them, loads cryptography.

    @property
    def is_admin(self) -> bool:
        """Whether it speaks for the mesh."""
        return self.role == "admin" and not self.is_revoked

    @property
    def only_reads(self) -> bool:
        """Whether what it writes counts nowhere."""
        return self.role in ("reader", "ephemeral-reader")

    @property
    def is_throw_away(self) -> bool:
        """Whether it is one of those that a CI job makes, as many as it likes."""
        return self.role in ("ephemeral", "ephemeral-reader")
