"""Processes that are measured from outside, each ended before its caller goes on. Knows no benchmark."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, cwd=ROOT)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode(errors='replace')}")
    return seconds
