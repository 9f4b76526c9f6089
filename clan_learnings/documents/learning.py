"""A learning: a document with a problem and its solution, as plain values. Made from a record or into one; no files, no store.

Texts are normalised here: equal line ends and no invisible characters. So a document reads the same in a record, in a file, and after it
came back from a file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from clan_learnings.context.injected_mark import NAME
from clan_learnings.records.record import (
    CONFIDENCE,
    DOCUMENT,
    EVIDENCE_CHARS,
    MEDIUM,
    SECTIONS,
    SEVERITIES,
    TAGS,
    WORD_CHARS,
    Note,
)
from clan_learnings.redaction.compiled_patterns import shown
from mesh.core.errors import UsageError
from mesh.core.limits import OPERATION_BYTES

TITLE_CHARS = 200
RELATED = 32
RELATED_CHARS = 500
BYTES = OPERATION_BYTES - 6 * 1024  # of all texts together: names, tags and stamps go into the same operation
# Blanks that end a line for some programs and not for others.
_BLANK = dict.fromkeys((0x0B, 0x0C, 0x1C, 0x1D, 0x1E, 0x1F, 0x85, 0x2028, 0x2029), " ")
_MARK, _NO_MARK = f"{NAME} rendered", f"{NAME}, rendered"  # only our files say where our text begins and ends
_SLUG_CHARS = 60
_LATEST_MS = 1 << 47  # as far as stamps go; transcripts may say anything
_OTHERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Learning:
    """What one says. Empty and None mean: not said. `session`: where it was learned; `source`: who says so."""

    title: str = ""
    problem: str = ""
    root_cause: str = ""
    solution: str = ""
    example: str = ""
    prevention: str = ""
    related: tuple[str, ...] = ()
    category: str = ""
    severity: str = ""
    tags: tuple[str, ...] = ()
    repo: str = ""
    session: str = ""
    source: str = ""
    agent: str = ""
    topic: str = ""
    evidence: str = ""
    confidence: float | None = None
    quality: float | None = None
    minutes_lost: int | None = None
    at_ms: int | None = field(default=None, compare=False)  # when it was learned

    def sections(self) -> dict[str, str]:
        """Its texts by name, those that are not empty."""
        return {name: text for name in SECTIONS if (text := getattr(self, name))}

    @property
    def chars(self) -> int:
        """How long it is, without its title."""
        return sum(map(len, self.sections().values()))

    def tidy(self) -> Learning:
        """The same, its texts as they are kept. One without a title has the first line of its problem for one."""
        texts: dict[str, Any] = {name: tidy(getattr(self, name)) for name in SECTIONS}
        texts |= {name: one_line(getattr(self, name), EVIDENCE_CHARS) for name in _WORDS}
        title = one_line(self.title, TITLE_CHARS)
        return replace(
            self,
            title=title or one_line((texts["problem"] or texts["solution"]).partition("\n")[0], TITLE_CHARS),
            related=_each(self.related, RELATED_CHARS)[:RELATED],
            tags=_each(self.tags, WORD_CHARS)[:TAGS],
            at_ms=self.at_ms if self.at_ms is not None and 0 <= self.at_ms < _LATEST_MS else None,
            **texts,
        )

    def document(self) -> dict[str, Any]:
        """What only a learning has, as a record holds it: what was not said is left out."""
        said = {name: getattr(self, name) for name in _ORDER}
        said["related"] = list(self.related)
        return {name: value for name, value in said.items() if value not in (None, "", [])}


_WORDS = ("category", "severity", "repo", "session", "source", "agent", "topic", "evidence")
_ORDER = tuple(one.name for one in fields(Learning) if one.name in DOCUMENT)


def learning_of(note: Note) -> Learning:
    """A record read as a document, with suspicion: anybody may have written it."""
    return learning_from_record(note.record, note.at_ms)


def learning_from_record(record: Mapping[str, Any], at_ms: int | None) -> Learning:
    """The same for what a application tells of a record: its fields, edits applied."""
    said = {name: value if type(value := record.get(name)) is str else "" for name in (*SECTIONS, *_WORDS, "title")}
    confidence = _fraction(record.get("confidence"))
    return Learning(
        **said | {"severity": severity_of(said["severity"])},
        related=tuple(_texts(record.get("related"))),
        tags=tuple(_texts(record.get("tags"))),
        confidence=CONFIDENCE.get(said["source"], CONFIDENCE["agent"]) if confidence is None else confidence,
        quality=_fraction(record.get("quality")),
        minutes_lost=minutes if type(minutes := record.get("minutes_lost")) is int and minutes >= 0 else None,
        at_ms=at_ms,
    ).tidy()


def learning_from(value: Mapping[str, Any]) -> Learning:
    """One that was given as JSON, by a person or a program. A field that cannot be is an error that names it."""
    known = {one.name: one for one in fields(Learning)}
    told: dict[str, Any] = {}
    for name, given in value.items():
        if name not in known:
            raise UsageError(f"a learning has no field {name!r}", f"it has: {', '.join(known)}")
        if name in ("related", "tags"):
            listed = [given] if isinstance(given, str) else given
            if not isinstance(listed, list | tuple) or not all(isinstance(one, str) for one in listed):
                raise UsageError(f"{name} is no list of texts", f'like this: "{name}": ["one", "two"]')
            told[name] = tuple(listed)
        elif name in ("confidence", "quality"):
            is_fraction = isinstance(given, int | float) and type(given) is not bool and 0 <= given <= 1
            if given is not None and not is_fraction:
                raise UsageError(f"{name} is no number from 0 to 1", f'like this: "{name}": 0.8')
            told[name] = given
        elif name in ("minutes_lost", "at_ms"):
            if given is not None and type(given) is not int:
                raise UsageError(f"{name} is no whole number", f'like this: "{name}": 20')
            told[name] = given
        elif not isinstance(given, str):
            raise UsageError(f"{name} is no text", f'like this: "{name}": "..."')
        else:
            told[name] = given
    return Learning(**told).tidy()


def require_room(learning: Learning) -> Learning:
    """The same, if one operation can hold it."""
    size = sum(len(text.encode("utf-8", "replace")) for text in _all_texts(learning))
    if size > BYTES:
        raise UsageError(
            f"the document has {size:,} bytes; at most {BYTES:,} are kept in one learning",
            "shorten it, or put the long part into a page (mesh page new NAME) and name that under related",
        )
    return learning


def tidy(text: str) -> str:
    """A text of several lines as it is kept: nothing hidden, lines that end alike, no empty ones around it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_BLANK)
    found = shown(text)
    lines = (text if found is None else found[0]).replace(_MARK, _NO_MARK).split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    while lines and not lines[-1].strip():
        del lines[-1]
    return "\n".join(lines)


