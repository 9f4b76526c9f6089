"""`pages`: a page's save seen elsewhere, a page of many edits opened and edited, its past, and what all of it holds; beside raw pycrdt."""

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

from bench import page_memory, page_opening, page_saves, raw_document
from bench.page_histories import KINDS, SCATTERED
from bench.page_homes import NAME, one_page
from bench.processes import MESH, ROOT, Measures, in_turn, side, timed
from bench.quantiles import MS, quantile
from bench.table import Goal, Report, say

_SIZES = (1000, 100_000)
_GOAL = Goal(100, most=True)  # for a page of 100,000 edits
_EDITS = 20
_PAST_ROUNDS = 3
_PAST_SECONDS = 20.0  # one that takes longer is ended


def run(work: str, rounds: int) -> Report:
    """Saves between two sidecars; then each kind and size of history; then memory."""
    report = Report("pages", "raw pycrdt", second="git")
    folder = os.path.join(work, "pages")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    page_saves.measure(report, folder)
    for kind in KINDS:
        for size in _SIZES:
            _Page(report, work, folder, kind, size).measure(rounds)
    page_memory.measure(report, work, {kind: _state(folder, kind, max(_SIZES)) for kind in KINDS}, max(_SIZES))
    shutil.rmtree(folder, ignore_errors=True)
    report.notes += [
        (
            f"typed: letter by letter in runs of 8 to 80 at one place, 8 % taken back; {SCATTERED}: words put anywhere and a quarter of"
            " the edits deletions; by three authors, who in a tenth of their sittings see nothing of each other; written down as"
            " updates without pycrdt, and pycrdt has to make the same text of them"
        ),
        (
            f"open and read: medians of {rounds} processes that take turns, from the home's folder (for pycrdt: a file with the whole state)"
            " to the text; starting Python and loading modules is in the commands alone; edits: medians of"
            f" {_EDITS}, ours redacted, signed and synced, with a look at the text afterwards on both sides"
        ),
        "from nothing: every operation read, ruled upon and applied by the worker, and the result kept; pycrdt only applies",
    ]
    return report


class _Page:
    """The rows of one page of so many edits."""

    def __init__(self, report: Report, work: str, folder: str, kind: str, size: int) -> None:
        self._report, self._head = report, f"{size:>7,} {kind:<9}"
        self._goal = _GOAL if size == max(_SIZES) else None
        self._source = one_page(work, kind, size)
        self._kind, self._size = kind, size
        self._state = _state(folder, kind, size)
        self._home = self._source.copy(os.path.join(folder, f"{kind}-{size}"))

    def measure(self, rounds: int) -> None:
        say(f"a page of {self._size:,} edits, {self._kind}")
        whole = side(raw_document.apply_all, kind=self._kind, edits=self._size, path=self._state)
        first = side(page_opening.read, home=self._home)
        if (first["chars"], first["troubles"]) != (whole["chars"], 0):
            raise RuntimeError(f"{first['chars']} characters were read, not {whole['chars']}")
        self._add("first read, from nothing", "ms", first["seconds"] * MS, whole["seconds"] * MS)
        disk = page_opening.sizes(self._home)
        self._open(rounds)
        self._edit()
        self._past(whole["half_seconds"] * MS)
        used = (disk["used"] - self._source.empty_bytes) / self._size
        self._add("disk, all in all, an edit", "bytes", used, whole["update_bytes"] / self._size)
        self._add("of that, text and state", "bytes", disk["kept"] / self._size, whole["state_bytes"] / self._size)

    def _open(self, rounds: int) -> None:
        ways = {
            "show": partial(side, page_opening.read, home=self._home),
            "warm": partial(side, page_opening.open_to_edit, home=self._home, warm=True),
            "cold": partial(side, page_opening.open_to_edit, home=self._home, warm=False),
            "raw": partial(side, raw_document.open_state, path=self._state),
        }
        taken = in_turn({name: partial(_seconds, way) for name, way in ways.items()}, rounds)
        raw = taken["raw"].wall
        self._add("open to show", "ms", taken["show"].wall, raw, self._goal)
        self._add("open to edit, worker running", "ms", taken["warm"].wall, raw, self._goal)
        self._add("open to edit, worker started for it", "ms", taken["cold"].wall, raw, self._goal)

    def _edit(self) -> None:
        ours = side(page_opening.edit, home=self._home, count=_EDITS)
        raw = side(raw_document.edit_state, path=self._state, count=_EDITS)["seconds"]
        self._add("one edit, durable, p50", "ms", quantile(ours["seconds"], 0.5) * MS, quantile(raw, 0.5) * MS)
        self._add("the first edit, which opens it", "ms", ours["first"] * MS)

    def _past(self, half_ms: float) -> None:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._source.middle_ms / 1000))
        ways: dict[str, tuple[Sequence[str], float | None]] = {
            "`mesh page show`": (["show", NAME], None),
            "`mesh page show --at` the middle": (["show", NAME, "--at", at], half_ms),
            "`mesh page history`": (["history", NAME], None),
            "`mesh page show --conflicts`": (["show", NAME, "--conflicts"], None),
        }
        bare = statistics.median(timed([sys.executable, "-c", "pass"]) for _ in range(_PAST_ROUNDS))
        self._report.notes.append(f"{self._head.strip()}: `python -c pass` took {bare * MS:.0f} ms beside the commands")
        for what, (words, peer) in ways.items():
            self._add(what, "ms", self._command(words), peer)

    def _command(self, words: Sequence[str]) -> float | None:
        found = []
        for _ in range(_PAST_ROUNDS):
            begin = time.perf_counter()
            command = [MESH, "page", *words, "--home", self._home]
            try:
                done = subprocess.run(command, capture_output=True, check=False, cwd=ROOT, timeout=_PAST_SECONDS)
            except subprocess.TimeoutExpired:
                self._report.notes.append(
                    f"{self._head.strip()}: `mesh page {words[0]} {words[-1]}` was ended after {_PAST_SECONDS:g} s"
                )
                return None
            if done.returncode:
                raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode(errors='replace')}")
            found.append(time.perf_counter() - begin)
            if found[0] > 1:
                break
        return statistics.median(found) * MS

    def _add(
        self, what: str, unit: str, ours: float | None, peer: float | None = None, goal: Goal | None = None
    ) -> None:
        self._report.add(f"{self._head}  {what}", unit, ours, peer, goal)


def _state(folder: str, kind: str, size: int) -> str:
    """Where the whole state of a document of pycrdt lies."""
    return os.path.join(folder, f"{kind}-{size}.state")


def _seconds(measure: Callable[[], Measures]) -> float:
    return float(measure()["seconds"])
