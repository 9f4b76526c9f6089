"""How a text is cut into tokens for matching: words as concepts; identifiers, numbers, versions and flags as written.

No meaning here: which words count is in `matching_words`, what a negation does in `stance`, what belongs together in `matching`. Pure
and linear in the length of the text. Everyday commands import this, so no `re`, `typing` or `dataclasses`: the scanner uses `split`
and `translate`.

Case never matters, except in a short flag: `-d` and `-D` are different flags.
"""

import unicodedata
from collections.abc import Iterator

from clan_learnings.records.matching_words import NUMBERS, PHRASES, SOFT, STOP, SYNONYMS, UNITS, concept

# The kinds of a token. A STRICT one (flag, number, version, error code) forbids a match wherever it is missing; a NAME
# (identifier, quoted code, operator, any word that is not common) where another stands in its place.
GRAMMAR, COMMON, NAME, STRICT, COMMA, STOP_MARK = range(6)

# Beyond this many tokens a text is a document; what matters for a correction stands before it.
MOST_TOKENS = 2000

_QUOTES = str.maketrans(
    {
        "\N{LEFT SINGLE QUOTATION MARK}": "'",
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{LEFT DOUBLE QUOTATION MARK}": '"',
        "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
        "\N{EN DASH}": "-",
        "\N{EM DASH}": " ; ",
        "\N{RIGHTWARDS ARROW}": " , ",
    }
)
_CUTS = str.maketrans(dict.fromkeys('()[]{}<>"=,;|&!?*^\\:`%$', " "))
_BLANKS = str.maketrans({sign: " " for sign in map(chr, range(128)) if not sign.isalnum()})
_STRONG = frozenset(".;:!?")
_CLOSING = ".,;:!?\"')]}>*`"
_OPENING = "\"'([{<*`"
# Prose, not operators, when they stand alone.
_NOT_OPERATORS = frozenset(("-", "--", "*", "/", "->", "=>", "+", "&", "#", "~", "_"))
# Before a hyphen these belong to the word after it: pre-commit is precommit.
_PREFIXES = frozenset(("re", "pre", "non", "un", "co", "sub", "multi", "de", "anti", "auto"))
_DIGITS = "0123456789."
_CONTRACTED = ("'s", "'re", "'ve", "'ll", "'d", "'m")
# Written without the apostrophe, and one irregular.
_NEGATED = {
    "cannot": "can", "cant": "can", "can't": "can", "won't": "will", "shan't": "shall", "dont": "do", "doesnt": "does",
    "didnt": "did", "isnt": "is", "wasnt": "was", "arent": "are", "werent": "were", "shouldnt": "should",
    "mustnt": "must", "couldnt": "could", "wouldnt": "would", "hasnt": "has", "havent": "have", "hadnt": "had",
}  # fmt: skip


class MatchingToken:
    """One word, identifier, number, flag or mark. `text` is compared; `raw` is what was written, folded."""

    __slots__ = ("kind", "parts", "raw", "text")

    def __init__(self, kind: int, text: str, raw: str, parts: tuple[str, ...] = ()) -> None:
        self.kind = kind
        self.text = text
        self.raw = raw
        self.parts = parts

    def __repr__(self) -> str:
        return f"Token({self.kind}, {self.text!r}, {self.raw!r}, {self.parts!r})"


_REMEMBERED, _WORD_CHARS = 20_000, 32  # words, and the letters of the longest: about 5 MB
_tokens: dict[str, MatchingToken] = {}


def tokens(text: str) -> list[MatchingToken]:
    """Every token of a text in its order, the marks between clauses among them."""
    found: list[MatchingToken] = []
    segments = unicodedata.normalize("NFKC", text).translate(_QUOTES).split("`")
    for at, segment in enumerate(segments):
        chunks = segment.split()
        quoted = at % 2 == 1 and at < len(segments) - 1 and len(chunks) == 1
        for chunk in chunks:
            _read_chunk(chunk, found, quoted=quoted)
            if len(found) >= MOST_TOKENS:
                return found[:MOST_TOKENS]
    return found


