"""A learning as a Markdown file, and back. Unchanged text comes back unchanged; a person's edits come back as edits.

Texts only: `folder` decides which file to read or write. Beside the document, the front matter names the record and, field by field, a
few digits of what it said when the file was written, which shows later what a person has changed.
"""

from __future__ import annotations

import re
import time
from calendar import timegm
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from clan_learnings.context.injected_mark import FILE_CLOSING, FILE_OPENING
from clan_learnings.documents import front_matter
from clan_learnings.documents.learning import Learning, one_line, severity_of, tidy
from clan_learnings.records.record import MINUTES, SECTIONS, SEVERITIES
from mesh.core.ids import ID_CHARS

# https://spec.commonmark.org/0.31.2/#fenced-code-blocks. Behind backticks no more of them may follow.
_MARK = re.compile(r" {0,3}(?:(`{3,})([^`]*)|(~{3,})(.*))\Z")


class Fences(NamedTuple):
    """The numbers of lines, from 0."""

    inside: set[int]  # of blocks that are closed, their fences included
    unclosed: set[int]  # fences that nothing closes: text here, rather than code to the end of the document


class _Mark(NamedTuple):
    at: int
    sign: str
    length: int
    is_alone: bool  # nothing else stands in the line: only such a one closes a block


def fences(lines: Sequence[str]) -> Fences:
    """Where code stands in a text."""
    marks = [mark for at, line in enumerate(lines) if (mark := _mark(at, line)) is not None]
    longest = {"`": 0, "~": 0}  # of what could close a block and stands further on
    is_closed = []
    for mark in reversed(marks):
        is_closed.append(longest[mark.sign] >= mark.length)
        if mark.is_alone:
            longest[mark.sign] = max(longest[mark.sign], mark.length)
    found = Fences(set(), set())
    opened: _Mark | None = None
    for mark, closed in zip(marks, reversed(is_closed), strict=True):
        if opened is None and closed:
            opened = mark
        elif opened is None:
            found.unclosed.add(mark.at)
        elif mark.is_alone and mark.sign == opened.sign and mark.length >= opened.length:
            found.inside.update(range(opened.at, mark.at + 1))
            opened = None
    return found


def is_fence(line: str) -> bool:
    """Whether a line could open or close a block."""
    return _mark(0, line) is not None


def _mark(at: int, line: str) -> _Mark | None:
    found = _MARK.match(line)
    if found is None:
        return None
    fence, rest = (found[1], found[2]) if found[1] else (found[3], found[4])
    return _Mark(at, fence[0], len(fence), not rest.strip())


