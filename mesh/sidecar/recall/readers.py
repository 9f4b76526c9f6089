"""Open connections that wait for the next question, with what was worked out for the last one. None has a transaction while it waits.

Opening one costs more than most answers. And as long as nobody has written, what is known of a state (what is HOT, what is
WARM where) is known for the next question too.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clan_learnings.records.memory import Memory
from clan_learnings.records.muted import read_muted
from mesh.sidecar.recall.finder import Indexed
from mesh.store.reading import Reader, open_reading

_WAITING = 4  # connections that are kept
_USES = 1_000  # of what is known of a state: questions about ever other repositories must not pile up


class Seat:
    """A connection, and what is known through it."""

    def __init__(self, reader: Reader, inode: int) -> None:
        self.reader = reader
        self.inode = inode
        self.version = -1
        self.uses = 0
        self.muted: frozenset[str] = frozenset()
        self.finder: Indexed | None = None
        self.memory: Memory | None = None


class Readers:
    """Of one home. Any thread may borrow."""

    def __init__(self, home: str, finder: Callable[[Reader], Indexed]) -> None:
        self._home = home
        self._path = os.path.join(home, "mesh.db")
        self._finder = finder
        self._waiting: list[Seat] = []
        self._lock = threading.Lock()
        self._is_closed = False

    @contextmanager
    def memory(self) -> Iterator[Memory]:
        """One snapshot for the block. After an error its connection is not used again."""
        seat = self._take()
        try:
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
        """Whoever has borrowed one keeps it until he is done."""
        with self._lock:
            self._is_closed = True
            waiting, self._waiting = self._waiting, []
        for seat in waiting:
            seat.reader.connection.close()

    def _known(self, seat: Seat) -> Memory:
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

    def _take(self) -> Seat:
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
        return Seat(open_reading(self._home), now)
