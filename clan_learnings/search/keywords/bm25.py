"""BM25 over a text that is known word by word. Pure; the formula and its numbers are those of `clan_learnings.search.keywords.word_weights_table`."""

from collections.abc import Callable, Iterable, Mapping
from math import log

_K1, _B = 1.2, 0.75
_DIGITS = 6


class Corpus:
    """All records there are: how many, how many words in all, and in how many a word stands."""

    def __init__(self, records: int, words: int, documents: Callable[[str], int]) -> None:
        self.records = records
        self.words = words
        self.documents = documents

    def rarity(self, word: str) -> float:
        """What a word tells. Never negative, as in Lucene."""
        found = self.documents(word)
        return log(1 + max(self.records - found + 0.5, 0.5) / (found + 0.5))


class Bm25Query:
    """One question: what each of its words counts."""

    def __init__(self, words: Mapping[str, float], corpus: Corpus) -> None:
        """`words`: stems, each with a factor."""
        self._usual = corpus.records / (corpus.words or 1)
        self._rarity = [(f" {word} ", factor * corpus.rarity(word) * (_K1 + 1)) for word, factor in words.items()]

    def weigh(self, text: str) -> float:
        """How well a text fits, as `joined` has made it."""
        long = _K1 * (1 - _B + _B * (text.count("  ") + 1) * self._usual)
        weight = 0.0
        for word, rare in self._rarity:
            often = text.count(word)
            if often:
                weight += rare * often / (often + long)
        return round(weight, _DIGITS)


def joined(stems: Iterable[str]) -> str:
    """Stems as one text. Each has its own two blanks, so that it can be counted."""
    return f" {'  '.join(stems)} "
