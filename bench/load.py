"""`load`: a node that others ask a lot of: 200 commands a second over its socket, a long search, clients that go or never read, MCP sessions.

Gossip and hooks meanwhile, beside the same two nodes left in peace.
"""

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass

from bench import sidecars
from bench.checkout import checkout
from bench.clan import clan
from bench.homes import LOG
from bench.machine import MB
from bench.notes import notes
from bench.processes import MESH, Measures, side, side_command, started, timed
from bench.quantiles import middle_and_tail
from bench.table import Goal, Report, say
from mesh import __version__
from mesh.cli import caller_answers
from mesh.cli.command_frames import ANSWER, END, QUESTION, REQUEST, pack, take, unpack
from mesh.core.draft import NewRecord
from mesh.store.home import open_home
from mesh.store.reader import open_reading

RATE = 200  # commands a second
_SECONDS = 30
_WORKERS = 8
_ODD = 20  # clients of each odd sort
_SESSIONS = 50
_LOOKS = 200
_HOOKS = 20
_PAUSE_SECONDS = 0.02
_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("tail", "--repo", "github.com/acme/api"),
    ("hot", "--all"),
    ("search", "--all", "webhook timeout"),
    ("peers",),
    ("discover", "--global", "--anyway", "--session", "codex:load", "load {}"),
)


@dataclass(frozen=True, slots=True)
class _Looked:
    """What was measured, in seconds: of records until they are in the other node's database, of hooks, of the interpreter."""

    seen: list[float]
    hooks: list[float]
    bare: list[float]


def run(work: str, records: int) -> Report:
    """The same two nodes, first left in peace, then under load."""
    report = Report("load", "left in peace")
    folder = os.path.join(work, "load")
    place = checkout(work)
    home = clan(work, records).home
    other = os.path.join(folder, "other")
    os.makedirs(folder, exist_ok=True)
    with sidecars.running(home, listen=sidecars.free_port()) as one:
        sidecars.join(one, other)
        with sidecars.running(other) as two:
            sidecars.until("the two are linked", lambda: two.links() == 1)
            sidecars.until("both have one root", lambda: one.root() == two.root(), 600)
            sidecars.rest(one)

            def looked(seed: int) -> _Looked:
                seen = side(look, home=home, other=other, seed=seed)["seconds"]
                hooks, bare = [], []
                for _ in range(_HOOKS):
                    hooks.append(place.session_start(home)[0])
                    bare.append(timed([sys.executable, "-c", "pass"]))
                return _Looked(seen, hooks, bare)

            say(f"{_LOOKS} records and {_HOOKS} hooks, left in peace")
            peace = looked(1)
            say(f"{RATE} commands a second for {_SECONDS} s, and all the rest")
            with _pressure(home) as end:
                pressed = looked(2)
                measures = end()
            sidecars.until("both have one root again", lambda: one.root() == two.root(), 120)
            memory = one.memory()
    for what, calm, busy in (
        ("one record visible there", peace.seen, pressed.seen),
        ("hook SessionStart, whole process", peace.hooks, pressed.hooks),
        ("`python -c pass` meanwhile", peace.bare, pressed.bare),
    ):
        for name, before, now in zip(("p50", "p99"), middle_and_tail(calm), middle_and_tail(busy), strict=True):
            report.add(f"{what}, {name}", "ms", now, before)
    report.add("commands a second", "1/s", measures["done"] / measures["seconds"], None, Goal(0.95 * RATE))
    report.add("commands that failed", "", measures["failed"], None, Goal(0, most=True))
    middle, tail = middle_and_tail(measures["took"])
    report.add("a command over the socket, p50", "ms", middle)
    report.add("a command over the socket, p99", "ms", tail)
    report.add("long searches meanwhile", "", measures["searches"])
    report.add(f"MCP sessions that listed their tools, of {_SESSIONS}", "", measures["sessions"], None, Goal(_SESSIONS))
    if memory is not None:
        report.add("memory of the node afterwards", "MB", memory / MB)
    report.notes.append(
        f"{records:,} records; beside the commands {_ODD} clients that never read, {_ODD} that go in the middle of an answer, again and again,"
        " and a search that takes long, all the time; generator, both nodes and what is measured share one machine"
    )
    return report


