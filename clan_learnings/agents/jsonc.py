"""JSON with comments, edited in place: everything outside an edit keeps its bytes. Knows no agent and opens no file.

A text is parsed into a tree whose values know their position. Every edit takes a text and a value of it and returns a new text, which
must be parsed again. Trailing commas are accepted and kept.
"""

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NoReturn

_DEPTH = 200
_SPACE = " \t\r\n"
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_PLAIN = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"[\w+.-]*")
_BETWEEN = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)


class InvalidJson(Exception):
    """The text is not JSON, with or without comments."""


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A member of an object, or an item of an array, whose key is empty."""

    key: str
    start: int  # of the key, or of the item
    node: "JsonValue"


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value, and where in the text it stands."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    scalar: Any = None
    entries: list[JsonMember] = field(default_factory=list)

    @property
    def value(self) -> Any:
        """The value as Python has it. Of members with one key the last counts."""
        if self.kind == "object":
            return {entry.key: entry.node.value for entry in self.entries}
        return [entry.node.value for entry in self.entries] if self.kind == "array" else self.scalar

    def get(self, key: str) -> "JsonValue | None":
        """A member's node."""
        return next((entry.node for entry in reversed(self.entries) if entry.key == key), None)


@lru_cache(maxsize=4)  # an edit looks at its text several times, and some settings have megabytes
def parse(text: str) -> JsonValue:
    """The tree of a whole text."""
    reader = _JsonReader(text)
    root = reader.value(reader.skip(1 if text.startswith("\ufeff") else 0), 0)
    if reader.skip(root.end) != len(text):
        reader.fail(root.end, "something follows the end")
    return root


def add(text: str, parent: JsonValue, key: str, value: Any) -> str:
    """A text with one entry more, at the end of an object, or of an array (then the key is empty), in the style of its neighbours."""
    label = f"{json.dumps(key, ensure_ascii=False)}: " if parent.kind == "object" else ""
    if _is_inline(text, parent):
        written = label + json.dumps(value, ensure_ascii=False)
        if not parent.entries:
            return text[: parent.end - 1] + written + text[parent.end - 1 :]
        end = parent.entries[-1].node.end
        return f"{text[:end]}, {written}{text[end:]}"
    line = _newline(text)
    outer = _indentation(text, parent.start)
    inner = _indentation(text, parent.entries[-1].start) if parent.entries else outer + _unit(text)
    written = json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace("\n", line + inner)
    if not parent.entries:
        head = text[: parent.end - 1].rstrip(_SPACE)
        return f"{head}{line}{inner}{label}{written}{line}{outer}{text[parent.end - 1 :]}"
    end = parent.entries[-1].node.end
    comma = _comma_after(text, end)
    stop = _rest_of_line(text, end if comma is None else comma + 1)
    head = text[:end] + ("," if comma is None else "") + text[end:stop]
    return f"{head}{line}{inner}{label}{written}{'' if comma is None else ','}{text[stop:]}"


def replace(text: str, node: JsonValue, value: Any) -> str:
    """A text with another value in the place of one."""
    if "\n" in text[node.start : node.end]:
        inner = _indentation(text, node.start)
        written = json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace("\n", _newline(text) + inner)
    else:
        written = json.dumps(value, ensure_ascii=False)
    return text[: node.start] + written + text[node.end :]


def remove(text: str, parent: JsonValue, index: int) -> str:
    """A text without one entry. Comments around it stay."""
    entry = parent.entries[index]
    start, end = entry.start, entry.node.end
    comma = _comma_after(text, end)
    after = end if comma is None else comma + 1
    if len(parent.entries) == 1:
        inner = text[parent.start + 1 : start].rstrip(_SPACE) + text[after : parent.end - 1]
        return text[: parent.start + 1] + (inner if inner.strip(_SPACE) else "") + text[parent.end - 1 :]
    if index == len(parent.entries) - 1:
        head = text[:start].rstrip(_SPACE)
        if comma is None:
            before = _comma_after(text, parent.entries[index - 1].node.end)
            assert before is not None
            head = head[:before] + head[before + 1 :]
        keeps_line = "\n" in text[after : _skip(text, after)] or "\n" not in text[len(head) : start]
        return head + ("" if keeps_line else _newline(text)) + text[after:]
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", after)
    if not text[line_start:start].strip(_SPACE) and line_end >= 0 and not text[after:line_end].strip(_SPACE):
        return text[:line_start] + text[line_end + 1 :]
    while text[after] in " \t":
        after += 1
    return text[:start] + text[after:]


