"""One query to the tantivy index, corrected by what one snapshot of the database has otherwise: which records weigh most.

The few records that changed since the last commit are weighed one by one. So a record is found the moment it is written, and
no longer the moment it is retracted.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from functools import cache, partial
from typing import NamedTuple

from clan_learnings.search.finder import are_crowded
from clan_learnings.search.index_state import IndexState, live_records
from clan_learnings.search.keywords.bm25 import Bm25Query, Corpus, joined
from clan_learnings.search.keywords.word_index import word_document
from clan_learnings.search.keywords.word_view import (
    PATTERN,
    STAMP,
    IndexScope,
    Ranking,
    WordDocument,
    WordView,
    pattern_number,
    reading,
)
from mesh.core.ids import signed_prefix as key_of
from mesh.store.reader import Reader
from mesh.store.record_changes import ChangeCollector, Followed

MOST = 200  # with more, the database's own index is the quicker one


class WordSnapshot(NamedTuple):
    """An index, and what to make of it."""

    view: WordView
    hidden: frozenset[bytes]  # records that are not as the index has them
    papers: list[WordDocument]  # those of them that are live, as they are
    corpus: Corpus


def word_snapshot(reader: Reader, kept: IndexState) -> WordSnapshot | None:
    """How a snapshot differs from what was kept; None if by too much, or if that cannot be said."""
    followed = Followed(reader)
    view: WordView = kept.view
    if not kept.is_whole or followed.left(kept.place, MOST + 1) > MOST:
        return None
    touched: set[bytes] = set()
    if followed.mark() != kept.mark:
        found = ChangeCollector(reader.connection).since(kept.progress)
        if found is None or len(found.records) > MOST or len(found.erased) > MOST:
            return None
        touched = {*found.records, *found.erased}
    lives = reader.live(touched)
    lives |= {entry.tag: entry for _, entry in reader.arrived(kept.place, MOST)}
    papers = [word_document(live, reader) for live in live_records(reader, lives.values())]
    hidden = frozenset(touched | lives.keys())
    return WordSnapshot(view, hidden, papers, _corpus(view, hidden, papers))


def _corpus(view: WordView, hidden: frozenset[bytes], papers: list[WordDocument]) -> Corpus:
    before = [text.split() for text in view.texts(hidden)]
    records = view.records - len(before) + len(papers)
    words = view.words - sum(map(len, before)) + sum(len(item.words) for item in papers)
    if not hidden:
        return Corpus(records, words, view.documents)
    change: Counter[str] = Counter()
    for text in before:
        change.subtract(set(text))
    for item in papers:
        change.update(set(item.words))
    return Corpus(records, words, lambda word: view.documents(word) + change[word])


class _QuestionWeights:
    """The words of a question, and of each record that was looked at for it, in whatever scope."""

    def __init__(self, fresh: WordSnapshot, stems: Mapping[str, float]) -> None:
        self.fresh = fresh
        self.stems = stems
        self.texts = {key_of(item.tag): joined(item.words) for item in fresh.papers}
        # Corrections of one pattern are often the same to the word.
        self._weigh = cache(Bm25Query(stems, fresh.corpus).weigh)

    def weights(self, ranking: Ranking, new: Collection[int]) -> dict[int, float]:
        """Of all that a ranking gave, and of some that it cannot know; without those that weigh nothing."""
        texts, text_at = self.texts, self.fresh.view.text_at
        with reading():
            texts |= {key: text_at(place) for key, place in ranking.places.items() if key not in texts}
        keys = (*ranking.places, *new)
        return {key: weight for key in keys if (weight := self._weigh(texts[key])) > 0}


class WordQuery:
    """Tantivy finds, we weigh (ADR 0042). Records go by their keys. Every method may raise `WordIndexBroken`."""

    def __init__(
        self,
        fresh: WordSnapshot,
        stems: Mapping[str, float],
        scope: IndexScope,
        known: tuple[_QuestionWeights, Ranking] | None = None,
    ) -> None:
        """`stems`: what each counts. `known`: what is shared with another scope."""
        self._weighed, self._ranking = known or (_QuestionWeights(fresh, stems), fresh.view.ranked(stems, scope))
        self._hidden = fresh.hidden
        self._new = {key_of(item.tag): item for item in fresh.papers if scope.takes(item)}
        self._best: dict[int, dict[int, float]] = {}

    def passing(self, patterns: Collection[str], scope: IndexScope) -> "WordQuery":
        """The same question without what was written under some patterns, which `scope` leaves out: most of what is to be found was found."""
        fresh, stems = self._weighed.fresh, self._weighed.stems
        numbers = {pattern_number(pattern) for pattern in patterns}
        ranking = self._ranking.passing(numbers, partial(fresh.view.query, stems, scope))
        return WordQuery(fresh, stems, scope, (self._weighed, ranking))

    def text(self, key: int) -> str | None:
        """The words of a record, if it was looked at."""
        return self._weighed.texts.get(key)

    def best(self, count: int) -> dict[int, float]:
        """The records that weigh most, of equals the newest, and their weights: so many, and any that are like the last in both."""
        found = self._best.get(count)
        if found is None:
            self._ranking.give(count, self._hidden)
            found = self._best[count] = self._first(self._weighed.weights(self._ranking, self._new), count)
        return found

    def _first(self, weights: dict[int, float], count: int) -> dict[int, float]:
        if len(weights) <= count:
            return weights
        least = sorted(weights.values(), reverse=True)[count - 1]
        found = {key: weight for key, weight in weights.items() if weight >= least}
        if len(found) <= count:
            return found
        stamps = self._ranking.column(STAMP, found) | {key: item.at for key, item in self._new.items()}
        ranks = {key: (-weight, -stamps[key]) for key, weight in found.items()}
        last = sorted(ranks.values())[count - 1]
        return {key: found[key] for key, rank in ranks.items() if rank <= last}

    def is_crowded(self, count: int, others: int) -> bool:
        """As in the seam."""
        best = self.best(count)
        if len(best) < count:
            return False
        patterns = self._ranking.column(PATTERN, best)
        patterns |= {key: pattern_number(item.pattern) for key, item in self._new.items()}
        return are_crowded([patterns[key] for key in best][:count], others)
