"""`commands`: every everyday command and the hooks, with a node running and without, beside the bare interpreter; memory of the node."""

import json
import os
import sys
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from glob import glob
from itertools import count

from bench.checkout import Checkout, checkout
from bench.clan import clan
from bench.machine import MB, process_bytes
from bench.processes import Taken, in_turn, ran, timed
from bench.sidecars import STATES, in_state
from bench.sidecars import all_running as running
from bench.table import Goal, Report, say

_GOALS = {"running": Goal(3, most=True, ratio=True), "stopped": Goal(15, most=True, ratio=True)}
_CORRECT = {"running": Goal(4, most=True, ratio=True), "stopped": Goal(18, most=True, ratio=True)}
_NUMBERS = count()


def run(work: str, sizes: list[int], rounds: int) -> Report:
    """All commands once a round, with the interpreter, at every size; first without a node, then with."""
    report = Report("commands", "python -c pass")
    place = checkout(work)
    bare: Callable[[], float | None] = partial(timed, [sys.executable, "-c", "pass"])
    for size in sizes:
        home = clan(work, size).home
        commands = _commands(place, home)
        found: dict[str, dict[str, Taken]] = {}
        for state in STATES:
            with in_state(state, [home]):
                say(f"{len(commands)} commands at {size:,} records, node {state}, {rounds} rounds")
                found[state] = in_turn({"": bare, **commands}, rounds)
        for what in commands:
            for state in reversed(STATES):
                goal = (_CORRECT if what == "correct" else _GOALS)[state]
                taken = found[state]
                report.add(f"{size:>9,}  {what}, node {state}", "ms", taken[what].wall, taken[""].wall, goal)
        _memory(report, home, size)
    report.notes.append(
        f"medians of {rounds} interleaved rounds; whole processes, in a clone of a repository of the clan"
    )
    return report


def _commands(place: Checkout, home: str) -> dict[str, Callable[[], float | None]]:
    """What a person or an agent calls, by the name it has in the table."""
    known = json.loads(
        ran([sys.executable, "-m", "mesh", "tail", "-n", "1", "--json", "--home", home])[1].splitlines()[0]
    )
    record = str(known.get("id") or known["records"][0]["id"])

    def call(*words: str) -> Callable[[], float | None]:
        return lambda: place.mesh(words, home)[0]

    def new(*words: str) -> Callable[[], float | None]:
        """A text that is new each time."""
        return lambda: place.mesh([word.format(next(_NUMBERS)) for word in words], home, MESH_SESSION=_session())[0]

    def hook(name: str, **told: object) -> Callable[[], float | None]:
        return lambda: _hook(place, home, name, told)

    return {
        "tail": call("tail"),
        "hot": call("hot"),
        "search": call("search", "webhook timeout"),
        "context": call("context"),
        "show": call("show", record),
        "why": call("why", record),
        "status": call("status"),
        "peers": call("peers"),
        "tiers": call("tiers"),
        "pattern list": call("pattern", "list"),
        "discover": new("discover", "the retry budget of job {0} is spent by noon"),
        "correct": new("correct", "--wrong", "retry job {0} for ever", "--right", "give job {0} a budget"),
        "hook SessionStart": hook("SessionStart", source="startup"),
        "hook UserPromptSubmit": hook("UserPromptSubmit", prompt="why does the webhook time out?"),
        "hook PostToolUseFailure": hook(
            "PostToolUseFailure", tool_name="Bash", tool_input={"command": "git push"}, error="HTTP 405"
        ),
        "hook Stop": hook("Stop"),
    }


def _hook(place: Checkout, home: str, name: str, told: dict[str, object]) -> float:
    transcript = os.path.expanduser("~/.claude/projects/bench/transcript.jsonl")  # where the agent keeps its own
    event = {
        "session_id": str(uuid.uuid4()),
        "transcript_path": transcript,
        "cwd": place.folder,
        "hook_event_name": name,
    }
    return place.mesh(["hook", name], home, given=json.dumps(event | told).encode(), CLAUDECODE="1")[0]


def _session() -> str:
    return f"claude-code:{uuid.uuid4()}"


def _memory(report: Report, home: str, size: int) -> None:
    """What a node at rest holds, and what the processes hold that it has started."""
    with running([home]) as (node,):
        own = node.memory()
        if own is None:
            report.notes.append("memory was not measured: the system does not say")
            return
        report.add(f"{size:>9,}  memory of the node at rest", "MB", own / MB, None, Goal(80, most=True))
        others = [held for pid in _descendants(node.pid) if (held := process_bytes(pid)) is not None]
        report.add(
            f"{size:>9,}  the same and its other processes", "MB", (own + sum(others)) / MB, None, Goal(250, most=True)
        )


def _descendants(pid: int) -> Sequence[int]:
    """The processes that a process has started, and those have."""
    children: list[int] = []
    for path in glob(f"/proc/{pid}/task/*/children"):  # each is of the thread that has started it
        with suppress(OSError), open(path, encoding="ascii") as file:
            children += map(int, file.read().split())
    return [*children, *(each for child in children for each in _descendants(child))]
