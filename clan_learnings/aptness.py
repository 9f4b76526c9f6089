"""Whether a record is about what somebody just typed, or about what just went wrong. A high bar: silence costs nothing.

Search finds what shares words, and ranks it; this decides whether the best of it is worth interrupting for. Pure.
"""

from __future__ import annotations

from clan_learnings.matching import WEIGHT
from clan_learnings.wording import COMMON, NAME, tokens

# Most of what the record says must stand in the text, and at least a name and a common word of it;
_OF_RECORD, _LEAST_OF_RECORD = 0.6, WEIGHT[NAME] + WEIGHT[COMMON]
# or nearly all of a short text in the record, and at least three names, or a number and a name.
_OF_TEXT, _LEAST_OF_TEXT = 0.75, 3 * WEIGHT[NAME]


class Subject:
    """A prompt or an error, read once and compared with many records."""

    __slots__ = ("_weights",)

    def __init__(self, text: str) -> None:
        self._weights = _weights(text)

    def aptness(self, *sayings: str) -> float:
        """How well a record fits that says these things, each complete by itself: 0 below the bar, else up to 1."""
        return max((self._fits(saying) for saying in sayings if saying), default=0.0)

    def _fits(self, saying: str) -> float:
        theirs = _weights(saying)
        shared = sum(weight for text, weight in theirs.items() if text in self._weights)
        of_record = shared / sum(theirs.values()) if theirs else 0.0
        of_text = shared / sum(self._weights.values()) if self._weights else 0.0
        if of_record >= _OF_RECORD and shared >= _LEAST_OF_RECORD:
            return of_record
        return of_text if of_text >= _OF_TEXT and shared >= _LEAST_OF_TEXT else 0.0


def _weights(text: str) -> dict[str, float]:
    """Words and identifiers by what they weigh."""
    found: dict[str, float] = {}
    for token in tokens(text):
        if token.kind in WEIGHT:
            found[token.text] = WEIGHT[token.kind]
    return found
