"""What a run of capturing did, for people and for `--json`. Counts only."""

from collections import Counter
from typing import Any


class Report:
    """Counts of one run."""

    def __init__(self) -> None:
        self.discovered = 0
        self.ingested = 0
        self.continued = 0  # of those ingested, files that grew
        self.unchanged = 0
        self.copies = 0
        self.forgotten = 0
        self.sessions = 0
        self.items = 0
        self.bytes = 0  # of transcripts that were read
        self.skipped: Counter[str] = Counter()  # why
        self.inside: Counter[str] = Counter()  # what was not understood in files that were taken in: why
        self.skips: list[tuple[str, str]] = []  # the first files that were skipped: path, why
        self.failed: Counter[str] = Counter()
        self.failures: list[tuple[str, str]] = []  # the first ones: path, why
        self.flavours: Counter[str] = Counter()
        self.dropped = 0
        self.lost = 0
        self.is_dry = False
        self.is_cut = False  # stopped before the end

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "discovered": self.discovered,
            "ingested": self.ingested,
            "continued": self.continued,
            "unchanged": self.unchanged,
            "copies": self.copies,
            "forgotten": self.forgotten,
            "skipped": dict(self.skipped),
            "skips": [{"path": path, "why": why} for path, why in self.skips],
            "inside": dict(self.inside),
            "failed": dict(self.failed),
            "failures": [{"path": path, "why": why} for path, why in self.failures],
            "flavours": dict(self.flavours),
            "sessions": self.sessions,
            "items": self.items,
            "bytes": self.bytes,
            "dropped": self.dropped,
            "lost": self.lost,
            "dry_run": self.is_dry,
        }
