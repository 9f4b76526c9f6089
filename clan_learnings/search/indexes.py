"""The search indexes of a running node, beside the one of the database. Composes them; decides nothing about ranking."""

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import TracebackType
from typing import Any, Self

from clan_learnings.records.memory import Memory
from clan_learnings.records.mute_list import read_muted
from clan_learnings.records.record import LOGS
from clan_learnings.search.embedders.embedder import available, is_address
from clan_learnings.search.index_thread import IndexThread
from clan_learnings.search.keywords.word_index import WordSink
from clan_learnings.search.keywords.word_query import WordSnapshot, word_snapshot
from clan_learnings.search.keywords.word_view import IS_INSTALLED, WordIndexBroken
from clan_learnings.search.node_finder import NodeFinder
from clan_learnings.search.vectors.record_vectors import EmbeddingSpace, RecordVectors
from mesh.store.interruption import watch
from mesh.store.reader import Reader, open_reading
from mesh.store.record_changes import Followed

_WAITING = 4  # connections that are kept
_USES = 1_000  # of what is known of a state: questions about ever other repositories must not pile up


class PooledReader:
    """A connection, and what is known through it."""

    def __init__(self, reader: Reader, inode: int) -> None:
        self.reader = reader
        self.inode = inode
        self.version = -1
        self.uses = 0
        self.muted: frozenset[str] = frozenset()
        self.finder: NodeFinder | None = None
        self.memory: Memory | None = None


class ReaderPool:
    """Of one home. Any thread may borrow."""

    def __init__(self, home: str, finder: Callable[[Reader], NodeFinder]) -> None:
        self._home = home
        self._path = os.path.join(home, "mesh.db")
        self._finder = finder
        self._waiting: list[PooledReader] = []
        self._lock = threading.Lock()
        self._is_closed = False

    @contextmanager
    def memory(self) -> Iterator[Memory]:
        """One snapshot for the block. After an error its connection is not used again."""
        seat = self._take()
        try:
            watch(seat.reader.connection)
            seat.reader.connection.execute("BEGIN")
            yield self._known(seat)
            seat.reader.connection.execute("ROLLBACK")
            if seat.finder is not None:
                seat.finder.let_go()
        except BaseException:
            seat.reader.connection.close()
            raise
        with self._lock:
            if not self._is_closed and len(self._waiting) < _WAITING:
                self._waiting.append(seat)
                return
        seat.reader.connection.close()

    def close(self) -> None:
        """Close all that are not in use; one in use is closed when it is given back."""
        with self._lock:
            self._is_closed = True
            waiting, self._waiting = self._waiting, []
        for seat in waiting:
            seat.reader.connection.close()

    def _known(self, seat: PooledReader) -> Memory:
        version = int(seat.reader.connection.execute("PRAGMA data_version").get)  # another after each commit of anybody
        muted = read_muted(self._home)
        seat.uses += 1
        if seat.memory is None or version != seat.version or muted != seat.muted or seat.uses > _USES:
            seat.version, seat.muted, seat.uses = version, muted, 1
            seat.finder = self._finder(seat.reader)
            seat.memory = Memory(seat.reader, muted=muted, finder=seat.finder)
        elif seat.finder is not None:
            seat.finder.look_again()
        return seat.memory

    def _take(self) -> PooledReader:
        """One that is open on the file as it is now: a repair puts another in its place."""
        try:
            now = os.stat(self._path).st_ino
        except FileNotFoundError:
            now = 0
        while True:
            with self._lock:
                if not self._waiting:
                    break
                seat = self._waiting.pop()
            if seat.inode == now:
                return seat
            seat.reader.connection.close()
        return PooledReader(open_reading(self._home), now)


FOLDER = "recall"
_UNHURRIED_SECONDS = 5.0  # what nobody has asked for by name can wait until a sidecar has started
_BEHIND = 1_000_000

log = logging.getLogger("mesh.node")


class SearchIndexes:
    """The indexes of one home, kept up to date while inside the block. Outside of it, and without tantivy, the database's answers."""

    def __init__(self, home: str, environ: Mapping[str, str] | None = None) -> None:
        self._home = home
        folder = os.path.join(home, FOLDER)
        self._readers = ReaderPool(home, self.finder)
        self._words: IndexThread | None = None
        if IS_INSTALLED:
            self._words = IndexThread(home, WordSink(os.path.join(folder, "words")), "words")
        self._sink = RecordVectors(
            home, os.path.join(folder, "vectors"), environ if environ is not None else os.environ
        )
        delay = 0.0 if self._sink.is_chosen else _UNHURRIED_SECONDS
        self._vectors = IndexThread(home, self._sink, "vectors", delay_seconds=delay)
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

    def finder(self, reader: Reader) -> NodeFinder:
        """What finds candidates in one snapshot."""
        return NodeFinder(self, reader)

    def fresh(self, reader: Reader) -> WordSnapshot | None:
        """The index of words as a snapshot has it; None while it cannot be used."""
        kept = None if self._words is None else self._words.kept
        if kept is None or kept.view is None:
            return None
        mark = Followed(reader).mark()
        try:
            found: WordSnapshot | None = kept.looked[mark]
        except KeyError:
            try:
                found = word_snapshot(reader, kept)
            except WordIndexBroken as error:
                self.distrust(error)
                return None
            kept.looked.clear()
            kept.looked[mark] = found
        return found

    def distrust(self, error: Exception) -> None:
        """The tantivy index is broken: rebuild it, and let the database answer until then."""
        log.warning("the index of words is made anew: %s", error)
        if self._words is not None:
            self._words.forget()

    @property
    def meaning(self) -> EmbeddingSpace | None:
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
