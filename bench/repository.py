"""The peer that everyone has: a git repository, pushed and pulled between two clones through a bare one.

A record is a line of one file. `git daemon` on loopback, so that bytes cross a socket; git's own defaults, which do not
sync loose objects to disk; no compression of its own is switched off.
"""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from bench.processes import started
from bench.sidecars import free_port, until

_FILE = "records.jsonl"
_COMMAND_SECONDS = 300.0
_NAME = "records.git"


def missing() -> str:
    """Why this peer cannot be measured; empty if it can."""
    if shutil.which("git") is None:
        return "git is not installed, so it was not measured; next: install git"
    if not os.path.exists(_daemon()):
        return "git daemon is not installed, so git was not measured; next: install git's daemon"
    return ""


class Clone:
    """A working copy in a folder."""

    def __init__(self, folder: str, port: int) -> None:
        """Cloned from the bare repository behind a port."""
        self.folder = folder
        _git(["clone", "-q", f"git://127.0.0.1:{port}/{_NAME}", folder])
        _git(["checkout", "-q", "-B", "main"], folder)

    def commit(self, records: Iterable[dict[str, str]]) -> None:
        """Add lines to the file, all in one commit."""
        with open(os.path.join(self.folder, _FILE), "a", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        _git(["add", _FILE], self.folder)
        _git(["commit", "-q", "-m", "records"], self.folder)

    def push(self) -> None:
        """To the bare repository."""
        _git(["push", "-q", "origin", "main"], self.folder)

    def pull(self) -> int:
        """From the bare repository; how many records are there then."""
        _git(["pull", "-q", "--ff-only", "origin", "main"], self.folder)
        with open(os.path.join(self.folder, _FILE), "rb") as file:
            return sum(1 for _ in file)


@contextmanager
def serving(folder: str) -> Iterator[int]:
    """A bare repository in a folder, reachable by its `git daemon`; yields the port."""
    os.makedirs(folder)
    bare = os.path.join(folder, _NAME)
    _git(["init", "-q", "--bare", "-b", "main", bare])
    port = free_port()
    words = [_daemon(), "--export-all", "--enable=receive-pack", "--reuseaddr", "--listen=127.0.0.1"]
    with started(
        [*words, f"--port={port}", f"--base-path={folder}", folder], env=_environment(), stderr=subprocess.DEVNULL
    ):
        until("git daemon listens", lambda: _listens(port))
        yield port


def one_by_one(source: Clone, target: Clone, records: Sequence[dict[str, str]]) -> list[float]:
    """A commit, a push and a pull a record: seconds from before the commit until it is in the other clone."""
    seconds, have = [], None
    for record in records:
        begin = time.perf_counter()
        source.commit([record])
        source.push()
        count = target.pull()
        seconds.append(time.perf_counter() - begin)
        if have is not None and count != have + 1:
            raise RuntimeError(f"{count - have} records came with one commit")
        have = count
    return seconds


def at_once(source: Clone, target: Clone, records: Sequence[dict[str, str]]) -> float:
    """All of them in one commit: seconds from before the commit until they are in the other clone."""
    begin = time.perf_counter()
    source.commit(records)
    source.push()
    if target.pull() < len(records):
        raise RuntimeError("not all records came with the commit")
    return time.perf_counter() - begin


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _git(words: Sequence[str], folder: str | None = None) -> None:
    done = subprocess.run(
        ["git", "-c", "gc.auto=0", *words],
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        timeout=_COMMAND_SECONDS,
    )
    if done.returncode:
        raise RuntimeError(f"git {words[0]}: {done.stderr.decode(errors='replace')}")


def _environment() -> dict[str, str]:
    """Nobody's settings but git's own."""
    person = {"NAME": "bench", "EMAIL": "bench@localhost"}
    named = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in person.items()}
    return os.environ | named | {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def _daemon() -> str:
    """The daemon itself: `git daemon` would start it as a child, which outlives what we can end."""
    where = subprocess.run(["git", "--exec-path"], capture_output=True, check=False)
    return os.path.join(where.stdout.decode().strip(), "git-daemon")
