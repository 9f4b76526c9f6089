"""The rows of the catalogue as values: a file and its state, what was read of it, and its sessions. No tables here."""

from typing import Any, NamedTuple

TAKEN, COPY, SKIPPED, FAILED, FORGOTTEN = "taken", "copy", "skipped", "failed", "forgotten"
MOVED_ON = "moved on"  # another process was at the same file meanwhile: nothing was done


class FileLook(NamedTuple):
    """Identity, size and time of a file. If these are equal, the file has not changed."""

    device: int
    inode: int
    size: int
    mtime_ns: int


class KnownFile(NamedTuple):
    """A file as it was last read."""

    file: int
    look: FileLook
    cursor: int  # bytes that were read, in whole lines: what follows is read next time
    lines: int  # of those
    hash: bytes  # of those
    state: str
    why: str
    flavour: str
    rules: int
    segments: int  # of its body on disk


class CapturedSession(NamedTuple):
    """A session, as one file has it."""

    key: str  # of this transcript: equal in every copy of it
    name: str  # as records name the session: that of the parent for a subagent or a fork
    weight: int  # of two files that tell the same, the one with more of it counts
    facts: dict[str, Any]  # what sampling wants to know
    digest: dict[str, Any]
    items: list[dict[str, Any]]


class CapturedFile(NamedTuple):
    """What was read of a file, ready to be kept."""

    path: str
    look: FileLook
    cursor: int
    lines: int
    hash: bytes
    state: str
    why: str
    flavour: str
    rules: int
    segment: bytes | None  # cleaned; None: there is nothing to keep
    first_line: int  # of the segment; 1: it is the whole, and takes the place of all before it
    is_analysed: bool
    is_continued: bool  # what was kept of the file before is the beginning of what it is now
    sessions: list[CapturedSession]
    known: KnownFile | None  # what the reader went by


class DigestRow(NamedTuple):
    """A session's digest, and what was found in it."""

    number: int  # only grows: a session that grew gets a new one
    session: str  # as records name it
    digest: dict[str, Any]
    items: list[dict[str, Any]]
    key: str  # of this transcript: an earlier number of the same key is void
    path: str


class KeptBody(NamedTuple):
    """The raw body of one file, all segments together."""

    file: int
    packed_bytes: int
    is_analysed: bool
    at_ms: int  # when the session was last written


class CatalogueCounts(NamedTuple):
    """How full the catalogue is."""

    files: dict[str, int]  # by state
    sessions: int
    bodies: int
    body_bytes: int
    unanalysed: int
    lost: int  # bodies that went before they were analysed
    forgotten: int
