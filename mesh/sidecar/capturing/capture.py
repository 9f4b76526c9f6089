"""One run of capturing: files in, rows and bodies out, each file once. Who may run when is decided elsewhere.

A file is read, cleaned and analysed; then its body goes to disk, and its digest with it into one transaction. Several files
share a transaction. A run that is killed has lost at most the files of its last batch, which the next run reads again.
"""

import time
from collections.abc import Callable, Iterable

from clan_learnings.capture.places import Found
from mesh.sidecar.capturing.analysis import NO_SESSION, RULES, Analysts, analyse
from mesh.sidecar.capturing.reading import Reading, Refused, read_file
from mesh.sidecar.capturing.report import Report
from mesh.sidecar.capturing.stopping import Stopped
from mesh.store.captured import COPY, FAILED, FORGOTTEN, MOVED_ON, SKIPPED, TAKEN, Known, Look, Taking
from mesh.store.catalogue import Catalogue

_BATCH_FILES, _BATCH_BYTES, _BATCH_SECONDS = 64, 8 * 1024 * 1024, 2.0
_FAILURES = 20  # told by name


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
    ) -> None:
        """`breathe` is called often; it may sleep, or raise Stopped. Without a catalogue nothing is known, and nothing kept."""
        self.report = Report()
        self.report.is_dry = dry_run
        self._catalogue = catalogue
        self._analysts = analysts
        self._breathe = breathe
        self._is_dry = dry_run or catalogue is None
        self._batch: list[Taking] = []
        self._batch_bytes = 0
        self._batch_due = 0.0

    def run(self, files: Iterable[Found], progress: Callable[[], None] = _go_on) -> Report:
        """Take in what is new. Stops, with what was done so far kept, when `breathe` says so."""
        looks = self._catalogue.looks() if self._catalogue is not None else {}
        try:
            for found in files:
                self._breathe()
                self.report.discovered += 1
                look = Look(found.device, found.inode, found.size, found.mtime_ns)
                before = looks.get(found.path)
                if before is not None and _is_done(*before, look):
                    self.report.unchanged += 1
                else:
                    self._take(found)
                progress()
        except Stopped:
            self.report.is_cut = True
        self._flush()
        return self.report

    def _take(self, found: Found) -> None:
        catalogue = self._catalogue
        known = catalogue.known(found.path) if catalogue is not None else None
        try:
            kept = (
                catalogue.body(found.path) if catalogue is not None and known is not None and known.segments else None
            )
        except (OSError, ValueError):  # gone, or damaged: read the whole file again
            kept = None
        look = Look(found.device, found.inode, found.size, found.mtime_ns)
        try:
            reading = read_file(found.path, known, kept, self._breathe)
        except Refused as refused:
            self._keep(_without_body(found.path, look, SKIPPED, str(refused), known))
            return
        except OSError as error:
            self._note_failure(found.path, f"cannot be read: {error.strerror}")
            return
        self.report.bytes += reading.look.size
        self._keep(self._analysed(found.path, reading, known))

    def _analysed(self, path: str, reading: Reading, known: Known | None) -> Taking:
        taking = Taking(
            path,
            reading.look,
            reading.cursor,
            reading.lines,
            reading.hash,
            TAKEN,
            "",
            "",
            RULES,
            reading.segment,
            reading.first_line,
            is_analysed=True,
            is_continued=reading.is_continued,
            sessions=[],
            known=known,
        )
        try:
            analysis = analyse(reading.body, path, self._analysts, self._breathe)
        except Stopped:
            raise
        except Exception as error:  # noqa: BLE001 (bytes of strangers, and rules that others write)
            # Of the error only its sort: its words may be those of the transcript.
            return taking._replace(state=FAILED, why=f"not analysed: {type(error).__name__}", is_analysed=False)
        if not analysis.sessions:
            why = next(iter(analysis.skipped), NO_SESSION) if not analysis.flavour else NO_SESSION
            return taking._replace(state=SKIPPED, why=why, flavour=analysis.flavour, segment=None, cursor=0, lines=0)
        if reading.shortened:
            for told in analysis.sessions:
                told.digest.setdefault("skipped", {})["a text too long to be kept whole"] = reading.shortened
        return taking._replace(flavour=analysis.flavour, sessions=analysis.sessions)

    def _keep(self, taking: Taking) -> None:
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

    def _count(self, taking: Taking, state: str) -> None:
        report = self.report
        if state == TAKEN:
            report.ingested += 1
            report.continued += taking.first_line > 1
            report.flavours[taking.flavour] += 1
            report.sessions += len(taking.sessions)
            report.items += sum(len(session.items) for session in taking.sessions)
        elif state == COPY:
            report.copies += 1
        elif state == FORGOTTEN:
            report.forgotten += 1
        elif state == SKIPPED:
            report.skipped[taking.why] += 1
        elif state == FAILED:
            self._note_failure(taking.path, taking.why)
        elif state == MOVED_ON:
            report.unchanged += 1

    def _note_failure(self, path: str, why: str) -> None:
        self.report.failed[why] += 1
        if len(self.report.failures) < _FAILURES:
            self.report.failures.append((path, why))


def _is_done(before: Look, state: str, rules: int, look: Look) -> bool:
    """Whether a file is as it was. What failed or was skipped by older rules is tried once more."""
    return before == look and (rules == RULES or state not in (FAILED, SKIPPED))


def _without_body(path: str, look: Look, state: str, why: str, known: Known | None) -> Taking:
    return Taking(
        path,
        look,
        0,
        0,
        b"",
        state,
        why,
        "",
        RULES,
        None,
        1,
        is_analysed=False,
        is_continued=True,
        sessions=[],
        known=known,
    )
