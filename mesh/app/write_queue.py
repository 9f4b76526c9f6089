"""A write that cannot reach the store: handed to the sidecar, else left in a queue that the next hook takes in.

An agent's shell may be in a sandbox that reaches neither the home nor any socket. What is only queued is never called done.
"""

from __future__ import annotations

import os

from mesh.app.client import is_older
from mesh.core.errors import HomePermissions, MeshError, UsageError

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mesh.core.errors import HomeError


def hand_over(
    home: str, kind: str, arguments: Mapping[str, Any], error: HomeError, bound: str | None = None
) -> dict[str, Any]:
    """Another way for a write. `arguments`: complete, because whoever writes it will be somewhere else.

    `bound`: the only repository of which the sidecar may tell something in its answer; None: any.

    The request id among them: if the sidecar does not answer in time, it may write what is then queued, too.
    """
    from mesh.app.node_api import ask

    try:
        told = dict(arguments) if bound is None else {**arguments, "bound": bound}
        answer: dict[str, Any] = ask(home, "POST", f"/{kind}", told)
    except MeshError as problem:
        if isinstance(problem, UsageError) and not is_older(str(problem)):
            raise  # the sidecar has read it, and says what is wrong with it
        return _queue(home, kind, arguments, error)
    return answer


def _queue(home: str, kind: str, arguments: Mapping[str, Any], error: HomeError) -> dict[str, Any]:
    from clan_learnings.records.spool import queue

    try:
        path = queue(kind, {name: value for name, value in arguments.items() if value not in (None, "", [], ())}, home)
    except OSError as trouble:
        from clan_learnings.agents.surroundings import in_sandbox

        step = "repeat the command outside the sandbox" if in_sandbox(os.environ) else error.next_step
        raise HomePermissions(
            f"{error}; and it cannot be queued either: {trouble}",
            f"{step or 'mend that'}; or let it write to the temporary folder",
        ) from error
    return {"state": "queued", "id": None, "queued_in": path, "because": str(error)}
