"""A network of its own for a test: namespaces that reach one another, slowed down, cut and healed. Needs root, else the test is skipped.

Nothing of the machine's own network is touched: every command names a namespace made here, and all are gone when the block is left.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.end_to_end.lossy_switch import LossySwitch

_SECONDS = 300.0


class Network:
    """Namespaces with one address each, all on one bridge, or on a switch in software."""

    def __init__(self, name: str, size: int) -> None:
        self.size = size
        self.air: LossySwitch | None = None
        self._name = name

    def address(self, index: int) -> str:
        """Where a namespace can be reached from the others."""
        return f"10.77.0.{index + 1}"

    def inside(self, index: int) -> list[str]:
        """The words that run a command in a namespace."""
        return ["ip", "netns", "exec", self.space(index)]

    def space(self, index: int) -> str:
        """The name of a namespace."""
        return f"{self._name}-{index}"

    @property
    def spaces(self) -> list[str]:
        """All that have an address."""
        return [self.space(index) for index in range(self.size)]

    @property
    def switch(self) -> str:
        """The namespace with the bridge."""
        return f"{self._name}-switch"

    def cut(self, *indices: int) -> None:
        """These can reach nobody, not even one another; packets vanish, nobody is told."""
        for index in indices:
            if self.air is not None:
                self.air.unplug(index)
            else:
                self._port(index, "nomaster")

    def heal(self, *indices: int) -> None:
        """These are back."""
        for index in indices:
            if self.air is not None:
                self.air.plug(index)
            else:
                self._port(index, "master", "bridge")

    def _port(self, index: int, *words: str) -> None:
        _run("ip", "-n", self.switch, "link", "set", f"port{index}", *words)


@contextmanager
def network(size: int, *, delay_ms: int = 0, loss_percent: float = 0) -> Iterator[Network]:
    """So many namespaces; `delay_ms` and `loss_percent` hold each way. Skips where the machine does not allow it."""
    if shutil.which("ip") is None:
        pytest.skip("this machine has no `ip` (package iproute2), which makes the network for this test")
    net = Network(f"clan-mesh-{os.getpid()}", size)
    with ExitStack() as stack:
        for space in [net.switch, *net.spaces]:
            _or_skip("network namespaces", "ip", "netns", "add", space)
            stack.callback(_delete, space)
            _run("ip", "-n", space, "link", "set", "lo", "up")
        _lay_cables(net)
        if (delay_ms or loss_percent) and not _has_netem(net, delay_ms, loss_percent):
            _use_air(net, stack, delay_ms, loss_percent)
        for index, space in enumerate(net.spaces):
            _run("ip", "-n", space, "address", "add", f"{net.address(index)}/24", "dev", "eth0")
            _run("ip", "-n", space, "link", "set", "eth0", "up")
        net.heal(*range(size))
        yield net


def _lay_cables(net: Network) -> None:
    """A bridge, and a pair of virtual interfaces from it to each namespace."""
    _or_skip("bridges", "ip", "-n", net.switch, "link", "add", "bridge", "type", "bridge")
    _run("ip", "-n", net.switch, "link", "set", "bridge", "up")
    for index, space in enumerate(net.spaces):
        port = ("peer", "name", f"port{index}", "netns", net.switch)
        words = ("ip", "-n", net.switch, "link", "add", "eth0", "netns", space, "type", "veth", *port)
        _or_skip("pairs of virtual interfaces", *words)
        _run("ip", "-n", net.switch, "link", "set", f"port{index}", "up")


def _has_netem(net: Network, delay_ms: int, loss_percent: float) -> bool:
    """Make every cable slow and lossy, if `tc` is there and the kernel has netem."""
    bad = ("netem", "delay", f"{delay_ms}ms", "loss", f"{loss_percent}%")
    return shutil.which("tc") is not None and all(
        _try("tc", "-n", space, "qdisc", "add", "dev", "eth0", "root", *bad).returncode == 0 for space in net.spaces
    )


def _use_air(net: Network, stack: ExitStack, delay_ms: int, loss_percent: float) -> None:
    """Tap devices and a switch in software take the place of cables and bridge."""
    for space in net.spaces:
        _run("ip", "-n", space, "link", "delete", "eth0")
    try:
        net.air = stack.enter_context(LossySwitch(net.spaces, "eth0", delay_ms, loss_percent))
    except OSError as error:
        pytest.skip(f"this machine has neither netem nor tap devices to make a bad network with: {error}")


def _delete(space: str) -> None:
    _try("ip", "netns", "delete", space)


def _or_skip(what: str, *words: str) -> None:
    finished = _try(*words)
    if finished.returncode:
        said = " ".join(finished.stderr.split())
        pytest.skip(f"this machine does not let the test make {what}: `{' '.join(words[:4])} ...` says: {said}")


def _run(*words: str) -> None:
    finished = _try(*words)
    assert finished.returncode == 0, f"{' '.join(words)}: {finished.stderr}"


def _try(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
