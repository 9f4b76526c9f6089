"""`capture`: `mesh sample`, `mesh capture` and `mesh harvest` over many made sessions, as whole processes; what a kill -9 costs; memory.

Beside sampling: a sampler that guesses counts from sizes and looks at the last 8 KB only, if its path is given. It takes
`--sessions-dir DIR --count N`.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from bench.capture_sessions import make
from bench.machine import MB
from bench.processes import MESH
from bench.table import Goal, Report, say
from clan_learnings.harvest.candidate_table import CandidateTable, has_candidates
from clan_learnings.harvest.intake import READ

_ROUNDS = 3
_MOST_MB = 200
_SAMPLE = 100


def run(work: str, sessions: int, sampler: str, scale: float) -> Report:
    """Sampling in turns with its peer, then capturing and harvesting, each killed once on the way."""
    folder = os.path.join(work, f"capture-{sessions}-{scale:g}", "sessions")
    if not os.path.isdir(folder):
        say(f"making {sessions:,} sessions")
        make(folder, sessions, scale)
    total = sum(entry.stat().st_size for entry in os.scandir(folder))
    home = os.path.join(work, "capture-home")
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([MESH, "init", "--home", home], check=True, capture_output=True)
    report = Report("capture", "sampler that guesses" if sampler else "")
    _sample(report, home, folder, sessions, sampler)
    _capture(report, home, folder, sessions, total)
    _harvest(report, home, folder, sessions)
    report.notes.append(
        f"{sessions:,} sessions of four flavours, {total / MB:,.0f} MB, half of them small; caches of the disk are warm"
    )
    if not sampler:
        report.notes.append("no sampler beside it: give its path with --sampler FILE")
    return report


def _sample(report: Report, home: str, folder: str, sessions: int, sampler: str) -> None:
    cold, warm, peer, memory = [], [], [], 0.0
    for number in range(_ROUNDS):
        say(f"sampling, round {number + 1} of {_ROUNDS}")
        if sampler:
            peer.append(_timed([sys.executable, sampler, "--sessions-dir", folder, "--count", str(_SAMPLE)])[0])
        shutil.rmtree(os.path.join(home, "capture"), ignore_errors=True)
        command = [MESH, "sample", folder, "--count", str(_SAMPLE), "--home", home, "--json"]
        seconds, used, answer = _timed(command)
        assert json.loads(answer)["sessions"] == sessions
        cold.append(seconds)
        memory = max(memory, used)
        warm.append(_timed(command)[0])
    beside = min(peer) if peer else None
    goal = Goal(1, most=True, ratio=True) if peer else None
    report.add(f"{sessions:>7,}  `mesh sample`, nothing known yet, best of {_ROUNDS}", "s", min(cold), beside, goal)
    report.add(f"{sessions:>7,}  `mesh sample`, counts remembered, best of {_ROUNDS}", "s", min(warm), beside, goal)
    report.add(f"{sessions:>7,}  memory of `mesh sample`, all processes", "MB", memory, None, Goal(_MOST_MB, most=True))


def _capture(report: Report, home: str, folder: str, sessions: int, total: int) -> None:
    shutil.rmtree(os.path.join(home, "capture"), ignore_errors=True)
    command = [MESH, "capture", folder, "--home", home, "--json"]
    say("capturing, killed on the way")
    killed = _killed(command, lambda: _kept(home) >= sessions // 4)
    before = _kept(home)
    say(f"killed with {before:,} sessions kept; capturing the rest")
    seconds, used, answer = _timed(command)
    done = json.loads(answer)
    report.add(f"{sessions:>7,}  `mesh capture`, killed once and finished", "s", killed + seconds)
    report.add(f"{sessions:>7,}  the same", "MB/s", total / MB / (killed + seconds))
    report.add(f"{sessions:>7,}  memory of `mesh capture`, all processes", "MB", used, None, Goal(_MOST_MB, most=True))
    again, _, answer = _timed(command)
    report.add(f"{sessions:>7,}  `mesh capture` once more, nothing new", "s", again)
    status = json.loads(_timed([MESH, "capture", "--status", "--home", home, "--json"])[2])["kept"]
    assert json.loads(answer)["unchanged"] == sessions
    report.add(f"{sessions:>7,}  sessions in the catalogue", "", status["sessions"], sessions)
    report.add(f"{sessions:>7,}  bodies on disk, packed", "MB", status["body_bytes"] / MB)
    report.notes.append(
        f"killed with {before:,} sessions kept; the next run found {done['unchanged']:,} unchanged, took {done['ingested']:,}, failed {sum(done['failed'].values()):,}"
    )


def _harvest(report: Report, home: str, folder: str, sessions: int) -> None:
    """What was captured is judged for the first time. By the processor's clock: the disk is asked once a page only."""
    command = [MESH, "harvest", folder, "--home", home, "--json"]
    say("harvesting, killed on the way")
    began = _processor_seconds()
    _killed(command, lambda: _judged(home) >= sessions // 4)
    before = _judged(home)
    say(f"killed with {before:,} sessions judged; harvesting the rest")
    _, used, answer = _timed(command)
    seconds = _processor_seconds() - began
    done = json.loads(answer)
    goal = Goal(60 * sessions / 20_000, most=True)
    report.add(f"{sessions:>7,}  first `mesh harvest`, killed once and finished, processor", "s", seconds, None, goal)
    report.add(f"{sessions:>7,}  memory of `mesh harvest`", "MB", used, None, Goal(_MOST_MB, most=True))
    began = _processor_seconds()
    _timed(command)
    report.add(f"{sessions:>7,}  `mesh harvest` once more, nothing new, processor", "s", _processor_seconds() - began)
    with CandidateTable(home) as kept:
        candidates = sum(kept.counts().values())
    assert before + done["sessions"] == sessions
    report.notes.append(
        f"killed with {before:,} sessions judged; the next run judged {done['sessions']:,}; {candidates:,} candidates in all"
    )


def _killed(command: list[str], is_time: Callable[[], bool]) -> float:
    """How long a command ran until it was killed with -9."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    while not is_time() and process.poll() is None:
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return time.monotonic() - began


def _judged(home: str) -> int:
    """Sessions that harvesting is done with."""
    if not has_candidates(home):
        return 0
    with CandidateTable(home) as kept:
        return kept.progress(READ)


def _processor_seconds() -> float:
    """Of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _kept(home: str) -> int:
    """Bodies on disk, without asking anybody."""
    folder = os.path.join(home, "capture", "bodies")
    return sum(len(files) for _, _, files in os.walk(folder))


def _timed(command: list[str]) -> tuple[float, float, str]:
    """How long a command takes, what it and its helpers hold at most in MB, and what it prints."""
    with tempfile.TemporaryFile() as printed:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=printed, stderr=subprocess.DEVNULL)
        most = 0.0
        while process.poll() is None:
            most = max(most, sum(map(_resident, [process.pid, *_children(process.pid)])))
            time.sleep(0.05)
        seconds = time.monotonic() - began
        assert process.returncode == 0, f"{command} ended with {process.returncode}"
        printed.seek(0)
        return seconds, most / MB, printed.read().decode()


def _children(process: int) -> list[int]:
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="utf-8") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _resident(process: int) -> float:
    """Bytes of a process that no other process shares with it, and its part of what is shared."""
    try:
        with open(f"/proc/{process}/smaps_rollup", encoding="utf-8") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0
