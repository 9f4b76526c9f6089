"""Logs of discoveries and patterns as other systems keep them: a record a line, in JSON, under whatever names it has there. Pure but for reading."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clan_learnings.imports.finding import file_bytes
from clan_learnings.records.record import CATEGORIES, SEVERITIES, TAGS, TEXT_CHARS, WORD_CHARS
from clan_learnings.repository.remote_name import named_repo
from mesh.core.errors import UsageError

FILE_BYTES = 16 * 1024 * 1024
LINES = 20_000
_LINE_BYTES = 64 * 1024
# Under which names a line may say it, the best first.
_TEXT = (
    "text",
    "fact",
    "discovery",
    "finding",
    "insight",
    "rule",
    "right",
    "correct_approach",
    "solution",
    "content",
    "summary",
    "description",
)
_RULE = ("rule", "right", "correct_approach", "solution", *_TEXT)
_WRONG = ("wrong", "what_went_wrong", "mistake", "anti_pattern")
_NAME = ("pattern", "name", "slug")
_EVIDENCE = ("evidence", "source_file", "url", "link")
_GLOBAL = ("", "global", "*", "all", "everywhere")
_QUESTION = "question"


class RecordLine(NamedTuple):
    """What one line says."""

    line: int
    text: str
    wrong: str
    name: str
    about: dict[str, Any]  # as the use cases name it


class RecordLines:
    """The lines of a file that can be records, and what was passed over."""

    def __init__(self, path: str, repo: str = "") -> None:
        """`repo`: of lines whose own name of a repository nobody else would understand, or that have none."""
        self.skipped: Counter[str] = Counter()
        self.lines: list[RecordLine] = []
        self.read = 0
        self._repo = repo
        parsed = list(self._parsed(file_bytes(path, FILE_BYTES)))
        ended = {str(value["supersedes"]) for _, value in parsed if value.get("supersedes")}
        for number, value in parsed:
            if value.get("id") is not None and str(value["id"]) in ended:
                self.skipped["superseded by another line"] += 1
            elif (made := self._made(number, value)) is not None:
                self.lines.append(made)

    def _parsed(self, data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in enumerate(data.splitlines(), 1):
            if not line.strip():
                continue
            if self.read >= LINES:
                self.skipped[f"beyond the {LINES:,} lines of one import"] += 1
                continue
            self.read += 1
            if len(line) > _LINE_BYTES:
                self.skipped["longer than 64 KiB"] += 1
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                self.skipped["not JSON"] += 1
                continue
            if isinstance(value, dict):
                yield number, value
            else:
                self.skipped["no object"] += 1

    def _made(self, number: int, value: dict[str, Any]) -> RecordLine | None:
        text = _word(value, *(_RULE if value.get("rule") or value.get("right") else _TEXT), most=TEXT_CHARS)
        name = _word(value, *_NAME, most=TEXT_CHARS)
        if not text:  # a pattern may be told in the field of its name
            text, name = (name, "") if " " in name else ("", name)
        if not text:
            return self._skip("without a text")
        if value.get("category") == _QUESTION:
            return self._skip("questions: nothing is known yet")
        about: dict[str, Any] = {
            "topic": _word(value, "topic", most=WORD_CHARS),
            "evidence": _word(value, *_EVIDENCE),
            "category": _one_of(value.get("category"), CATEGORIES),
            "severity": _one_of(value.get("severity"), SEVERITIES),
            "tags": _tags(value.get("tags")),
            "confidence": _share(value.get("confidence")),
        }
        try:
            about |= self._scope(value)
        except UsageError:
            return self._skip("of a repository by a name that is not host/owner/name: say which with --repo")
        return RecordLine(number, text, _word(value, *_WRONG, most=TEXT_CHARS), name if " " not in name else "", about)

    def _scope(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Where it holds. A bare name means nothing to other machines."""
        said = value.get("repo", value.get("repository"))
        if said is None:
            return {"repo": self._repo or None}
        if not isinstance(said, str) or said.strip().lower() in _GLOBAL:
            return {"is_global": True}
        if self._repo and "/" not in said:
            return {"repo": self._repo}
        return {"repo": named_repo(said.strip())}

    def _skip(self, why: str) -> RecordLine | None:
        self.skipped[why] += 1
        return None


def _word(value: Mapping[str, Any], *names: str, most: int = 400) -> str:
    for name in names:
        said = value.get(name)
        if isinstance(said, str) and said.strip():
            return " ".join(said.split())[:most]
    return ""


def _one_of(value: Any, allowed: tuple[str, ...]) -> str:
    return value if isinstance(value, str) and value in allowed else ""


def _tags(value: Any) -> tuple[str, ...]:
    words = value if isinstance(value, list) else []
    return tuple(word[:WORD_CHARS] for word in words if isinstance(word, str) and word.strip())[:TAGS]


def _share(value: Any) -> float | None:
    is_share = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if is_share else None
