"""Real sidecars with real TLS on loopback, or in network namespaces: started, killed, asked. No test lives here."""

import json
import os
import random
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mesh.app.client import ask
from mesh.core.ids import text_id
from mesh.store.home import open_home
from mesh.store.reader import Reader
from tests.end_to_end.commands import MESH, PATIENCE_SECONDS, quickly, wait_until

LOOPBACK = "127.0.0.1:0"
# Below the ports that systems hand out: no connection gets one by chance. The next one is for joining.
_SETTLED_PORTS = range(20_000, 30_000, 2)


class Sidecar:
    """One home and, most of the time, the process that runs it. Its log lies beside the home."""

    def __init__(self, home: Path, *, listen: str | None = LOOPBACK, within: Sequence[str] = ()) -> None:
        """`within`: the words that run a command where this node lives, such as `ip netns exec NAME`."""
        self.home = os.fspath(home)
        self.listen = listen
        self.within = list(within)
        self.log = Path(f"{self.home}.log")
        self.addresses: list[str] = []
        self._process: subprocess.Popen[str] | None = None

    def init(self, name: str = "first") -> "Sidecar":
        """A mesh of its own."""
        quickly(self.home, "init", "--name", name)
        return self

    def join(self, token: str, name: str, *options: str, tries: int = 1) -> Any:
        """Become a member with a token; returns what the command said. `tries`: it is repeated if nobody can be reached, as it says."""
        for left in reversed(range(tries)):
            finished = subprocess.run(
                [*self.within, MESH, "join", token, "--name", name, *options, "--home", self.home, "--json"],
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
                check=False,
            )
            if not left or "can be reached" not in finished.stderr:
                break
        assert finished.returncode == 0, finished.stderr
        return json.loads(finished.stdout)

    def join_quickly(self, token: str, name: str) -> None:
        """The same, where joining is not what is tested."""
        quickly(self.home, "join", token, "--name", name)

    def up(self) -> "Sidecar":
        """Start it, and wait until it is ready. Each time it listens on another port, as one that moves does."""
        assert not self.is_up
        words = [*self.within, MESH, "up", "--json", "--home", self.home]
        words += [] if self.listen is None else ["--listen", self.listen]
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"it did not start: {self.log.read_text()}"
        self.addresses = json.loads(line)["addresses"]
        return self

    @property
    def process(self) -> "subprocess.Popen[str]":
        """The process as it was started last."""
        assert self._process is not None
        return self._process

    @property
    def is_up(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            if self.is_up:
                self._process.kill()
            self._process.communicate(timeout=PATIENCE_SECONDS)

    def stop(self) -> int:
        """End it as a person would; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode

    def invite(self, *options: str) -> str:
        """A token."""
        token: str = json.loads(quickly(self.home, "invite", *options, "--json"))["token"]
        return token

    def write(self, text: str) -> None:
        """A record, acknowledged."""
        quickly(self.home, "op", "add", "facts", text)

    def tell(self, text: str) -> None:
        """The same through the sidecar, if it answers: else the command writes by itself."""
        quickly(self.home, "discover", text, "--anyway", "--global")

    def texts(self) -> set[str]:
        """Every live record, each there once, from its disk, read without a process: conditions ask often."""
        store = open_home(self.home).store()
        try:
            entries = Reader(store.database.connection).tail(2**31)
            found = [entry.record["text"] for entry in entries if "text" in entry.record]
        finally:
            store.close()
        assert len(set(found)) == len(found), f"twice: {sorted({text for text in found if found.count(text) > 1})}"
        return set(found)

    @property
    def node(self) -> str:
        """Its id."""
        return text_id(open_home(self.home).node)

    def root(self) -> str:
        """The name of its state, from its disk, read without a process: conditions ask often."""
        store = open_home(self.home).store()
        try:
            with store.database.savepoint():  # one snapshot
                return store.root().hex()
        finally:
            store.close()

    def peers(self) -> Any:
        """What `mesh peers --json` prints, asked without a process: conditions ask often."""
        return ask(self.home, "GET", "/peers")

    def state_of(self, other: "Sidecar") -> str:
        """How it sees another node."""
        return next((peer["state"] for peer in self.peers()["peers"] if peer["node"] == other.node), "unknown")

    def has_logged(self, words: str) -> bool:
        """Whether a line of its log says this."""
        return any(words in line for line in self.log.read_text().splitlines())


@contextmanager
def sidecars(*made: Sidecar) -> Iterator[None]:
    """Whatever happens inside, none of them runs on."""
    try:
        yield
    finally:
        for sidecar in made:
            with suppress(AssertionError):
                sidecar.kill()


def settled_address() -> str:
    """An address that a node can come back to: what the system hands out may be somebody else's by then."""
    while True:
        address = ("127.0.0.1", random.SystemRandom().choice(_SETTLED_PORTS))
        with socket.socket() as tried, suppress(OSError):
            tried.bind(address)
            return f"{address[0]}:{address[1]}"


@contextmanager
def mesh_of(
    count: int, folder: Path, *, listen: str | None = LOOPBACK, settled: bool = False, anchored: bool = False
) -> Iterator[list[Sidecar]]:
    """So many sidecars of one mesh, all up. The first made it and invites; `listen` is where the others do.

    `settled`: whoever is stopped and started again is where it was before. Else it is elsewhere each time. `anchored`: the
    first alone comes back to where it was. If all move again and again before they could tell, they may lose each other for good.
    """
    first = Sidecar(folder / "node0", listen=settled_address() if settled or anchored else LOOPBACK)
    others = [
        Sidecar(folder / f"node{index}", listen=settled_address() if settled else listen) for index in range(1, count)
    ]
    with sidecars(first, *others):
        first.init("node0").up()
        token = first.invite("--uses", str(max(1, count)))
        for index, sidecar in enumerate(others, 1):
            sidecar.join_quickly(token, f"node{index}")
            sidecar.up()
        yield [first, *others]


def wait_until_in_step(fleet: Sequence[Sidecar]) -> str:
    """Wait until all have one root; returns it."""

    def in_step() -> bool:
        told = {sidecar.peers()["root"] for sidecar in fleet}
        return len(told) == 1 and {sidecar.root() for sidecar in fleet} == told

    wait_until(in_step)
    return fleet[0].root()


def wait_until_linked(fleet: Sequence[Sidecar]) -> None:
    """Wait until each has a link with somebody."""
    for sidecar in fleet:
        wait_until(lambda sidecar=sidecar: sidecar.peers()["links"] > 0)  # type: ignore[misc]
