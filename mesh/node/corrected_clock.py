"""The clock of a node: that of the machine, corrected by its peers, and repairs where it is behind what was written here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from mesh.core.clock import EARLIEST_MS, milliseconds
from mesh.core.errors import ClockInDoubt, DiskFull, HomeBusy
from mesh.core.limits import FUTURE_SECONDS
from mesh.node.store_thread import StoreThread
from mesh.store.author import Author
from mesh.store.home import Home
from mesh.store.republication import shown, stamp_ahead
from mesh.store.store import BEHIND, RIGHT, wall_clock

DUE_SECONDS = 30  # how often what waits for the clock, or for a certificate, is looked at
_CLOCK_SECONDS = 1  # how often the clock is looked at while writes are refused because of it
log = logging.getLogger("mesh.node")


class CorrectedClock:
    """The wall clock, corrected by what most peers say. Read by the store's thread, set by gossip's."""

    offset_ms = 0
    is_known = False  # until peers were asked

    def now_ms(self) -> int:
        """What the time is, as far as is known."""
        return wall_clock() + self.offset_ms

    def correct(self, offset_ms: int) -> None:
        """Peers say that the machine's clock is off by so much."""
        if abs(offset_ms - self.offset_ms) > 1000:
            log.warning("this machine's clock is off by about %+.1f s, by the median of its peers", -offset_ms / 1000)
        self.offset_ms, self.is_known = offset_ms, True


class ClockCheck:
    """Looks after one database: are its stamps ahead of the clock, and if so, which of the two is wrong?"""

    def __init__(self) -> None:
        self._said = ""

    def look(self, author: Author, peers: Sequence[int]) -> bool:
        """Do what the linked peers' clocks, in milliseconds, call for. True while nothing can be written."""
        store = author.store
        last, now = stamp_ahead(store), store.clock()
        if not last:
            self._said = ""
            return False
        found = verdict(milliseconds(last), now, peers)
        if found != store.peers_on_clock():
            store.remember_peers_on_clock(found)
        try:
            done = author.restamp() if found == RIGHT else None
        except ClockInDoubt as error:
            self._say(f"{error}; next: {error.next_step}")
            return True
        if done is not None:
            log.warning(
                "this machine's clock had been ahead: %d operations were written again in a new feed", done.operations
            )
        elif found == BEHIND:
            self._say(f"this machine's clock says {shown(now)}, and a peer's is where the stamps are: set it")
        elif not found:
            self._say(f"stamps here go up to {shown(milliseconds(last))}, and the clock says {shown(now)}")
        return not found

    def _say(self, sentence: str) -> None:
        """Once, until it is something else: times go on, so only the words count."""
        words = sentence.translate(_WITHOUT_DIGITS)
        if words != self._said:
            log.warning("%s", sentence)
        self._said = words


class ClockWatch:
    """Looks after the clock of a running node, for its shared database and its private one.

    Whether clock or stamps are right can be told only once a peer is linked: while that is open, it looks every second.
    """

    def __init__(self, home: Home, clock: CorrectedClock, peers: Callable[[], Sequence[int]]) -> None:
        """`peers`: what the clocks of linked peers say, in milliseconds."""
        self._home = home
        self._clock = clock
        self._peers = peers
        self._shared, self._private = ClockCheck(), ClockCheck()
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Look now: a command was refused because of the clock, or anything may have changed."""
        self._woken.set()

    async def run(self, author: Author, store_thread: StoreThread) -> None:
        """Until cancelled."""
        while True:
            peers = self._peers()
            self._woken.clear()
            waits = await asyncio.wrap_future(store_thread.call(partial(self._check, author, peers)))
            await asyncio.sleep(_CLOCK_SECONDS)
            if not waits:
                with suppress(TimeoutError):
                    async with asyncio.timeout(DUE_SECONDS):
                        await self._woken.wait()

    def _check(self, author: Author, peers: Sequence[int]) -> bool:
        """True while something cannot be written because the clock is in doubt."""
        try:
            waits = self._shared.look(author, peers)
            if self._home.has_private:
                own = self._home.author(private=True, clock=self._clock.now_ms)
                try:
                    waits = self._private.look(own, peers) or waits
                finally:
                    own.store.close()
        except (HomeBusy, DiskFull) as error:
            log.warning("%s; trying again", error)
            return True
        return waits


_WITHOUT_DIGITS = {ord(digit): None for digit in "0123456789"}


def verdict(last_ms: int, now_ms: int, peers: Sequence[int]) -> str:
    """Whether our clock is right (a peer's agrees with it), behind (a peer's has reached our last stamp), or neither is known."""
    margin = FUTURE_SECONDS * 1000
    if now_ms >= EARLIEST_MS and any(abs(peer - now_ms) <= margin for peer in peers):
        return RIGHT
    return BEHIND if any(last_ms <= peer + margin for peer in peers) else ""
