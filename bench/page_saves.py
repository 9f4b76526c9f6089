"""Two sidecars that keep a page's file in step: how long a save on one takes to be in the file of the other."""

import os
import time
from collections.abc import Callable
from functools import partial

from bench import raw_document, repository, sidecars
from bench.notes import notes
from bench.processes import MESH, Measures, ran, side
from bench.quantiles import MS, quantile
from bench.table import Report, say

SAVES, COMMANDS, COMMITS = 100, 20, 20
WAYS = ("written", "renamed", "appended")
_NAME = "runbook"
_FILE = f"{_NAME}.md"
_PARAGRAPHS = 12
_WAIT_SECONDS = 20.0
_LOOK_SECONDS = 0.0005
_PAUSE_SECONDS = 0.15  # between two saves, so that what follows the first is over


def measure(report: Report, folder: str) -> None:
    """Ours between two sidecars, then two pycrdt documents in a process, then git."""
    ours = _ours(folder)
    raw = side(raw_document.pass_on, count=SAVES, text=_text())["seconds"]
    why = repository.missing()
    git = [] if why else _git(os.path.join(folder, "git"))
    report.notes += [why] if why else []
    what = {
        "written": "a save that writes the file",
        "renamed": "a save that renames a new file into its place",
        "appended": "`mesh page append`, from its start",
    }
    for way in WAYS:
        for name, share in (("p50", 0.5), ("p99", 0.99), ("worst", 1.0)):
            theirs = [quantile(found, share) * MS if found else None for found in (raw, git)]
            report.add(
                f"visible in the other's file: {what[way]}, {name}",
                "ms",
                quantile(ours[way], share) * MS,
                theirs[0],
                second=theirs[1],
            )
    report.notes.append(
        f"visible: two sidecars over mutual TLS on loopback, {SAVES} saves a way and {COMMANDS} commands, from before the write until the other"
        " node's file holds it; by then it is watched, redacted, signed and synced here, verified and written to a file there; pycrdt: two"
        f" documents in one process, no file; git: {COMMITS} times commit, push and pull of a line, without anybody who watches"
    )


def _ours(folder: str) -> dict[str, list[float]]:
    first, second = (os.path.join(folder, name) for name in ("first", "second"))
    sidecars.found(first)
    with sidecars.running(first, listen=sidecars.free_port()) as one:
        sidecars.join(one, second)
        with sidecars.running(second) as two:
            sidecars.until("the two are linked", lambda: two.links() == 1)
            files = [os.path.join(home, "pages", _FILE) for home in (first, second)]
            ran([MESH, "page", "new", _NAME, "--text", "-", "--home", first], given=_text().encode())
            sidecars.until("the page is in both folders", lambda: all(map(os.path.exists, files)))
            sidecars.rest(one)
            sidecars.rest(two)
            found = {}
            for way in WAYS:
                count = COMMANDS if way == "appended" else SAVES
                say(f"{count} edits of a page, {way}, until the other node's file shows them")
                found[way] = side(save_and_look, way=way, home=first, other=second, count=count)["seconds"]
            sidecars.until("both files are the same", lambda: _read(files[0]) == _read(files[1]))
    return found


def save_and_look(way: str, home: str, other: str, count: int) -> Measures:
    """One edit at a time, and looks at the other's file until it is there. One process and one clock."""
    mine, theirs = (os.path.join(folder, "pages", _FILE) for folder in (home, other))
    ways: dict[str, Callable[[str], object]] = {
        "written": partial(_write, mine),
        "renamed": partial(_rename, mine),
        "appended": lambda line: ran([MESH, "page", "append", _NAME, line, "--home", home]),
    }
    seconds = []
    for number in range(count + 1):
        line = f"- {way} as number {number} of {time.time_ns()}"
        begin = time.perf_counter()
        ways[way](line)
        while line.encode() not in _read(theirs):
            if time.perf_counter() > begin + _WAIT_SECONDS:
                raise RuntimeError(f"an edit was not in {theirs} after {_WAIT_SECONDS:g} s")
            time.sleep(_LOOK_SECONDS)
        if number:  # the first opens the page in both workers
            seconds.append(time.perf_counter() - begin)
        time.sleep(_PAUSE_SECONDS)
    return {"seconds": seconds}


def _write(path: str, line: str) -> None:
    with open(path, "r+", encoding="utf-8") as file:
        text = _with(file.read(), line)
        file.seek(0)
        file.write(text)


def _rename(path: str, line: str) -> None:
    beside = os.path.join(os.path.dirname(path), f".{_FILE}.new")
    with open(path, encoding="utf-8") as file, open(beside, "w", encoding="utf-8") as new:
        new.write(_with(file.read(), line))
    os.replace(beside, path)


def _with(text: str, line: str) -> str:
    """A text with one more line in its middle."""
    lines = text.splitlines(keepends=True)
    return "".join([*lines[: len(lines) // 2], line + "\n", *lines[len(lines) // 2 :]])


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _text() -> str:
    return "# Runbook\n\n" + "\n\n".join(note["text"] for note in notes(_PARAGRAPHS)) + "\n"


def _git(folder: str) -> list[float]:
    say(f"{COMMITS} commits, each pushed and pulled")
    with repository.serving(folder) as port:
        source = repository.Clone(os.path.join(folder, "source"), port)
        source.commit(notes(_PARAGRAPHS))
        source.push()
        target = repository.Clone(os.path.join(folder, "target"), port)
        return repository.one_by_one(source, target, list(notes(COMMITS, seed=2)))
