"""A harvest that keeps nothing and needs no home: what would be found in transcripts, item by item, with file and line."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from clan_learnings.harvest.items import Item
from clan_learnings.harvest.model_extraction import Asked
from clan_learnings.sessions.analysis import Analysts, analyse, real_analysts
from clan_learnings.sessions.digest import Digest
from clan_learnings.sessions.events import Session
from clan_learnings.sessions.session_folders import discover
from clan_learnings.sessions.transcript_file import Refused, read_file


class Trial(NamedTuple):
    """What was found, and what could not be looked at."""

    items: list[dict[str, Any]]
    files: int
    sessions: int
    skipped: list[tuple[str, str]]  # path, why


def trial(
    paths: Sequence[str],
    agent: str,
    since_ms: int,
    environ: Mapping[str, str],
    asked: Asked | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Trial:
    """Read every file as capturing does, cleaned, and say what is found in it."""
    analysts = real_analysts()
    if asked is not None:
        analysts = _with_model(analysts, asked)
    items: list[dict[str, Any]] = []
    skipped: list[tuple[str, str]] = []
    files = sessions = 0
    names = _Names(paths)
    for found in discover(paths, agent, since_ms, environ):
        name = names.of(found.path)
        files += 1
        progress(1)
        try:
            reading = read_file(found.path, None, None, _go_on)
            analysis = analyse(reading.body, found.path, analysts, _go_on)
        except Refused as refused:
            skipped.append((name, str(refused)))
            continue
        except OSError as error:
            skipped.append((name, f"cannot be read: {error.strerror}"))
            continue
        except Exception as error:  # noqa: BLE001 (bytes of strangers: one file must not spoil the others)
            skipped.append((name, f"not analysed: {type(error).__name__}"))
            continue
        if not analysis.sessions:
            skipped.append((name, next(iter(analysis.skipped), "no session in it")))
        sessions += len(analysis.sessions)
        items += [_told(name, item) for told in analysis.sessions for item in told.items]
    return Trial(items, files, sessions, skipped)


def _told(name: str, item: dict[str, Any]) -> dict[str, Any]:
    return {
        "file": name,
        "kind": item["kind"],
        "evidence_line": item["line"],
        "fix_line": item["fix_line"],
        "text": item["text"],
        "confidence": item["confidence"],
    }


def _with_model(analysts: Analysts, asked: Asked) -> Analysts:
    """The rules, and what a model finds beside them."""

    def items(session: Session) -> list[Item]:
        known: list[Item] = analysts.items(session)
        digest: Digest = analysts.digest(session)
        return known + asked.items_of(digest, session, known)

    return analysts._replace(items=items)


class _Names:
    """Files as the person named them: under the folder that was given, however that was written."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._given = [(os.path.realpath(path), path) for path in paths]

    def of(self, path: str) -> str:
        for real, given in self._given:
            if path == real:
                return given
            if path.startswith(real.rstrip("/") + "/"):
                return os.path.join(given, os.path.relpath(path, real))
        return path


def _go_on() -> None:
    """Nobody else is waiting for us."""
