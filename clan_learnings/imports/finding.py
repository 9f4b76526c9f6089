"""A finding: one thing that a source says, and where. And what was passed over, by reason."""

from __future__ import annotations

import os
import stat
from collections import Counter
from typing import NamedTuple

from mesh.core.errors import UsageError

CLAUDE_MD, CLAUDE_MEM, CODEX_MEMORIES = NOTES = ("claude-md", "claude-mem", "codex-memories")
DISCOVERIES, PATTERNS = LINES = ("discoveries", "patterns")

MOST = 2000  # findings of one import; another one goes on where it stopped, as what is known is passed over
LEAST_WORDS = 3
TEXT_CHARS = 600  # of one finding: what is longer is a page
_FILE_BYTES = 1024 * 1024


class Finding(NamedTuple):
    """One thing, in one line."""

    text: str
    place: str  # of the source, for a person: a file and a heading, a number in a database
    line: int
    name: str  # of the source: equal for copies of it in one repository
    folder: str = ""  # where it was true, if that is known
    repo: str = ""  # the same, if it says so by itself
    at_ms: int = 0
    by_person: bool = False


class Imported:
    """All that was found, each once, and what was passed over."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.skipped: Counter[str] = Counter()
        self.read = 0  # files, or rows
        self._texts: set[tuple[str, str]] = set()

    def add(self, finding: Finding) -> None:
        """Take one, unless it says too little, too much, or what another has said."""
        text = " ".join(finding.text.split())
        key = (finding.folder or finding.repo, text.casefold())
        if len(text.split()) < LEAST_WORDS:
            self.skipped["too short to be understood elsewhere"] += 1
        elif len(text) > TEXT_CHARS:
            self.skipped[f"longer than {TEXT_CHARS} characters: that is a page (mesh page)"] += 1
        elif not text.isprintable():
            self.skipped["not plain text"] += 1
        elif key in self._texts:
            self.skipped["said twice"] += 1
        elif len(self.found) >= MOST:
            self.skipped[f"beyond the {MOST:,} of one import"] += 1
        else:
            self._texts.add(key)
            self.found.append(finding._replace(text=text))


def file_bytes(path: str, most: int = _FILE_BYTES) -> bytes:
    """The bytes of a plain file, within a bound. Raises UsageError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UsageError(f"{path} is no plain file", "name a file, or the folder it is in")
            data = file.read(most + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", f"check: ls -l {path}") from error
    if len(data) > most:
        raise UsageError(f"{path} has more than {most // 1024:,} KiB", "split it, and import the parts")
    return data
