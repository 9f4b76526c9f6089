"""Sessions whose hooks are bound to one repository (`mesh hook --repo`): what is learned from them goes under it, wherever they work.

One file in the home, to which hooks append and which the harvester reads: a session, a tab, its repository. The last line counts.
"""

from __future__ import annotations

import os

from clan_learnings.repository.git_config import read_text

FILE = "bound-sessions"
_LIST_BYTES = 16 * 1024 * 1024  # some hundred thousand sessions


def bind(home: str, session: str, repo: str) -> None:
    """Note it, unless it is noted. Raises OSError if that cannot be done."""
    if bound_sessions(home).get(session) == repo:
        return
    path = os.path.join(home, FILE)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        line = f"{session}\t{repo}\n".encode("utf-8", "surrogateescape")
        if os.fstat(descriptor).st_size + len(line) > _LIST_BYTES:
            raise OSError(f"{path} has its {_LIST_BYTES} bytes: the session is not bound for the harvester")
        os.write(descriptor, line)  # in one piece: other hooks append at the same time
    finally:
        os.close(descriptor)


def bound_sessions(home: str) -> dict[str, str]:
    """The repository of every session that was bound."""
    text = read_text(os.path.join(home, FILE), _LIST_BYTES) or ""
    found = {}
    for line in text.split("\n")[:-1]:  # the last may be cut by a full disk
        session, tab, repo = line.partition("\t")
        if tab and session and repo:
            found[session] = repo
    return found
