"""`cli`: everyday commands, cold, beside the bare interpreter. The installed script, as an agent runs it."""

import statistics
import sys

from bench.homes import source
from bench.processes import MESH, timed
from bench.table import Goal, Report, say

_SMALL = 1000
_COMMANDS: dict[str, tuple[list[str], Goal | None]] = {
    "mesh tail": (["tail"], Goal(3, most=True, ratio=True)),
    "mesh op add, durable": (
        ["op", "add", "discoveries", "HTTP 405 on push means branch protection"],
        Goal(6, most=True, ratio=True),
    ),
    "mesh status": (["status"], None),
}


def run(work: str, records: int, repeat: int) -> Report:
    """Every command once a round, at both sizes, so that a slow moment is everyone's."""
    report = Report("cli", "python -c pass")
    bare = [sys.executable, "-c", "pass"]
    lines: dict[str, tuple[list[str], Goal | None]] = {}
    for size in dict.fromkeys((_SMALL, records)):
        home = source(work, size).home
        for what, (words, goal) in _COMMANDS.items():
            lines[f"{size:>9,}  {what}"] = ([MESH, *words, "--home", home], goal)
    say(f"running {len(lines)} commands, {repeat} times each")
    taken: dict[str, list[float]] = {what: [] for what in ("", *lines)}
    for number in range(repeat + 1):
        for what, (words, _) in {"": (bare, None), **lines}.items():
            seconds = timed(words)
            if number:  # the first round warms caches
                taken[what].append(1000 * seconds)
    medians = {what: statistics.median(values) for what, values in taken.items()}
    for what, (_, goal) in lines.items():
        report.add(what, "ms", medians[what], medians[""], goal)
    for command in _COMMANDS:
        small, large = (medians[f"{size:>9,}  {command}"] for size in (_SMALL, records))
        report.add(f"{command}: {records:,} over {_SMALL:,} records", "x", large / small)
    report.notes.append(f"medians of {repeat} interleaved rounds; same interpreter")
    return report
