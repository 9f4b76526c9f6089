"""Private keys in blocks of lines: PEM, OpenSSH, PGP, SSH2, PuTTY. Public keys and certificates are none of its business.

A block may be cut off at either end, its line breaks may be escaped once or several times, and its lines may be quoted,
indented or the lines of a diff. A header without a key after it is only talk about keys.
"""

from clan_learnings.redaction.compiled_patterns import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clan_learnings.redaction.compiled_patterns import Span

SORT = "private key"
SORTS = frozenset({SORT})

# A key of 16,384 bits takes 13 KB. What is farther away belongs to something else.
_REACH_CHARS = 32_768

_OPENS = r"-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-Lines: ?\d+"
_CLOSES = r"-{4,5} ?END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-MAC: ?[0-9a-f]+"

# Between two lines of a key: line breaks real or escaped, quotes, commas, the marks of a diff or of a quoted mail.
_GAP = r"(?:[\s\"',>|#*\0]|\\+[nrt]?|(?<=\s)[-+](?=\s))"
_HEADER_LINES = rf"(?>(?:(?>{_GAP}{{1,16}})[A-Z][A-Za-z-]{{2,20}}: ?[^\n\\]{{0,120}}){{0,9}})"
_LINES = rf"(?>(?:(?>{_GAP}{{0,16}})=?[A-Za-z0-9+/]{{16,}}+={{0,2}})+)"
_LAST_LINE = rf"(?>(?:(?>{_GAP}{{1,16}})=?[A-Za-z0-9+/]{{1,15}}+={{0,2}}(?![A-Za-z0-9 ]))?)"
_BODY = _HEADER_LINES + _LINES + _LAST_LINE

# A key that was shortened by hand: lines and nothing else between the marks, or how all such keys begin.
_BREAKS = r"(?:[\s\"',]|\\+[nrt])"
_SHORT = rf"(?>{_BREAKS}{{0,16}})(?>(?:[A-Za-z0-9+/=]{{4,}}+(?>(?:\\+[nrt]|[\r\n])*))+)"
_SHORT_CHARS = 1024
_BEGINNING = rf"(?>{_BREAKS}{{1,16}})(?:MI|MC4|b3Bl)[A-Za-z0-9+/=]{{2,}}+"

# The same lines read from their end, for a block whose beginning is missing. Escaped line breaks are turned round, too.
_GAP_BACK = r"(?:[\s\"',>|#*\0]|[nrt]?\\+)"
_LINES_BACK = (
    rf"(?>(?:(?>{_GAP_BACK}{{0,16}})={{0,2}}[A-Za-z0-9+/]{{1,15}}+(?={_GAP_BACK}))?)"
    rf"(?>(?:(?>{_GAP_BACK}{{0,16}})={{0,2}}[A-Za-z0-9+/]{{16,}}+)+)"
)


# A block that is base 64 as a whole, as kubeconfig and secrets of Kubernetes have it.
_ENCODED_OPENS = "LS0tLS1CRUdJTi"
_ENCODED = rf"{_ENCODED_OPENS}[A-Za-z0-9+/]{{34}}[A-Za-z0-9+/]*={{0,2}}"


def find(text: str, _: str) -> "list[Span]":
    """Every private key that has at least a line of key in it."""
    encoded = _encoded(text) if _ENCODED_OPENS in text else []
    if "PRIVATE KEY" not in text and "Private-" not in text:
        return encoded
    body = compiled(_BODY)
    openings = [match.span() for match in compiled(_OPENS).finditer(text)]
    closings = [match.span() for match in compiled(_CLOSES).finditer(text)]
    spans: list[Span] = []
    closing = 0
    for number, (start, key) in enumerate(openings):
        while closing < len(closings) and closings[closing][0] < key:
            closing += 1
        limit = openings[number + 1][0] if number + 1 < len(openings) else len(text)
        limit = min(limit, key + _REACH_CHARS)
        lines = body.match(text, key)
        if closing < len(closings) and closings[closing][0] < limit and _has_line(text, key, closings[closing][0]):
            spans.append((start, closings[closing][1], SORT))
        elif lines or (lines := compiled(_BEGINNING).match(text, key)):
            spans.append((start, lines.end(), SORT))
    return encoded + spans + _without_beginning(text, closings, spans)


def _encoded(text: str) -> "list[Span]":
    from base64 import b64decode

    return [
        (*block.span(), SORT)
        for block in compiled(_ENCODED).finditer(text)
        if b"PRIVATE KEY" in b64decode(block[0][:48])  # a certificate begins in the same way
    ]


def _has_line(text: str, start: int, end: int) -> bool:
    if compiled(r"[A-Za-z0-9+/]{16}").search(text, start, end) is not None:
        return True
    return end - start <= _SHORT_CHARS and compiled(_SHORT).fullmatch(text, start, end) is not None


def _without_beginning(text: str, closings: list[tuple[int, int]], whole: "list[Span]") -> "list[Span]":
    """Keys of which only the end is there."""
    spans: list[Span] = []
    covered = {end for _, end, _ in whole}
    floor = 0
    for start, end in closings:
        if end not in covered:
            before = text[max(floor, start - _REACH_CHARS) : start][::-1]
            lines = compiled(_LINES_BACK).match(before)
            if lines:
                spans.append((start - lines.end(), end, SORT))
        floor = end
    return spans
