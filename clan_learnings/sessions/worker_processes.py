"""Worker processes that share the work of one command. They end with it, however it ends, and print nothing.

An error in one of them comes back to the command, as an answer or as its exception. Knows nothing of the work.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

_Thing = TypeVar("_Thing")
_Made = TypeVar("_Made")
_leader: list[int] = []  # in a worker: the process that waits for it


def processors() -> int:
    """How many processors we may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def by_crew(
    work: Callable[[_Thing], _Made],
    things: Iterable[_Thing],
    processes: int,
    chunk: int,
    begin: Callable[[], None] | None = None,
) -> Iterator[_Made]:
    """The result of `work` for each thing, in order. `chunk`: how many a process takes at once; `begin`: what it does first."""
    with multiprocessing.Pool(processes, _join, (begin,)) as pool:
        yield from pool.imap(partial(_worked, work), things, chunksize=chunk)


def _join(begin: Callable[[], None] | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends us
    _leader.append(os.getppid())
    # If the leader was killed, an answer finds nobody, and multiprocessing prints how that failed: on the user's screen.
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    if begin is not None:
        begin()


def _worked(work: Callable[[_Thing], _Made], thing: _Thing) -> _Made:
    if os.getppid() != _leader[0]:
        os._exit(1)  # nobody waits for it any more
    return work(thing)


class CaptureStopped(Exception):
    """Leaves a run in the middle because it is to end: not an error."""
