"""What an embedder's cosines are worth: measured once, and put on one scale for whoever compares them with a number. Keeps nothing.

Some models put all texts into one corner of the space: there, texts that have nothing to do with each other have a cosine of 0.6.
The scale is that of MiniLM-L6, with which every bar was chosen. See docs/adr/0054.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from clan_learnings.embedding.minilm import PREFIX
from clan_learnings.embedding.rewordings import PAIRS
from mesh.core.errors import MeshError

if TYPE_CHECKING:
    from clan_learnings.embedding.embedder import Embedder

# What it was measured with: after a change of that, what was measured before is of no use.
_SET = blake2b(repr(PAIRS).encode(), digest_size=4).hexdigest()
_FEWEST = len(PAIRS) // 2  # pairs that a server has to have vectors for: of fewer nothing can be told
_QUANTILE = 0.95  # where the bars are: higher ones depend on a few odd pairs, the mean says nothing of the spread


class Scale(NamedTuple):
    """Two cosines of one embedder: what 19 of 20 unrelated texts stay below, and what half of all rewordings reach."""

    unrelated: float
    same: float

    @property
    def is_useful(self) -> bool:
        """Whether it can tell the two apart at all."""
        return self.unrelated < self.same

    @property
    def is_usual(self) -> bool:
        """Whether its cosines are on the one scale as they are."""
        return self.unrelated == USUAL.unrelated

    def put(self, cosine: float) -> float:
        """A cosine on the one scale: 1 stays 1, what unrelated texts stay below becomes what MiniLM's do. Keeps the order."""
        return 1.0 - (1.0 - cosine) * (1.0 - USUAL.unrelated) / (1.0 - self.unrelated)

    def kept(self) -> list[float | str]:
        """For a state file."""
        return [self.unrelated, self.same, _SET]


USUAL = Scale(0.195, 0.606)  # MiniLM-L6's: pinned, so that nothing about it depends on a measurement


def scale_of(embedder: Embedder, kept: object = None) -> Scale:
    """The scale of an embedder: MiniLM's is known, another is as it was kept, or measured: 64 texts are embedded for it."""
    if embedder.name.startswith(PREFIX):
        return USUAL
    return _read(kept) or _measured(embedder)


def _read(kept: object) -> Scale | None:
    """What a state file says, if it is of this set and sound."""
    match kept:
        case [float(unrelated), float(same), str(of)] if of == _SET and -1 <= unrelated < same <= 1:
            return Scale(unrelated, same)
    return None


def _measured(embedder: Embedder) -> Scale:
    import numpy as np

    rows = embedder.embed([text for pair in PAIRS for text in pair])
    has_both = rows[0::2].any(axis=1) & rows[1::2].any(axis=1)
    if int(has_both.sum()) < _FEWEST:
        raise MeshError(f"{embedder.name} has no vectors for plain sentences", "mesh index use auto")
    questions, records = rows[0::2][has_both], rows[1::2][has_both]
    cosines = np.vecdot(questions[:, np.newaxis], records[np.newaxis])
    own = np.eye(len(cosines), dtype=bool)
    return Scale(round(float(np.quantile(cosines[~own], _QUANTILE)), 4), round(float(np.median(cosines[own])), 4))
