"""The log of hooks that failed: one line a problem, in the home, or in the temporary folder if there is no home to write to.

Secrets are taken out first, as texts come from anywhere. At most two files of a megabyte each.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from clan_learnings.records import spool
from clan_learnings.redaction import redact
from mesh.core.display import harmless_line

NAME = "hook.log"
_BYTES = 1024 * 1024
_LINE_CHARS = 1000


def log(home: str, event: str, problems: Sequence[str], environ: Mapping[str, str] = os.environ) -> None:
    """Note the problems of one event where they can be noted. `home`: empty, if it must not be touched."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    text = "".join(f"{now} {_line(event)}: {_line(redact(problem).text)}\n" for problem in problems)
    if home and os.path.isdir(home) and _written(os.path.join(home, NAME), text):
        return
    for folder in spool.own_folders(environ):
        if _written(os.path.join(folder, NAME), text):
            return


def _line(text: str) -> str:

    return harmless_line(text[:_LINE_CHARS])


def _written(path: str, text: str) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, text.encode("utf-8", "replace"))
            is_full = os.fstat(descriptor).st_size > _BYTES
        finally:
            os.close(descriptor)
        if is_full:
            os.rename(path, f"{path}.1")
    except OSError:
        return False
    return True
