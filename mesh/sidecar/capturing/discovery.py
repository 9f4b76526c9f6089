"""Which files a run of capturing or sampling looks at: those given, or where agents keep theirs. Reads none of them."""

import os
from collections.abc import Iterator, Mapping, Sequence

from clan_learnings.capture.places import AGENTS, Found, files_below, look_at, places, sessions_in
from mesh.core.errors import UsageError


def discover(paths: Sequence[str], agent: str, since_ms: int, environ: Mapping[str, str]) -> Iterator[Found]:
    """Files to look at, each once. A path that was given may be anybody's; what is found by itself is our own only."""
    seen: set[tuple[int, int]] = set()
    for found in _given(paths) if paths else _kept(agent, environ):
        place = (found.device, found.inode)
        if found.mtime_ns >= since_ms * 1_000_000 and place not in seen:
            seen.add(place)
            yield found


def refuse_unknown(agent: str) -> None:
    """Raise if there is no such agent."""
    if agent and agent not in AGENTS:
        raise UsageError(f"there is no agent {agent!r} here", f"one of these: {', '.join(AGENTS)}")


def refuse_missing(paths: Sequence[str]) -> None:
    """Raise if a path leads nowhere, or to what is neither a file nor a folder."""
    for path in paths:
        if not os.path.exists(path):
            raise UsageError(f"{path} is not there", f"look: ls -la {os.path.dirname(os.path.abspath(path))}")
        if not os.path.isfile(path) and not os.path.isdir(path):
            raise UsageError(f"{path} is neither a file nor a folder", "name a transcript, or a folder of them")


def _given(paths: Sequence[str]) -> Iterator[Found]:
    for path in paths:
        real = os.path.realpath(path)
        if os.path.isdir(real):
            yield from files_below(real, is_own_only=False)
        else:
            found = look_at(real, is_own_only=False)
            if found is not None:
                yield found


def _kept(agent: str, environ: Mapping[str, str]) -> Iterator[Found]:
    for place in places(environ):
        if not agent or place.agent == agent:
            yield from sessions_in(place)