def look(home: str, other: str, seed: int) -> Measures:
    """One record at a time, written beside the node, and how long until it is in the other one's database."""
    author, reader = open_home(home).author(), open_reading(other)
    seconds = []
    for note in notes(_LOOKS, seed=seed):
        called = time.perf_counter()
        (tag,) = author.append([NewRecord(LOG, note)]).tags
        while reader.entry(tag) is None:
            if time.perf_counter() > called + sidecars.WAIT_SECONDS:
                raise RuntimeError(f"a record was not visible in {other} after {sidecars.WAIT_SECONDS:g} s")
        seconds.append(time.perf_counter() - called)
        time.sleep(_PAUSE_SECONDS)
    return {"seconds": seconds}


@contextmanager
def _pressure(home: str) -> Iterator[Callable[[], Measures]]:
    """The load, from a process of its own; what is yielded waits for its end."""
    with ExitStack() as stack:
        generator = stack.enter_context(started(side_command(generate, home=home), stdout=subprocess.PIPE))
        sessions = [stack.enter_context(_session(home)) for _ in range(_SESSIONS)]

        def end() -> Measures:
            listed = sum(_has_tools(session) for session in sessions)
            measures: Measures = json.loads(generator.communicate()[0])
            return measures | {"sessions": listed}

        yield end


def _session(home: str) -> AbstractContextManager["subprocess.Popen[bytes]"]:
    return started([MESH, "mcp", "--home", home], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _has_tools(session: "subprocess.Popen[bytes]") -> bool:
    assert session.stdin is not None
    assert session.stdout is not None
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}
    messages: list[dict[str, object]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    session.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
    session.stdin.flush()
    for line in session.stdout:
        if json.loads(line).get("id") == 2:
            return b"search_memory" in line
    return False


def generate(home: str) -> Measures:
    """All the load, for its seconds. Every command is due at its own time, however long those before it took."""
    took: list[float] = []
    failed = [0]
    searches = [0]
    begin = time.perf_counter()
    numbers = iter(range(RATE * _SECONDS))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            due = begin + number / RATE
            time.sleep(max(0.0, due - time.perf_counter()))
            words = _COMMANDS[number % len(_COMMANDS)]
            code = _command(home, *(word.format(number) for word in words))
            took.append(time.perf_counter() - due)
            if code != 0:
                failed[0] += 1

    def search() -> None:
        chance = random.Random(1)
        while time.perf_counter() < begin + _SECONDS:
            words = " ".join(
                chance.choice(["webhook", "timeout", "retry", "cache", "deploy", "token", "queue", "index", "schema"])
                for _ in range(60)
            )
            _command(home, "search", "--all", "-n", "50", "--explain", words)
            searches[0] += 1

    def odd() -> None:
        silent = [_sent(home, "tail", "-n", "1000", "--json") for _ in range(_ODD)]
        while time.perf_counter() < begin + _SECONDS:
            for gone in [_sent(home, "tail", "-n", "1000", "--json") for _ in range(_ODD)]:
                with suppress(OSError):
                    gone.recv(1)
                gone.close()
            time.sleep(1)
        for connection in silent:
            connection.close()

    threads = [threading.Thread(target=each) for each in (*[work] * _WORKERS, search, odd)]
    for thread in threads:
        thread.start()
    for thread in threads[:_WORKERS]:
        thread.join()
    seconds = time.perf_counter() - begin
    for thread in threads:
        thread.join()
    return {"took": took, "failed": failed[0], "done": len(took), "seconds": seconds, "searches": searches[0]}


def _sent(home: str, *words: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(60)
    connection.connect(os.path.join(home, "commands.sock"))
    connection.sendall(pack(REQUEST, __version__, random.randbytes(16).hex(), home, "", "0", "", "0", *words))
    return connection


def _command(home: str, *words: str) -> int:
    """One command over the socket, as the client does it; its exit code, or 1 if the node hung up."""
    connection = _sent(home, *words)
    try:
        data = b""
        while part := connection.recv(65536):
            data += part
            frame, data = take(data)
            while frame is not None:
                kind, body = frame
                if kind == END:
                    return int(body)
                if kind == QUESTION:
                    connection.sendall(pack(ANSWER, *caller_answers.answer(home, unpack(body))))
                frame, data = take(data)
    except OSError:
        pass
    finally:
        connection.close()
    return 1
