"""Regular expressions, compiled when a text first needs them, and the word edge they share. No rules here.

Rules for every pattern of this package, so that a hostile text costs no more than its length: a repetition ends in
nothing that could fail after it, or is possessive, or is bounded by a number. A repeated group is made possessive by an
atomic group, `(?>X*)`, not by `X*+`, which takes too much before Python 3.11.5 (`tests/test_regular_expressions.py`).
"""

import re
from re import Pattern

Span = tuple[int, int, str]


# Where a word may begin: not inside another one. But an escaped line break, a percent code and the end of a colour code
# are letters to `re`, and transcripts are full of them.
EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\[[0-9]m)|(?<=[0-9][0-9]m))"

# What a mark is turned into while rules look at a text. No rule accepts it as a part of anything.
BLANK = "\0"

_compiled: dict[str, "Pattern[str]"] = {}


def compiled(pattern: str) -> "Pattern[str]":
    """The compiled pattern; flags are written into it."""
    found = _compiled.get(pattern)
    if found is None:
        found = _compiled[pattern] = re.compile(pattern)
    return found


def places(lower: str, word: str) -> list[int]:
    """Where a word stands. A plain search: a pattern that begins with a choice has to be tried at every letter."""
    found = []
    place = lower.find(word)
    while place >= 0:
        found.append(place)
        place = lower.find(word, place + len(word))
    return found


# What `mesh.core.display` takes out: escape sequences, then control, format, zero-width, bidi, filler, surrogate and
# private characters, variation selectors and tags. Blanks of all sorts stay: there a word ends.
_HIDDEN = (
    r"(?:\x1b\[|\x9b)[ -?]*+[@-~]?|\x1b[\]PX^_][^\x07\x1b\n]*+\x07?|\x1b[^\x1b\n]?|"
    r"[\0-\x08\x0e-\x1a\x7f-\x84\x86-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    r"\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0"
    r"\ufff0-\ufffc\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001345f\U00016fe4\U0001bca0-\U0001bca3\U0001d159"
    r"\U0001d173-\U0001d17a\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe-\U0010ffff]"
)
# What of that is ASCII, for most texts: looking for one of a few characters is many times faster.
_HIDDEN_ASCII = r"[\0-\x08\x0e-\x1b\x7f]"


def shown(text: str) -> tuple[str, list[int]] | None:
    """What of the text will be shown, and the place of each of its characters; nothing if that is all of it."""
    if text.isascii() and (text.isprintable() or not compiled(_HIDDEN_ASCII).search(text)):
        return None
    kept: list[str] = []
    places: list[int] = []
    done = 0
    for hidden in compiled(_HIDDEN).finditer(text):
        kept.append(text[done : hidden.start()])
        places.extend(range(done, hidden.start()))
        done = hidden.end()
    if not done:
        return None
    kept.append(text[done:])
    places.extend(range(done, len(text)))
    return "".join(kept), places