class _JsonReader:
    def __init__(self, text: str) -> None:
        self._text = text

    def fail(self, at: int, what: str) -> NoReturn:
        line = self._text.count("\n", 0, at) + 1
        raise InvalidJson(f"line {line}: {what}")

    def skip(self, at: int) -> int:
        """Where the next token starts."""
        return _skip(self._text, at)

    def value(self, at: int, depth: int) -> JsonValue:
        """The value that starts here."""
        char = self._text[at : at + 1]
        if depth > _DEPTH:
            self.fail(at, "nested too deep")
        if char in ("{", "["):
            return self._container(at, depth)
        end = self._string_end(at) if char == '"' else self._word_end(at)
        return JsonValue("scalar", at, end, self._scalar(at, end))

    def _container(self, start: int, depth: int) -> JsonValue:
        is_object = self._text[start] == "{"
        close = "}" if is_object else "]"
        entries: list[JsonMember] = []
        at = self.skip(start + 1)
        while self._text[at : at + 1] != close:
            key, first = "", at
            if is_object:
                if self._text[at : at + 1] != '"':
                    self.fail(at, "a key in double quotes is missing")
                end = self._string_end(at)
                key = self._scalar(at, end)
                at = self.skip(end)
                if self._text[at : at + 1] != ":":
                    self.fail(at, "a colon is missing")
                at = self.skip(at + 1)
            node = self.value(at, depth + 1)
            entries.append(JsonMember(key, first, node))
            at = self.skip(node.end)
            if self._text[at : at + 1] == ",":
                at = self.skip(at + 1)
            elif self._text[at : at + 1] != close:
                self.fail(at, f"a comma or {close} is missing")
        return JsonValue("object" if is_object else "array", start, at + 1, entries=entries)

    def _string_end(self, start: int) -> int:
        found = _STRING.match(self._text, start)
        return found.end() if found else self.fail(start, "a string does not end")

    def _word_end(self, start: int) -> int:
        found = _WORD.match(self._text, start)
        assert found is not None
        return found.end()

    def _scalar(self, start: int, end: int) -> Any:
        written = self._text[start:end]
        if written in _PLAIN:
            return _PLAIN[written]
        if written.startswith('"') and "\\" not in written:
            return written[1:-1]
        try:
            return json.loads(written, parse_constant=self._refuse_constant)
        except ValueError:
            self.fail(start, "no JSON value")

    @staticmethod
    def _refuse_constant(name: str) -> NoReturn:
        raise ValueError(name)  # NaN and the like, which only Python reads


def _skip(text: str, at: int) -> int:
    """Past space and comments."""
    found = _BETWEEN.match(text, at)
    assert found is not None
    return found.end()


def _comma_after(text: str, at: int) -> int | None:
    at = _skip(text, at)
    return at if text[at : at + 1] == "," else None


def _rest_of_line(text: str, at: int) -> int:
    """The end of the comments that follow on the same line: they belong to what stands before them."""
    while True:
        stop = at
        while text[stop : stop + 1] in (" ", "\t"):
            stop += 1
        if text.startswith("//", stop):
            end = text.find("\n", stop)
            end = len(text) if end < 0 else end
            return end - 1 if text[end - 1] == "\r" else end
        end = text.find("*/", stop + 2) if text.startswith("/*", stop) else -1
        if end < 0 or "\n" in text[stop:end]:
            return at
        at = end + 2


def _is_inline(text: str, parent: JsonValue) -> bool:
    """Whether a container stands on one line, so that one more entry goes there too. An empty one follows the whole text."""
    if parent.entries:
        return "\n" not in text[parent.start : parent.entries[-1].node.end]
    return parent.start != _skip(text, text.startswith("\ufeff")) and "\n" not in text.strip(_SPACE)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """One step of indentation: the first that the text makes, else two spaces."""
    for line in text.splitlines():
        indentation = line[: len(line) - len(line.lstrip(" \t"))]
        if indentation and line.strip() and not line.strip().startswith(("*", "/")):
            return indentation
    return "  "


def _indentation(text: str, at: int) -> str:
    """The space at the start of the line of a place."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
