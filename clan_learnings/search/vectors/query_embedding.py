"""Questions as vectors, beside those of records. Nothing is kept on disk here."""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from clan_learnings.search.embedders.cosine_scale import Scale
from clan_learnings.search.embedders.embedder import Embedder
from mesh.core.errors import MeshError

if TYPE_CHECKING:
    from clan_learnings.search.vectors.nearest import Vectors

T = TypeVar("T")
_QUESTION_CHARS = 2_000
_WORD_CHARS = 100  # what is longer, models take for one and the same unknown word
_CACHED = 1_024  # questions


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
        return self._row(text[:_QUESTION_CHARS]) if _has_words(text[:_QUESTION_CHARS]) else None

    def begin(self, text: str, near: Callable[[Any], T]) -> Future[tuple[Any, T | None]]:
        """The same on a thread of its own, and what is near to it: that takes as long as finding words does, and both can go on at once."""
        begun: Future[tuple[Any, T | None]] = Future()

        def make() -> None:
            try:
                row = self.question(text)
                begun.set_result((row, None if row is None else near(row)))
            except BaseException as error:  # noqa: BLE001 (whoever waits for it is told)
                begun.set_exception(error)

        try:
            threading.Thread(target=make, name="question", daemon=True).start()
        except RuntimeError:  # no more threads: then one after the other
            make()
        return begun

    def _row(self, text: str) -> Any:
        with self._lock:
            row = self._cached.get(text)
        if row is None:
            try:
                row = self.embedder.embed([text])[0]
            except MeshError:
                return None
        with self._lock:
            self._cached[text] = row
            self._cached.move_to_end(text)
            while len(self._cached) > _CACHED:
                self._cached.popitem(last=False)
        return row


def _has_words(text: str) -> bool:
    """Whether a model could make anything of it. Scripts without blanks have long words."""
    return any(len(word) <= _WORD_CHARS or not word.isascii() for word in re.findall(r"[^\W_]+", text))
