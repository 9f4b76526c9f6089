"""How long something may take that waits for a process. A slow machine needs longer: `MESH_PATIENCE` says how many times."""

import os

_MOST = 1000.0


def patience(seconds: float) -> float:
    """So many seconds, or as many times more as the user says."""
    try:
        times = float(os.environ.get("MESH_PATIENCE", "1"))
    except ValueError:
        return seconds
    return seconds * min(times, _MOST) if times > 0 else seconds
