"""What erases still owe on the disk of a home, database by database, and paying it. Which text that is, nobody knows any more.

A text that was erased, or that a person wanted forgotten, is out of the tables at once. It is out of the files when each
database has been written anew and its WAL is empty, and that has to wait for whoever reads an older state.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from mesh.store.database import Database, open_reader, translated
from mesh.store.erasure import is_owed, scrub
from mesh.store.local_database import finish_rewrite, owing_rewrites

_RECORDS = ("mesh.db", "private.db")


def unfinished(home: str) -> list[str]:
    """The databases of a home, as paths in it, that may still hold erased text."""
    records = [name for name in _RECORDS if _owes(os.path.join(home, name))]
    return records + owing_rewrites(home)


def finish(home: str) -> list[str]:
    """Try to pay what is owed, without waiting long for anybody. Returns what is still unfinished."""
    for name in unfinished(home):
        if name not in _RECORDS:
            finish_rewrite(os.path.join(home, name))
            continue
        database = Database(os.path.join(home, name))
        try:
            with translated(database.path):
                scrub(database)
        finally:
            database.close()
    return unfinished(home)


def _owes(path: str) -> bool:
    if not os.path.exists(path):
        return False
    with translated(path):
        reader = open_reader(path)
        try:
            return is_owed(reader.execute)
        finally:
            reader.close()


_LOOKS, _PAUSE_SECONDS = 5, 0.2  # who is there at each look holds on; everyday commands come and go
_CHILD_SECONDS = 30.0
_COMMAND_CHARS = 200
_READ_LOCKS = "123 124 125 126 127"  # SQLite's file format: the wal-index has its locks from byte 120 on, the first three for others
_ASK = """
import fcntl, struct, sys, time
looks, pause, locks, *paths = sys.argv[1:]
form, kind, pid = ("qqihh", 3, 2) if sys.platform == "darwin" else ("hhqqi", 0, 4)
def holders(path):
    found = set()
    with open(path, "r+b") as file:
        for at in map(int, locks.split()):
            fields = [at, 1, 0, fcntl.F_WRLCK, 0] if kind else [fcntl.F_WRLCK, 0, at, 1, 0]
            answer = struct.unpack(form, fcntl.fcntl(file, fcntl.F_GETLK, struct.pack(form, *fields)))
            if answer[kind] != fcntl.F_UNLCK:
                found.add(answer[pid])
    return found
for path in paths:
    always = holders(path)
    for _ in range(int(looks) - 1):
        if always:
            time.sleep(float(pause))
            always &= holders(path)
    print(*sorted(always))
"""


class WalReader(NamedTuple):
    """A process that holds on to an older state of a database."""

    pid: int
    command: str  # empty if it cannot be seen


def lasting_readers(paths: Sequence[str]) -> list[WalReader]:
    """The processes that keep reading at least one of these databases, for a second or longer. Empty if that cannot be found out."""
    shared = [f"{path}-shm" for path in paths if os.path.exists(f"{path}-shm")]
    if not shared:
        return []
    import subprocess  # only here: most homes owe nothing

    words = [sys.executable, "-I", "-S", "-c", _ASK, str(_LOOKS), str(_PAUSE_SECONDS), _READ_LOCKS, *shared]
    try:
        asked = subprocess.run(words, capture_output=True, text=True, timeout=_CHILD_SECONDS, check=True)  # noqa: S603 (our own words)
    except (OSError, subprocess.SubprocessError):
        return []
    found = {int(word) for word in asked.stdout.split()} - {os.getpid()}
    return [WalReader(pid, _command(pid)) for pid in sorted(found)]


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            line = file.read(_COMMAND_CHARS * 4)
        return os.fsdecode(line.replace(b"\0", b" ")).strip()[:_COMMAND_CHARS]
    except OSError:
        pass
    import subprocess

    with suppress(OSError, subprocess.SubprocessError):
        words = ["ps", "-o", "command=", "-p", str(pid)]
        said = subprocess.run(words, capture_output=True, text=True, timeout=_CHILD_SECONDS, check=False)  # noqa: S603
        return said.stdout.strip()[:_COMMAND_CHARS]
    return ""
