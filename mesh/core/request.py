"""What identifies a write that may be repeated or take several routes: an id, and what was said. Pure: callers make up new ids.

The receipts that go with it are kept in `mesh.store.receipts`.
"""

from __future__ import annotations

from mesh.core.errors import UsageError
from mesh.core.ids import digest
from mesh.core.tuples import NamedTuple

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KEPT_SECONDS = 30 * 86_400
ID_BYTES = 16  # of randomness, where we make one up
_LEAST_CHARS, _MOST_CHARS = 8, 64
_SIGNS = str.maketrans("", "", "-_.")


class Request(NamedTuple):
    """One wish to write something. A repetition has the same id and the same content."""

    id: str
    content: bytes  # see `content_of`
    seconds: int = KEPT_SECONDS  # how long its receipt is kept


def content_of(kind: str, words: Mapping[str, Any]) -> bytes:
    """A digest of what was said. An empty value is the same as none. Surroundings do not belong in it:

    the sidecar and the command find them out in different ways.
    """
    said = sorted((name, value) for name, value in words.items() if not _is_nothing(value))
    return digest(ascii([kind, said]).encode())


def _is_nothing(value: object) -> bool:
    return value is None or value is False or value in ("", [])  # not 0, which is a number


def checked_id(text: str) -> str:
    """An id as a script may choose one."""
    allowed = text.isascii() and text.translate(_SIGNS).isalnum()
    if not allowed or not _LEAST_CHARS <= len(text) <= _MOST_CHARS:
        raise UsageError(
            f"{text[:80]!r} cannot be a request id",
            f"{_LEAST_CHARS} to {_MOST_CHARS} letters, digits and - _ . , a new one for each request: $(uuidgen)",
        )
    return text
