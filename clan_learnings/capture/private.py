"""Text between `<private>` and `</private>` is taken out before anything is kept or judged. Redaction of secrets is not done here.

A mark that is never closed hides everything to the end of its text. Three ways in, one rule:
`without_private` for plain text, `without_private_values` for decoded JSON, `without_private_lines` for the bytes of a
transcript as they lie on disk, escaped as they may be; lines stay where they are, so that evidence can still be found.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

_OPEN = re.compile(r"<private>", re.IGNORECASE)
_CLOSE = re.compile(r"</private>", re.IGNORECASE)
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?$)')  # the last one of a line may be cut off
_BETWEEN = re.compile(r"[\s,]*+$")
_NAME = re.compile(r"\s*+:")
_LETTER, _BEFORE = {b"p", b"P"}, {b"<", b"c", b"C"}
_DEPTH = 100  # of nested values; what lies deeper is dropped, not kept unseen


def may_be_private(data: bytes) -> bool:
    """Whether a transcript may have such text; if not, nothing else here needs to be asked."""
    return any(_follows_a_mark(data, at) for word in (b"rivate", b"RIVATE") for at in _places(data, word))


def _places(data: bytes, word: bytes) -> Iterator[int]:
    at = -1
    while (at := data.find(word, at + 1)) >= 0:
        yield at


def _follows_a_mark(data: bytes, at: int) -> bool:
    # `private` is a word of many languages: it counts after `<`, or `\\u003c`, or where letters are escaped.
    return data[at - 1 : at] not in _LETTER or data[at - 2 : at - 1] in _BEFORE


def without_private(text: str) -> str:
    """The text without what is private."""
    if "<p" not in text and "<P" not in text:
        return text
    return _cut(text, is_open=False)[0]


def without_private_values(value: Any) -> Any:
    """The same in every string of decoded JSON. Strings of one list may be the lines of one text: a mark reaches over them."""
    return _public(value, 0)


def without_private_lines(data: bytes) -> bytes:
    """The same in the bytes of a transcript, lines of JSON or one document. What has no mark in it comes back as it is."""
    if not may_be_private(data):
        return data
    lines, is_open = data.split(b"\n"), False
    for number, line in enumerate(lines):
        if is_open or may_be_private(line):
            text, is_open = _public_line(line.decode("utf-8", "surrogateescape"), is_open=is_open)
            lines[number] = text.encode("utf-8", "surrogateescape")
    return b"\n".join(lines)


def _cut(text: str, *, is_open: bool) -> tuple[str, bool]:
    kept: list[str] = []
    at = 0
    while True:
        if is_open:
            closing = _CLOSE.search(text, at)
            if closing is None:
                return "".join(kept), True
            at = closing.end()
        opening = _OPEN.search(text, at)
        if opening is None:
            kept.append(text[at:])
            return "".join(kept), False
        kept.append(text[at : opening.start()])
        at, is_open = opening.end(), True


def _public(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return without_private(value)
    if depth > _DEPTH:
        return None
    if isinstance(value, dict):
        return {without_private(str(key)): _public(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return _public_list(value, depth)
    return value


def _public_list(values: list[Any], depth: int) -> list[Any]:
    found, is_open = [], False
    for value in values:
        if isinstance(value, str):
            text, is_open = _cut(value, is_open=is_open)
            found.append(text)
        else:
            found.append(_public(value, depth + 1))
            is_open = False
    return found


def _public_line(line: str, *, is_open: bool) -> tuple[str, bool]:
    kept, at = [], 0
    for match in _STRING.finditer(line):
        between = line[at : match.start()]
        # A mark reaches on only to the next string of the same list: nothing but commas between, and no name of a member.
        if is_open and (not _BETWEEN.match(between) or _NAME.match(line, match.end())):
            is_open = False
        text, is_open = _public_string(match.group(), is_open=is_open)
        kept += [between, text]
        at = match.end()
    rest = line[at:]
    if rest.strip(" \t\r,"):
        is_open = False
    line = "".join([*kept, rest])
    # Whatever is left stands outside of strings: this line was no JSON.
    return without_private(line), is_open


def _public_string(token: str, *, is_open: bool) -> tuple[str, bool]:
    if not is_open and "rivate" not in token and "RIVATE" not in token:
        return token, False
    try:
        text = json.loads(token, strict=False)
    except ValueError:  # cut off in the middle
        return _cut(token, is_open=is_open)
    kept, is_open = _cut(text, is_open=is_open)
    return (token if kept == text else _written(kept)), is_open


def _written(text: str) -> str:
    token = json.dumps(text, ensure_ascii=False)
    try:
        token.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character: it was escaped, and has to be again
        return json.dumps(text)
    return token
