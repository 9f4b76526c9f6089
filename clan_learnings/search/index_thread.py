"""The thread that keeps an index up to date with the database, and the protocol `IndexSink` of the indexes it feeds."""

import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from clan_learnings.search.index_state import (
    STATE,
    IndexState,
    LiveRecord,
    SavedState,
    live_records,
    read_state,
    write_state,
)
from mesh.core.errors import MeshError
from mesh.store.background_thread import Background
from mesh.store.reader import Reader, open_reading, read_errors
from mesh.store.record_changes import ChangeCollector, Followed, RecordChanges


class IndexSink(Protocol):
    """An index that is kept up to date. Used by the follower's thread only."""

    folder: str
    batch: int  # records that are taken at once
    commit_records: int  # as many are worth a commit

    @property
    def generation(self) -> int:
        """Of what was committed last: another one after each commit, where anybody else reads the files."""
        ...

    def open(self, about: Mapping[str, Any] | None) -> bool:
        """Go on with what is there; `about`: what it said of itself at its last commit. False: nothing to go on with."""
        ...

    def has_changed(self) -> bool:
        """Whether it has to be opened again: somebody wants another one."""
        ...

    def begin(self) -> None:
        """All records will come again. What is not among them is to be dropped: see `swept`."""
        ...

    def about(self) -> dict[str, Any]:
        """What is remembered beside the state, to know the index again."""
        ...

    def put(self, records: Sequence[LiveRecord], reader: Reader, breathe: Callable[[], None]) -> None:
        """Records that are new or another."""
        ...

    def drop(self, tags: Iterable[bytes]) -> None:
        """Records that are gone."""
        ...

    def erase(self, tags: Iterable[bytes]) -> bool:
        """Remove records so that not a byte of them stays. False: only a rebuild can do that."""
        ...

    def swept(self, are_live: Callable[[Sequence[bytes]], set[bytes]]) -> None:
        """All records have come since `begin`."""
        ...

    def commit(self) -> None:
        """On disk, and to be found."""
        ...

    def rest(self) -> None:
        """Nothing has come for a while."""
        ...

    def close(self) -> None:
        """The end, or before `open`."""
        ...


class IndexOff(Exception):
    """The index is switched off, or what it needs is not installed: not an error."""


_LOOK_SECONDS = 0.2
_TRIES = 3  # before somebody is told what is no sentence: an erase that deletes the folder may be in the middle of it
_COMMIT_SECONDS = 1.0  # at least so long between two commits, unless much has come
_REST_SECONDS = 5.0  # without a change, until what only writing needs is given back
_AGAIN_SECONDS = 3.0
_STOP_SECONDS = 2.0
_BULK = 1_000  # so many changes between two looks: more are coming, and are looked at before any is taken
# Who asks waits for the interpreter while we compute: so we compute for a moment and rest for a moment.
_WORK_SECONDS, PAUSE_SECONDS = 0.002, 0.0005

log = logging.getLogger("mesh.node")


class IndexingStopped(Exception):
    """Leaves work in the middle because the thread is to end: not an error."""