def _read_chunk(chunk: str, found: list[MatchingToken], *, quoted: bool) -> None:
    """What stands between two spaces: marks before and after it, and the pieces between."""
    if chunk.isascii() and chunk.isalpha() and chunk.islower():  # most of any text
        _read_word(chunk, chunk, found, quoted=quoted)
        return
    if not any(map(str.isalnum, chunk)):
        _read_symbols(chunk, found)
        return
    quoted = quoted or "()" in chunk  # exists() is a name, exists is a word
    chunk = chunk.replace("()", "")
    body = chunk.lstrip(_OPENING)
    if "(" in chunk[: len(chunk) - len(body)]:
        found.append(MatchingToken(COMMA, ",", "("))
    bare = body.rstrip(_CLOSING)
    after = body[len(bare) :]
    for piece in bare.translate(_CUTS).split():
        _read_piece(piece, found, quoted=quoted)
    if not _STRONG.isdisjoint(after):
        found.append(MatchingToken(STOP_MARK, ";", after))
    elif "," in after or (")" in after and "(" not in bare):
        found.append(MatchingToken(COMMA, ",", after))


def _read_symbols(chunk: str, found: list[MatchingToken]) -> None:
    """An operator such as `===`, or punctuation that stands alone."""
    bare = chunk.strip(".,;:\"'()[]{}`")
    if bare in _NOT_OPERATORS or not (bare.strip("!?") or bare == "??"):
        strong = not _STRONG.isdisjoint(chunk) or bare in {"-", "--"}
        found.append(MatchingToken(STOP_MARK, ";", chunk) if strong else MatchingToken(COMMA, ",", chunk))
    elif bare.isascii():
        found.append(MatchingToken(NAME, bare, bare))


def _read_piece(piece: str, found: list[MatchingToken], *, quoted: bool = False) -> None:
    """One piece without brackets, quotes and blanks: a flag, a number, an identifier or a word."""
    if piece[0] == "-" and piece.lstrip("-"):
        long = piece.startswith("--") or len(piece) > 4
        flag = piece.casefold() if long else piece
        found.append(MatchingToken(STRICT, flag, flag))
        return
    whole = piece.strip("-'~").lstrip("#").rstrip("/.").removeprefix("./").removeprefix("//")
    word = whole.casefold()
    if not word:
        return
    if piece.endswith("/") and word.isalnum():  # a folder, not the word: tests/
        found.append(MatchingToken(NAME, word + "/", "", (concept(word),)))
    elif word.isalpha():
        _read_word(word, whole, found, quoted=quoted)
    elif "'" in word:
        _read_contraction(word, found)
    elif word in SYNONYMS:
        found.append(MatchingToken(NAME, SYNONYMS[word], word))
    elif word[0].isdigit():
        _read_number(word, found)
    elif "-" in word and word.replace("-", "").isalnum():
        _read_hyphened(whole, found)
    elif word.isalnum() or word.rstrip(_DIGITS).isalpha():
        _read_numbered(word, found)
    else:
        found.append(MatchingToken(NAME, word, word, identifier_parts(whole)))


def _read_word(word: str, written: str, found: list[MatchingToken], *, quoted: bool) -> None:
    if quoted and (word in STOP or concept(word) in SOFT):
        found.append(MatchingToken(NAME, f"`{word}`", ""))
        return
    if word in _NEGATED:
        found.append(MatchingToken(GRAMMAR, _NEGATED[word], _NEGATED[word]))
        found.append(MatchingToken(GRAMMAR, "not", "not"))
        return
    if found and (found[-1].raw, word) in PHRASES:
        word = PHRASES[found[-1].raw, word]
        found.pop()
    found.append(word_token(word, () if written.islower() else identifier_parts(written)))


def word_token(word: str, parts: tuple[str, ...] = ()) -> MatchingToken:
    """The token of one folded word of letters. Tokens never change, so those of plain words are shared."""
    if len(parts) > 1 or len(word) > _WORD_CHARS:
        return _made(word, parts)
    found = _tokens.get(word)
    if found is None:
        if len(_tokens) >= _REMEMBERED:
            _tokens.clear()
        found = _tokens[word] = _made(word, ())
    return found


