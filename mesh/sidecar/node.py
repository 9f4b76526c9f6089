"""The node as a process: holds the home, watches it, lets in what becomes due, stops cleanly.

It has no peers yet; what commands write beside it needs nothing from it.
"""

import asyncio
import logging
import signal
from collections.abc import Callable

from mesh.core.errors import DiskFull, HomeBusy
from mesh.core.ids import display_name
from mesh.sidecar.lock import only_sidecar
from mesh.store.home import Home
from mesh.store.store import Store

WATCH_SECONDS = 0.5  # how soon what a command wrote is noticed
DUE_SECONDS = 30  # how often what waits for the clock, or for a reader to go away, is looked at

log = logging.getLogger("mesh.sidecar")


async def run_node(home: Home, ready: Callable[[], None]) -> None:
    """Run until SIGTERM or SIGINT; `ready` is called once the home is ours and open."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    with only_sidecar(home):
        if home.has_private:
            private = home.store(private=True)
            _due(private)
            private.close()
        store = home.store()
        try:
            _due(store)
            log.info("%s is up, root %s, no peers", display_name(home.name, home.node), store.root().hex()[:16])
            ready()
            watching = asyncio.ensure_future(_watch(store))
            stopping = asyncio.ensure_future(stop.wait())
            await asyncio.wait({watching, stopping}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not watching.cancel():
                watching.result()  # it only ends by an error, which is said as any other
            log.info("stopped")
        finally:
            store.close()


async def _watch(store: Store) -> None:
    version = _version(store)
    due = asyncio.get_running_loop().time() + DUE_SECONDS
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        now = _version(store)
        if now != version:
            version = now
            log.info("the home changed, root %s", store.root().hex()[:16])
        if asyncio.get_running_loop().time() >= due:
            _due(store)
            due = asyncio.get_running_loop().time() + DUE_SECONDS


def _due(store: Store) -> None:
    try:
        _pay(store)
    except (HomeBusy, DiskFull) as error:
        log.warning("%s; trying again in %d s", error, DUE_SECONDS)


def _pay(store: Store) -> None:
    came = store.settle()
    if came:
        log.info("%d operations that waited count now", came)
    if not store.scrub():
        log.warning("an erase is not finished: a reader, or a full disk, is in the way; trying again")


def _version(store: Store) -> int:
    return int(store.database.connection.execute("PRAGMA data_version").get)
