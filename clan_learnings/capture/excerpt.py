"""A short piece of a transcript that may be kept and shown: one line, no secrets, `~` for home folders. Chooses nothing."""

import re
from functools import lru_cache

from clan_learnings.capture.home_folders import homeless
from clan_learnings.redaction import redact

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
