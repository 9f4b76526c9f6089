"""Extra words for a keyword index: identifiers, whole and in parts, and pairs of CJK characters. Pure.

An index splits a text at every sign: of `get_user_by_id` it has four frequent words, of `getUserById` one, and of a sentence
without blanks it has the whole sentence. Records and questions are given the same extra words, so either spelling finds the
other, and a whole identifier is a rare word that weighs more than its parts.
"""

from __future__ import annotations

from itertools import compress

_WORD_CHARS = 64  # beyond it no stem is made, and nobody types it
_PARTS = 8  # of one identifier
_MOST = 512  # of one text, but for CJK
_MOST_CJK = 8192
_TURNS = 3  # from letters to digits and back; more are in a hash or a key, not in a name

_JOINTS = "_-./:\\"  # join the parts of one identifier; any other sign divides two
_PARTED = str.maketrans(dict.fromkeys(_JOINTS, " "))
# For UTF-8, where bytes from 128 on belong to letters: all else was made a blank before.
_DIVIDED = bytes(code if code > 127 or chr(code).isalnum() or chr(code) in _JOINTS else 32 for code in range(256))
_LOWER = b"abcdefghijklmnopqrstuvwxyz"
_GLUE = "\0"
_CJK = ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))

# The same few identifiers come again and again; reading one takes longer than all the rest of a text.
_known: dict[bytes, tuple[str, ...]] = {}
_KNOWN = 8192  # about 2 MB
_KNOWN_BYTES = 128


def extra_words(text: str) -> list[str]:
    """The extra words of a text, in small letters, each once, in the order they are met."""
    found: dict[str, None] = {}
    if not text.isascii():
        text = _read_foreign(text, found)
    most = len(found) + _MOST
    # Nearly all are plain words, of which nothing is left without small letters: no line of Python may run for them.
    raw = text.encode().translate(_DIVIDED).replace(b". ", b" ").rstrip(b".")
    for chunk in compress(raw.split(b" "), raw.translate(None, _LOWER).split(b" ")):
        words = _known.get(chunk)
        if words is None:
            if chunk.isalpha() and chunk.istitle():
                continue  # it begins a sentence; there are too many to remember
            words = _read(chunk)
        if words:
            for word in words:
                found[word] = None
            if len(found) >= most:
                break
    return list(found)


def _read(chunk: bytes) -> tuple[str, ...]:
    name = chunk.decode().strip(_JOINTS)
    if _is_plain(name):
        return ()
    words = _of_identifier(name)
    if len(chunk) <= _KNOWN_BYTES:
        if len(_known) >= _KNOWN:
            _known.clear()
        _known[chunk] = words
    return words


def _is_plain(word: str) -> bool:
    return word.isalpha() and (word.islower() or word.istitle())


def _of_identifier(chunk: str) -> tuple[str, ...]:
    while ":" in chunk:  # the line in a file is not part of its name
        name, _, line = chunk.rpartition(":")
        if not line.isdigit():
            break
        chunk = name.rstrip(":")
    pieces = chunk.translate(_PARTED).split()
    wholes = [pieces]
    file = chunk.replace("\\", "/").rpartition("/")[2]
    if len(file) < len(chunk):
        wholes.append(file.translate(_PARTED).split())
    words = [_joined(whole) for whole in wholes if len(whole) > 1]
    parts = [part for piece in pieces[:_PARTS] for part in _humps(piece)]
    return tuple(word for word in words + parts[:_PARTS] if word)


def _joined(pieces: list[str]) -> str:
    whole = "".join(pieces).lower()
    if len(whole) > _WORD_CHARS:
        return ""
    return "v" + whole if whole.isdigit() else whole  # a version or a date: 1.2.3 is not the number 123


def _humps(piece: str) -> list[str]:
    """The parts of camelCase, and of letters and digits that are glued together; none of a plain word."""
    if len(piece) > _WORD_CHARS or piece.isdigit():
        return []
    if piece.isalpha() and (piece.islower() or piece.isupper() or piece.istitle() or piece[:-1].isupper()):
        return []  # also URLs
    cuts = [0]
    turns = 0
    for at in range(1, len(piece)):
        before, here = piece[at - 1], piece[at]
        if before.isdigit() != here.isdigit():
            turns += 1
            cuts.append(at)
        elif here.isupper() and (not before.isupper() or piece[at + 1 : at + 2].islower()):
            cuts.append(at)
    if turns > _TURNS or len(cuts) == 1:
        return []
    ends = [*cuts[1:], len(piece)]
    return [piece[start:end].lower() for start, end in zip(cuts, ends, strict=True) if end - start > 1]


def _read_foreign(text: str, found: dict[str, None]) -> str:
    """A text that is not ASCII without its plain words, every sign that joins nothing a blank.

    Its CJK characters go, by pairs: no blanks divide their words. What is glued to them is a word of its own, which no index finds.
    """
    letters = set(text)
    for sign in letters:
        if not sign.isalnum() and sign not in _JOINTS:
            text = text.replace(sign, " ")
    if not any(map(_is_cjk, letters)):
        return _without_plain(text)
    for run in "".join(char if _is_cjk(char) else " " for char in text).split():
        for at in range(min(max(len(run) - 1, 1), _MOST_CJK - len(found))):
            found[run[at : at + 2]] = None
    marked = "".join(_GLUE if _is_cjk(char) else char for char in text)
    for chunk in marked.split():
        if _GLUE in chunk and len(found) < _MOST_CJK:
            words = chunk.replace(_GLUE, " ").translate(_PARTED).split()
            found.update((word.lower(), None) for word in words[:_PARTS])
    return _without_plain(marked.replace(_GLUE, " "))


def _without_plain(text: str) -> str:
    return " ".join([word for word in text.split() if not _is_plain(word)])


def _is_cjk(char: str) -> bool:
    code = ord(char)
    return code >= _CJK[0][0] and any(low <= code <= high for low, high in _CJK)
