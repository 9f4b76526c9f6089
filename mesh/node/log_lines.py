"""Structured logs: one line per event, `time level logger message key=value ...`, to stderr or to a rotated file.

Errors carry what others wrote and what the system says: no line leaves without its secrets taken out, and agents read logs
too: nothing in a line is more than text.
"""

import logging
import logging.handlers
import sys
import time

from clan_learnings.redaction import redact
from mesh.core.display import harmless

SIDECAR_LOG = "sidecar.log"  # in the home
_BYTES, FILES = 5_000_000, 3  # of each, and how many older ones are kept


class _LineFormatter(logging.Formatter):
    """UTC times; whatever comes from elsewhere cannot begin a line of its own."""

    converter = time.gmtime  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s %(message)s", "%Y-%m-%dT%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        text = redact(super().format(record)).text
        first, *rest = harmless(text).split("\n")
        return "\n".join([first, *(f"    {line}" for line in rest)])


def start_logs(file: str | None, level: int = logging.INFO) -> None:
    """Log to a file, for a sidecar in the background, or to stderr."""
    handler: logging.Handler
    if file is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        handler = logging.handlers.RotatingFileHandler(file, maxBytes=_BYTES, backupCount=FILES, encoding="utf-8")
    handler.setFormatter(_LineFormatter())
    logging.basicConfig(level=level, handlers=[handler])
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # a peer's broken TLS is no news of ours
