"""Who may change what: settings are for admins; in a guarded mesh, others' records change only through their author, an admin, or two nodes that agree. Pure.

The same rule serves the fold, which decides over records, and whoever reads patterns. It is a function of what each node said
last, so the order in which words arrive does not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

SETTINGS = "settings"  # the key whose registers only admins set
MODERATION, OPEN, GUARDED = "moderation", "open", "guarded"
WITNESSES = 2  # nodes that say the same, where one alone may not


class RegisterWord(NamedTuple):
    """What a node said last in one register. `order`: the later word has the greater one. `same`: equal for equal values."""

    order: tuple[Any, ...]
    node: bytes
    same: Any
    value: Any


def standing(
    words: Iterable[RegisterWord], sure: Collection[bytes], passing: Collection[bytes] = ()
) -> RegisterWord | None:
    """The word that counts: the latest of a node that may decide alone, or the latest that a later one of another node repeats.

    `sure`: may decide alone. `passing`: throw-away nodes, which are nobody's witness. Two who agreed and of whom one repeats
    itself later are no newer for it: their word is as old as the moment at which the second of them had said it.
    """
    heard = set()
    for word in sorted(words, key=lambda word: word.order, reverse=True):
        if word.node in sure:
            return word
        if word.node not in passing:
            if word.same in heard:
                return word
            heard.add(word.same)
    return None


def is_agreed(nodes: Iterable[bytes], sure: Collection[bytes], passing: Collection[bytes] = ()) -> bool:
    """Whether enough nodes want what can only be wanted or not: one that may decide alone, or two."""
    asking = set(nodes)
    return any(node in sure for node in asking) or sum(node not in passing for node in asking) >= WITNESSES
