"""One score from keywords and vectors, and what age, category, tags and quality add to it. Pure arithmetic.

Reciprocal ranks and min-max scaling were measured to be worse than BM25 alone on some texts; see ADR 0043 for the figures.
"""

from __future__ import annotations

HALF_LIFE_MS = 30 * 86_400_000
KEPT = 0.8  # of a score, however old the record is: a half-life alone made search forget
TELLING = 6  # the rarest words of a question: a record that has these need not have the rest of a long text
# What a record has to weigh, as a share of those words, for its keyword part to be whole. Without this the best record
# has all of it even if it shares nothing but "file" with the question, and what means the same comes after it.
FULL = 0.6
# Cosines of texts that have nothing to do with each other stay below the first, those of rewordings reach the second.
UNRELATED, SAME = 0.2, 0.8

_DIGITS = 6  # beyond them mathematics libraries differ, and nodes would order differently


def steady(value: float) -> float:
    """A score as it is compared: from 0 to 1, the same on every machine."""
    return round(min(1.0, max(0.0, value)), _DIGITS)


def ideal_weight(rarities: list[float]) -> float:
    """What a record of usual length weighs that has each of the telling words once. `rarities`: of each word, what it counts included."""
    return sum(sorted(rarities, reverse=True)[:TELLING])


def keyword_part(weight: float, best: float, ideal: float) -> float:
    """A BM25 weight between 0 and 1: as a share of the best found, or of what a good one would have."""
    most = max(best, FULL * ideal)
    return weight / most if most > 0 else 0.0


def fuse(keyword: float, cosine: float | None, weight: float) -> float:
    """Both parts in one. `cosine`: None without vectors, then words are all there is. `weight`: of the meaning."""
    return keyword if cosine is None else weight * min(1.0, max(0.0, cosine)) + (1 - weight) * keyword


def recency(age_ms: int) -> float:
    """1 now, half of it after thirty days."""
    return float(0.5 ** (max(0, age_ms) / HALF_LIFE_MS))


def faded(score: float, fresh: float) -> float:
    """A score with the little that recency matters."""
    return score * (KEPT + (1 - KEPT) * fresh)


def filed(score: float, category: float, tags: float, fresh: float, quality: float) -> float:
    """The score where a category or tags were asked for. `category`, `tags`: how far they are those."""
    return 0.4 * score + 0.2 * category + 0.2 * tags + 0.1 * fresh + 0.1 * quality


def likeness_of(cosine: float) -> float:
    """A cosine as a person would put it: 0 for texts that have nothing in common, 1 for rewordings of each other."""
    return min(1.0, max(0.0, (cosine - UNRELATED) / (SAME - UNRELATED)))


def relevance_of(weight: float, ideal: float, cosine: float | None) -> float:
    """How well a record fits by itself, whatever else was found: it can be compared between questions."""
    words = min(1.0, weight / ideal) if ideal > 0 else 0.0
    return words if cosine is None else (words + likeness_of(cosine)) / 2
