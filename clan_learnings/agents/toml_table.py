"""One table of a TOML file, added and removed as text; the rest keeps its bytes. Opens no file.

The standard library reads TOML but does not write it. All we ever add is a table at the end of a file, so that is all this writes;
parsing before and after with the standard library shows whether the edit was right.
"""

import json
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from clan_learnings.agents.settings_entries import CannotEdit


def read(text: str) -> dict[str, Any]:
    """All that a file says."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise CannotEdit(f"it is not TOML: {error}") from error


def find(text: str, path: Sequence[str]) -> Any:
    """The value at a path; None if there is none."""
    value: Any = read(text)
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def put(text: str, path: Sequence[str], values: dict[str, Any]) -> str:
    """A table with these values, at the end of the file; in one that is there, only those that differ are changed."""
    for depth in range(1, len(path) + 1):
        if not isinstance(find(text, path[:depth]), dict | None):
            raise CannotEdit(f"{_dotted(path[:depth])} is not a table")
    present = find(text, path)
    if present is None:
        line = "\r\n" if "\r\n" in text else "\n"
        table = [f"[{_dotted(path)}]", *(_assignment(key, value) for key, value in values.items())]
        gap = "" if not text else line if text.endswith("\n") else 2 * line
        return _checked(text, path, values, text + gap + line.join(table) + line)
    for key, value in values.items():
        if present.get(key) != value:
            present = present | {key: value}
            text = _checked(text, path, present, _with_assignment(text, path, key, value))
    return text


def take(text: str, path: Sequence[str]) -> str:
    """Without a table, and without those inside it."""
    if find(text, path) is None:
        return text
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    for start, end in reversed(_tables(lines, path)):
        kept = lines[end:]
        head = lines[:start]
        if head and not head[-1].strip():  # the empty line that we, or a person, set before the table
            head.pop()
        lines = head + kept
    return _checked(text, path, None, "".join(lines))


def _tables(lines: list[str], path: Sequence[str]) -> list[tuple[int, int]]:
    """The lines of the tables at and below a path: from the header to before the next one's comments."""
    found = []
    headers = [
        (number, name)
        for number, line in enumerate(lines)
        if (name := _header(line)) is not None and _is_whole("".join(lines[:number]))
    ]
    headers.append((len(lines), []))
    for (start, name), (end, _) in pairwise(headers):
        if name[: len(path)] == list(path):
            last = end
            while last > start + 1 and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
                last -= 1
            found.append((start, last))
    return found


def _is_whole(text: str) -> bool:
    """Whether a text may end here, not within a list or a text of several lines."""
    try:
        read(text)
    except CannotEdit:
        return False
    return True


def _header(line: str) -> list[str] | None:
    """The name in a table's header; None if the line is none."""
    if not line.lstrip(" \t\ufeff").startswith("["):
        return None
    try:
        value = tomllib.loads(line.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        return None
    name = []
    while value:
        key, inner = next(iter(value.items()))
        name.append(key)
        value = inner[0] if isinstance(inner, list) else inner
    return name


def _with_assignment(text: str, path: Sequence[str], key: str, value: Any) -> str:
    lines = text.splitlines(keepends=True)
    line = "\r\n" if "\r\n" in text else "\n"
    for start, end in _tables(lines, path):
        if _header(lines[start]) != list(path):
            continue
        for number in range(start + 1, end):
            if lines[number].partition("=")[0].strip() == key:
                lines[number] = _assignment(key, value) + line
                return "".join(lines)
        if not lines[start].endswith("\n"):
            lines[start] += line
        lines.insert(start + 1, _assignment(key, value) + line)
        return "".join(lines)
    return text


def _checked(before: str, path: Sequence[str], value: Any, after: str) -> str:
    """The new text, if it says what the old one said with one value set, or taken out."""
    expected = read(before)
    holders = [expected]
    for step in path[:-1]:
        holders.append(holders[-1].setdefault(step, {}))
    if value is None:
        del holders[-1][path[-1]]
        for holder, step in zip(reversed(holders[:-1]), reversed(path[:-1]), strict=True):
            if not holder[step]:
                del holder[step]
    else:
        holders[-1][path[-1]] = value
    try:
        said = read(after)
    except CannotEdit:
        said = {}
    if value is None:
        said = {key: inner for key, inner in said.items() if key in expected or inner != {}}
    if json.dumps(said, sort_keys=True, default=repr) != json.dumps(expected, sort_keys=True, default=repr):
        raise CannotEdit(f"{_dotted(path)} is written in a way that we cannot edit safely")
    return after


def _assignment(key: str, value: Any) -> str:
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"  # of texts, lists of texts and booleans TOML's form is JSON's


def _dotted(path: Sequence[str]) -> str:
    return ".".join(path)
