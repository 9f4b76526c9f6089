"""`tail`: `mesh tail` as a whole process, beside the bare interpreter and `tail -20` of the file that is rendered for people."""

import os
import shutil
import sys
from functools import partial

from bench.checkout import checkout
from bench.clan import clan
from bench.processes import MESH, in_turn, timed
from bench.table import Goal, Report, say

_GOAL = Goal(3, most=True, ratio=True)
_SAME = Goal(1.2, most=True)  # a fifth is what medians of one command differ by from run to run
_FILE = "discoveries.jsonl"


def run(work: str, sizes: list[int], rounds: int) -> Report:
    """The smallest and the largest size in turn with the interpreter and with `tail`."""
    report = Report("tail", "python -c pass", second="tail -20")
    plain = shutil.which("tail")
    if plain is None:
        report.notes.append("tail is not installed, so it was not measured")
    ends = sorted({min(sizes), max(sizes)})
    place = checkout(work)
    commands = {"": [sys.executable, "-c", "pass"]}
    for size in ends:
        home = clan(work, size).home
        commands[f"{size} ours"] = [MESH, "tail", "--home", home]
        folder = os.path.join(work, f"rendered-{size}")
        shutil.rmtree(folder, ignore_errors=True)
        place.mesh(["render", folder], home)
        if plain is not None:
            commands[f"{size} plain"] = [plain, "-20", os.path.join(folder, _FILE)]
    say(f"running {len(commands)} commands, {rounds} times each")
    medians = in_turn({what: partial(timed, words) for what, words in commands.items()}, rounds)
    for size in ends:
        ours, bare, theirs = medians[f"{size} ours"], medians[""], medians.get(f"{size} plain")
        second = (None, None) if theirs is None else theirs
        report.add(f"{size:>9,}  mesh tail", "ms", ours.wall, bare.wall, _GOAL, second=second[0])
        report.add(f"{size:>9,}  the same, processor", "ms", ours.processor, bare.processor, second=second[1])
    if len(ends) > 1:
        small, large = (medians[f"{size} ours"].wall for size in ends)
        report.add(f"{ends[1]:,} over {ends[0]:,} records", "x", large / small, None, _SAME)
    report.notes += [
        f"medians of {rounds} interleaved rounds; same interpreter",
        f"`tail -20` reads {_FILE} as `mesh render` has left it: 1,000 lines at most, of one log, as old as the file",
    ]
    return report
