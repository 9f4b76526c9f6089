"""Passages between `<private>` and `</private>`, taken out before anything is kept or judged. Secrets are not redacted here.

Marks nest; one may contain blanks or attributes. One that is never closed hides everything to the end of its text, and what follows in
the same list: the lines of one text, or the blocks of one message. There are three entries for one rule: `without_private` for plain
text, `without_private_values` for decoded JSON, `without_private_lines` for the bytes of a transcript on disk, however they are
escaped; lines keep their numbers, so that evidence can still be found.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

# `<private key>` holds the place of a key: only what has an equals sign is an attribute.
_MARK = re.compile(
    r"<\s{0,8}+(/?)\s{0,8}+private(?:\s{1,8}+[\w:.-]{1,64}+\s{0,8}+=[^>]{0,1000}+)?\s{0,8}+>", re.IGNORECASE
)
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?$)')  # the last one of a line may be cut off
_BETWEEN = re.compile(r"[\s,]*+$")
_NAME = re.compile(r"\s*+:")
_SIGNS = (b"<", b"003c")  # in small letters, escaped or not
_BLANKS, _BLANK_CHARS = b" \t\r\n\\nrt", 24  # escaped ones too; what else that strips costs a closer look only
_JSON_BYTES = 16 * 1024 * 1024  # read as a whole: as values it may take twenty times as much
_DEPTH = 100  # of nested values; what lies deeper is dropped, not kept unseen
# A block of a message has its text under one of these names, and says neither who speaks nor when.
_TEXTS = ("text", "thinking")
_OF_MESSAGES = frozenset(
    ("role", "sender", "from", "author", "speaker", "timestamp", "ts", "time", "createdAt", "created_at", "uuid")
)


def may_be_private(data: bytes) -> bool:
    """Whether a transcript may have such text; if not, nothing else here needs to be asked."""
    small = data.lower()
    return any(_follows_a_mark(small, at) for at in _places(small))


def _places(data: bytes) -> Iterator[int]:
    at = -1
    while (at := data.find(b"rivate", at + 1)) >= 0:
        yield at


def _follows_a_mark(data: bytes, at: int) -> bool:
    # `private` is a word of many languages: it counts after `<`, or `\\u003c`, or where letters are escaped.
    if data[at - 1 : at] != b"p":
        return True
    before = data[max(0, at - 1 - _BLANK_CHARS) : max(0, at - 1)]
    return before.endswith(_SIGNS) or before.rstrip(_BLANKS).endswith(_SIGNS)


def without_private(text: str) -> str:
    """The text without what is private."""
    if "<" not in text or "private" not in text.lower():
        return text
    return _cut(text, 0)[0]


def without_private_values(value: Any) -> Any:
    """The same in every string of decoded JSON. Strings of one list may be the lines of one text: a mark reaches over them."""
    return _public(value, 0)


def without_private_lines(data: bytes) -> bytes:
    """The same in the bytes of a transcript, lines of JSON or one document. What has no mark in it comes back as it is."""
    if not may_be_private(data):
        return data
    if len(data) <= _JSON_BYTES and data.count(b"\n", 0, len(data.rstrip())):  # maybe one document on many lines
        whole = _public_json(data.decode("utf-8", "surrogateescape"))
        if whole is not None:
            return whole.encode("utf-8", "surrogateescape")
    lines, still_open = data.split(b"\n"), 0
    for number, line in enumerate(lines):
        if still_open or may_be_private(line):
            text = line.decode("utf-8", "surrogateescape")
            public = None if still_open or len(line) > _JSON_BYTES else _public_json(text)
            if public is None:
                public, still_open = _public_line(text, still_open)
            lines[number] = public.encode("utf-8", "surrogateescape")
    return b"\n".join(lines)


def _cut(text: str, still_open: int) -> tuple[str, int]:
    """What of a text is public, given how many marks are open at its beginning; and how many are at its end."""
    kept: list[str] = []
    at = 0
    for mark in _MARK.finditer(text):
        if not mark[1]:
            if not still_open:
                kept.append(text[at : mark.start()])
            still_open += 1
        elif still_open:
            still_open -= 1
            at = mark.end()
    if not still_open:
        kept.append(text[at:])
    return "".join(kept), still_open


class _Object(list[tuple[str, Any]]):
    """An object of JSON as it was written, also if it has a name twice."""


def _public(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return without_private(value)
    if depth > _DEPTH:
        return None
    if isinstance(value, dict):
        return {without_private(str(key)): _public(item, depth + 1) for key, item in value.items()}
    if isinstance(value, _Object):
        return _Object((without_private(key), _public(item, depth + 1)) for key, item in value)
    if isinstance(value, list):
        return _public_list(value, depth, 0)[0]
    return value


def _public_list(values: list[Any], depth: int, still_open: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, str):
            public, still_open = _cut(value, still_open)
        elif depth < _DEPTH and _is_block(value):
            public, still_open = _public_block(value, depth + 1, still_open)
        else:
            public = _public(value, depth + 1)
        found.append(public)
    return found, still_open


def _is_block(value: Any) -> bool:
    if not isinstance(value, dict | _Object):
        return False
    members = dict(value)
    return not _OF_MESSAGES.intersection(members) and any(
        isinstance(members.get(name), str if name in _TEXTS else list) for name in (*_TEXTS, "content")
    )


def _public_block(value: Any, depth: int, still_open: int) -> tuple[Any, int]:
    members: list[tuple[str, Any]] = []
    for key, item in value if isinstance(value, _Object) else value.items():
        public: Any
        if key in _TEXTS and isinstance(item, str):
            public, still_open = _cut(item, still_open)
        elif key == "content" and type(item) is list and still_open and depth < _DEPTH:  # blocks in a block
            public, still_open = _public_list(item, depth, still_open)
        else:
            public = _public(item, depth + 1)
        members.append((without_private(str(key)), public))
    return (_Object(members) if isinstance(value, _Object) else dict(members)), still_open


def _public_json(text: str) -> str | None:
    """JSON as it was written, but for its strings; None if it is none."""
    try:
        value = json.loads(text, strict=False, object_pairs_hook=_Object)
        public = list(_strings(_public(value, 0)))
    except (ValueError, RecursionError):
        return None
    tokens = list(_STRING.finditer(text))
    if len(public) != len(tokens):  # something lay too deep
        return None
    kept: list[str] = []
    at = 0
    for token, string in zip(tokens, public, strict=True):
        kept.append(text[at : token.start()])
        kept.append(token[0] if json.loads(token[0], strict=False) == string else _written(string))
        at = token.end()
    return "".join((*kept, text[at:]))


def _strings(value: Any) -> Iterator[str]:
    """Every string, in the order in which they are written."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, _Object):
        for key, item in value:
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _public_line(line: str, still_open: int) -> tuple[str, int]:
    """A line of a document that cannot be read as a whole, or of none."""
    kept, at = [], 0
    for match in _STRING.finditer(line):
        between = line[at : match.start()]
        # A mark reaches on only to the next string of the same list: nothing but commas between, and no name of a member.
        if still_open and (not _BETWEEN.match(between) or _NAME.match(line, match.end())):
            still_open = 0
        text, still_open = _public_string(match.group(), still_open)
        kept += [between, text]
        at = match.end()
    rest = line[at:]
    if rest.strip(" \t\r,"):
        still_open = 0
    line = "".join([*kept, rest])
    # Whatever is left stands outside of strings: this line was no JSON.
    return without_private(line), still_open


def _public_string(token: str, still_open: int) -> tuple[str, int]:
    if not still_open and "rivate" not in token and "RIVATE" not in token:
        return token, 0
    try:
        text = json.loads(token, strict=False)
    except ValueError:  # cut off in the middle
        return _cut(token, still_open)
    kept, still_open = _cut(text, still_open)
    return (token if kept == text else _written(kept)), still_open


def _written(text: str) -> str:
    token = json.dumps(text, ensure_ascii=False)
    try:
        token.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character: it was escaped, and has to be again
        return json.dumps(text)
    return token
