"""Real sidecars for a benchmark: homes that join one mesh as people do, over mutual TLS on loopback. Measures nothing.

Each runs as `mesh up` of the installed script and is ended before its block is left.
"""

import json
import os
import re
import select
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bench.machine import own_bytes, process_bytes, process_seconds
from bench.processes import MESH, ROOT, started
from mesh.app.client import ask, ask_text
from mesh.store.home import create_home
from mesh.store.reader import Reader, open_reading

STATES = ("stopped", "running")
WAIT_SECONDS = 60.0  # for anything that should take a second or two
_STOP_SECONDS = 10.0
_REST_SECONDS = 120.0
_IDLE_SHARE = 0.05  # of a processor
_LOOK_SECONDS = 0.002
_SAMPLE = re.compile(r'^mesh_(\w+)_total\{kind="(\w+)"\} (\S+)$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sidecar:
    """One that runs."""

    home: str
    pid: int
    ready: float  # `time.perf_counter()` when it said that it is up: one clock for all processes of a machine

    def root(self) -> str:
        """The name of its state, as gossip has it."""
        return str(ask(self.home, "GET", "/node")["root"])

    def links(self) -> int:
        """How many links it has."""
        return int(ask(self.home, "GET", "/peers")["links"])

    def memory(self) -> int | None:
        """Resident bytes now."""
        return process_bytes(self.pid)

    def own_memory(self) -> int | None:
        """What of that is its own, and no mapped file."""
        return own_bytes(self.pid)

    def processor(self) -> float | None:
        """Seconds of processor time so far."""
        return process_seconds(self.pid)

    def traffic(self) -> "Counter[tuple[str, str]]":
        """Its own counters by name (`bytes_in`, `messages_out`, ...) and kind of message."""
        found = _SAMPLE.findall(ask_text(self.home, "/metrics"))
        return Counter({(name, kind): int(float(value)) for name, kind, value in found})


@contextmanager
def running(home: str, *, listen: int = 0, advertise: str = "") -> Iterator[Sidecar]:
    """`mesh up` in a home that exists, from ready to stopped. Its log is beside the home. `listen`: a port, 0 for none."""
    command = [MESH, "up", "--json", "--home", home]
    command += ["--listen", f"127.0.0.1:{listen}"] if listen else []
    command += ["--advertise", advertise] if advertise else []
    with open(home + ".log", "ab") as log, started(command, stdout=subprocess.PIPE, stderr=log) as process:
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], WAIT_SECONDS)
        line = process.stdout.readline() if readable else b""
        ready = time.perf_counter()
        if not line:
            with open(home + ".log", encoding="utf-8", errors="replace") as file:
                raise RuntimeError(f"the sidecar of {home} did not come up: {file.read()[-2000:]}")
        try:
            yield Sidecar(home, process.pid, ready)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                _wait(process)


@contextmanager
def in_state(state: str, homes: Iterable[str]) -> Iterator[None]:
    """The sidecars of these homes `running` or `stopped`, see `STATES`."""
    if state == "stopped":
        yield
        return
    with all_running(homes):
        yield


@contextmanager
def all_running(homes: Iterable[str]) -> Iterator[list[Sidecar]]:
    """A sidecar in each of these homes, all of them up and with nothing left to do."""
    with ExitStack() as stack:
        sidecars = [stack.enter_context(running(home)) for home in homes]
        for sidecar in sidecars:
            rest(sidecar)
        yield sidecars


def rest(sidecar: Sidecar, seconds: float = _REST_SECONDS) -> None:
    """Wait until a sidecar hardly uses its processor. Where the system does not say, a moment."""
    deadline = time.perf_counter() + seconds
    used = sidecar.processor()
    while time.perf_counter() < deadline:
        time.sleep(1)
        before, used = used, sidecar.processor()
        if before is None or used is None or used - before < _IDLE_SHARE:
            return


def found(home: str) -> None:
    """A new mesh, with its first node in a new home."""
    create_home(home, os.path.basename(home))


def join(host: Sidecar, home: str) -> None:
    """`mesh invite` at one that listens, then `mesh join` for a new home."""
    token = _mesh("invite", "--json", "--home", host.home)["token"]
    _mesh("join", token, "--name", os.path.basename(home), "--json", "--home", home)


def free_port() -> int:
    """A port of loopback that nobody uses now, nor the next one: that is where newcomers join."""
    for _ in range(100):
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            port = int(one.getsockname()[1])
            try:
                two.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port
    raise RuntimeError("no two free ports beside each other")


def accepted(reader: Reader) -> int:
    """How many operations count in a database. One small read: their records were folded in the same transaction."""
    return int(reader.connection.execute("SELECT coalesce(sum(seq), 0) FROM feeds").get)


def records(reader: Reader) -> int:
    """How many live records there are to be read."""
    return sum(reader.logs().values())


def wait_for(home: str, operations: int, seconds: float) -> float:
    """Look into a home's own database until so many operations count there; the moment they were seen."""
    reader = open_reading(home)
    deadline = time.perf_counter() + seconds
    try:
        while True:
            found_now, now = accepted(reader), time.perf_counter()
            if found_now >= operations:
                return now
            if now > deadline:
                raise RuntimeError(f"only {found_now} of {operations} operations came to {home} in {seconds:g} s")
            time.sleep(_LOOK_SECONDS)
    finally:
        reader.connection.close()


def until(what: str, holds: Callable[[], bool], seconds: float = WAIT_SECONDS, step: float = 0.05) -> float:
    """Ask again and again; the moment it held."""
    deadline = time.perf_counter() + seconds
    while not holds():
        if time.perf_counter() > deadline:
            raise RuntimeError(f"in {seconds:g} s it did not come about that {what}")
        time.sleep(step)
    return time.perf_counter()


def _mesh(*words: str) -> dict[str, str]:
    done = subprocess.run([MESH, *words], capture_output=True, check=False, cwd=ROOT, timeout=WAIT_SECONDS)
    if done.returncode:
        raise RuntimeError(f"mesh {words[0]}: {done.stderr.decode(errors='replace')}")
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


def _wait(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
