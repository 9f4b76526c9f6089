"""Cleaning of transcripts: lines without private text, names of home folders and secrets. Pure: no files.

Works on the strings of JSON as they read when decoded, so nothing hides behind an escape, nor in JSON inside a string; lines
stay lines, so what is cited is found. Every text of a line is seen, whether or not the line is JSON. What is unchanged stays
as it was written.
"""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from clan_learnings.redaction import redact
from clan_learnings.redaction.passes import MARK_OPENS, mark, without_secrets
from clan_learnings.redaction.private_passages import may_be_private, without_private, without_private_lines
from clan_learnings.redaction.secret_names import is_secret_of, may_name_secret

# The user of an address is no folder: in `//root:password@host` redaction has to see the password.
# A name ends where a path goes on or ends. Backslashes may be escaped, once or more often, as in JSON inside JSON.
_ENDS = r"\s\x1b/\\\"'`<>|:;,*?()\[\]{}&$="
_NAME = rf"[^{_ENDS}]+"
# Where a path may begin: not inside another one. The end of a colour code and an escaped line break are letters to `re`.
_EDGE = r"(?:(?<![\w.~-])|(?<=\[[0-9]m)|(?<=[0-9][0-9]m)|(?<=\[[mK])|(?<=\\[nrt]))"
_HOMES = re.compile(
    rf"{_EDGE}(?:/(?:home|Users|export/home)/{_NAME}|/var/home/{_NAME}|/root(?![\w.-]|:[^\s/@]*@)"
    rf"|[A-Za-z]:(?:\\+|/)Users(?:\\+|/){_NAME}|/mnt/[a-z]/Users/{_NAME}|/[a-z]/Users/{_NAME})"
)
# A path as the name of one folder, as Claude Code names those of its projects: `projects/-Users-ada-work`. Where the user's
# name ends cannot be told if it has a hyphen in it; the first part goes.
_ENCODED = re.compile(rf"(?<=[/\\])(?:[A-Za-z]-)?-(?:var-|export-|mnt-[a-z]-)?(?:home|Users)-[^{_ENDS}-]+")
_SIGNS = ("/home/", "/Users", "/root", "\\Users", "-Users-", "-home-")


def homeless(text: str) -> str:
    """The text with `~` for every home folder. Works on JSON as it is written too."""
    if not any(sign in text for sign in _SIGNS):
        return text
    text = _HOMES.sub("~", text)
    return _ENCODED.sub("-~", text) if "-Users-" in text or "-home-" in text else text


LONG_CHARS = 256 * 1024  # of one string; of what is longer, the beginning and the end are kept
_PIECE_CHARS = 32 * 1024  # looked at at once: whoever shares the interpreter with us waits meanwhile
_CACHE_CHARS = 4 * 1024 * 1024
_DEPTH = 4  # of JSON in strings in JSON
_SHORT_CHARS = 64
_NAMES = 10_000
_NESTED = 50  # of values; what lies deeper is dropped, not kept unseen
_STRING = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?$))([ \t]{0,8}:)?')  # the last of a line may be cut off
# JSON without its strings. `[eE][+-]?\d` would be wrong in this possessive group before Python 3.11.5; an atomic one takes memory a word.
_PLAIN = re.compile(r"[\s\d{}\[\],:.+\-]*+(?:(?:true|false|null|[eE]\d|[eE][+-]\d)[\s\d{}\[\],:.+\-]*+)*+")
# Most strings of a transcript: ids, times, names of types. No rule finds anything in them, unless by the name they stand under.
_HARMLESS = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]{5,18}Z?|[a-z]{1,12}(?:[_-][a-z]{1,12}){0,3}"
    r"|(?:toolu|msg|call|req)_[A-Za-z0-9]{1,32}"
)
_FREE = re.compile(r"\\[\\/\"'nrtu]")  # an escape, in what should be plain text by now
_UNICODE = re.compile(r"\\+u([0-9a-fA-F]{4})")
_BREAK = re.compile(r"(?<=[^\s:=,|>(\[{\"'\\])\n")  # where a text may be parted: no value of a name on the next line
_BLANK = re.compile(r"\s")
_NO_BLANK_CHARS = 4096


