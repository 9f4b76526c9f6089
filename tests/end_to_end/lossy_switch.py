"""A switch in software for machines without netem: frames between namespaces are delayed, and some are lost. No test lives here.

Each namespace gets a tap device; this process holds their other ends. Only namespaces that a test made are entered.
"""

import ctypes
import errno
import fcntl
import heapq
import os
import random
import select
import struct
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

_TUNSETIFF = 0x400454CA
_TAP, _NO_HEADER = 0x0002, 0x1000
_CLONE_NEWNET = 0x40000000
_FRAME_BYTES = 2048


class LossySwitch:
    """`with LossySwitch(...)`: every frame goes to every other port that is plugged in, late or never."""

    def __init__(self, spaces: Sequence[str], device: str, delay_ms: int, loss_percent: float) -> None:
        """Raises OSError where tap devices cannot be made."""
        self._delay = delay_ms / 1000
        self._loss = loss_percent / 100
        self._random = random.Random(1)
        self._ports = _taps(spaces, device)
        self._unplugged: set[int] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lossy-switch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        for port in self._ports:
            os.close(port)

    def unplug(self, index: int) -> None:
        """Nothing reaches this port, and nothing from it reaches anybody."""
        self._unplugged.add(index)

    def plug(self, index: int) -> None:
        """As before."""
        self._unplugged.discard(index)

    def _run(self) -> None:
        late: list[tuple[float, int, int, bytes]] = []  # when, a number that keeps the order, port, frame
        number = 0
        while not self._ended.is_set():
            patience = min(0.1, max(0.0, late[0][0] - time.monotonic())) if late else 0.1
            for port in select.select(self._ports, [], [], patience)[0]:
                source = self._ports.index(port)
                frame = os.read(port, _FRAME_BYTES)
                for target in range(len(self._ports)):
                    if target != source and self._random.random() >= self._loss:
                        number += 1
                        heapq.heappush(late, (time.monotonic() + self._delay, number, source << 8 | target, frame))
            while late and late[0][0] <= time.monotonic():
                _, _, way, frame = heapq.heappop(late)
                if not {way >> 8, way & 255} & self._unplugged:
                    self._give(way & 255, frame)

    def _give(self, target: int, frame: bytes) -> None:
        try:
            os.write(self._ports[target], frame)
        except OSError as error:
            if error.errno != errno.EIO:  # a device that is not up, or not yet: what is sent there is lost
                raise


def _enter(space: str) -> None:
    """Go to a namespace, with this thread alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{space}") as file:
        if libc.setns(file.fileno(), _CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


def _taps(spaces: Sequence[str], device: str) -> list[int]:
    """A tap device in each namespace. A thread of its own goes there: a namespace is entered by the thread, not the process."""
    made: list[int] = []
    problems: list[OSError] = []

    def make() -> None:
        try:
            for space in spaces:
                _enter(space)
                made.append(os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC))
                fcntl.ioctl(made[-1], _TUNSETIFF, struct.pack("16sH22x", device.encode(), _TAP | _NO_HEADER))
        except OSError as error:
            problems.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    for error in problems:
        for descriptor in made:
            os.close(descriptor)
        raise error
    return made
