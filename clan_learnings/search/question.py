"""A search question: its words, what each counts, and how rare it is. Finds and ranks nothing.

Words are given as they are written, in small letters, no two with one stem: every index brings them into its own form.
Grammar is left out, identifiers are there whole and in parts, and a word that no record has becomes those it may be a
slip for. The work is bounded, whatever is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log

from clan_learnings.records.matching_tokens import split_words
from clan_learnings.records.matching_words import STOP
from clan_learnings.records.memory import Memory
from clan_learnings.search.fusion import ideal_weight
from clan_learnings.search.keywords.search_table import WordSearch
from mesh.core.identifier_words import extra_words
from mesh.store.reader import Reader

SHORTEST = 4  # letters; any shorter word is one slip away from half a dozen others
_LONG = 9  # letters; from here on two slips are forgiven
_LONGEST = 32
_LOOKED_AT = 2000  # words of the index that begin in one way
_MOST_MEANT = 2  # that are as near; of more, none is likely


def may_be_misspelt(word: str) -> bool:
    """Whether it is a word at all: of a script with letters, and of a length that leaves something to recognise."""
    return SHORTEST <= len(word) <= _LONGEST and word.isalpha() and word.isascii()


def nearest(word: str, terms: Callable[[str, int], list[str]]) -> tuple[list[str], int]:
    """The words of an index that are nearest to one that is not in it, and how far they are; none if all are too far.

    `terms`: the words of the index that begin in some way, so many at most.
    """
    allowed = 2 if len(word) >= _LONG else 1
    found: dict[str, int] = {}
    letters = set(word)
    for start in _beginnings(word):
        for term in terms(start, _LOOKED_AT):
            if (
                term in found
                or abs(len(term) - len(word)) > allowed
                or len(letters.symmetric_difference(term)) > 2 * allowed
            ):
                continue
            found[term] = distance(word, term, allowed)
    best = min(found.values(), default=allowed + 1)
    near = sorted(term for term, far in found.items() if far == best)
    return (near, best) if best <= allowed and len(near) <= _MOST_MEANT else ([], best)


def _beginnings(word: str) -> Iterable[str]:
    """How the word that was meant may begin: as it stands, with two letters swapped, or without the second. Few slip at the first letter."""
    return dict.fromkeys((word[:2], word[1] + word[0], word[0] + word[2]))


def distance(one: str, other: str, most: int) -> int:
    """How many slips lie between two words; more than `most` is `most + 1`."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        last, before, row = before, row, [at]
        for there, its in enumerate(other, 1):
            cost = min(before[there] + 1, row[-1] + 1, before[there - 1] + (letter != its))
            if at > 1 and there > 1 and letter == other[there - 2] and one[at - 2] == its:
                cost = min(cost, last[there - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


_CHARS = 8000  # of a text that are read, half of them from its end: that is where an error says what it is
_LOOKED_UP = 32  # words that are counted, and as many of identifiers; of more, those at both ends
_MOST = 32  # words that are looked for: the rarest
_TYPED = 12  # words; whoever asks with more has pasted them, and what nobody wrote before is no slip
_SLIPS = 3  # words that are taken for slips
_COUNTS = {1: 0.7, 2: 0.5}  # what a word counts that is so many letters from what was typed
_IDEOGRAPHS = "\u2e80"  # scripts from here on are written without blanks
_MARKS = ".,;:!?\"'`()[]{}<>*\u2018\u2019\u201c\u201d"
_CONTRACTED = frozenset(("can't", "won't", "shan't"))


class Question:
    """What is looked for. `words`: as written, with what each counts; empty if there is nothing to look for."""

    __slots__ = ("_shown", "ideal", "text", "words")

    def __init__(self, memory: Memory, text: str, most: int = _MOST) -> None:
        """`most`: so many words."""
        self.text = text
        plain, extra = _told_apart(text)
        written = _by_stem(memory.reader, (*_ends(extra), *_ends(plain)))
        records, counts = memory.finder.counts(written.values())
        weights = dict.fromkeys(written, 1.0)
        # A whole identifier that no record has is no loss: its parts are words of their own.
        # Nor is a whole sentence without blanks: its pairs are.
        missing = [
            stem for stem, word in written.items() if not counts.get(word) and word in plain and word < _IDEOGRAPHS
        ]
        shown = dict(written)
        slips = [stem for stem in missing if may_be_misspelt(stem)] if len(written) <= _TYPED else []
        for slip in slips[:_SLIPS]:
            terms, far = nearest(slip, memory.reader.part(WordSearch).terms)
            meant = {term: _written(memory.reader, term) for term in terms}
            if meant:
                missing.remove(slip)
                counts |= memory.finder.counts(meant.values())[1]
                for term, word in meant.items():
                    if term not in written:
                        weights[term], shown[term] = _COUNTS[far], f"{word} for {written[slip]}"
                written = meant | written
        rarity = {
            stem: weight * _rarity(counts.get(written[stem], 0), records)
            for stem, weight in weights.items()
            if counts.get(written[stem]) or stem in missing
        }
        self.ideal = ideal_weight(list(rarity.values()))
        rarest = sorted((stem for stem in rarity if stem not in missing), key=lambda stem: (-rarity[stem], stem))
        self.words = {written[stem]: weights[stem] for stem in rarest[:most]}
        self._shown = {stem: shown[stem] for stem in rarest}

    def shared(self, stems: Iterable[str]) -> list[str]:
        """Which of its words a record has, the rarest first. `stems`: of the record."""
        there = set(stems)
        return [word for stem, word in self._shown.items() if stem in there]


def _told_apart(text: str) -> tuple[list[str], list[str]]:
    """The words of a text that say something, and what else the index has for its identifiers; each once, in order."""
    if len(text) > _CHARS:
        text = f"{text[: _CHARS // 2]} {text[-_CHARS // 2 :]}"
    chunks = text.split()
    said = " ".join([chunk for chunk in chunks if not is_grammar(chunk)] or chunks)
    return list(dict.fromkeys(split_words(said))), extra_words(said)


def is_grammar(chunk: str) -> bool:
    """Whether what stands between two blanks only joins other words; a flag such as `--no-verify` never does."""
    word = chunk.strip(_MARKS).lower().replace("\u2019", "'")
    if "'" not in word:
        return word in STOP
    return word.partition("'")[0] in STOP or (word.endswith("n't") and word[:-3] in STOP) or word in _CONTRACTED


def _ends(words: list[str]) -> list[str]:
    return words if len(words) <= _LOOKED_UP else words[: _LOOKED_UP // 2] + words[-_LOOKED_UP // 2 :]


def _by_stem(reader: Reader, words: Iterable[str]) -> dict[str, str]:
    """Stems to the first word that has them."""
    found: dict[str, str] = {}
    for word in words:
        for stem in reader.part(WordSearch).stems(word)[:1]:
            found.setdefault(stem, word)
    return found


def _written(reader: Reader, stem: str) -> str:
    """A word that has this stem, as a person would write it if possible: `gateway` for `gatewai`."""
    ending = stem[:-1] + "y"
    return (
        ending
        if stem.endswith("i") and reader.part(WordSearch).stems(ending)[:1] == [stem]
        else reader.part(WordSearch).written(stem)
    )


def _rarity(found: int, records: int) -> float:
    """As BM25 has it, never negative: in a small notebook half of all records may have the word that is looked for."""
    return log(1 + max(records - found + 0.5, 0.5) / (found + 0.5))
