"""Diversity of results: not the same thing twice, and not ten of one kind. Orders and groups; finds and scores nothing.

The order is that of maximal marginal relevance (Carbonell, Goldstein, 1998) with little weight on being different: much of it
was measured to ruin the answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clan_learnings.records.matching import ComparableCorrection, comparable, compare
from clan_learnings.records.matching_tokens import NAME, STRICT, split_words
from clan_learnings.records.matching_words import SOFT, STOP, concept
from clan_learnings.records.record import CORRECTIONS, Note

_REMEMBERED = 2_000  # words: a node is asked about the same texts again and again
LAMBDA = 0.9  # of the score; the rest is for being different
_ALIKE = 0.5  # shared words, from which on it is worth the time to look whether two say the same
_DIGITS = 6
_concepts: dict[str, str] = {}  # of words, empty of those that name nothing


def _named(word: str) -> str:
    """What a word names; empty if it is grammar, or says too little."""
    found = _concepts.get(word)
    if found is None:
        if len(_concepts) >= _REMEMBERED:
            _concepts.clear()
        said = "" if word in STOP else concept(word)
        found = _concepts[word] = "" if said in SOFT else said
    return found


class ResultText:
    """What a record says, read as far as it has to be compared."""

    __slots__ = ("_bits", "_reading", "_size", "_words", "note", "pattern", "text")

    def __init__(self, note: Note, lexicon: dict[str, int], pattern: str = "") -> None:
        """`lexicon`: a bit a word, the same for all that are compared. `pattern`: the name it is counted under now, if it is a correction."""
        self.note = note
        self.pattern = pattern
        self.text = note.text
        self._words = frozenset(split_words(self.text))
        self._size = len(self._words)
        bits = 0  # its words once more: what two share is counted many times for each answer
        for word in self._words:
            bit = lexicon.get(word)
            if bit is None:
                bit = lexicon[word] = 1 << len(lexicon)
            bits |= bit
        self._bits = bits
        self._reading: ComparableCorrection | None = None

    @property
    def reading(self) -> ComparableCorrection:
        """Its tokens and their stances."""
        if self._reading is None:
            right, wrong = self.text, ""
            if self.note.log == CORRECTIONS:
                right, wrong = self.note.word("right"), self.note.word("wrong")
            self._reading = comparable(wrong, right)
        return self._reading

    def likeness(self, other: ResultText) -> float:
        """The share of the words of two records that both have."""
        total = self._size + other._size
        return 2 * (self._bits & other._bits).bit_count() / total if total else 1.0

    def is_same_as(self, other: ResultText) -> bool:
        """Whether one of two need not be shown: no number, name or flag that only one has, and no negation between them.

        Corrections under one pattern were found to be about one mistake when they were written: there, only numbers, flags
        and identifiers tell two apart.
        """
        related = bool(self.pattern) and self.pattern == other.pattern
        if not related and self.likeness(other) < _ALIKE:
            return False  # seen at a glance, which is most of the time
        if self.text == other.text:
            return True
        if not related and self._names_more(other) != other._names_more(self):
            return False
        if self._marks(identifiers=related) != other._marks(identifiers=related):
            return False
        return compare(self.reading, other.reading)[0] >= 0 if related else compare(self.reading, other.reading)[0] > 0

    def _names_more(self, other: ResultText) -> set[str]:
        """What its words name that the other does not have word by word."""
        named = {_named(word) for word in self._words - other._words}
        named.discard("")
        return named

    def _marks(self, *, identifiers: bool) -> frozenset[str]:
        """What tells it from others: numbers, flags and names, or only those names that are no plain words."""
        return frozenset(
            token.text
            for token in self.reading.tokens.values()
            if token.kind == STRICT or (token.kind == NAME and not (identifiers and token.text.isalpha()))
        )


def diverse(scores: Sequence[float], sayings: Sequence[ResultText], count: int) -> list[int]:
    """The places of those to show, in their order. `scores`: best first."""
    likes = [0.0] * len(scores)  # how like each is to what is shown already
    left = {place: round(LAMBDA * score, _DIGITS) for place, score in enumerate(scores)}  # what each is worth
    chosen: list[int] = []
    while left and len(chosen) < count:
        best = max(left, key=left.__getitem__)  # the first of several that are equally good: they come in their order
        del left[best]
        chosen.append(best)
        shown = sayings[best]
        for place in left:
            like = shown.likeness(sayings[place])
            if like > likes[place]:
                likes[place] = like
                left[place] = round(LAMBDA * scores[place] - (1 - LAMBDA) * like, _DIGITS)
    return chosen


def grouped(sayings: Iterable[ResultText], most: int) -> tuple[list[ResultText], list[list[Note]]]:
    """The first so many that say different things, and to each the records that say the same as it."""
    kept: list[ResultText] = []
    others: list[list[Note]] = []
    places: dict[str, int] = {}  # of texts: what many sessions have said in the same words is compared once
    for saying in sayings:
        same = places.get(saying.text)
        if same is None:
            for place, one in enumerate(kept):
                if saying.is_same_as(one):
                    same = place
                    break
            if same is not None or len(kept) < most:
                places[saying.text] = len(kept) if same is None else same
        if same is not None:
            others[same].append(saying.note)
        elif len(kept) == most:
            break
        else:
            kept.append(saying)
            others.append([])
    return kept, others
