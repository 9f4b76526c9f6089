"""A network of its own for a test: namespaces joined by a bridge, slowed down, cut and healed. Needs root, else the test is skipped.

Nothing of the machine's own network is touched, and everything is gone when the block is left.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_SECONDS = 20.0


class Network:
    """Namespaces with one address each, all on one bridge."""

    def __init__(self, name: str, size: int) -> None:
        self.size = size
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
    def switch(self) -> str:
        """The namespace with the bridge."""
        return f"{self._name}-switch"

    def cut(self, *indices: int) -> None:
        """These can reach nobody, not even one another; packets vanish, nobody is told."""
        for index in indices:
            self._port(index, "nomaster")

    def heal(self, *indices: int) -> None:
        """These are back."""
        for index in indices:
            self._port(index, "master", "bridge")

    def _port(self, index: int, *words: str) -> None:
        _run("ip", "-n", self.switch, "link", "set", f"port{index}", *words)


@contextmanager
def network(size: int, *, delay_ms: int = 0, loss_percent: float = 0) -> Iterator[Network]:
    """So many namespaces; `delay_ms` and `loss_percent` hold each way. Skips where the machine does not allow it."""
    for tool in ("ip", *(("tc",) if delay_ms or loss_percent else ())):
        if shutil.which(tool) is None:
            pytest.skip(f"this machine has no `{tool}` (package iproute2), which makes the network for this test")
    net = Network(f"clan-mesh-{os.getpid()}", size)
    spaces = [net.switch, *(net.space(index) for index in range(size))]
    made: list[str] = []
    try:
        for space in spaces:
            _or_skip("network namespaces", "ip", "netns", "add", space)
            made.append(space)
            _run("ip", "-n", space, "link", "set", "lo", "up")
        _or_skip("bridges", "ip", "-n", net.switch, "link", "add", "bridge", "type", "bridge")
        _run("ip", "-n", net.switch, "link", "set", "bridge", "up")
        for index in range(size):
            space, port = net.space(index), f"port{index}"
            pair = ("link", "add", "eth0", "netns", space, "type", "veth", "peer", "name", port, "netns", net.switch)
            _or_skip("pairs of virtual interfaces", "ip", *pair)
            _run("ip", "-n", net.switch, "link", "set", port, "up")
            _run("ip", "-n", space, "address", "add", f"{net.address(index)}/24", "dev", "eth0")
            _run("ip", "-n", space, "link", "set", "eth0", "up")
            if delay_ms or loss_percent:
                bad = ("netem", "delay", f"{delay_ms}ms", "loss", f"{loss_percent}%")
                _or_skip("netem", "tc", "-n", space, "qdisc", "add", "dev", "eth0", "root", *bad)
        net.heal(*range(size))
        yield net
    finally:
        for space in made:
            subprocess.run(["ip", "netns", "delete", space], capture_output=True, timeout=_SECONDS, check=False)


def _or_skip(what: str, *words: str) -> None:
    finished = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if finished.returncode:
        said = " ".join(finished.stderr.split())
        pytest.skip(f"this machine does not let the test make {what}: `{' '.join(words[:4])} ...` says: {said}")


def _run(*words: str) -> None:
    finished = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert finished.returncode == 0, f"{' '.join(words)}: {finished.stderr}"
