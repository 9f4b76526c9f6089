"""Okapi BM25: what the words of a question weigh in a record. Pure; the one place of the formula and its numbers.

Robertson, Zaragoza, "The Probabilistic Relevance Framework", 2009. The index in the database weighs word by word with `rarity`
and `word_weight`; the index of a running node weighs whole texts with `Bm25Query`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import log

_K1, _B = 1.2, 0.75  # as in FTS5
DIGITS = 6  # of a weight: beyond them, mathematics libraries differ


def rarity(records: int, having: int) -> float:
    """What a word counts that `having` of all records have. Never negative, as in Lucene.

    In a small notebook half of all records may have the word that is looked for.
    """
    return log(1 + max(records - having + 0.5, 0.5) / (having + 0.5))


def word_weight(gain: float, often: float, words: int, usual: float) -> float:
    """What one word of a question adds to a record of so many words. `gain`: its rarity times its factor; `usual`: words of a record on average."""
    return gain * often * (_K1 + 1) / (often + _K1 * (1 - _B + _B * words / usual))


class Corpus:
    """All records there are: how many, how many words in all, and in how many a word stands."""

    def __init__(self, records: int, words: int, documents: Callable[[str], int]) -> None:
        self.records = records
        self.words = words
        self.documents = documents

    def rarity(self, word: str) -> float:
        """What a word counts."""
        return rarity(self.records, self.documents(word))


class Bm25Query:
    """The words of one question, ready to weigh any number of texts."""

    def __init__(self, words: Mapping[str, float], corpus: Corpus) -> None:
        """`words`: stems, each with a factor."""
        self._usual = corpus.words / (corpus.records or 1) or 1
        self._gains = [(f" {word} ", factor * corpus.rarity(word)) for word, factor in words.items()]

    def weigh(self, text: str) -> float:
        """How well a text fits that `joined` has made."""
        words = text.count("  ") + 1
        weight = 0.0
        for word, gain in self._gains:
            often = text.count(word)
            if often:
                weight += word_weight(gain, often, words, self._usual)
        return round(weight, DIGITS)


def joined(stems: Iterable[str]) -> str:
    """Stems as one text. Each has its own two blanks, so that it can be counted."""
    return f" {'  '.join(stems)} "
