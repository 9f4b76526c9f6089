"""The likeness of two statements: one measure for finding patterns, duplicates and links.

Words decide where they can: other numbers, flags, identifiers or a negation forbid, whatever else is near. Where they say neither
yes nor no, the cosine of two vectors may, if there are vectors. Each way has thresholds of its own, chosen on the pairs in
`tests/clan_learnings` (ADR 0044), and gives the same scale. Decided by who writes; no fold ever asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from clan_learnings.records.matching import ComparableCorrection, comparable, compare, leftovers, overlap
from clan_learnings.records.matching_tokens import COMMON, NAME, STRICT, split_words, tokens
from clan_learnings.records.memory import Memory
from clan_learnings.records.record import DISCOVERIES, Note
from clan_learnings.search.filters import SearchFilters
from mesh.core.identifier_words import extra_words

# The scale: from MERGE on two texts say the same, so that one of them is enough; from LINK on they are about the same thing.
MERGE, LINK = 0.85, 0.70
_ABOUT_THE_SAME = 0.84  # the most that can be said of two that are not the same

# By words. How sure `compare` is goes from 0.5 to 1; at 0.75 it is enough to keep only one.
_OFFSET, _SLOPE = 0.4, 0.6
_LINKED_BY_WORDS = 0.45  # the overlap of two that are about the same; of any two it is below 0.33 in 199 of 200

# By meaning, with this model: of another, whose cosines nobody has measured here, nothing is asked.
_MEASURED = "minilm-l6-"
# The cosine of two that are about the same; of any two it is below 0.47 in 199 of 200.
_LINKED_BY_MEANING = 0.55
# A cosine is high where most words are the same, also if the one that matters is another. So it says something only as far as
# it is higher than the words explain, and if each has several plain words that the other has not. What still has a cosine
# near 1 is one sentence with its words swapped.
_LEAST_COSINE, _MOST_COSINE = 0.6, 0.95
_EXPLAINED = 0.75  # of the overlap
_BEYOND_WORDS = 0.43
_OTHER_WORDS = 2
_STEP = 0.5  # what the scale rises for each point beyond

_CANDIDATES = 60  # records that are compared, of each sort
_COUNTED = 48  # words of a long text that are counted
_WORDS, _LEAST_WORDS = 6, 2  # words that are looked for
_MENTIONS = 600  # in so many records in all
_TELLING = 2  # words that count; with fewer, only the same text is the same


def judge(one: ComparableCorrection, other: ComparableCorrection, cosine: float | None = None) -> tuple[float, str]:
    """How sure it is that two corrections are one pattern, 0 for no, below 0 for a contradiction; and why. Symmetric."""
    sureness, why = compare(one, other)
    if sureness or cosine is None:
        return sureness, why
    beyond = cosine - _EXPLAINED * overlap(one, other)
    if not _LEAST_COSINE <= cosine < _MOST_COSINE or beyond < _BEYOND_WORDS or not _is_worded_otherwise(one, other):
        return sureness, why
    return round(MERGE + _STEP * (beyond - _BEYOND_WORDS), 6), f"means the same, in other words ({cosine:.2f})"


def likeness(one: ComparableCorrection, other: ComparableCorrection, cosine: float | None = None) -> float:
    """From 0 to 1: at least MERGE if they say the same, at least LINK if they are about the same. Symmetric."""
    sureness, _ = compare(one, other)
    if sureness > 0:
        return round(_OFFSET + _SLOPE * sureness, 6)
    if sureness < 0:
        return 0.0
    meant, _ = judge(one, other, cosine)
    if meant > 0:
        return meant
    linked = overlap(one, other) / _LINKED_BY_WORDS
    if cosine is not None:
        linked = max(linked, cosine / _LINKED_BY_MEANING)
    return round(min(_ABOUT_THE_SAME, max(0.0, LINK * linked)), 6)


def _is_worded_otherwise(one: ComparableCorrection, other: ComparableCorrection) -> bool:
    """Each has several words that the other has not, and they are plain ones: an identifier stands for itself."""
    sides = zip((one, other), leftovers(one, other), strict=True)
    return all(len(left) >= _OTHER_WORDS and all(_is_plain(reading, text) for text in left) for reading, left in sides)


def _is_plain(reading: ComparableCorrection, text: str) -> bool:
    token = reading.tokens[text]
    return token.text.isalpha() and token.kind != STRICT and not token.parts


class CoveringRecord:
    """A record that says the same already, how alike the two are, and why."""

    __slots__ = ("note", "score", "why")

    def __init__(self, note: Note, score: float, why: str) -> None:
        self.note = note
        self.score = score
        self.why = why

    @property
    def rank(self) -> tuple[float, int, bytes]:
        """The most alike first, then the oldest."""
        return -self.score, self.note.stamp, self.note.tag


def covering(memory: Memory, text: str, repo: str) -> CoveringRecord | None:
    """A discovery that says the same already, if there is one; of several the most alike, then the oldest."""
    mine = comparable("", text)
    best: CoveringRecord | None = None
    within = SearchFilters(repo, logs=(DISCOVERIES,))
    notes, cosines = near_notes(memory, text, telling_words(memory, text), within)
    for note in notes:
        if not within.takes(memory, note):
            continue
        if len(mine.hard) < _TELLING and split_words(text) != split_words(note.text):
            continue  # "written here" and "written there" have one word that counts, and it is the same
        other, cosine = comparable("", note.text), cosines.get(note.tag)
        score = likeness(mine, other, cosine)
        if score >= MERGE and (best is None or (-score, note.stamp, note.tag) < best.rank):
            best = CoveringRecord(note, score, judge(mine, other, cosine)[1])
    return best


def near_notes(
    memory: Memory, text: str, words: Mapping[str, float], within: SearchFilters
) -> tuple[list[Note], dict[bytes, float]]:
    """The records nearest to a text, by words and by meaning, the nearest first; and the cosines of those that have vectors.

    What was edited to be of another repository may be among them.
    """
    finder = memory.finder
    also = memory.moved_into(within.repo)
    found = finder.by_words(words, within, _CANDIDATES, also) if words else []
    cosines: dict[bytes, float] = {}
    if finder.has_meaning and finder.embedder.startswith(_MEASURED):
        by_turns = zip_longest(finder.by_meaning(text, within, _CANDIDATES), found)
        found = [each for pair in by_turns for each in pair if each is not None]
        cosines = finder.cosines(text, [entry.tag for entry, _ in found])
    entries = {entry.tag: entry for entry, _ in found}
    return memory.read_all(entries.values()), cosines


def telling_words(memory: Memory, text: str, most: int = _WORDS) -> dict[str, float]:
    """The words of a text that a record which says the same is found by: names and numbers, the rarest of them.

    Two at least: the names of a mistake that everybody makes are frequent, and it is the one to be found.
    """
    names: dict[str, None] = {} if text.isascii() else dict.fromkeys(extra_words(text))
    common: dict[str, None] = {}
    for token in tokens(text):
        if token.kind in (NAME, STRICT, COMMON):
            for word in split_words(token.raw):
                (common if token.kind == COMMON else names).setdefault(word)
    _, counts = memory.finder.counts(list(names or common or dict.fromkeys(split_words(text)))[:_COUNTED])
    rarest = sorted((count, word) for word, count in counts.items() if count)
    chosen: dict[str, float] = {}
    mentions = 0
    for count, word in rarest[:most]:
        if len(chosen) >= _LEAST_WORDS and mentions + count > _MENTIONS:
            break
        chosen[word] = 1.0
        mentions += count
    return chosen
