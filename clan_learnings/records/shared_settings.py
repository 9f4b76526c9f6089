"""Settings that a whole mesh shares: registers of one key. The latest change by an admin counts, on every node. Read only.

The fold accepts only admins' changes to these registers (`mesh.core.moderation`), so nothing is checked again here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clan_learnings.records.record import CATEGORIES, WORD_CHARS
from mesh.core.errors import UsageError
from mesh.core.ids import display_name, text_id
from mesh.core.moderation import GUARDED, MODERATION, SETTINGS
from mesh.store.reader import MemberRow

KEY = SETTINGS
HOT_AT = "hot_at"
HOT_NODES = "hot_nodes"
QUIET = "quiet"  # whether hooks say nothing to agents, on every node
CATEGORY = "category:"  # before a category's name; each is a register of its own, so that two can be added at once
RECALL_WEIGHT = "recall_weight"
LEAST_HOT, MOST_HOT, USUAL_HOT = 2, 100, 3
MOST_NODES, USUAL_NODES = 100, 2
USUAL_WEIGHT = 0.7
_NAMED = 5  # admins, in an error


class SharedSettings:
    """The settings of this mesh. An impossible value counts as not set."""

    __slots__ = ("categories", "hot_at", "hot_nodes", "is_guarded", "is_quiet", "recall_weight")

    def __init__(self, fields: Mapping[str, Any]) -> None:
        value = fields.get(HOT_AT)
        self.hot_at: int = value if type(value) is int and LEAST_HOT <= value <= MOST_HOT else USUAL_HOT
        nodes = fields.get(HOT_NODES)
        self.hot_nodes: int = nodes if type(nodes) is int and 1 <= nodes <= MOST_NODES else USUAL_NODES
        self.recall_weight: float = usable_weight(fields.get(RECALL_WEIGHT))
        self.is_guarded: bool = fields.get(MODERATION) == GUARDED
        self.is_quiet: bool = fields.get(QUIET) is True
        own = [name.removeprefix(CATEGORY) for name, on in fields.items() if name.startswith(CATEGORY) and on is True]
        self.categories: tuple[str, ...] = CATEGORIES + tuple(
            sorted(name for name in own if is_category(name) and name not in CATEGORIES)
        )


def require_admin(members: Sequence[MemberRow], own: bytes, command: str) -> None:
    """Refuse what only an admin may say, before it is written and counts nowhere. Where there are no members, all may."""
    admins = [row for row in members if row.role == "admin" and not row.is_revoked]
    if not members or any(row.node == own for row in admins):
        return

    names = ", ".join(display_name(row.name, row.node) for row in admins[:_NAMED]) or "there is none now"
    raise UsageError(
        "only an admin changes what the whole mesh has agreed on, and this node is none",
        f"ask an admin to run: {command} (admins: {names}); or, where the root key is, make this node one: mesh admin add {text_id(own)}",
    )


def machines(members: Sequence[MemberRow]) -> int:
    """How many there are whose sessions can make a pattern HOT now. All throw-away nodes are one."""
    heard = [row for row in members if not row.is_revoked and not row.only_reads]
    return sum(not row.is_throw_away for row in heard) + any(row.is_throw_away for row in heard)


def is_category(name: str) -> bool:
    """Whether a text may name a category: small letters, digits and hyphens."""
    return 0 < len(name) <= WORD_CHARS and name.isascii() and name == name.lower() and name.replace("-", "").isalnum()


def usable_weight(value: Any) -> float:
    """What meaning counts in a search, from 0 to 1; words count the rest. Anything else is as if nothing were set."""
    is_weight = isinstance(value, int | float) and type(value) is not bool and 0 <= value <= 1
    return float(value) if is_weight else USUAL_WEIGHT
