"""`correct`: one durable `mesh correct` as a whole process, beside the bare interpreter and a write of memory servers."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, cycle

from bench import basic_memory, memory_server
from bench.checkout import Checkout, checkout
from bench.clan import clan
from bench.learnings import REPOS, Lessons
from bench.peer import measured
from bench.processes import Taken, in_turn, timed
from bench.sidecars import STATES, all_running
from bench.table import Goal, Report, say
from clan_learnings.records.record import CORRECTIONS
from mesh.store.reader import open_reading

_GOAL = Goal(6, most=True, ratio=True)
_SERVER_SIZES = (1000, 100_000)
_SERVER_ROUNDS = 5
_PAUSE_SECONDS = 0.5
_LOOKED_AT = 3000  # of the newest corrections, for some of this repository
_SAME, _OTHERWISE, _NEW = "known, nearly the same words", "known, told otherwise", "new"
# Around the words of a correction: nothing that matters, so that its form stays; or a story, so that it has to be compared.
_AROUND = {
    _SAME: (("I {}", "Please {}"), ("again {}", "always {}"), ("we {}", "we always {}"), ("it {}", "one should {}")),
    _OTHERWISE: (
        ("I {} again, and had to do it anew", "{}"),
        ("{}, which cost me an hour", "please {}"),
        ("the agent {} although it was told before", "always {}"),
        ("{}; the review found it", "{}"),
    ),
}

Pair = tuple[str, str]


def run(work: str, sizes: list[int], rounds: int) -> Report:
    """All sizes in turn with the interpreter, first without sidecars and then with; then the peers."""
    report = Report("correct", "python -c pass", second=memory_server.NAME, third=basic_memory.NAME)
    homes = {size: clan(work, size).home for size in sizes}
    place = checkout(work)
    pens = {size: _Pen(place, home) for size, home in homes.items()}
    taken: dict[str, Taken] = {}
    say(f"`mesh correct` with its sidecar stopped, {rounds} rounds of {len(pens)} sizes")
    taken |= _take("stopped", pens, rounds)
    for size, pen in pens.items():  # one at a time: each write makes its sidecar work
        say(f"`mesh correct` with its sidecar running, {rounds} rounds at {size:,} records")
        with all_running([homes[size]]):
            taken |= _take("running", {size: pen}, rounds, _PAUSE_SECONDS)
    for pen in pens.values():
        report.notes += pen.check()
    server = measured(report.notes, lambda: _server(work, [size for size in sizes if size in _SERVER_SIZES]))
    other = measured(report.notes, lambda: _basic_memory(work))
    for size in sizes:
        for state in STATES:
            for kind in (*_AROUND, _NEW):
                ours, bare = taken[f"{state} {size} {kind}"], taken[f"{state} {size}"]
                theirs = server.get(f"{size} {state}") if kind == _NEW else None
                third = other.get("write") if kind == _NEW and state == "stopped" and size == min(sizes) else None
                what = f"{size:>9,}  {kind}; sidecar {state}"
                report.add(what, "ms", ours.wall, bare.wall, _GOAL, second=theirs, third=third)
            ours, bare = taken[f"{state} {size} {_OTHERWISE}"], taken[f"{state} {size}"]
            what = f"{size:>9,}  {_OTHERWISE}; sidecar {state}; processor"
            report.add(what, "ms", ours.processor, bare.processor)
    report.notes += [
        f"medians of {rounds} interleaved rounds; every call a session of its own and other words; on disk before it answers",
        f"running: {_PAUSE_SECONDS:g} s before each call, so that the sidecar is done with the one before",
        (
            f"{memory_server.NAME} {memory_server.VERSION}: one observation added to an entity; beside `stopped` with starting it, beside `running` the"
            " call alone to a server that runs, while ours is a process a call both times; it matches, counts, signs and syncs"
            f" nothing, and rewrites its whole file; medians of {_SERVER_ROUNDS}, after the rounds of ours"
        ),
    ]
    return report


def _take(state: str, pens: "dict[int, _Pen]", rounds: int, pause: float = 0.0) -> dict[str, Taken]:
    """Every kind at every size, and the interpreter, in turn."""
    ways: dict[str, Callable[[], float | None]] = {"": partial(timed, [sys.executable, "-c", "pass"])}
    for size, pen in pens.items():
        ways |= {f"{size} {kind}": partial(_after, pause, partial(pen.known, kind)) for kind in _AROUND}
        ways[f"{size} {_NEW}"] = partial(_after, pause, pen.new)
    found = in_turn(ways, rounds)
    bare = found.pop("")
    return {f"{state} {what}": one for what, one in found.items()} | {f"{state} {size}": bare for size in pens}


def _after(pause: float, way: Callable[[], float]) -> float:
    time.sleep(pause)
    return way()


class _Pen:
    """Corrections in one home: each time other words, and remembered to be looked for."""

    def __init__(self, place: Checkout, home: str) -> None:
        self._place, self._home = place, home
        self._records = open_reading(home)
        lately = self._records.tail(_LOOKED_AT, CORRECTIONS)
        # Not what earlier runs have written: their sessions are UUIDs.
        written = [item.record for item in lately if "-" not in item.record["session"].partition(":")[2]]
        here = {record["pattern"]: record for record in written if record["repo"] == REPOS[0]}
        if not here:
            raise RuntimeError(f"{home} has no corrections of {REPOS[0]}")
        self._here: Iterator[tuple[str, Pair]] = cycle(
            (slug, (str(record["wrong"]), str(record["right"]))) for slug, record in here.items()
        )
        self._around = {kind: cycle(words) for kind, words in _AROUND.items()}
        self._lessons = Lessons()
        self._numbers = count(10_000_000 + int(time.time()) % 100_000_000)  # of lessons that no home has
        self._written: dict[Pair, str] = {}  # to the slug it should be counted under
        self._before = self._records.logs()[CORRECTIONS]

    def known(self, kind: str) -> float:
        """A correction that is there, in other words."""
        (slug, (wrong, right)), around = next(self._here), next(self._around[kind])
        pair = around[0].format(wrong), around[1].format(right)
        self._written[pair] = slug
        return self._place.correct(self._home, *pair)[0]

    def new(self) -> float:
        """One that nobody has made."""
        lesson = self._lessons.lesson(next(self._numbers))
        self._written[lesson.wordings[0]] = lesson.slug
        return self._place.correct(self._home, *lesson.wordings[0])[0]

    def check(self) -> list[str]:
        """Whether all were written, and a note of those that were counted under another pattern."""
        grown = self._records.logs()[CORRECTIONS] - self._before
        last = self._records.tail(max(grown, 1), CORRECTIONS)
        found = {(item.record["wrong"], item.record["right"]): item.record["pattern"] for item in last}
        lost = [pair for pair in self._written if pair not in found]
        if lost:
            raise RuntimeError(f"{len(lost)} corrections were not written to {self._home}, among them {lost[0]}")
        elsewhere = sum(found[pair] != slug for pair, slug in self._written.items())
        where = os.path.basename(os.path.dirname(self._home))
        return [f"{where}: {elsewhere} of {len(self._written)} were counted under another pattern"] if elsewhere else []


def _server(work: str, sizes: list[int]) -> tuple[dict[str, float], str]:
    script, why = memory_server.install(work)
    found: dict[str, float] = {}
    for size in sizes if script else ():
        say(f"{memory_server.NAME} with {size:,} entities")
        path = memory_server.graph(work, size)
        words = count(time.time_ns())

        def given(size: int = size, words: Iterator[int] = words) -> list[dict[str, object]]:
            return [
                {"entityName": memory_server.entity_name(size - 1), "contents": [f"use pnpm, not npm ({next(words)})"]}
            ]

        with memory_server.serving(script, path) as server:

            def running(server: memory_server.Server = server) -> float:
                return server.seconds("add_observations", observations=given())

            def stopped(path: str = path) -> float:
                return memory_server.cold_seconds(script, path, "add_observations", observations=given())

            ways: dict[str, Callable[[], float | None]] = {f"{size} stopped": stopped, f"{size} running": running}
            found |= {what: taken.wall for what, taken in in_turn(ways, _SERVER_ROUNDS).items()}
    return found, why


def _basic_memory(work: str) -> tuple[dict[str, float], str]:
    command, why = basic_memory.install(work)
    if not command:
        return {}, why
    say(f"{basic_memory.NAME}: new notes")
    taken = in_turn({"write": lambda: basic_memory.write(command, work)}, _SERVER_ROUNDS)
    return {
        "write": taken["write"].wall
    }, f"{basic_memory.NAME}: `tool write-note` with next to no notes, a process a call as ours"
