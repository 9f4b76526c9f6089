"""The random id of a repository without a remote, kept in git's configuration. Makes no id, and knows no repository.

The file is git's: it is locked as git locks it, and only ever gets two lines more.
"""

from __future__ import annotations

import os
import time

from clan_learnings import git_config

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from clan_learnings.git_config import Entry

_SECTION, _KEY = "clan-mesh", "id"
_CHARS = 64
_TRIES, _WAIT_SECONDS = 100, 0.01


def written(entries: list[Entry]) -> str:
    """The id in a configuration; empty if there is none."""
    ids = [value for section, _, key, value in entries if section == _SECTION and key == _KEY]
    return ids[-1] if ids and ids[-1].isalnum() and ids[-1].isascii() and len(ids[-1]) <= _CHARS else ""


def write(config: str, made: str) -> str:
    """The id in a configuration file, put there if there is none; empty if it cannot be."""
    config = os.path.realpath(config)
    for _ in range(_TRIES):
        found = _read(config)
        if found:
            return found
        try:
            return _append(config, made)
        except FileExistsError:
            time.sleep(_WAIT_SECONDS)  # git, or another command of ours, holds the lock
        except OSError:
            return ""
    return ""


def _read(config: str) -> str:
    text = git_config.read_text(config)
    return "" if text is None else written(git_config.parse(text))


def _append(config: str, made: str) -> str:
    status = os.stat(config)
    mode = status.st_mode & 0o777
    if not mode & 0o222:
        return ""
    lock = config + ".lock"
    descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    ours = True  # the lock, until it has become the file: then the next one is another's
    try:
        found = _read(config)  # once more, now that nobody else can write
        text = "" if found else _with_id(config, made)
        if text:
            if os.geteuid() == 0:
                os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, mode)
            with open(descriptor, "wb", closefd=False) as file:
                file.write(text.encode("utf-8", "surrogateescape"))
            os.rename(lock, config)
            ours = False
            return made
    finally:
        os.close(descriptor)
        if ours:
            os.unlink(lock)
    return found


def _with_id(config: str, made: str) -> str:
    """The file's text with the id; empty if git would not find it there, behind something broken."""
    text = git_config.read_text(config)
    if text is None:
        return ""
    start = "" if not text or text.endswith("\n") else "\n"
    text += f"{start}[{_SECTION}]\n\t{_KEY} = {made}\n"
    return text if written(git_config.parse(text)) == made else ""
