"""A question as the keyword index is asked it: which of its words to look for, and how they go together. Ranks nothing.

A word that is in every other record finds nothing by itself and takes long: names and numbers come first, rare ones alone,
frequent ones two together. The names of a mistake that everybody makes are frequent, and it is the one to be found.
"""

from __future__ import annotations

from clan_learnings.wording import NAME, STRICT, tokens
from mesh.store.reading import quoted

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from clan_learnings.memory import Memory

_MOST = 12  # rare words that are looked for
_LOOKED_UP = 48  # words of a long text that are counted
_RARE = 300  # records; a word that is in more of them is frequent
_COMMON = 10_000  # and in so many it tells hardly anything, and takes long
_FREQUENT = 4  # frequent words that are looked for, two together
_TOGETHER = 2
_ANYWAY = 3  # a question of no more words is asked as it is


class Question:
    """The words that are looked for, and the expression for FTS5; both empty if there is nothing to look for."""

    __slots__ = ("expression", "words")

    def __init__(self, memory: Memory, text: str, most: int = _MOST, anyway: int = _ANYWAY) -> None:
        """`most`: so many rare words; `anyway`: of so few words, all are looked for without a look at how frequent they are."""
        names, common = _told_apart(text)
        if len(names) <= anyway:
            self.words = names or (common or split_words(text))[:_ANYWAY]
            self.expression = " OR ".join(map(quoted, self.words))
            return
        counts = {word: memory.reader.documents(word, _COMMON) for word in names[:_LOOKED_UP]}
        there = sorted((word for word in counts if counts[word]), key=lambda word: (counts[word], word))
        rare = [word for word in there if counts[word] < _RARE][:most]
        frequent = [word for word in there if _RARE <= counts[word] < _COMMON][:_FREQUENT]
        if not rare and len(frequent) < _TOGETHER:
            frequent = there[:_TOGETHER]
        self.words = [word for word in names if word in rare or word in frequent]
        parts = [quoted(word) for word in rare]
        if len(frequent) == 1 and not rare:
            parts = [quoted(frequent[0])]
        for index, first in enumerate(frequent):
            parts += [f"({quoted(first)} AND {quoted(second)})" for second in frequent[index + 1 :]]
        self.expression = " OR ".join(parts)


def _told_apart(text: str) -> tuple[list[str], list[str]]:
    """Names and numbers, and common words, each once, in their order."""
    names: dict[str, None] = {}
    common: dict[str, None] = {}
    for token in tokens(text):
        for word in split_words(token.raw):
            if len(word) > 1:
                (names if token.kind in (NAME, STRICT) else common).setdefault(word)
    return list(names), list(common)


def split_words(text: str) -> list[str]:
    """Words as the keyword index has them: runs of letters and digits, in small letters."""
    return "".join(char if char.isalnum() else " " for char in text.lower()).split()
