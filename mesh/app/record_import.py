"""Records out of files of lines: each is written as if somebody had typed it, unless a record says it already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from clan_learnings.imports.finding import PATTERNS
from clan_learnings.imports.record_lines import RecordLine, RecordLines
from clan_learnings.records.memory import Memory
from clan_learnings.records.notebook import draft_discovery
from clan_learnings.records.pattern_drafts import draft_pattern
from clan_learnings.records.record import About
from clan_learnings.redaction.text_cleaner import TextCleaner
from clan_learnings.search.likeness import covering
from mesh.app.application import Application
from mesh.core.draft import Draft
from mesh.core.errors import UsageError, WriteRefused

_KNOWN: tuple[list[Draft], dict[str, Any]] = ([], {"state": "known"})
_SHOWN = 20


def import_lines(
    application: Application,
    kind: str,
    lines: RecordLines,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Write what the lines say. Where this node may write no more, the rest waits (`stopped`): the same import goes on with it."""
    make = _pattern if kind == PATTERNS else _discovery
    recorded: list[str] = []
    refused: Counter[str] = Counter()
    redacted: Counter[str] = Counter()
    known, stopped = 0, None
    kept: dict[str, Any] = {}
    for at, line in enumerate(lines.lines):
        try:
            answer = application.write(lambda *given, line=line: make(line, *given), **line.about)
        except WriteRefused as error:
            stopped = error.facts() | {"lines": len(lines.lines) - at}
            break
        except UsageError as error:
            refused[str(error)] += 1
            continue
        if answer["state"] == "known":
            known += 1
        else:
            recorded.append(answer["id"])
            kept = {"kept_here": answer["kept_here"]} if "kept_here" in answer else kept
        if answer["redacted"]:
            redacted[answer["redacted"]] += 1
        progress(1)
    skipped = lines.skipped + refused
    counts = {"read": lines.read, "recorded": len(recorded), "known": known, "skipped": dict(skipped.most_common())}
    return counts | {"ids": recorded[:_SHOWN], "redacted": dict(redacted), "stopped": stopped} | kept


def _discovery(line: RecordLine, memory: Memory, about: About, pen: TextCleaner) -> tuple[list[Draft], dict[str, Any]]:
    drafts, known = draft_discovery(memory, line.text, about, pen)
    return (drafts, {}) if known is None else _KNOWN


def _pattern(line: RecordLine, memory: Memory, about: About, pen: TextCleaner) -> tuple[list[Draft], dict[str, Any]]:
    """A pattern as `mesh pattern add` makes it: it is HOT only by corrections, and there are none yet."""
    if covering(memory, pen.clean(line.text), about.repo) is not None:
        return _KNOWN
    try:
        drafts, slug = draft_pattern(
            memory, line.text, about, pen, slug=line.name.lower(), wrong=line.wrong, everywhere=not about.repo
        )
    except UsageError as error:
        if str(error).startswith(("there is a pattern", "the pattern")):  # it has that name, or says the same
            return _KNOWN
        raise
    return drafts, {"pattern": slug}
