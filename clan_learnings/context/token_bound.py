"""An upper bound on the number of tokens of a text. No tokenizer here: every model has another, and a hook has no time.

What the figures rest on is in ADR 0032. ASCII letters by words: a frequent word is one token, of any other every second
letter is, and one more wherever two letters stand together that seldom do. Every other ASCII character is a token, but
for the blank before a letter. Everything else counts by its bytes, the most that a byte-level vocabulary can make of it,
or by the bytes of its compatibility form, since some tokenizers take that. And never less than a quarter of the bytes,
which is how Codex counts.

Exactly additive over lines that end in a line end, up to rounding to the safe side; more words are never fewer tokens.
"""

from __future__ import annotations

from clan_learnings.context.token_pairs import LONGER, SPLIT, WORDS

LEAST_CHARS = 4  # a token: Codex divides the bytes by this, so the bound is never below
_KNOWN = dict.fromkeys(LONGER.split(), 2) | dict.fromkeys(WORDS.split(), 1)
_RARE = frozenset(row[0] + second for row in SPLIT.split() for second in row[1:])
_SMALL = "abcdefghijklmnopqrstuvwxyz"
# Everything but letters parts words, and a capital begins a new one: `readFile` is `read file`, `HTTP` is `H T T P`.
_WORDS_APART = dict.fromkeys(range(128), " ") | {ord(a): a for a in _SMALL} | {ord(a.upper()): " " + a for a in _SMALL}
_LETTERS_ALIKE = dict.fromkeys(map(ord, _SMALL + _SMALL.upper()), "a")
_FREE = "\0"  # stands for what was counted already; can be in no text that was made harmless


def at_most_tokens(text: str) -> int:
    """At least the number of tokens that a model makes of this text."""
    tokens, weight = 0, len(text)
    if not text.isascii():
        text, tokens, weight = _counted(text)
    for word in text.translate(_WORDS_APART).split():
        tokens += _KNOWN.get(word) or _unknown(word)
    # What is no letter and no blank before a letter; a quotation mark may take a letter from a word and so split it.
    shape = text.translate(_LETTERS_ALIKE)
    tokens += len(shape) - shape.count("a") - shape.count(" a") - shape.count(_FREE) + shape.count("'aa")
    return max(tokens, -(-weight // LEAST_CHARS))


def _unknown(word: str) -> int:
    """Half a token a letter, half a token more for a rare pair; one at the beginning; never more than letters."""
    letters = len(word)
    if letters < 2:
        return letters
    rare = sum(map(_RARE.__contains__, map(str.__add__, word, word[1:])))
    return min((letters + rare + 2) // 2, letters)


def _counted(text: str) -> tuple[str, int, int]:
    """The ASCII part of a text, with something that costs nothing in place of the rest; the rest's cost; all bytes."""
    from unicodedata import normalize

    tokens, weight = 0, len(text)
    free = {}
    for char in set(text):
        if char > "\x7f":
            count = text.count(char)
            own = len(char.encode("utf-8", "surrogatepass"))
            weight += count * (own - 1)
            tokens += count * max(own, len(normalize("NFKC", char).encode("utf-8", "surrogatepass")))
            free[ord(char)] = _FREE
    return text.translate(free), tokens, weight
