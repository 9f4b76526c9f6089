"""The search indexes that a running node asks, beside the one of the database. Another process builds them: see `index_building`.

Composes them; decides nothing about ranking, and builds nothing.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from clan_learnings.records.memory import Memory
from clan_learnings.records.mute_list import read_muted
from clan_learnings.records.record import LOGS
from clan_learnings.search.embedders.embedder import available
from clan_learnings.search.index_files import FOLDER, WORDS, chosen
from clan_learnings.search.keywords.word_files import WordFiles
from clan_learnings.search.keywords.word_query import WordSnapshot, word_snapshot
from clan_learnings.search.keywords.word_view import IS_INSTALLED, WordIndexBroken
from clan_learnings.search.meaning import Meaning
from clan_learnings.search.node_finder import NodeFinder
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


_BEHIND = 1_000_000

log = logging.getLogger("mesh.node")


class BuildingReport(NamedTuple):
    """How whoever builds the indexes stands."""

    trouble: list[str] = []  # noqa: RUF012 (never changed)
    embedder: str = ""  # of the vectors that can be asked; empty: none
    made: int = 0  # vectors
    vectors_say: str = ""  # why there are none


class IndexBuilder(Protocol):
    """Who builds the indexes: another process, or another thread of this one."""

    @property
    def meaning(self) -> Meaning | None:
        """Vectors, if there are any to be asked."""
        ...

    def report(self) -> BuildingReport:
        """How it stands."""
        ...

    def forget_words(self) -> None:
        """The index of words is broken: it has to be made anew."""
        ...

    def prepare(self, question: str) -> None:
        """A question will be asked: what may take seconds is done before a snapshot is taken, for which an erase would wait."""
        ...

    def busy(self) -> None:
        """Somebody waits for an answer: what is derived can wait for a moment."""
        ...


class SearchIndexes:
    """The indexes of one home, to be asked from any thread. Without tantivy, or as long as nothing is built, the database answers."""

    def __init__(self, home: str, builder: IndexBuilder) -> None:
        self._home = home
        self._readers = ReaderPool(home, self.finder)
        self._builder = builder
        self._words = WordFiles(home, os.path.join(home, FOLDER, WORDS)) if IS_INSTALLED else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._readers.close()

    def memory(self) -> AbstractContextManager[Memory]:
        """One snapshot of the shared records, for a `with` block."""
        self._builder.busy()
        return self._readers.memory()

    def prepare(self, question: str) -> None:
        """A question will be asked; called while no snapshot is held."""
        self._builder.prepare(question)

    def finder(self, reader: Reader) -> NodeFinder:
        """What finds candidates in one snapshot."""
        return NodeFinder(self, reader)

    def fresh(self, reader: Reader) -> WordSnapshot | None:
        """The index of words as a snapshot has it; None while it cannot be used."""
        kept = None if self._words is None else self._words.kept()
        if kept is None:
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
        """The tantivy index is broken: have it made anew, and let the database answer until then."""
        log.warning("the index of words is made anew: %s", error)
        if self._words is not None:
            self._words.forget()
        self._builder.forget_words()

    def tidy(self) -> None:
        """Called now and then: let go of files that are gone or not asked for."""
        if self._words is not None:
            self._words.tidy()

    @property
    def meaning(self) -> Meaning | None:
        """Vectors, if there are any."""
        return self._builder.meaning

    def status(self) -> dict[str, Any]:
        """How the indexes stand."""
        kept = None if self._words is None else self._words.kept()
        reader = open_reading(self._home)
        try:
            logs = reader.logs()
            behind = Followed(reader).left(kept.place, _BEHIND) if kept is not None else sum(logs.values())
        finally:
            reader.connection.close()
        told = self._builder.report()
        is_there, says = available(chosen(self._home))
        vectors = None
        if told.embedder:
            of = sum(logs.get(name, 0) for name in LOGS)
            vectors = {"embedder": told.embedder, "made": told.made, "of": of}
            says = f"keywords and vectors: {says}"
        elif is_there:
            says = f"keywords only, for now: {told.vectors_say or 'the embedder is being opened'}"
        else:
            says = f"keywords only: {says}"
        return {
            "words": "fts5" if self._words is None else "tantivy",
            "records": sum(logs.values()) - behind,
            "behind": behind,
            "vectors": vectors,
            "says": says,
            "trouble": told.trouble,
        }
