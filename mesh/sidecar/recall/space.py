"""Questions and other texts as vectors, beside those of records. Nothing is kept on disk here."""

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clan_learnings.embedding.embedder import Embedder
from clan_learnings.embedding.scale import Scale
from mesh.core.errors import MeshError

if TYPE_CHECKING:
    from mesh.sidecar.recall.vectors import Vectors

_QUESTION_CHARS = 2_000
_WORD_CHARS = 100  # what is longer, models take for one and the same unknown word
_CACHED = 1_024  # questions, and texts that were compared


class Space:
    """An embedder and the vectors it has made. For any thread."""

    def __init__(self, embedder: Embedder, vectors: "Vectors", scale: Scale) -> None:
        self.embedder = embedder
        self.vectors = vectors
        self.scale = scale
        self._cached: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def question(self, text: str) -> Any:
        """The vector of a question; None if it cannot be had now, or if there is no word in it: that means nothing."""
        if not _has_words(text[:_QUESTION_CHARS]):
            return None
        rows = self._rows([text[:_QUESTION_CHARS]])
        return None if rows is None else rows[0]

    def similar(self, text: str, others: Sequence[str]) -> list[float] | None:
        """The cosines of one text with others; None if they cannot be had now."""
        rows = self._rows([text[:_QUESTION_CHARS], *(other[:_QUESTION_CHARS] for other in others)])
        return None if rows is None else [self.scale.put(float(row @ rows[0])) for row in rows[1:]]

    def _rows(self, texts: list[str]) -> list[Any] | None:
        with self._lock:
            known = {text: self._cached[text] for text in texts if text in self._cached}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            try:
                made = self.embedder.embed(missing)
            except MeshError:
                return None
            known |= dict(zip(missing, made, strict=True))
        with self._lock:
            for text in texts:
                self._cached[text] = known[text]
                self._cached.move_to_end(text)
            while len(self._cached) > _CACHED:
                self._cached.popitem(last=False)
        return [known[text] for text in texts]


def _has_words(text: str) -> bool:
    """Whether a model could make anything of it. Scripts without blanks have long words."""
    return any(len(word) <= _WORD_CHARS or not word.isascii() for word in re.findall(r"[^\W_]+", text))
