"""What each session has been shown and asked, so that nothing is told twice. Keeps ids, names of patterns and hashes, never a text.

One small file a session, only ever appended to: hooks of one session run at the same time, and none loses another's lines.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from clan_learnings.repository.git_config import read_text
from mesh.core.ids import digest

FOLDER = "seen"  # in the home
_END = ".seen"
_BYTES = 256 * 1024  # about 2,000 lines: more than a session can be shown
_FIELD_CHARS = 200
_KEPT_SECONDS = 30 * 86_400
_SWEPT_FILES = 5000  # looked at in one sweep
_SHOWN, _KNOWN, _COPY = "shown", "known", "copy"
# What else is noted of a session: that it was told something, its first prompt, what it was asked to record, a command that failed.
REMARK, FIRST_PROMPT, REQUEST, FAILURE = "remark", "first", "request", "failure"


class ShownRecords:
    """What one session was shown, and what was HOT when it last looked."""

    def __init__(self, home: str, session: str) -> None:
        self.session = session
        self._path = os.path.join(home, FOLDER, _file_name(session))
        self.lines: set[tuple[str, str, str]] = set()  # mark, pattern, record
        was_there = os.path.lexists(self._path)  # asked first: another hook may be making it now
        text = read_text(self._path, 2 * _BYTES) if session else ""
        # Then it is told nothing more, rather than something twice.
        self.is_full = was_there if text is None else len(text) >= _BYTES
        for line in (text or "").split("\n"):
            fields = line.split("\t")
            if len(fields) == 4:  # anything else was cut by a full disk
                self.lines.add((fields[1], fields[2], fields[3]))
        # Whether it was ever looked up what there is for this session.
        self.is_known = any(mark in (_SHOWN, _KNOWN, _COPY) for mark, _, _ in self.lines)

    @property
    def copied_from(self) -> str:
        """The session that this one was forked from: what it does counts for that one."""
        return next((slug for mark, slug, _ in self.lines if mark == _COPY), "")

    def was_shown(self, slug: str, record: str) -> bool:
        """Whether a record was shown, or the pattern it belongs to. Contexts cite the beginning of an id; `record` is a whole one."""
        slug = _field(slug)
        return any(
            mark == _SHOWN and ((found != "-" and record.startswith(found)) or (slug != "-" and name == slug))
            for mark, name, found in self.lines
        )

    def has(self, record: str) -> bool:
        """Whether a record was there already when this session last looked, shown or not."""
        return any(
            found != "-" and record.startswith(found) and mark in (_KNOWN, _SHOWN) for mark, _, found in self.lines
        )

    def noted(self, mark: str, about: str = "") -> list[str]:
        """What was noted under a mark: of one thing, or of all."""
        return [value for found, name, value in self.lines if found == mark and about in ("", name)]

    def note(self, now_ms: int, mark: str, about: str, value: str) -> None:
        """Note something else than records. Both must be short names: hashes, numbers."""
        self._append(now_ms, [(mark, _field(about), _field(value))])

    def knows(self, slug: str) -> bool:
        """Whether a pattern was HOT already when this session last looked, shown or not."""
        slug = _field(slug)
        return any(name == slug and mark in (_KNOWN, _SHOWN) for mark, name, _ in self.lines)

    def add(
        self,
        now_ms: int,
        *,
        shown: Iterable[tuple[str, str]] = (),
        known: Iterable[tuple[str, str]] = (),
        origin: ShownRecords | None = None,
    ) -> None:
        """Note pairs of pattern and record as shown, or as HOT by now; or all that another session was shown."""
        lines = [(_SHOWN, _field(slug), _field(record)) for slug, record in shown]
        lines += [(_KNOWN, _field(slug), _field(record)) for slug, record in known]
        if origin is not None:
            lines += sorted(line for line in origin.lines if line[0] != _COPY)
            lines.append((_COPY, _field(origin.copied_from or origin.session), "-"))
        if all(line in self.lines for line in lines):
            lines = [] if self.is_known else [(_KNOWN, "-", "-")]  # nothing is known yet; that it has looked is
        self._append(now_ms, lines)
        self.is_known = self.is_known or bool(lines)

    def _append(self, now_ms: int, lines: list[tuple[str, str, str]]) -> None:
        new = [line for line in dict.fromkeys(lines) if line not in self.lines]
        if not self.session or self.is_full or not new:
            return
        self.lines.update(new)
        text = "".join(f"{now_ms}\t{mark}\t{slug}\t{record}\n" for mark, slug, record in new)
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, 0o600)
        try:
            os.write(descriptor, text.encode())  # in one piece, or another hook's lines would stand in between
        finally:
            os.close(descriptor)


def sweep(home: str, now_seconds: float) -> None:
    """Delete the files of sessions that were last active more than a month ago."""
    folder = os.path.join(home, FOLDER)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for name in names[:_SWEPT_FILES]:
        if name.endswith(_END):
            path = os.path.join(folder, name)
            try:
                if now_seconds - os.lstat(path).st_mtime > _KEPT_SECONDS:
                    os.unlink(path)
            except FileNotFoundError:  # another hook sweeps too
                continue


def _file_name(session: str) -> str:
    """A session's file: readable, and never the same as another's."""
    clean = "".join(char if char.isascii() and (char.isalnum() or char in "-.") else "_" for char in session)
    return f"{clean[:80]}-{digest(session.encode('utf-8', 'replace')).hex()[:16]}{_END}"


def _field(text: str) -> str:
    """A name as it can stand in a line of fields."""
    return "".join(char if char.isprintable() else "_" for char in text[:_FIELD_CHARS]) or "-"