def one_line(text: str, limit: int) -> str:
    """A text as one line of at most so many characters."""
    line = " ".join(tidy(text[: 8 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def slug_of(title: str) -> str:
    """A title as the name of a file: small letters, digits and hyphens, whatever it was."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = _OTHERS.sub("-", plain[:1000]).strip("-")
    if len(slug) > _SLUG_CHARS:
        slug = slug[: _SLUG_CHARS + 1].rpartition("-")[0] or slug[:_SLUG_CHARS]
    return slug.strip("-") or "learning"


def severity_of(text: str) -> str:
    """One of the four; the usual one if it is none."""
    return text if text in SEVERITIES else MEDIUM


def _fraction(value: Any) -> float | None:
    is_one = isinstance(value, int | float) and type(value) is not bool and 0 <= value <= 1
    return float(value) if is_one else None


def _each(lines: Iterable[str], limit: int) -> tuple[str, ...]:
    """Each as one line, and once."""
    return tuple(dict.fromkeys(kept for line in lines if (kept := one_line(line, limit))))


def _texts(value: Any) -> Iterable[str]:
    return (one for one in value if type(one) is str) if type(value) is list else ()


def _all_texts(learning: Learning) -> Iterable[str]:
    yield learning.title
    yield from learning.sections().values()
    yield from learning.related
    yield learning.evidence