class Cleaner:
    """Cleans line after line. Remembers what it has seen: transcripts say everything several times."""

    def __init__(self, breathe: Callable[[], None] | None = None) -> None:
        """`breathe` is called after every line; it may sleep, or raise."""
        self._breathe = breathe
        self.shortened = 0  # strings that were too long to be kept whole
        self.redacted: dict[str, int] = {}  # secrets, by their sort
        self._cache: dict[tuple[str, str], str] = {}
        self._cached_chars = 0
        self._name = ""  # that the next value stands under, if secrets do
        self._names: dict[str, tuple[str, str]] = {}  # of members: cleaned, and as they read

    def clean(self, data: bytes) -> bytes:
        """Some lines, the last with or without its end. Exactly as many come back."""
        if may_be_private(data):
            data = without_private_lines(data)
        return b"\n".join([self._line(line) if line else line for line in data.split(b"\n")])

    def _rest(self) -> None:
        if self._breathe is not None:
            self._breathe()

    def _line(self, line: bytes) -> bytes:
        self._rest()
        text = line.decode("utf-8", "replace")
        if "\0" in text:
            text = text.replace("\0", "")
        parts: list[str] = []
        between: list[str] = []
        at = 0
        for match in _STRING.finditer(text):
            start, end = match.span(1)
            between.append(text[at:start])
            parts.append(between[-1])
            parts.append(self._name_of(match[1]) if match[2] else self._token(match[1]))
            at = end
        between.append(text[at:])
        parts.append(text[at:])
        cleaned = "".join(parts)
        if not _PLAIN.fullmatch("".join(between)):  # not JSON, or damaged: all of it is a text
            cleaned = self.text(cleaned)
        return cleaned.replace("\n", " ").encode("utf-8", "replace")

    def _name_of(self, token: str) -> str:
        """A member's name as it stands in JSON, in quotes; what follows stands under it."""
        known = self._names.get(token)
        if known is None:
            text = _decoded(token)
            clean = self.text(text)
            known = (token if clean == text else json.dumps(clean, ensure_ascii=False), _secretive(text))
            if len(self._names) < _NAMES:
                self._names[token] = known
        self._name = known[1]
        return known[0]

    def _token(self, token: str) -> str:
        """A string as it stands in JSON, in quotes."""
        text = _decoded(token)
        clean = self.text(text, self._name)
        return token if clean is text or clean == text else json.dumps(clean, ensure_ascii=False)

    def text(self, text: str, name: str = "", depth: int = 0) -> str:
        """A decoded text; `name`: what it stands under."""
        if len(text) < 3:
            return text
        key = (name, text)
        known = self._cache.get(key)
        if known is not None:
            return known
        clean = self._clean(text, name, depth)
        if len(text) <= _PIECE_CHARS:
            self._cached_chars += len(text)
            if self._cached_chars > _CACHE_CHARS:
                self._cache.clear()
                self._cached_chars = len(text)
            self._cache[key] = clean
        return clean

    def value(self, value: Any, name: str = "", depth: int = 0) -> Any:
        """A value of decoded JSON, with all its texts cleaned."""
        if isinstance(value, str):
            return self.text(value, name)
        if depth > _NESTED:
            return None
        if isinstance(value, dict):
            return {
                self.text(str(key)): self.value(inner, _secretive(str(key)), depth + 1) for key, inner in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.value(inner, name, depth + 1) for inner in value]
        return value

    def _clean(self, text: str, name: str, depth: int) -> str:
        clean = text
        if len(text) <= _SHORT_CHARS and _HARMLESS.fullmatch(text):
            sort = is_secret_of(name, text) if name else ""
            return self._marked(sort) if sort else text
        if len(clean) > LONG_CHARS:
            clean = self._short(clean)
        if depth < _DEPTH and "\\" in clean:
            clean = self._inside(clean, depth)
        clean = self._without_secrets(without_private(clean))
        sort = is_secret_of(name, clean) if name and MARK_OPENS not in clean else ""
        if sort:
            return self._marked(sort)
        return homeless(clean)  # after the secrets: one that has a home folder in it is known by all of it

    def _marked(self, sort: str) -> str:
        self.redacted[sort] = self.redacted.get(sort, 0) + 1
        return mark(sort)

    def _inside(self, text: str, depth: int) -> str:
        """Text with escapes in it: JSON in a string, or a piece of it. Rewritten only if something was found behind them."""
        if text[:1] in '{["' and text.rstrip()[-1:] in '}]"':
            name, self._name = self._name, ""
            try:
                inner = "\n".join(
                    _STRING.sub(lambda found: self._inner(found, depth), line) for line in text.split("\n")
                )
            finally:
                self._name = name
            if inner != text:
                return inner
        if not _FREE.search(text):
            return text
        bare = _bare(text)
        clean = self.text(bare, "", depth + 1)
        return text if clean == bare else clean

    def _inner(self, found: "re.Match[str]", depth: int) -> str:
        token, colon = found[1], found[2] or ""
        try:
            value = json.loads(token, strict=False)
        except ValueError:
            return token + colon
        clean = self.text(value, "" if colon else self._name, depth + 1)
        if colon:
            self._name = _secretive(value)
        return (token if clean == value else json.dumps(clean, ensure_ascii=False)) + colon

    def _without_secrets(self, text: str) -> str:
        if len(text) <= _PIECE_CHARS or "PRIVATE KEY" in text or "Private-" in text:
            return without_secrets(text, self.redacted)
        parts, at = [], 0
        while len(text) - at > _PIECE_CHARS:
            found = _BREAK.search(text, at + _PIECE_CHARS // 2)
            if found is None:
                break
            parts.append(without_secrets(text[at : found.end()], self.redacted))
            at = found.end()
        parts.append(without_secrets(text[at:], self.redacted))
        return "".join(parts)

    def _short(self, text: str) -> str:
        """The beginning and the end, parted at a blank: half a secret is one that no rule knows. Without blanks: nothing."""
        self.shortened += 1
        half = LONG_CHARS // 2
        last = None
        for last in _BLANK.finditer(text, half - _NO_BLANK_CHARS, half):  # noqa: B007 (the last one is wanted)
            pass
        first = _BLANK.search(text, len(text) - half, len(text) - half + _NO_BLANK_CHARS)
        if last is None or first is None:
            return f"[{len(text)} characters left out]"
        left_out = first.start() - last.end()
        return f"{text[: last.end()]}[{left_out} characters left out]{text[first.start() :]}"


def _secretive(name: str) -> str:
    """A name under which secrets may stand; all others are alike to us."""
    return name[-200:] if may_name_secret(name) else ""


def _decoded(token: str) -> str:
    try:
        if "\\" in token:
            return str(json.loads(token, strict=False))
    except ValueError:  # cut off in the middle of an escape
        return token[1:]
    return token[1:-1] if token[-1:] == '"' else token[1:]


def _bare(text: str) -> str:
    """A text without one layer of escapes, as far as they matter to who looks for secrets."""
    text = _UNICODE.sub(lambda found: chr(int(found[1], 16)), text) if "\\u" in text else text
    text = text.replace("\\\\", "\\").replace('\\"', '"').replace("\\/", "/").replace("\\n", "\n").replace("\\r", "\r")
    return text.replace("\\t", "\t")


CHARS = 300
_READ = 4  # as many limits of a text are looked at
_ANSI = re.compile(
    r"\x1b\[[0-9;?]{0,32}[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_SPACE = re.compile(r"\s+")


def excerpt(text: str, chars: int = CHARS) -> str:
    """The beginning of a text, cut at a word where that costs little."""
    return _cut(clean(text[: chars * _READ]), chars)


@lru_cache(maxsize=512)
def clean(text: str) -> str:
    """The text as one line without what must not be kept."""
    line = _SPACE.sub(" ", without_colours(text)).strip()
    return redact(homeless(line)).text


def without_colours(text: str) -> str:
    """The text without what only a terminal reads."""
    return _ANSI.sub("", text) if "\x1b" in text or not text.isprintable() else text


def _cut(line: str, chars: int) -> str:
    if len(line) <= chars:
        return line
    cut = line[: chars - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > chars * 2 // 3 else cut).rstrip(" ,;:") + "…"
