"""`session_start`: Claude Code's SessionStart hook as a whole process, beside the bare interpreter and two memory servers."""

import sys
from collections.abc import Callable
from functools import partial

from bench import basic_memory, memory_server
from bench.checkout import Checkout, checkout
from bench.clan import clan
from bench.peer import measured
from bench.processes import Taken, in_turn, timed
from bench.sidecars import STATES, in_state
from bench.table import Goal, Report, say

_GOAL_AT = 100_000
_GOAL = Goal(10, most=True, ratio=True)
_SERVER_SIZES = (1000, 100_000)  # a million entities are an answer of 300 MB
_SERVER_ROUNDS = 5


def run(work: str, sizes: list[int], rounds: int) -> Report:
    """All sizes in turn with the interpreter, first without sidecars and then with; then the peers."""
    report = Report("session_start", "python -c pass", second=memory_server.NAME, third=basic_memory.NAME)
    homes = {size: clan(work, size).home for size in sizes}
    place = checkout(work)
    hooks = {size: _Hook(place, home) for size, home in homes.items()}
    medians: dict[str, dict[str, Taken]] = {}
    for state in STATES:
        with in_state(state, homes.values()):
            say(f"the hook with its sidecar {state}, {rounds} rounds of {len(homes)} sizes")
            ways: dict[str, Callable[[], float | None]] = {"": partial(timed, [sys.executable, "-c", "pass"])}
            ways |= {str(size): hook.seconds for size, hook in hooks.items()}
            medians[state] = in_turn(ways, rounds)
    server = measured(report.notes, lambda: _server(work, [size for size in sizes if size in _SERVER_SIZES]))
    other = measured(report.notes, lambda: _basic_memory(work))
    for size in sizes:
        for state in STATES:
            found, bare = medians[state].get(str(size)), medians[state][""]
            ours = (None, None) if found is None else found
            goal = _GOAL if size == _GOAL_AT else None
            cold = server.get(f"{size} cold") if state == "stopped" else None
            third = other.get("recent") if state == "stopped" and size == min(sizes) else None
            report.add(f"{size:>9,}  hook, sidecar {state}", "ms", ours[0], bare.wall, goal, second=cold, third=third)
            report.add(f"{size:>9,}  the same, processor", "ms", ours[1], bare.processor)
        report.add(
            f"{size:>9,}  given to the agent", "chars", hooks[size].chars or None, second=server.get(f"{size} chars")
        )
        if f"{size} warm" in server:
            report.add(f"{size:>9,}  server-memory running: read_graph", "ms", None, second=server[f"{size} warm"])
            report.add(f"{size:>9,}  server-memory running: search_nodes", "ms", None, second=server[f"{size} search"])
    for state in STATES:
        large, small = (medians[state].get(str(size)) for size in (max(sizes), min(sizes)))
        if large is not None and small is not None:
            what = f"hook, sidecar {state}: {max(sizes):,} over {min(sizes):,} records"
            report.add(what, "x", large.wall / small.wall)
    report.notes += [
        f"at {size:,} records {hook.silent} of {hook.calls} calls gave nothing, and do not count"
        for size, hook in hooks.items()
        if hook.silent
    ]
    report.notes += [
        f"medians of {rounds} interleaved rounds; a new session each time; in a clone of the repository with the most records",
        (
            f"{memory_server.NAME} {memory_server.VERSION}, beside `stopped`: from starting it through the handshake to the whole answer of read_graph,"
            " which is how an agent learns what it holds: it knows no repository, no budget and no order;"
            f" medians of {_SERVER_ROUNDS}, after the rounds of ours"
        ),
        "search_nodes: all entities with the word `webhook`; ours is a new process each time, whether its sidecar runs or not",
    ]
    return report


class _Hook:
    """The hook in one home. It fails open: when it gives nothing, its time means nothing."""

    def __init__(self, place: Checkout, home: str) -> None:
        self._place, self._home = place, home
        self.calls = self.silent = self.chars = 0

    def seconds(self) -> float | None:
        """One new session; None if it was told nothing."""
        seconds, context = self._place.session_start(self._home)
        self.calls += 1
        self.silent += not context
        self.chars = len(context) or self.chars
        return seconds if context else None


def _server(work: str, sizes: list[int]) -> tuple[dict[str, float], str]:
    script, why = memory_server.install(work)
    found: dict[str, float] = {}
    for size in sizes if script else ():
        say(f"{memory_server.NAME} with {size:,} entities")
        path = memory_server.graph(work, size)
        with memory_server.serving(script, path) as server:
            ways: dict[str, Callable[[], float | None]] = {
                f"{size} cold": partial(memory_server.cold_seconds, script, path, "read_graph"),
                f"{size} warm": partial(server.seconds, "read_graph"),
                f"{size} search": partial(server.seconds, "search_nodes", query="webhook"),
            }
            found |= {what: taken.wall for what, taken in in_turn(ways, _SERVER_ROUNDS).items()}
            found[f"{size} chars"] = server.chars("read_graph")
    return found, why


def _basic_memory(work: str) -> tuple[dict[str, float], str]:
    command, why = basic_memory.install(work)
    if not command:
        return {}, why
    say(f"{basic_memory.NAME}: what was written lately")
    basic_memory.write(command, work)
    taken = in_turn({"recent": lambda: basic_memory.recent(command, work)}, _SERVER_ROUNDS)
    return {
        "recent": taken["recent"].wall
    }, f"{basic_memory.NAME}: `tool recent-activity` with next to no notes, a process a call as ours"
