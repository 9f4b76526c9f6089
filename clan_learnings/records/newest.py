"""The newest records and patterns of a scope. Reads only as far as it must."""

from __future__ import annotations

from itertools import islice

from clan_learnings.records.record import LOGS

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clan_learnings.records.memory import Memory
    from clan_learnings.records.patterns import Standing
    from clan_learnings.records.record import Note

_PAGE = 200
_PAGES = 50  # of a log, when a topic is looked for


def recent(memory: Memory, repo: str | None, count: int, topic: str = "", logs: Iterable[str] = LOGS) -> list[Note]:
    """The newest first. `topic`: only those that have it as their topic or among their tags."""
    found: list[Note] = []
    for log in logs:
        found += _of_log(memory, log, repo, count, topic.lower())
    found.sort(key=lambda note: (-note.stamp, note.tag))
    return found[:count]


def recent_patterns(memory: Memory, repo: str | None, count: int) -> list[Standing]:
    """The patterns of a scope: HOT ones, those of most sessions first, then those of the newest records."""
    found: list[Standing] = []
    seen: set[str] = set()
    for slug in [*(item.slug for item in memory.hot(repo, count)), *memory.patterns.known()]:
        if len(found) == count:
            break
        if slug not in seen:
            standing = memory.standing(slug)
            seen |= memory.patterns.names(slug).difference([] if standing is None else memory.joined_by_one(standing))
            if standing is not None and (repo is None or standing.scope in ("", repo)) and _is_seen(memory, standing):
                found.append(standing)
    return found


def _is_seen(memory: Memory, standing: Standing) -> bool:
    """Whether something of a pattern is not hidden here."""
    return not memory.has_muted or not all(map(memory.is_muted, (*standing.corrections, *standing.records)))


def _of_log(memory: Memory, log: str, repo: str | None, count: int, topic: str) -> list[Note]:
    page = max(count, _PAGE) if topic or memory.has_muted else count
    found = memory.newest(log, repo, page, pages=_PAGES)
    shown = (note for note in found if not memory.is_muted(note) and _is_about(note, topic))
    return list(islice(shown, max(count, 0)))


def _is_about(note: Note, topic: str) -> bool:
    return not topic or note.word("topic").lower() == topic or topic in (tag.lower() for tag in note.tags)
