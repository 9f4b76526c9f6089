"""Processes that are measured from outside, each ended before its caller goes on. Knows no benchmark."""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

Measures = dict[str, Any]
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MESH = os.path.join(os.path.dirname(sys.executable), "mesh")  # the installed script


def side(function: Callable[..., Measures], **arguments: object) -> Measures:
    """Run one function in a fresh process, so that its memory is its own, and return what it measured."""
    with started(side_command(function, **arguments), stdout=subprocess.PIPE) as process:
        out, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{function.__module__}.{function.__name__} ended with {process.returncode}")
    measures: Measures = json.loads(out)
    return measures


def side_command(function: Callable[..., Measures], **arguments: object) -> list[str]:
    """The command line of that process."""
    name = f"{function.__module__}:{function.__name__}"
    return [sys.executable, "-m", "bench.side", name, json.dumps(arguments)]


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that does not outlive the block."""
    process = subprocess.Popen(command, cwd=ROOT, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr, process.stdin):
            if stream is not None:
                stream.close()


def timed(command: Sequence[str]) -> float:
    """Seconds one command takes from its start to its end, its output thrown away."""
    return ran(command)[0]


def ran(
    command: Sequence[str], *, given: bytes = b"", folder: str = ROOT, environ: Mapping[str, str] | None = None
) -> tuple[float, bytes]:
    """Seconds one command takes from its start to its end, and what it printed. `given` is its standard input."""
    start = time.perf_counter()
    done = subprocess.run(command, input=given, capture_output=True, check=False, cwd=folder, env=environ)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode(errors='replace')}")
    return seconds, done.stdout


class Taken(NamedTuple):
    """What a command took, in milliseconds: on the clock, and of a processor. The second hardly minds a busy machine."""

    wall: float
    processor: float


def in_turn(ways: Mapping[str, Callable[[], float | None]], rounds: int) -> dict[str, Taken]:
    """Every way once a round, so that a slow moment is everyone's; medians.

    Each runs a process and returns its seconds, or None where they mean nothing; with nothing else it is left out.
    """
    walls: dict[str, list[float]] = {what: [] for what in ways}
    processors: dict[str, list[float]] = {what: [] for what in ways}
    for number in range(rounds + 1):
        for what, way in ways.items():
            before = _children_seconds()
            seconds = way()
            if number and seconds is not None:  # the first round warms caches
                walls[what].append(1000 * seconds)
                processors[what].append(1000 * (_children_seconds() - before))
    counted = [what for what in ways if walls[what]]
    return {what: Taken(statistics.median(walls[what]), statistics.median(processors[what])) for what in counted}


def _children_seconds() -> float:
    """Processor time of all processes that we started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
