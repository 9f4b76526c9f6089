"""A session of OpenCode as it lies on the disk, a file a message and a file a part, put together as `opencode export` does it.

Reads files, judges nothing. What comes out is a transcript like any other: whoever captures it redacts it first.
"""

import json
import os
import re
from typing import Any

from clan_learnings.capture.json_text import parsed
from clan_learnings.capture.source import BYTES, Source
from clan_learnings.capture.values import object_of, text_of

_ID = re.compile(r"(?:ses|msg|prt)_[A-Za-z0-9]{1,64}")
_FILES = 200_000  # of one session


def assembled(path: str) -> bytes | None:
    """The session whose head is the file `storage/session/PROJECT/ID.json`; None if it is no such file, or has no messages."""
    sessions = os.path.dirname(os.path.dirname(path))
    if os.path.basename(sessions) != "session":
        return None
    storage, info = os.path.dirname(sessions), _object(os.path.dirname(path), os.path.basename(path))
    name = text_of(info.get("id"))
    if not _ID.fullmatch(name):
        return None
    messages: list[dict[str, Any]] = []
    size = files = 0
    for message in _named(os.path.join(storage, "message", name)):
        about = _object(os.path.join(storage, "message", name), f"{message}.json")
        folder = os.path.join(storage, "part", message)
        parts = []
        for part in _named(folder):
            files += 1
            size += _size(os.path.join(folder, f"{part}.json"))
            if files > _FILES or size > BYTES // 2:
                return None
            parts.append(_object(folder, f"{part}.json"))
        messages.append({"info": about, "parts": parts})
    return json.dumps({"info": info, "messages": messages}, indent=1).encode() if messages else None


def _named(folder: str) -> list[str]:
    """The ids of a folder's files, in the order in which OpenCode gave them."""
    if os.path.islink(folder):
        return []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(
        stem for name in names if name.endswith(".json") and _ID.fullmatch(stem := name.removesuffix(".json"))
    )


def _object(folder: str, name: str) -> dict[str, Any]:
    data = Source(b"", os.path.join(folder, "-")).beside(name) or b""
    return object_of(parsed(data.decode("utf-8", "replace")))


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
