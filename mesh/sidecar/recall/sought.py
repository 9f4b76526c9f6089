"""One question to the index of words, as one snapshot has it: which records weigh most. Kept while somebody asks for more of the same."""

from collections.abc import Mapping
from functools import cache

from clan_learnings.recall.finder import are_crowded
from mesh.core.ids import signed_prefix as key_of
from mesh.sidecar.recall.fresh import Fresh
from mesh.sidecar.recall.weights import Weighing, joined
from mesh.sidecar.recall.word_view import PATTERN, STAMP, Scope


class Sought:
    """Tantivy finds, we weigh (ADR 0042). Records go by their keys. Whatever is asked may be told that the index is `Broken`."""

    def __init__(self, fresh: Fresh, stems: Mapping[str, float], scope: Scope) -> None:
        """`stems`: what each counts."""
        self.asked = (stems, scope)
        self._new = {key_of(item.tag): item for item in fresh.papers if scope.takes(item)}
        self.texts = {
            key: joined(item.words) for key, item in self._new.items()
        }  # the words of all that were looked at
        self._hidden = fresh.hidden
        self._ranking = fresh.view.ranked(stems, scope)
        self._weigh = cache(
            Weighing(stems, fresh.corpus).weigh
        )  # corrections of one pattern are often the same to the word
        self._weights: dict[int, float] = {}

    def best(self, count: int) -> dict[int, float]:
        """The records that weigh most, of equals the newest, and their weights: so many, and any that are like the last in both."""
        self.texts |= self._ranking.best(count, self._hidden, self.texts)
        for key, text in self.texts.items():
            if key not in self._weights:
                self._weights[key] = self._weigh(text)
        found = {key: weight for key, weight in self._weights.items() if weight > 0}
        if len(found) <= count:
            return found
        least = sorted(found.values(), reverse=True)[count - 1]
        found = {key: weight for key, weight in found.items() if weight >= least}
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
        patterns = self._ranking.column(PATTERN, best) | {key: item.pattern_number for key, item in self._new.items()}
        return are_crowded([patterns[key] for key in best][:count], others)
