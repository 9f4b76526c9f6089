"""What commands print: JSON for machines, plain lines for people. Record text is untrusted and made harmless here."""

from __future__ import annotations

import sys
import time
import unicodedata

from mesh.cli.main import WORKED_ON
from mesh.cli.streams import flush, silence
from mesh.core.ids import text_id

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})  # controls, ANSI's escape, bidi, zero-width


def print_json(value: Any) -> None:
    """One JSON document on stdout; bytes as ids where they are hashes, else as hex."""
    print(_dumps(value))


def plain(value: object, limit: int = 300) -> str:
    """Any text as one harmless line: nothing that moves a cursor, hides or turns around."""
    text = value if isinstance(value, str) else _dumps(value)
    text = "".join(char if unicodedata.category(char) not in _HIDDEN else " " for char in text[: 4 * limit])
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def when(milliseconds: int) -> str:
    """A time as people and machines both read it."""
    seconds, rest = divmod(milliseconds, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:03d}Z"


def tell(text: str) -> None:
    """Words for the person, which are not data: to stderr, after what stdout has. Agents read both in one pipe."""
    flush()
    try:
        print(hinted(text), file=sys.stderr, flush=True)
    except OSError:
        silence()  # Python would try again at the end


def say(text: str) -> None:
    """A line on stdout that may name a command to type."""
    print(hinted(text))


def hinted(text: str) -> str:
    """A text with `--home` in the commands it names, if they would act on another home without it."""
    if not WORKED_ON or "mesh " not in text:
        return text
    from mesh.cli.hints import with_home

    return with_home(text, WORKED_ON[0])


def tell_taken_out(found: str) -> None:
    """Which secrets and private passages a text has lost, by sorts; nothing if it has lost none."""
    if found:
        tell(f"mesh: taken out before it was written: {found}")


class Progress:
    """A counter on a terminal for what takes longer than a second; silent in a pipe."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._count = 0
        self._next = time.monotonic() + 1
        self._shown = False

    def __call__(self, count: int) -> None:
        """Count on, and show it now and then."""
        self._count += count
        if sys.stderr.isatty() and time.monotonic() >= self._next:
            print(f"\r{self._what}: {self._count:,}", end="", file=sys.stderr, flush=True)
            self._next, self._shown = time.monotonic() + 0.2, True

    def done(self) -> None:
        """Leave the line."""
        if self._shown:
            print(file=sys.stderr)


def _dumps(value: Any) -> str:
    import json  # not for `mesh tail`, which mostly prints plain text

    return json.dumps(value, ensure_ascii=False, default=_plain_bytes)


def _plain_bytes(value: Any) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} in JSON")
    return text_id(value) if len(value) == 32 else value.hex()
