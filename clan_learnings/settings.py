"""Settings that a whole mesh shares: registers of one key, so that the later change counts, on every node. Read only."""

from __future__ import annotations

from clan_learnings.records import CATEGORIES, WORD_CHARS

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KEY = "settings"
HOT_AT = "hot_at"
CATEGORY = "category:"  # before a category's name; each is a register of its own, so that two can be added at once
RECALL_WEIGHT = "recall_weight"
LEAST_HOT, MOST_HOT, USUAL_HOT = 2, 100, 3
USUAL_WEIGHT = 0.7


class Settings:
    """What this mesh has agreed on. A value that cannot be is as if it were not set."""

    __slots__ = ("categories", "hot_at", "recall_weight")

    def __init__(self, fields: Mapping[str, Any]) -> None:
        value = fields.get(HOT_AT)
        self.hot_at: int = value if type(value) is int and LEAST_HOT <= value <= MOST_HOT else USUAL_HOT
        self.recall_weight: float = usable_weight(fields.get(RECALL_WEIGHT))
        own = [name.removeprefix(CATEGORY) for name, on in fields.items() if name.startswith(CATEGORY) and on is True]
        self.categories: tuple[str, ...] = CATEGORIES + tuple(
            sorted(name for name in own if is_category(name) and name not in CATEGORIES)
        )


def is_category(name: str) -> bool:
    """Whether a text may name a category: small letters, digits and hyphens."""
    return 0 < len(name) <= WORD_CHARS and name.isascii() and name == name.lower() and name.replace("-", "").isalnum()


def usable_weight(value: Any) -> float:
    """What meaning counts in a search, from 0 to 1; words count the rest. Anything else is as if nothing were set."""
    is_weight = isinstance(value, int | float) and type(value) is not bool and 0 <= value <= 1
    return float(value) if is_weight else USUAL_WEIGHT
