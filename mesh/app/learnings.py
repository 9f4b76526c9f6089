"""Learning documents: adding, changing, listing and counting them. What makes a good document is decided in `clan_learnings.documents`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clan_learnings.documents.drafts import draft_learning, draft_revision, learnings
from clan_learnings.documents.learning import Learning, learning_of
from clan_learnings.records.access_counts import accesses, month_of
from clan_learnings.records.memory import Memory
from clan_learnings.records.record import Note
from mesh.app.application import Application
from mesh.app.record_json import iso

_DAY_MS = 86_400_000
_MONTHS = 240  # of openings that are summed, at most
QUALITIES = ((0.9, "0.9 and more"), (0.7, "0.7 to 0.9"), (0.5, "0.5 to 0.7"), (0.0, "below 0.5"))
AGES = ((7, "a week"), (30, "a month"), (365, "a year"))


def add(
    application: Application, learning: Learning, *, private: bool = False, is_new: bool = False, **said: Any
) -> dict[str, Any]:
    """Record a document that passes the gate. State `known`: one with the same sections is there already."""
    at_ms = learning.at_ms or 0
    return application.write(
        lambda memory, about, pen: draft_learning(memory, learning, about, pen, at_ms=at_ms, is_new=is_new),
        private=private,
        **said,
    )


def change(application: Application, text: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Give fields of a document other values; the answer is the whole record."""

    def make(memory: Memory, note: Note, pen: Any) -> Any:
        drafts, after = draft_revision(memory, note, changes, pen)
        return drafts, {"fields": sorted({draft.field for draft in drafts}), "quality": after.quality}  # type: ignore[union-attr]

    return application.change(text, make)


def listed(
    memory: Memory,
    repo: str | None,
    *,
    category: str = "",
    tag: str = "",
    severity: str = "",
    min_quality: float = 0.0,
    since_ms: int | None = None,
) -> Iterator[tuple[Note, Learning]]:
    """The documents of a scope that fit, newest first."""
    for note in learnings(memory, repo):
        if since_ms is not None and note.at_ms < since_ms:
            return
        learning = learning_of(note)
        if (
            (not category or learning.category == category)
            and (not tag or tag in learning.tags)
            and (not severity or learning.severity == severity)
            and (learning.quality or 0.0) >= min_quality
        ):
            yield note, learning


def row(memory: Memory, note: Note, learning: Learning) -> dict[str, Any]:
    """A document, as lists have it."""
    return {
        "id": memory.reader.short_id(note.tag),
        "title": learning.title,
        "category": learning.category,
        "severity": learning.severity,
        "tags": list(learning.tags),
        "quality": learning.quality,
        "confidence": learning.confidence,
        "opened": opened(memory, note),
        "repo": learning.repo,
        "session": learning.session,
        "at": iso(note.at_ms),
        "tier": memory.tier_of(note),
        "chars": learning.chars,
    }


def opened(memory: Memory, note: Note) -> int:
    """How often a document was opened on purpose, on any node, since it was written."""
    year, month = map(int, month_of(note.at_ms).split("-"))
    last = month_of(max(memory.now_ms, note.at_ms))
    months: list[str] = []
    while len(months) < _MONTHS and (not months or months[-1] < last):
        months.append(f"{year:04d}-{month:02d}")
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return accesses(memory.reader, note.tag, months)


def stats(memory: Memory, repo: str | None) -> dict[str, Any]:
    """How many there are, by category, by quality and by age, and which are opened most."""
    rows = [(note, learning, opened(memory, note)) for note, learning in listed(memory, repo)]
    by_category: dict[str, list[tuple[Note, Learning, int]]] = {}
    for one in rows:
        by_category.setdefault(one[1].category or "none", []).append(one)
    qualities = dict.fromkeys((name for _, name in QUALITIES), 0)
    ages = dict.fromkeys([*(f"up to {name}" for _, name in AGES), "older"], 0)
    for note, learning, _ in rows:
        qualities[next(name for least, name in QUALITIES if (learning.quality or 0.0) >= least)] += 1
        days = max(0, memory.now_ms - note.at_ms) // _DAY_MS
        ages[next((f"up to {name}" for most, name in AGES if days <= most), "older")] += 1
    most = sorted((one for one in rows if one[2]), key=lambda one: (-one[2], one[0].tag))[:5]
    return {
        "repo": repo,
        "learnings": len(rows),
        "opened": sum(count for *_, count in rows),
        "quality": _mean([learning.quality or 0.0 for _, learning, _ in rows]),
        "by_category": [
            {
                "category": name,
                "learnings": len(group),
                "quality": _mean([learning.quality or 0.0 for _, learning, _ in group]),
                "opened": sum(count for *_, count in group),
                "newest": iso(max(note.at_ms for note, *_ in group))[:10],
            }
            for name, group in sorted(by_category.items(), key=lambda item: (-len(item[1]), item[0]))
        ],
        "by_quality": qualities,
        "by_age": ages,
        "most_opened": [row(memory, note, learning) for note, learning, _ in most],
    }


def _mean(figures: list[float]) -> float | None:
    return round(sum(figures) / len(figures), 2) if figures else None
