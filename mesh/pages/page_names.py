"""Page names: which are valid, which of two equal ones a page shows under, and the file it lies in.

Two names are the same if they differ only in case or in how accents are spelled: no file system keeps such files apart
everywhere. A name may come from anybody, so what is shown is made `safe` first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from mesh.core.errors import UsageError
from mesh.core.ids import ID_CHARS, text_id

NAME_CHARS = 200
PART_BYTES = 197  # with ".md" 200; with a whole id behind it still below the 255 a file name may have
SUFFIX_CHARS = 5
_SUFFIX = re.compile(rf"~[a-z2-7]{{{SUFFIX_CHARS},{ID_CHARS}}}\Z")  # on folded names
_JOINER = "\u200d"  # holds emoji together; all else that cannot be seen is refused
_ANOTHER = "choose another name, for example runbooks/deploy"


class Named(NamedTuple):
    """A page as far as its name goes: its id, the name it was given, and when it was made."""

    id: bytes
    name: str
    at: int


def checked(name: str) -> str:
    """The name in its one spelling (NFC); UsageError if no page can be called so."""
    name = unicodedata.normalize("NFC", name)
    reason = _problem(name)
    if reason:
        raise UsageError(f"a page cannot be called {_quoted(name)}: {reason}", _ANOTHER)
    return name


def folded(name: str) -> str:
    """What two names have in common that differ only in case or in the spelling of accents."""
    normal = unicodedata.normalize("NFC", name)
    return unicodedata.normalize("NFC", normal.casefold())


def safe(name: str) -> str:
    """A name made of any text, always the same from the same text: a good name stays, a bad one loses what is bad in it."""
    for _ in range(8):  # each round can bring up something new, such as dots that stood inside
        name = unicodedata.normalize("NFC", name[: 4 * NAME_CHARS])
        if not _problem(name):
            return name
        name = "".join("-" if _is_bad(char) else char for char in name)
        name = "/".join(part for part in map(_cleaned, name[:NAME_CHARS].split("/")) if part)
        if _SUFFIX.search(folded(name)):
            head, _, tail = name.rpartition("~")
            name = f"{head}-{tail}"
    return "page"


def shown(pages: Iterable[Named]) -> dict[bytes, str]:
    """The name each page shows under, all different: of equal names the oldest page keeps it, the others get `~abcde`."""
    oldest_first = {page.id: safe(page.name) for page in sorted(pages, key=lambda page: (page.at, page.id, page.name))}
    groups: dict[str, dict[bytes, str]] = {}
    for page, name in oldest_first.items():
        groups.setdefault(folded(name), {})[page] = name
    names: dict[bytes, str] = {}
    for group in groups.values():
        (oldest, kept), *others = group.items()
        names[oldest] = kept
        ids = sorted(text_id(other) for other, _ in others)
        near = {text: max(map(_common, (text, text), _beside(ids, place))) for place, text in enumerate(ids)}
        for other, name in others:
            text = text_id(other)
            names[other] = f"{name}~{text[: max(SUFFIX_CHARS, near[text] + 1)]}"
    return names


def path_of(shown: str) -> str:
    """The path of a page's file, from the folder of the pages."""
    return f"{shown}.md"


def name_of(path: str) -> str:
    """The name shown for the page in that file (from the folder of the pages); UsageError if it is no page's file."""
    name = unicodedata.normalize("NFC", path)
    if folded(name[-3:]) != ".md":
        raise UsageError(f"{_quoted(path)} is no page: its name does not end in .md", "name it something.md")
    name = name[:-3]
    base = name[: -len(suffix[0])] if (suffix := _SUFFIX.search(name)) else name
    reason = _problem(base)
    if reason:
        raise UsageError(f"the file {_quoted(path)} cannot be a page: {reason}", "rename the file")
    return name


def _problem(name: str) -> str:
    """Why a text (in NFC) cannot be a name; empty if it can."""
    if not name:
        return "it is empty"
    if len(name) > NAME_CHARS:
        return f"it is longer than {NAME_CHARS} characters"
    bad = next(filter(_is_bad, name), "")
    if bad:
        return f"it holds the character {bad!r}"
    if _SUFFIX.search(folded(name)):
        return "an end like ~abcde is given to pages that share a name"
    return next(filter(None, map(_part_problem, name.split("/"))), "")


def _part_problem(part: str) -> str:
    if not part:
        return "it begins or ends with / or has two side by side"
    if part.startswith("."):
        return "a part of it begins with a dot"
    if part != part.strip() or part.endswith("."):
        return "a part of it begins or ends with a blank, or ends with a dot"
    if folded(part[-3:]) == ".md":
        return ".md is added by itself"
    if len(part.encode()) > PART_BYTES:
        return f"a part of it is longer than {PART_BYTES} bytes"
    return ""


def _is_bad(char: str) -> bool:
    return char in ":\\" or not (char.isprintable() or char == _JOINER)


def _cleaned(part: str) -> str:
    part = part.encode()[:PART_BYTES].decode(errors="ignore").lstrip(". ").rstrip(". ")
    return part[:-3] if folded(part[-3:]) == ".md" else part


def _beside(ids: list[str], place: int) -> tuple[str, str]:
    """The neighbours of an id in a sorted list: no other has more in common with it."""
    return ids[place - 1] if place else "", ids[place + 1] if place + 1 < len(ids) else ""


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def _quoted(name: str) -> str:
    """A name as it can be printed: it may hold anything, and be of any length."""
    return repr(name if len(name) <= 60 else name[:57] + "...")
