"""What the sidecar searches with: its own indexes, beside the one of the database. Composes them; decides nothing about ranking."""

import logging
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any, Self

from clan_learnings.embedding.embedder import available, is_address
from clan_learnings.records.memory import Memory
from clan_learnings.records.record import LOGS
from mesh.sidecar.recall.finder import Indexed
from mesh.sidecar.recall.follower import Follower
from mesh.sidecar.recall.fresh import Fresh, look
from mesh.sidecar.recall.meaning import Meaning
from mesh.sidecar.recall.readers import Readers
from mesh.sidecar.recall.space import Space
from mesh.sidecar.recall.word_view import IS_INSTALLED, Broken
from mesh.sidecar.recall.wording import Wording
from mesh.store.changes import Followed
from mesh.store.reading import Reader, open_reading

FOLDER = "recall"
_UNHURRIED_SECONDS = 5.0  # what nobody has asked for by name can wait until a sidecar has started
_BEHIND = 1_000_000

log = logging.getLogger("mesh.sidecar")


class Recall:
    """The indexes of one home, kept up to date while inside the block. Outside of it, and without tantivy, the database's answers."""

    def __init__(self, home: str, environ: Mapping[str, str] | None = None) -> None:
        self._home = home
        folder = os.path.join(home, FOLDER)
        self._readers = Readers(home, self.finder)
        self._words: Follower | None = None
        if IS_INSTALLED:
            self._words = Follower(home, Wording(os.path.join(folder, "words")), "words")
        self._sink = Meaning(home, os.path.join(folder, "vectors"), environ if environ is not None else os.environ)
        delay = 0.0 if self._sink.is_chosen else _UNHURRIED_SECONDS
        self._vectors = Follower(home, self._sink, "vectors", delay_seconds=delay)
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
        self._readers.close()

    def memory(self) -> AbstractContextManager[Memory]:
        """One snapshot of the shared records, for a `with` block."""
        return self._readers.memory()

    def prepare(self, question: str) -> None:
        """Have a server make the vector of a question before it is asked: an erase waits for snapshots, and a server may take seconds."""
        if self.meaning is not None and is_address(self._sink.choice):
            self.meaning.question(question)

    def finder(self, reader: Reader) -> Indexed:
        """What finds candidates in one snapshot."""
        return Indexed(self, reader)

    def fresh(self, reader: Reader) -> Fresh | None:
        """The index of words as a snapshot has it; None while it cannot be used."""
        kept = None if self._words is None else self._words.kept
        if kept is None or kept.view is None:
            return None
        mark = Followed(reader).mark()
        try:
            found: Fresh | None = kept.looked[mark]
        except KeyError:
            try:
                found = look(reader, kept)
            except Broken as error:
                self.distrust(error)
                return None
            kept.looked.clear()
            kept.looked[mark] = found
        return found

    def distrust(self, error: Exception) -> None:
        """The index of words is broken: it is made anew, and until then the database's answers."""
        log.warning("the index of words is made anew: %s", error)
        if self._words is not None:
            self._words.forget()

    @property
    def meaning(self) -> Space | None:
        """Vectors, if there are any."""
        space = self._sink.space
        return space if space is not None and len(space.vectors) else None

    def status(self) -> dict[str, Any]:
        """How the indexes stand."""
        reader = open_reading(self._home)
        try:
            logs = reader.logs()
            kept = None if self._words is None else self._words.kept
            behind = Followed(reader).left(kept.place, _BEHIND) if kept is not None else sum(logs.values())
        finally:
            reader.connection.close()
        trouble = [follower.says for follower in (self._words, self._vectors) if follower and follower.says]
        if left_out := self._sink.left_out:
            records = "1 record" if left_out == 1 else f"{left_out} records"
            trouble.append(f"the embedder makes no vector of {records}: found by words only")
        space = self._sink.space
        is_there, says = available(self._sink.choice)
        vectors = None
        if space is not None:
            made = len(space.vectors)
            vectors = {"embedder": space.embedder.name, "made": made, "of": sum(logs.get(name, 0) for name in LOGS)}
            says = f"keywords and vectors: {says}"
        elif is_there:
            says = f"keywords only, for now: {self._vectors.says or 'the embedder is being opened'}"
        else:
            says = f"keywords only: {says}"
        return {
            "words": "fts5" if self._words is None else "tantivy",
            "records": sum(logs.values()) - behind,
            "behind": behind,
            "vectors": vectors,
            "says": says,
            "trouble": trouble,
        }
