"""The search indexes of one home, kept up to date: the threads that build words and vectors, and what is asked of vectors.

A process of its own runs this beside the node, which answers from the files.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Self

from clan_learnings.search.embedders.embedder import is_address
from clan_learnings.search.index_files import FOLDER, VECTORS, WORDS
from clan_learnings.search.index_thread import PAUSE_SECONDS, IndexThread
from clan_learnings.search.indexes import BuildingReport
from clan_learnings.search.keywords.word_index import WordSink
from clan_learnings.search.keywords.word_view import IS_INSTALLED
from clan_learnings.search.vectors.record_vectors import EmbeddingSpace, RecordVectors

_UNHURRIED_SECONDS = 5.0  # what nobody has asked for by name can wait until a sidecar has started


class IndexBuilding:
    """Builds while inside the block. An `IndexBuilder` for who asks in the same process."""

    def __init__(
        self,
        home: str,
        environ: Mapping[str, str] | None = None,
        *,
        idle_seconds: float | None = None,
        pause_seconds: Callable[[], float] = lambda: PAUSE_SECONDS,
    ) -> None:
        """`idle_seconds`, `pause_seconds`: as of `IndexThread`."""
        folder = os.path.join(home, FOLDER)
        self._words: IndexThread | None = None
        if IS_INSTALLED:
            words = WordSink(os.path.join(folder, WORDS))
            self._words = IndexThread(home, words, WORDS, idle_seconds=idle_seconds, pause_seconds=pause_seconds)
        self._sink = RecordVectors(home, os.path.join(folder, VECTORS), os.environ if environ is None else environ)
        self._vectors = IndexThread(
            home,
            self._sink,
            VECTORS,
            delay_seconds=0.0 if self._sink.is_chosen else _UNHURRIED_SECONDS,
            idle_seconds=idle_seconds,
            pause_seconds=pause_seconds,
        )
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self._vectors)
        if self._words is not None:
            self._stack.enter_context(self._words)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._vectors.stop()
        self._sink.interrupt()
        self._stack.close()

    def wake(self) -> None:
        """Somebody has written."""
        for thread in (self._words, self._vectors):
            if thread is not None:
                thread.wake()

    @property
    def asks_server(self) -> bool:
        """Whether vectors are made by a server, which may take seconds."""
        return is_address(self._sink.choice)

    @property
    def meaning(self) -> EmbeddingSpace | None:
        """Vectors, if there are any to be asked."""
        space = self._sink.space
        return space if space is not None and len(space.vectors) else None

    def rest(self) -> None:
        """No question has come for a while: what was looked at for the last ones counts as our memory, and is as quickly mapped again."""
        meaning = self.meaning
        if meaning is not None:
            with suppress(ValueError):  # it was closed meanwhile
                meaning.vectors.rest()

    def report(self) -> BuildingReport:
        """How it stands."""
        trouble = [thread.says for thread in (self._words, self._vectors) if thread and thread.says]
        if left_out := self._sink.left_out:
            records = "1 record" if left_out == 1 else f"{left_out} records"
            trouble.append(f"the embedder makes no vector of {records}: found by words only")
        space = self._sink.space
        if space is None:
            return BuildingReport(trouble, vectors_say=self._vectors.says)
        return BuildingReport(trouble, space.embedder.name, len(space.vectors), self._vectors.says)

    def forget_words(self) -> None:
        """The index of words is broken: it has to be made anew."""
        if self._words is not None:
            self._words.forget()

    def prepare(self, question: str) -> None:
        """A server may take seconds to make the vector of a question: that is done before a snapshot is taken."""
        meaning = self.meaning
        if meaning is not None and self.asks_server:
            meaning.question(question)

    def busy(self) -> None:
        """It rests by itself now and then."""
