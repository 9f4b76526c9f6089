"""The thread that counts openings of records while the node runs, and once more when it stops."""

import logging
import time

from clan_learnings.records.access_counts import HOUR_MS, count_openings
from mesh.core.errors import MeshError
from mesh.store.background_thread import Background
from mesh.store.home import Home

LOOK_SECONDS = 60.0
_STOP_SECONDS = 5.0  # counting takes some milliseconds, unless another process is writing

log = logging.getLogger("mesh.node")


class AccessCounting(Background):
    """Use as a context manager: leaving it counts what is left, if that can be done at once."""

    def __init__(self, home: Home, look_seconds: float = LOOK_SECONDS) -> None:
        self._home = home
        self._look_seconds = look_seconds
        self._said = ""
        super().__init__("openings", _STOP_SECONDS)

    def _work(self) -> None:
        pause = self._look_seconds
        while not self._stop.wait(pause):
            pause = self._look_seconds if self._count() else HOUR_MS / 1000
        self._count(anyway=True)

    def _count(self, *, anyway: bool = False) -> bool:
        """Count once. Returns whether it worked: a node that may not write need not try every minute."""
        try:
            counted = count_openings(self._home, int(time.time() * 1000), anyway=anyway)
        except (MeshError, OSError) as error:
            if str(error) != self._said:
                log.warning("openings of records could not be counted, they are kept: %s", error)
            self._said = str(error)
            return False
        self._said = ""
        if counted:
            log.debug("counted openings of %d records", counted)
        return True
