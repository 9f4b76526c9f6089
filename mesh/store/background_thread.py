"""A background thread of the node or of its worker: started and ended with a `with` block. Subclasses say what it does."""

import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from mesh.store.file_access import patience


class Background(ABC):
    """Use as a context manager: leaving it ends the thread, as soon as that looks at `_stop`."""

    def __init__(self, name: str, stop_seconds: float) -> None:
        """`stop_seconds`: how long the end is waited for; a thread that hangs must not keep a node that is to stop."""
        self._stop = threading.Event()
        self._woken = threading.Event()
        self._stop_seconds = stop_seconds
        self._thread = threading.Thread(target=self._work, name=f"mesh-{name}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._thread.join(patience(self._stop_seconds))

    def stop(self) -> None:
        """To end soon."""
        self._stop.set()
        self._woken.set()

    def wake(self) -> None:
        """There may be something to do. From any thread."""
        self._woken.set()

    def _wait(self, seconds: float) -> bool:
        """Until somebody wakes us, so long at most. Returns whether to end."""
        self._woken.wait(min(seconds, threading.TIMEOUT_MAX))
        self._woken.clear()
        return self._stop.is_set()

    @property
    def is_working(self) -> bool:
        """Whether the thread still runs."""
        return self._thread.is_alive()

    @abstractmethod
    def _work(self) -> None:
        """What the thread does, until `_stop` is set."""