HEADINGS = {name: name.replace("_", " ").capitalize() for name in (*SECTIONS, "related")}
_BY_HEADING = {f"## {heading.lower()}": name for name, heading in HEADINGS.items()}
# What a person may change in a file, in the order of the digits under `base`. Appended to, never reordered.
CHANGEABLE = (
    "title", *SECTIONS, "related", "category", "severity", "tags", "repo", "quality", "confidence", "topic", "evidence",
    "minutes_lost",
)  # fmt: skip
_DIGITS = 8
_ID = re.compile(rf"[a-z2-7]{{{ID_CHARS}}}")
_KEYS = frozenset((
    "id", "base", "title", "category", "severity", "tags", "source", "by", "agent", "repo", "date", "quality", "confidence",
    "topic", "evidence", "minutes_lost",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parsed:
    """A file that was read. `id`: the record it says it is; `base`: the digits of each field as it was written."""

    learning: Learning
    said: frozenset[str]  # the fields that it says something about, also if that is nothing
    id: str = ""
    base: dict[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    is_ours: bool = False  # it has our mark: nothing in it is lost if it is written again

    def changed(self) -> set[str]:
        """The fields that a person has changed since it was written; without digits to compare with, all fields it has."""
        return {name for name in self.said if not self.base or self._is_other(name)}

    def _is_other(self, name: str) -> bool:
        return name in self.base and self.base[name] != digits(getattr(self.learning, name))


def rendered(learning: Learning, record: str) -> str:
    """The whole file. `record`: the whole id; empty for one that is not recorded yet."""
    values: dict[str, Any] = {"id": record} if record else {}
    values |= {"category": learning.category, "severity": severity_of(learning.severity), "tags": learning.tags}
    more = {"source": learning.session, "by": learning.source, "agent": learning.agent}
    values |= {name: value for name, value in more.items() if value}
    values["repo"] = learning.repo
    if learning.at_ms is not None:
        values["date"] = time.strftime("%Y-%m-%d", time.gmtime(learning.at_ms // 1000))
    for name in ("quality", "confidence", "topic", "evidence", "minutes_lost"):
        value = getattr(learning, name)
        if value not in (None, ""):
            values[name] = value
    if record:
        values["base"] = base_of(learning)
    parts = ["\n".join([*front_matter.written(values), FILE_OPENING])]
    parts += [f"# {learning.title}"] if learning.title else []
    for name in SECTIONS:
        if text := getattr(learning, name):
            parts += [f"## {HEADINGS[name]}", _escaped(text)]
    if learning.related:
        parts += [f"## {HEADINGS['related']}", "\n".join(f"- {line}" for line in learning.related)]
    return "\n\n".join([*parts, FILE_CLOSING]) + "\n"


def parsed(text: str) -> Parsed | None:
    """A file as a document; None if it is none: it has neither a problem nor a solution, nor our mark."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    front = front_matter.read(lines)
    is_ours = any(line.strip() == FILE_OPENING for line in lines[front.end : front.end + 5])
    body = [line for line in lines[front.end :] if line.strip() not in (FILE_OPENING, FILE_CLOSING)]
    title, texts, stray = _sections(body)
    if not is_ours and not {"problem", "solution"} & set(texts):
        return None
    problems = list(front.problems)
    if stray:
        problems.append(f"what stands before its first section is not read: {one_line(stray, 60)!r}")
    problems += [f"{one_line(key, 40)} is nothing that a learning has" for key in front.values if key not in _KEYS]
    values = _values(front, problems)
    bodies: dict[str, Any] = {name: texts.get(name, "") for name in SECTIONS}
    learning = Learning(
        title=title or front.text("title"),
        related=tuple(_items(texts.get("related", ""))),
        session=front.text("source"),
        source=front.text("by"),
        agent=front.text("agent"),
        at_ms=_date(front.text("date")),
        **bodies,
        **values,
    ).tidy()
    said = {*values, *(HEADINGS if is_ours else texts), *(["title"] if title or front.text("title") else [])}
    record, marks = front.text("id"), front.text("base").split(".")
    if record and not _ID.fullmatch(record):
        problems.append("its id is none")
        record = ""
    base = dict(zip(CHANGEABLE, marks, strict=False)) if record and marks != [""] else {}
    return Parsed(learning, frozenset(said), record, base, tuple(problems), is_ours)


def base_of(learning: Learning) -> str:
    """The digits of every field that a person may change, in their order."""
    return ".".join(digits(getattr(learning, name)) for name in CHANGEABLE)


def digits(value: Any) -> str:
    """A few digits by which another value is told apart."""
    if isinstance(value, tuple):
        value = "\n".join(value)
    elif isinstance(value, float):
        value = f"{value:g}"
    text = "" if value is None else str(value)
    return blake2b(text.encode("utf-8", "replace"), digest_size=_DIGITS // 2).hexdigest()


def with_id(text: str, record: str, learning: Learning) -> str:
    """A file that a person wrote, and that has become a record: it says so from now on. All the rest of it stays as it is."""
    lines = text.removeprefix("\ufeff").split("\n")
    end = "\r" if lines[0].endswith("\r") else ""
    said = [line + end for line in front_matter.written({"id": record, "base": base_of(learning)})[1:-1]]
    front = front_matter.read([line.rstrip("\r") for line in lines])
    if not front.end:
        fence = front_matter.FENCE + end
        return "\n".join([fence, *said, fence, *lines])
    kept = [line for line in lines[1 : front.end - 1] if not re.match(r"(?i)(id|base)[ \t]*:", line)]
    return "\n".join([lines[0], *said, *kept, *lines[front.end - 1 :]])


def _sections(lines: list[str]) -> tuple[str, dict[str, str], str]:
    """The title, the text under each of our headings, and before the first. In a block of code there are none."""
    title, name = "", ""
    found: dict[str, list[str]] = {"": []}
    code = fences(lines).inside
    for at, line in enumerate(lines):
        if at in code:
            found[name].append(line)
        elif _is_heading(line):
            name = _BY_HEADING[_heading(line)]
            found.setdefault(name, [])
        elif not name and not title and line.startswith("# "):
            title = line[2:].strip()
        else:
            found[name].append(line[1:] if line.startswith("\\") and _may_mislead(line.lstrip("\\")) else line)
    stray = tidy("\n".join(found.pop("")))
    return title, {key: "\n".join(text) for key, text in found.items()}, stray


def _heading(line: str) -> str:
    return " ".join(line.lower().split()).rstrip(":#").rstrip()


def _is_heading(line: str) -> bool:
    return not line[:1].isspace() and _heading(line) in _BY_HEADING


def _may_mislead(line: str) -> bool:
    return _is_heading(line) or is_fence(line)


def _escaped(text: str) -> str:
    """A line that would be taken for one of our headings, or for code up to a later section, gets a backslash; Markdown shows it without."""
    lines = text.split("\n")
    code, unclosed = fences(lines)
    for at, line in enumerate(lines):
        is_escaped = line.startswith("\\") and _may_mislead(line.lstrip("\\"))
        if at not in code and (is_escaped or at in unclosed or _is_heading(line)):
            lines[at] = "\\" + line
    return "\n".join(lines)


def _items(text: str) -> Iterable[str]:
    for line in text.split("\n"):
        item = line.strip()
        if item:
            yield item[2:].strip() if item[:2] in ("- ", "* ", "+ ") else item


def _values(front: front_matter.FrontMatter, problems: list[str]) -> dict[str, Any]:
    """What a front matter says of a learning's facts. What cannot be is told, and counts as not said."""
    words = ("category", "repo", "topic", "evidence")
    said: dict[str, Any] = {name: front.text(name) for name in words if name in front.values}
    if "tags" in front.values:
        said["tags"] = tuple(front.texts("tags"))
    if "severity" in front.values:
        if (severity := front.text("severity").lower()) in SEVERITIES:
            said["severity"] = severity
        else:
            problems.append(f"its severity is none of {', '.join(SEVERITIES)}")
    for name in ("confidence", "quality"):
        if name in front.values:
            if (value := _fraction(front.text(name))) is not None:
                said[name] = value
            else:
                problems.append(f"its {name} is no number from 0 to 1")
    if "minutes_lost" in front.values:
        text = front.text("minutes_lost")
        if text.isascii() and text.isdigit() and int(text[:9]) <= MINUTES:
            said["minutes_lost"] = int(text)
        else:
            problems.append("its minutes_lost is no whole number")
    return said


def _fraction(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def _date(text: str) -> int | None:

    try:
        return max(0, timegm(time.strptime(text[:10], "%Y-%m-%d"))) * 1000
    except (ValueError, OverflowError):
        return None
