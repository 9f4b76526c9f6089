"""What a sidecar and its text worker hold with pages open, each in a home of its own."""

import glob
import os
import time
from collections.abc import Mapping

from bench import raw_document, sidecars
from bench.machine import MB, process_bytes
from bench.page_homes import many_pages, one_page
from bench.processes import MESH, ran, side
from bench.table import Report, say

_PAGES, _EDITS = 1000, 10
_FILES_SECONDS = 120.0


def measure(report: Report, work: str, states: Mapping[str, str], size: int) -> None:
    """With no page, with one of many edits of each kind, and with many pages of few."""
    folder = os.path.join(work, "pages")
    sidecars.found(os.path.join(folder, "none"))
    _with(report, "no page", os.path.join(folder, "none"), 0)
    for kind, state in states.items():
        raw = side(raw_document.open_state, path=state)["memory"]
        home = one_page(work, kind, size).copy(os.path.join(folder, f"memory-{kind}"))
        _with(report, f"{size:>7,} {kind}", home, 1, raw)
    raw = side(raw_document.hold_many, pages=_PAGES, edits=_EDITS)["memory"]
    home = many_pages(work, _PAGES, _EDITS).copy(os.path.join(folder, "memory-many"))
    _with(report, f"{_PAGES:,} pages of {_EDITS} edits", home, _PAGES, raw)
    report.notes.append(
        "memory: resident, of a sidecar that has written the file of every page and taken a save of one, and of its text worker; pycrdt: a"
        " Python that holds the document, or all of them; a worker holds the 32 pages used last"
    )


def _with(report: Report, what: str, home: str, pages: int, raw: int | None = None) -> None:
    say(f"memory of a sidecar with {what.strip()}")
    folder = os.path.join(home, "pages")
    with sidecars.running(home) as sidecar:
        if pages:
            seen = sidecars.until("every page has its file", lambda: len(_files(folder)) >= pages, _FILES_SECONDS)
            report.add(f"{what}: files from nothing, after the start", "s", seen - sidecar.ready)
            sidecars.rest(sidecar)
            _save(home, _files(folder)[0])
        sidecars.rest(sidecar)
        own, worker = (
            sidecar.memory(),
            max(map(process_bytes, _children(sidecar.pid)), default=None, key=lambda size: size or 0),
        )
    report.add(f"{what}: memory of the sidecar", "MB", None if own is None else own / MB)
    if worker:
        report.add(f"{what}: memory of its worker", "MB", worker / MB, None if raw is None else raw / MB)


def _save(home: str, file: str) -> None:
    """Save one more line with an editor, and wait until the page has it."""
    word = f"unheard{time.time_ns()}"
    with open(file, "a", encoding="utf-8") as out:
        out.write(f"{word}\n")
    show = [MESH, "page", "show", os.path.basename(file).removesuffix(".md"), "--home", home]
    sidecars.until("the save is in the page", lambda: word.encode() in ran(show)[1])


def _files(folder: str) -> list[str]:
    return sorted(glob.glob(os.path.join(folder, "*.md")))


def _children(pid: int) -> list[int]:
    """The processes a process has started; none where the system does not say."""
    found: list[int] = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with open(path, encoding="ascii") as file:
            found += map(int, file.read().split())
    return found
