"""Regular expressions, compiled when a text first needs them, and the word edge they share. No rules here.

Rules for every pattern of this package, so that a hostile text costs no more than its length: a repetition ends in
nothing that could fail after it, or is possessive, or is bounded by a number. A repeated group is made possessive by an
atomic group, `(?>X*)`, not by `X*+`, which takes too much before Python 3.11.5 (`tests/test_regular_expressions.py`).
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

    # Where a secret stands, and of which sort it is.
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
        import re

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
