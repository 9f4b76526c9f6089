"""One run of capturing: files in, rows and bodies out, each file once. When to run is decided elsewhere.

A file is read, cleaned and analysed; then its body goes to disk, and its digest with it into one transaction. Several files
share a transaction. A run that is killed has lost at most the files of its last batch, which the next run reads again.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from clan_learnings.sessions.analysis import CREW_BYTES, RULES, Analysts, analysed_again, prepared, prepared_by_crew
from clan_learnings.sessions.catalogue_rows import (
    COPY,
    FAILED,
    FORGOTTEN,
    MOVED_ON,
    SKIPPED,
    TAKEN,
    CapturedFile,
    FileLook,
)
from clan_learnings.sessions.catalogue_table import Catalogue
from clan_learnings.sessions.session_folders import SessionFile
from clan_learnings.sessions.worker_processes import CaptureStopped


class CaptureReport:
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


_BATCH_FILES, _BATCH_BYTES, _BATCH_SECONDS = 64, 8 * 1024 * 1024, 2.0
_WORTH_A_CREW = 200  # files
_NAMED = 20  # files that failed or were skipped


def _go_on() -> None:
    """Nobody else is waiting for us."""


class Capture:
    """Takes files into a catalogue."""

    def __init__(
        self,
        catalogue: Catalogue | None,
        analysts: Analysts,
        breathe: Callable[[], None] = _go_on,
        *,
        dry_run: bool = False,
        has_crew: bool = False,
    ) -> None:
        """`breathe` is called often; it may sleep, or raise Stopped. Without a catalogue nothing is known, and nothing kept.

        `has_crew`: other processes, with the real analysts, may help where there is much to do.
        """
        self.report = CaptureReport()
        self.report.is_dry = dry_run
        self._catalogue = catalogue
        self._analysts = analysts
        self._breathe = breathe
        self._has_crew = has_crew
        self._is_dry = dry_run or catalogue is None
        self._batch: list[CapturedFile] = []
        self._batch_bytes = 0
        self._batch_due = 0.0

    def run(self, files: Iterable[SessionFile], progress: Callable[[], None] = _go_on) -> CaptureReport:
        """Take in what is new. Stops, with what was done so far kept, when `breathe` says so."""
        looks = self._catalogue.looks() if self._catalogue is not None else {}
        unread: list[SessionFile] = []
        try:
            for found in files:
                self._breathe()
                self.report.discovered += 1
                before = looks.get(found.path)
                if before is not None and _is_done(*before, FileLook(*found[1:5])):
                    self.report.unchanged += 1
                elif before is None and self._has_crew and found.size <= CREW_BYTES:
                    unread.append(found)
                    continue
                else:
                    self._take(found)
                progress()
            for found, taking in prepared_by_crew(unread) if len(unread) >= _WORTH_A_CREW else map(self._alone, unread):
                self._note(found, taking)
                progress()
        except CaptureStopped:
            self.report.is_cut = True
        self._flush()
        return self.report

    def renew(self) -> int:
        """Analyse kept bodies again that older rules have judged, or failed at. The file itself may be long gone."""
        catalogue = self._catalogue
        if catalogue is None or self._is_dry:
            return 0
        stale = catalogue.stale(RULES)
        for path in stale:
            known = catalogue.known(path)
            try:
                body = catalogue.body(path)
            except (OSError, ValueError):
                continue
            if known is not None and body is not None:
                self._keep(analysed_again(path, known, body, self._analysts, self._breathe))
        self._flush()
        return len(stale)

    def _take(self, found: SessionFile) -> None:
        catalogue = self._catalogue
        known = catalogue.known(found.path) if catalogue is not None else None
        kept = None
        if catalogue is not None and known is not None and known.segments:
            try:
                kept = catalogue.body(found.path)
            except (OSError, ValueError):  # gone, or damaged: the whole file is read again
                kept = None
        self._note(found, prepared(found, known, kept, self._analysts, self._breathe))

    def _alone(self, found: SessionFile) -> tuple[SessionFile, CapturedFile | str]:
        return found, prepared(found, None, None, self._analysts, self._breathe)

    def _note(self, found: SessionFile, taking: CapturedFile | str) -> None:
        if isinstance(taking, str):
            self._note_failure(found.path, taking)
            return
        if taking.hash:
            self.report.bytes += taking.look.size
        self._keep(taking)

    def _keep(self, taking: CapturedFile) -> None:
        self._batch.append(taking)
        self._batch_bytes += len(taking.segment or b"")
        now = time.monotonic()
        if len(self._batch) == 1:
            self._batch_due = now + _BATCH_SECONDS
        if len(self._batch) >= _BATCH_FILES or self._batch_bytes >= _BATCH_BYTES or now >= self._batch_due:
            self._flush()

    def _flush(self) -> None:
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        if not batch:
            return
        if self._is_dry or self._catalogue is None:
            states = [taking.state for taking in batch]
        else:
            states = self._catalogue.take(batch)
        for taking, state in zip(batch, states, strict=True):
            self._count(taking, state)

    def _count(self, taking: CapturedFile, state: str) -> None:
        report = self.report
        if state == TAKEN:
            report.ingested += 1
            report.continued += taking.first_line > 1
            report.flavours[taking.flavour] += 1
            report.sessions += len(taking.sessions)
            report.items += sum(len(session.items) for session in taking.sessions)
            report.inside.update(_inside(taking))
        elif state == COPY:
            report.copies += 1
        elif state == FORGOTTEN:
            report.forgotten += 1
        elif state == SKIPPED:
            report.skipped[taking.why] += 1
            if len(report.skips) < _NAMED:
                report.skips.append((taking.path, taking.why))
        elif state == FAILED:
            self._note_failure(taking.path, taking.why)
        elif state == MOVED_ON:
            report.unchanged += 1

    def _note_failure(self, path: str, why: str) -> None:
        self.report.failed[why] += 1
        if len(self.report.failures) < _NAMED:
            self.report.failures.append((path, why))


def _is_done(before: FileLook, state: str, rules: int, look: FileLook) -> bool:
    """Whether a file is as it was. What older rules have judged is judged once more."""
    return before == look and (rules == RULES or state == FORGOTTEN)


def _inside(taking: CapturedFile) -> dict[str, int]:
    """What was not understood in a file. Sessions of one file tell the same of it."""
    found: dict[str, int] = {}
    for session in taking.sessions:
        for why, count in session.digest.get("skipped", {}).items():
            found[why] = max(count, found.get(why, 0))
    return found
