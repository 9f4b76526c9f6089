"""What a caller said of a write, and the request that makes of it: the same for the sidecar, the command and the queue. Opens nothing.

Text goes its ways with its secrets or without them, so it is compared without.
"""

from __future__ import annotations

import os

from clan_learnings.records.notebook import REQUIRED
from clan_learnings.records.record import About
from clan_learnings.redaction.text_cleaner import TextCleaner
from mesh.app.caller import SHARED
from mesh.core.draft import ID_BYTES, KEPT_SECONDS, Request, checked_id, content_of
from mesh.core.ids import digest

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

WORDS = ("text", "anyway", "wrong", "right", "pattern", "source")


def words_of(told: Mapping[str, Any], pen: TextCleaner) -> dict[str, Any]:
    """The words of a record, cleaned."""
    words = {name: told[name] for name in WORDS if name in told}
    for name, (what, example) in REQUIRED.items():
        if name in words:
            words[name] = pen.sentence(words[name], what, example)
    return words


def identified(told: dict[str, Any], retry_seconds: int) -> dict[str, Any]:
    """What was told, with a request id: a new one, if it came with none and is not to be known by what it says."""
    if told.get("request_id") or retry_seconds:
        return told
    return told | {"request_id": os.urandom(ID_BYTES).hex()}


def request_of(kind: str, told: Mapping[str, Any], about: About, retry_seconds: int) -> Request:
    """The request that this is: by its id, else by what it says: the same within `retry_seconds` is the same one."""
    pen = TextCleaner()  # what it finds was found, or will be, by who writes
    facts = pen.about(About(**{name: getattr(about, name) for name in SHARED}))
    content = content_of(kind, words_of(told, pen) | facts.fields())
    if told.get("request_id"):
        return Request(checked_id(told["request_id"]), content, told.get("request_seconds") or KEPT_SECONDS)
    place = ascii([about.session, about.repo]).encode()
    return Request(digest(place + content).hex(), content, retry_seconds)


def fields_of(request: Request) -> dict[str, Any]:
    """A request as it is handed on."""
    brief = {"request_seconds": request.seconds} if request.seconds != KEPT_SECONDS else {}
    return {"request_id": request.id} | brief
