"""`mcp`: how soon an agent has our tools, with a node and without, beside the SDK's own server; memory with one session and with fifty."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from bench.checkout import Checkout, checkout
from bench.clan import clan
from bench.machine import MB, own_bytes
from bench.processes import MESH, in_turn, started, timed
from bench.sidecars import STATES, Sidecar, in_state
from bench.sidecars import all_running as running
from bench.table import Goal, Report, say

_SESSIONS = 50
_CALLS = 200
_GOALS = {"running": Goal(5, most=True, ratio=True), "stopped": None}
_SDK = [sys.executable, "-m", "bench.sdk_server"]
_INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Session:
    """An agent's session with a server that it has started."""

    def __init__(self, stack: ExitStack, command: Sequence[str], place: Checkout | None = None) -> None:
        environ = None if place is None else place.environ
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = stack.enter_context(started(command, env=environ, **pipes))

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a request."""
        self._send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert self.process.stdout is not None
        said: dict[str, Any] = json.loads(self.process.stdout.readline())
        return said

    def begin(self) -> None:
        """What every agent asks first."""
        self.ask("initialize", **_INITIALIZE)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        if len(self.ask("tools/list")["result"]["tools"]) < 6:
            raise RuntimeError("these are not the tools")

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()


def run(work: str, records: int, rounds: int) -> Report:
    """First answers in turn with the bare interpreter, then calls, then fifty sessions at once."""
    report = Report("mcp", "python -c pass", second="the SDK's server")
    place = checkout(work)
    home = clan(work, records).home
    command = [MESH, "mcp", "--home", home]
    bare: Callable[[], float | None] = partial(timed, [sys.executable, "-c", "pass"])
    for state in reversed(STATES):
        with in_state(state, [home]):
            say(f"first answers, node {state}, {rounds} rounds")
            found = in_turn(
                {"": bare, "ours": partial(_first_answers, command, place), "sdk": partial(_first_answers, _SDK)},
                rounds,
            )
        what = f"start to the answer to tools/list, node {state}"
        report.add(what, "ms", found["ours"].wall, found[""].wall, _GOALS[state], second=found["sdk"].wall)
        report.add(
            f"{what}, processor of the session",
            "ms",
            found["ours"].processor,
            found[""].processor,
            second=found["sdk"].processor,
        )
    with running([home]) as (node,):
        _calls(report, command, place, found[""].wall)
    with running([home]) as (node,):
        _memory(report, node, command, place)
    report.notes.append(
        f"{records:,} records; medians of {rounds} interleaved rounds; start, initialize, tools/list as an agent asks them"
    )
    report.notes.append("the SDK's server has seven tools that do nothing; memory is what is no file's (RssAnon)")
    return report


def _first_answers(command: Sequence[str], place: Checkout | None = None) -> float:
    """Seconds from the start of the process to its second answer; it is ended afterwards."""
    with ExitStack() as stack:
        began = time.perf_counter()
        Session(stack, command, place).begin()
        return time.perf_counter() - began


def _calls(report: Report, command: Sequence[str], place: Checkout, bare: float) -> None:
    """A session that is there already."""
    with ExitStack() as stack:
        session = Session(stack, command, place)
        session.begin()
        for name, arguments in (("list_hot", {}), ("search_memory", {"query": "webhook timeout"})):
            taken = []
            for _ in range(_CALLS):
                began = time.perf_counter()
                if session.ask("tools/call", name=name, arguments=arguments)["result"]["isError"]:
                    raise RuntimeError(f"{name} was refused")
                taken.append(1000 * (time.perf_counter() - began))
            report.add(f"one call of {name}, p50", "ms", statistics.median(taken), bare)
            report.add(f"one call of {name}, p95", "ms", statistics.quantiles(taken, n=20)[-1], bare)


def _memory(report: Report, node: Sidecar, command: Sequence[str], place: Checkout) -> None:
    """Of the node before any session, and of it and all sessions, which have each called a tool."""
    before = own_bytes(node.pid)
    if before is None:
        report.notes.append("memory was not measured: the system does not say")
        return
    report.add("memory of the node before", "MB", before / MB)
    for count in (1, _SESSIONS):
        say(f"{count} sessions at once")
        with ExitStack() as stack:
            began = time.perf_counter()
            sessions = [Session(stack, command, place) for _ in range(count)]
            for session in sessions:
                session.begin()
                session.ask("tools/call", name="list_hot", arguments={})
            seconds = time.perf_counter() - began
            held = own_bytes(node.pid) or 0
            each = statistics.median(own_bytes(session.process.pid) or 0 for session in sessions)
            peer = Session(stack, _SDK)
            peer.begin()
            theirs = own_bytes(peer.process.pid) or 0
        report.add(f"memory of the node with {count}", "MB", held / MB)
        report.add(f"memory of each of {count}", "MB", each / MB, second=theirs / MB)
        report.add(f"{count} at once: until all have their tools and an answer", "ms", 1000 * seconds)
