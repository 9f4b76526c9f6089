"""What the figures were measured on, and what this process holds of it. Reads the system; changes nothing."""

import contextlib
import importlib.metadata
import os
import platform
import resource
import sys
from typing import Any

import apsw

MB = 1_000_000


def facts() -> dict[str, Any]:
    """The machine and the versions that decide the figures."""
    found: dict[str, Any] = {
        "cpus": os.cpu_count(),
        "cpu": _cpu(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "apsw": apsw.apsw_version(),
        "load": [round(load, 2) for load in os.getloadavg()],
    }
    for name in ("pycrdt", "pycrdt-websocket", "pycrdt-store"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def resident_bytes() -> int:
    """Resident memory of this process now; where the system does not say, the peak."""
    return _status("VmRSS") or peak_bytes()


def process_bytes(pid: int) -> int | None:
    """Resident memory of another process now; None where the system does not say."""
    return _status("VmRSS", str(pid)) or None


def own_bytes(pid: int) -> int | None:
    """What of it is the process's alone; the rest are files, of which the system may take back the memory."""
    return _status("RssAnon", str(pid)) or None


def process_seconds(pid: int) -> float | None:
    """Processor time of another process so far; None where the system does not say."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_bytes() -> int:
    """The most resident memory this process ever had."""
    # Not ru_maxrss where there is better: a child inherits the peak of its parent there.
    unit = 1 if sys.platform == "darwin" else 1024
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def disk_bytes(path: str) -> int:
    """A database on disk, its WAL included."""
    return sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end))


def _status(name: str, pid: str = "self") -> int:
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith(name + ":")), 0)
    except OSError:
        return 0


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return platform.processor()
