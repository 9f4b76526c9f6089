"""`cli`: everyday commands without a node, cold, beside the bare interpreter. The installed script, as an agent runs it."""

import sys
from functools import partial

from bench.homes import source
from bench.processes import MESH, in_turn, timed
from bench.table import Goal, Report, say

_SMALL = 1000
_COMMANDS: dict[str, tuple[list[str], Goal | None]] = {
    "mesh tail": (["tail"], Goal(15, most=True, ratio=True)),
    "mesh op add, durable": (
        ["op", "add", "discoveries", "HTTP 405 on push means branch protection"],
        Goal(18, most=True, ratio=True),
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
    commands = {"": bare, **{what: words for what, (words, _) in lines.items()}}
    taken = in_turn({what: partial(timed, words) for what, words in commands.items()}, repeat)
    medians = {what: found.wall for what, found in taken.items()}
    for what, (_, goal) in lines.items():
        report.add(what, "ms", medians[what], medians[""], goal)
    for command in _COMMANDS:
        small, large = (medians[f"{size:>9,}  {command}"] for size in (_SMALL, records))
        report.add(f"{command}: {records:,} over {_SMALL:,} records", "x", large / small)
    report.notes.append(f"medians of {repeat} interleaved rounds; same interpreter")
    return report