def _made(word: str, parts: tuple[str, ...]) -> MatchingToken:
    if word in STOP:
        return MatchingToken(GRAMMAR, word, word)
    text = concept(word)
    if word in NUMBERS:
        return MatchingToken(STRICT, text, word)
    return MatchingToken(COMMON if text in SOFT else NAME, text, word, parts if len(parts) > 1 else ())


def _read_contraction(word: str, found: list[MatchingToken]) -> None:
    """`don't` is do and not; `it's` is it; `user's` is user; anything else falls apart at the apostrophe."""
    if word in _NEGATED or word.endswith("n't"):
        found.append(MatchingToken(GRAMMAR, word, _NEGATED.get(word, word[:-3])))
        found.append(MatchingToken(GRAMMAR, "not", "not"))
        return
    for ending in _CONTRACTED:
        if word.endswith(ending):
            word = word[: -len(ending)]
            break
    for part in word.split("'"):
        if part:
            _read_piece(part, found)


def _read_number(word: str, found: list[MatchingToken]) -> None:
    """`8080`, `3.11`, `1_000`, `30s`; with any other letters in it, as it stands."""
    if "/" in word:
        for part in word.split("/"):
            if part:
                _read_piece(part, found)
        return
    if "-" in word:
        _read_hyphened(word, found)
        return
    digits = word.replace("_", "")
    number = digits.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = digits[len(number) :]
    if unit in UNITS:
        found.append(MatchingToken(STRICT, number.rstrip("."), number))
        found.append(MatchingToken(NAME, concept(UNITS[unit]), unit))
    else:
        found.append(MatchingToken(STRICT, word if unit else word.replace("_", ""), word))


def _read_numbered(word: str, found: list[MatchingToken]) -> None:
    """`python3`, `TS2345`, `sha256`: a name and a number, as if a blank stood between; `v2`: 2; `E501`: as it stands."""
    letters = word.rstrip(_DIGITS)
    if letters == "v":
        found.append(MatchingToken(STRICT, word[1:], word))
    elif len(letters) > 1 and letters.isalpha() and letters != word:
        found.append(word_token(letters))
        found.append(MatchingToken(STRICT, word[len(letters) :], word))
    else:
        found.append(MatchingToken(STRICT, word, word))


def _read_hyphened(whole: str, found: list[MatchingToken]) -> None:
    """`force-push` is force push, `utf-8` is utf 8, `pre-commit` is precommit. Never grammar: a no-op is no negation."""
    parts = [part for part in whole.split("-") if part]
    prefixes = 0
    while prefixes < len(parts) - 1 and parts[prefixes].casefold() in _PREFIXES:
        prefixes += 1
    parts[: prefixes + 1] = ["".join(parts[: prefixes + 1])]
    for part in parts:
        inner: list[MatchingToken] = []
        _read_piece(part, inner)
        phrase = PHRASES.get((found[-1].raw, part.casefold())) if found and inner else None
        if phrase and part != parts[0]:
            found[-1] = word_token(phrase)
            continue
        found.extend(MatchingToken(NAME, token.text, "") if token.kind == GRAMMAR else token for token in inner)


def split_words(text: str) -> list[str]:
    """Words as a keyword index has them: runs of letters and digits, in small letters."""
    text = text.lower()
    if text.isascii():
        return text.translate(_BLANKS).split()
    return "".join(char if char.isalnum() else " " for char in text).split()


def identifier_parts(written: str) -> tuple[str, ...]:
    """The words of an identifier as concepts: `getUserById`, `get_user_by_id`, `get.user/by-id` -> get, user, by, id."""
    return tuple(concept(part) for part in _humps(written))


def _humps(written: str) -> Iterator[str]:
    start = 0
    last = ""
    for at, char in enumerate(written):
        if not char.isalnum():
            if at > start:
                yield written[start:at].casefold()
            start = at + 1
        elif char.isupper() and (last.islower() or last.isdigit()):
            yield written[start:at].casefold()
            start = at
        last = char
    if len(written) > start:
        yield written[start:].casefold()