class IndexThread(Background):
    """Use as a context manager: leaving it ends the thread, in the middle of its work if need be."""

    def __init__(
        self,
        home: str,
        sink: IndexSink,
        name: str,
        *,
        delay_seconds: float = 0.0,
        idle_seconds: float | None = None,
        pause_seconds: Callable[[], float] = lambda: PAUSE_SECONDS,
    ) -> None:
        """`delay_seconds`: before anything is done, unless somebody wants something else meanwhile.

        `idle_seconds`: how often it looks by itself when nothing is left to do; others wake it. `pause_seconds`: asked for each pause in work.
        """
        self.kept: IndexState | None = None  # as committed; None: nothing that could be asked
        self.says = ""  # what is wrong, if something is
        self._home = home
        self._sink = sink
        self._name = name
        self._delay_seconds = delay_seconds
        self._idle_seconds = idle_seconds
        self._pause_seconds = pause_seconds
        self._state = os.path.join(sink.folder, STATE)
        self._inode = 0
        self._taken: IndexState | None = None  # as it will be once committed
        self._uncommitted = self._failures = 0
        self._is_forgotten = self._is_dirty = self._is_resting = False
        self._committed_at = self._resumed = 0.0
        super().__init__(name, _STOP_SECONDS)

    def forget(self) -> None:
        """Discard the index and rebuild it. From any thread."""
        self.kept = None
        self._is_forgotten = True
        self.wake()

    def breathe(self) -> None:
        """Let others have the interpreter, now and then; and end if it is time to."""
        if time.monotonic() - self._resumed > _WORK_SECONDS:
            if self._stop.is_set():
                raise IndexingStopped
            time.sleep(self._pause_seconds())
            self._resumed = time.monotonic()

    def _work(self) -> None:
        self._put_off(self._delay_seconds)
        while not self._stop.is_set():
            try:
                self._watch()
            except IndexingStopped:
                break
            except IndexOff:
                self.says = ""
                self._put_off(math.inf)
            except BaseException as error:  # noqa: BLE001 (also a panic in a library: what is lost is made again)
                self._failures += 1
                self._stop.wait(_LOOK_SECONDS * self._failures)
                if self._failures > _TRIES or isinstance(error, MeshError):
                    self._complain(error)
                    self._put_off(_AGAIN_SECONDS)
            finally:
                self.kept = None
                self._sink.close()

    def _put_off(self, seconds: float) -> None:
        """Until then, or until somebody wants something else."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._sink.has_changed():
            if self._wait(min(left, _LOOK_SECONDS if self._idle_seconds is None else self._idle_seconds)):
                return

    def _next_look_seconds(self) -> float:
        is_owed = self._is_dirty or not self._is_resting  # a commit, or the rest after the last one
        return _LOOK_SECONDS if is_owed or self._idle_seconds is None else self._idle_seconds

    def _watch(self) -> None:
        """For as long as the database is the same file."""
        path = os.path.join(self._home, "mesh.db")
        with read_errors(self._home):
            reader = open_reading(self._home)
            try:
                self._inode = os.stat(path).st_ino
                self._open()
                while os.stat(path).st_ino == self._inode and not self._sink.has_changed():
                    self._resumed = time.monotonic()
                    if not self._step(reader) and self._wait(self._next_look_seconds()):
                        raise IndexingStopped
            finally:
                reader.connection.close()

    def _open(self) -> None:
        saved = read_state(self._state, self._inode)
        self._taken, self._uncommitted, self._is_dirty, self._is_resting = None, 0, False, False
        if self._sink.open(None if saved is None else saved.about) and saved is not None:
            self._taken = saved.state._replace(mark=())  # what it is of is looked at again, once
            self.kept = self._taken

    def _step(self, reader: Reader) -> bool:
        """Look at the database once, and do some of the work that is due. False if nothing is due."""
        if self._is_forgotten or (self.kept is not None and not os.path.exists(self._state)):  # somebody has deleted it
            self._taken, self._is_forgotten = None, False
        run = reader.connection.execute
        run("BEGIN")
        try:
            again = self._catch_up(reader)
            assert self._taken is not None
            new = reader.arrived(self._taken.place, self._sink.batch) if len(again) < _BULK else []
            came = live_records(reader, [entry for _, entry in new])
        finally:
            run("ROLLBACK")
        for start in range(0, len(again), self._sink.batch):
            self._sink.put(again[start : start + self._sink.batch], reader, self.breathe)
        if came:
            self._sink.put(came, reader, self.breathe)
            self._taken = self._taken._replace(place=new[-1][0])
        elif not self._taken.is_whole and len(again) < _BULK:
            self._finish(reader)
        self._uncommitted += len(again) + len(came)
        self._is_dirty = self._is_dirty or bool(again or came)
        has_more = len(came) == self._sink.batch or len(again) >= _BULK
        self._save(has_more=has_more)
        return has_more

    def _catch_up(self, reader: Reader) -> list[LiveRecord]:
        """What was taken already and is another now. What has come behind it is still to be taken."""
        followed, touches = Followed(reader), ChangeCollector(reader.connection, self.breathe)
        mark = followed.mark()
        if self._taken is not None and mark == self._taken.mark:
            return []
        found = None if self._taken is None else touches.since(self._taken.progress)
        self._is_dirty = True
        if found is not None and found.erased:
            self._committed_at = 0.0  # whoever erased waits for it to be out of everywhere
        if self._taken is None or found is None or not self._erase(found):
            self.kept = None
            self._sink.begin()
            self._taken = IndexState(touches.progress(), 0, mark, is_whole=False)
            return []
        tags = sorted({*found.records, *found.erased})
        places = followed.places(tags)
        gone = [tag for tag in tags if tag not in places]
        self._sink.drop(gone)
        self._uncommitted += len(gone)
        entries = reader.live(tag for tag, place in places.items() if place <= self._taken.place)
        self._taken = self._taken._replace(progress=touches.progress(), mark=mark)
        return live_records(reader, entries.values())

    def _erase(self, found: RecordChanges) -> bool:
        return not found.erased or self._sink.erase(sorted(found.erased))

    def _finish(self, reader: Reader) -> None:
        assert self._taken is not None

        def are_live(tags: Sequence[bytes]) -> set[bytes]:
            self.breathe()
            return set(Followed(reader).places(tags))

        self._sink.swept(are_live)
        self._taken = self._taken._replace(is_whole=True)
        self._uncommitted += 1
        self._is_dirty = True

    def _save(self, *, has_more: bool) -> None:
        """Commit, if that is due: first the index, then what it is of."""
        assert self._taken is not None
        now = time.monotonic()
        if not self._is_dirty:
            if self.kept is not None and not self._is_resting and now > self._committed_at + _REST_SECONDS:
                self._sink.rest()
                self._is_resting = True
            return
        is_time = now > self._committed_at + _COMMIT_SECONDS and not has_more
        if is_time or self._uncommitted >= self._sink.commit_records:
            if self._uncommitted or self.kept is None:
                self._sink.commit()
            write_state(self._state, self._inode, SavedState(self._taken, self._sink.about(), self._sink.generation))
            self.kept, self.says = self._taken, ""
            self._uncommitted, self._committed_at, self._is_dirty, self._is_resting = 0, now, False, False
            self._failures = 0

    def _complain(self, error: BaseException) -> None:
        """Once, until it is another error or has gone well again."""
        said = str(error) if isinstance(error, MeshError) else f"{type(error).__name__}: {error}"
        if isinstance(error, MeshError) and error.next_step:
            said = f"{said}; next: {error.next_step}"
        if said != self.says:
            self.says = said
            log.warning("the index of %s is not up to date: %s", self._name, said)
            log.debug("where it happened", exc_info=error)
