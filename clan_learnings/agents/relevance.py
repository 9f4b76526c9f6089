"""Whether a record is about a prompt or an error closely enough to interrupt for. The bar is high: silence costs nothing.

Search finds and ranks what shares words; this decides whether the best of it is worth showing. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import log2

from clan_learnings.context.token_bound import WORDS
from clan_learnings.records.matching_tokens import COMMON, NAME, STRICT, MatchingToken, tokens
from mesh.core.identifier_words import extra_words

# The bars, chosen on the tuned half of `bench/recall_set` (ADR 0044): so much has to be in common, nearly as much as two rare names
# have; more with an error, which is long and names many things by chance.
PROMPT, FAILURE = 1.7, 2.3
# And it must be so much of what the text says, or of what the record says.
_SHARE = 0.28
# What a person writes in a line or two weighs so much; a long prompt has pasted text in it, which names many things by chance.
_USUAL, _LONGER, _SHARE_OF_LONG = 12.0, 0.35, 0.45
# A short prompt may be about one thing only: an identifier, or two words that stand side by side in both, and that is most of it.
_LEAST_TOKENS, _SHORT_TOKENS, _SHORT_BAR, _MOST_OF_SHORT = 2, 8, 1.0, 0.4
_RARE = 0.75  # rarity of what is exact enough for that
# Or nearly all of a short record, and of it as much as a name and a common word.
_NEARLY_ALL, _LEAST_OF_ALL = 0.75, 1.2

# What a token says: a flag or an identifier more than a name, and less than that a word that stands in every manual.
_EXACT, _NAME, _KNOWN, _FREQUENT, _COMMON, _PART = 1.5, 1.0, 0.7, 0.45, 0.3, 0.2
_SMALL_DIGITS = 2  # of a number that may stand anywhere
_PARTS = 2  # of an identifier that have to be there if it is not there as a whole
_OF_PARTS = 0.75  # what all of them say, of what the whole says
_FILE_CHARS = 4
_MOST_FREQUENT = 600
_RANKED = {word: _FREQUENT if at < _MOST_FREQUENT else _KNOWN for at, word in enumerate(WORDS.split())}


def _as_rare(_: str) -> float:
    return 1.0


class RelevanceQuery:
    """A prompt or an error, read once and compared with many records."""

    __slots__ = ("_bar", "_is_short", "_pairs", "_parts", "_rarities", "_rarity", "_share", "_total", "_weights")

    def __init__(self, text: str, bar: float = PROMPT, rarity: Callable[[str], float] = _as_rare) -> None:
        """`rarity`: 1 for a word that hardly any record has, towards 0 for one that all of them have; asked as seldom as can be."""
        said = _said(text)
        self._is_short = bar == PROMPT and _LEAST_TOKENS <= len(said) <= _SHORT_TOKENS
        self._pairs = _pairs(text) if self._is_short else set()
        self._rarity = rarity
        self._rarities: dict[str, float] = {}
        self._parts = {part for token, _ in said.values() for part in token.parts}
        self._total = sum(weight for _, weight in said.values())
        is_long = bar == PROMPT and self._total > _USUAL
        self._bar = bar * (1 + _LONGER * log2(self._total / _USUAL)) if is_long else bar
        self._share = _SHARE_OF_LONG if is_long and self._total > 2 * _USUAL else _SHARE
        self._weights = {name: weight for name, (_, weight) in said.items()}
        for name, (_, weight) in said.items():
            self._weights.setdefault(_file(name), weight)

    def aptness(self, *sayings: str) -> float:
        """How well a record fits that says these things, each complete by itself: 0 below the bar, else up to 1."""
        return max((self._fits(saying) for saying in sayings if saying), default=0.0)

    def _fits(self, saying: str) -> float:
        said = _said(saying)
        total = sum(weight for _, weight in said.values())
        heard = [(token, found) for token, weight in said.values() if (found := self._heard(token, weight))]
        is_exact = self._is_short and self._has_exact(saying, said)
        if not self._is_enough(sum(found for _, found in heard), total, is_exact=is_exact):
            return 0.0
        shared = sum(found if found <= _COMMON else found * self._rareness(token) for token, found in heard)
        return shared / (1 + shared) if self._is_enough(shared, total, is_exact=is_exact) else 0.0

    def _has_exact(self, saying: str, said: dict[str, tuple[MatchingToken, float]]) -> bool:
        """Whether a record has an identifier of a short prompt, or two words of it side by side."""
        if self._pairs & _pairs(saying):
            return True
        return any(
            weight >= _EXACT and name in self._weights and self._rareness(token) >= _RARE
            for name, (token, weight) in said.items()
        )

    def _heard(self, token: MatchingToken, weight: float) -> float:
        """How much of a record's token is in the text, whole or in parts."""
        mine = self._weights.get(token.text) or self._weights.get(_file(token.text))
        if mine is not None:
            return min(mine, weight)
        if token.text in self._parts:
            return _PART
        found = sum(part in self._parts or part in self._weights for part in token.parts)
        return min(_PART * found, _OF_PARTS * weight) if found >= _PARTS else 0.0

    def _rareness(self, token: MatchingToken) -> float:
        word = token.raw or token.text
        if word not in self._rarities:
            self._rarities[word] = self._rarity(word)
        return self._rarities[word]

    def _is_enough(self, shared: float, of_record: float, *, is_exact: bool) -> bool:
        if shared >= self._bar and shared >= self._share * min(of_record, self._total):
            return True
        if is_exact and shared >= _SHORT_BAR and shared >= _MOST_OF_SHORT * self._total:
            return True
        return shared >= _LEAST_OF_ALL and shared >= _NEARLY_ALL * of_record


def _pairs(text: str) -> set[tuple[str, str]]:
    """Words that stand side by side: a name, and a word that does not stand in every sentence."""
    weighed = [(token.text, _weight(token)) for token in tokens(text)]
    return {
        (one, other)
        for (one, left), (other, right) in pairwise(weighed)
        if max(left, right) >= _NAME and min(left, right) > _COMMON and one != other
    }


def _said(text: str) -> dict[str, tuple[MatchingToken, float]]:
    """The tokens of a text that carry meaning, with their weights, by name."""
    found: dict[str, tuple[MatchingToken, float]] = {}
    pairs = [] if text.isascii() else [word for word in extra_words(text) if not word.isascii()]
    if pairs:  # CJK has no blanks: what it has in common with another text stands in pairs of characters
        found = {pair: (MatchingToken(COMMON, pair, pair), _PART) for pair in pairs}
        text = "".join(char if char.isascii() else " " for char in text)
    for token in tokens(text):
        weight = _weight(token)
        if weight and token.text not in found:
            found[token.text] = (token, weight)
    return found


def _weight(token: MatchingToken) -> float:
    if token.kind == STRICT:
        digits = token.text.replace(".", "")
        if not digits.isdigit():
            return _EXACT
        return _NAME if len(digits) > _SMALL_DIGITS else _COMMON
    if token.kind == COMMON or (token.kind == NAME and len(token.text) == 1):
        return _COMMON
    if token.kind != NAME:
        return 0.0
    if len(token.parts) > 1:
        return _EXACT
    return _RANKED.get(token.raw) or _RANKED.get(token.raw.removesuffix("s")) or _NAME


def _file(name: str) -> str:
    """The last name of a path, if it can be told from others; of anything else the whole."""
    last = name.rpartition("/")[2]
    return last if len(last) >= _FILE_CHARS else name
