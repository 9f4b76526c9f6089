"""How good an answer is: recall@5, nDCG@10 and MRR of ranked ids against those that were judged right. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log2
from typing import NamedTuple

DEPTH = 10  # ids of an answer that are looked at
_RECALL_AT = 5


class Scores(NamedTuple):
    """Of one question, or means of many."""

    recall: float
    ndcg: float
    mrr: float


NAMES = (f"recall@{_RECALL_AT}", f"nDCG@{DEPTH}", "MRR")
NOTHING = Scores(0.0, 0.0, 0.0)


def scores(ranked: Sequence[str], relevant: Collection[str]) -> Scores:
    """Of one answer, in which no id stands twice. Every relevant id is worth the same."""
    wanted = set(relevant)
    places = [place for place, one in enumerate(ranked[:DEPTH]) if one in wanted]
    gain = sum(1 / log2(place + 2) for place in places)
    ideal = sum(1 / log2(place + 2) for place in range(min(len(wanted), DEPTH)))
    recall = sum(place < _RECALL_AT for place in places) / len(wanted)
    return Scores(recall, gain / ideal, 1 / (places[0] + 1) if places else 0.0)


def mean(many: Sequence[Scores]) -> Scores:
    """Of several questions, each of the same weight."""
    return Scores(*(sum(column) / len(many) for column in zip(*many, strict=True))) if many else NOTHING


def as_one(ids: Iterable[str], groups: Mapping[str, str]) -> list[str]:
    """The same ids with each group in the place of its first member: near-duplicates are one answer."""
    return list(dict.fromkeys(groups.get(one, one) for one in ids))
