"""A file, read, cleaned and analysed: what the catalogue is to keep of it. Keeps nothing itself, so any process can do it.

A crew of processes shares the work where there is much of it, one a processor; each reads its own files, and only what is to
be kept comes back. The sidecar has no crew: it has time.
"""

from collections.abc import Callable, Iterable, Iterator

from clan_learnings.capture.places import Found
from mesh.sidecar.capturing.analysis import NO_SESSION, RULES, Analysts, analyse, real_analysts
from mesh.sidecar.capturing.crew import by_crew, processors
from mesh.sidecar.capturing.reading import Reading, Refused, read_file
from mesh.sidecar.capturing.stopping import Stopped
from mesh.store.captured import FAILED, SKIPPED, TAKEN, Known, Look, Taking

_CREW = 4  # processes at most: each takes some 40 MB, and all of them must stay below 200
CREW_BYTES = 4 * 1024 * 1024  # of a file that a crew takes: larger ones are read one at a time
_CHUNK = 4
_analysts: list[Analysts] = []  # of a process of the crew


def prepared(
    found: Found, known: Known | None, kept: bytes | None, analysts: Analysts, breathe: Callable[[], None]
) -> Taking | str:
    """What is to be kept; or, if the file cannot be read, why not. `known`, `kept`: how it was read before, and its body."""
    try:
        reading = read_file(found.path, known, kept, breathe)
    except Refused as refused:
        look = Look(*found[1:5])
        return Taking(found.path, look, 0, 0, b"", SKIPPED, str(refused), "", RULES, None, 1, False, True, [], known)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return _analysed(found.path, reading, known, analysts, breathe)


def analysed_again(path: str, known: Known, body: bytes, analysts: Analysts, breathe: Callable[[], None]) -> Taking:
    """The same of a body that is kept already."""
    reading = Reading(known.look, known.cursor, known.lines, known.hash, body, b"", 1, True, 0)
    taking = _analysed(path, reading, known, analysts, breathe)
    return taking._replace(segment=None, cursor=known.cursor, lines=known.lines)


def _analysed(
    path: str, reading: Reading, known: Known | None, analysts: Analysts, breathe: Callable[[], None]
) -> Taking:
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
        analysis = analyse(reading.body, path, analysts, breathe)
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


def prepared_by_crew(files: Iterable[Found]) -> Iterator[tuple[Found, Taking | str]]:
    """Prepare files that were never read, by several processes, in their order."""
    files = list(files)
    yield from zip(files, by_crew(_prepared_anew, files, min(processors(), _CREW), _CHUNK, _begin), strict=True)


def _begin() -> None:
    _analysts.append(real_analysts())


def _prepared_anew(found: Found) -> Taking | str:
    return prepared(found, None, None, _analysts[0], lambda: None)
