"""The signature of an error: equal for equal errors of any session; and the most telling line of an output. Pure.

A signature has no numbers, paths, hashes and quoted names, so that one mistake is the same in every repository. It is for
comparing, never for reading.
"""

import re
from functools import lru_cache

from clan_learnings.sessions.cleaning import without_colours

CHARS = 120
_HEAD, _TAIL = 6_000, 6_000  # characters of an output that are looked at
_LINES = 400
_CLEAR = 3  # of `_score`: no doubt
_MANY_ERRORS = 60
_LINE_CHARS = 400

_ERROR = re.compile(
    r"\b(?:error|errors|fatal|exception|failed|failure|panic|cannot|can't|could not|couldn't|unable|not found|no such|denied|refused|"
    r"undefined|unknown|unrecogni[sz]ed|invalid|missing|unexpected|must|required|requires|unsupported|illegal|not allowed|not installed|"
    r"no matches|mismatch|expected|conflict|timed out|timeout|aborted|rejected|does not|doesn't|already exists|haven't|has not)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"^(?:[\w.]{1,80}\.)?[A-Z]\w{1,60}(?:Error|Exception|Exit)\b:?")  # Python's and others' last lines
_CODED = re.compile(
    r"\b(?:error|fatal|panic)\b(?:\[\w{1,12}\])?: ?\S|\b(?:TS|E|CS|SC|C)\d{3,5}\b|npm ERR! ", re.IGNORECASE
)
_PLACED = re.compile(r"^\s{0,8}(?:\[[\w:.-]{1,40}\] ?)?[^\s:()]{1,200}[:(]\d{1,7}[:,)](?:\d{1,6}[:)])?:? ?")
_CROSSED = re.compile(r"^[x✖×✗✘●]\s+\S")  # noqa: RUF001 (the crosses that linters print)
_SHELL = re.compile(
    r"^(?:output: ?)?(?:\(eval\):\d{1,5}: ?|[\w/.-]{0,60}sh: (?:-c: )?(?:line )?(?:\d{1,5}: ?)?)", re.IGNORECASE
)  # a shell says so
_SYNTAX = re.compile(
    r"\b(?:syntax error near|parse error near|no matches found: |command not found)", re.IGNORECASE
)  # a shell's own words
# Says that something failed, and not what.
_EMPTY = re.compile(
    r"^\W{0,6}(?:\[[\w:.-]{1,40}\] ?)?(?:exit code:? \d+|.{0,40}\btask failed|.{0,80}exit(?:ed)? (?:code|status|with).{0,20}|fail(?:ed|ure|ures)?\W{0,4}\d{0,6}|"
    r"errors?:?\W{0,3}\d{0,6}|make(?:\[\d+\])?: \*\*\*.{0,200}|traceback \(most recent call last\):?|finished in .{0,40}|"
    r"\d+ (?:issues?|errors?|problems?|warnings?|failed).{0,40}|command failed.{0,60}|[\w:.-]{1,40} \W{1,3} (?:error|failed)|error: \(none\)|process group.{0,20}|\S{0,60}\s+\d+(?:\.\d+)?m?s)\W{0,4}$",
    re.IGNORECASE,
)
_WARNED = re.compile(
    r"\b(?:warn|warning|warnings|deprecated|deprecation|futurewarning)\b", re.IGNORECASE
)  # and went on
_TAG = re.compile(r"</?[a-z_]{1,30}>")
_QUOTED = re.compile(
    r"`[^`'\n]{0,120}['`]|'[^'\n]{1,120}'|\"[^\"\n]{1,120}\"|“[^”\n]{1,120}”|\u2018[^\u2019\n]{1,120}\u2019"
)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,12}://\S+")
_PATH = re.compile(r"(?:[A-Za-z]:)?[\w.@~+-]*[/\\][\w.@~+/\\=-]*|\b[\w-]{1,60}\.[a-z]{1,5}[0-9]?\b(?!\()")
_HASH = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)*(?:ms|s|kb|mb|gb|%)?")
_REST = re.compile(r"[^a-z0-9_*'-]+")
_MANY = re.compile(r"(?:\* ?){2,}")


@lru_cache(maxsize=2048)
def telling_line(text: str) -> str:
    """The line of an output that says what went wrong; the first that is not empty if none does. Without its place in a file."""
    best, best_score = "", -1
    for line in _lines(text):
        score = _score(line)
        if score > best_score or (score == best_score and _NAMED.match(line)):  # of a traceback the last line tells
            best, best_score = line, score
    return _without_place(best)


@lru_cache(maxsize=1024)
def signatures_in(text: str) -> frozenset[str]:
    """The signatures of all lines that clearly report an error: linters and compilers print many."""
    found = [signed(_without_place(line)) for line in _lines(text) if _score(line) >= _CLEAR]
    return frozenset(signature for signature in found[:_MANY_ERRORS] if signature)


def signature_of(text: str) -> str:
    """The signature of an error's output. Empty if the output says nothing."""
    return signed(telling_line(text))


@lru_cache(maxsize=2048)
def signed(line: str) -> str:
    """A line without what differs from one session to the next."""
    line = line[:_LINE_CHARS].lower()
    line = _QUOTED.sub(" * ", line)
    for pattern in (_URL, _PATH, _HASH, _NUMBER):
        line = pattern.sub(" * ", line)
    line = _MANY.sub("* ", _REST.sub(" ", line)).strip(" *")
    return line[:CHARS].rstrip()


def _lines(text: str) -> list[str]:
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    text = _TAG.sub("", without_colours(text))
    lines = [line.strip()[:_LINE_CHARS] for line in text.splitlines() if line.strip()]
    return lines if len(lines) <= _LINES else lines[: _LINES // 2] + lines[-_LINES // 2 :]


def _score(line: str) -> int:
    if _EMPTY.match(line):
        return 0
    if _WARNED.search(line):
        return 1
    if _NAMED.match(line):
        return 6
    score = 1
    if _ERROR.search(line):
        score += 2
    if _CROSSED.match(line):
        score += 3
    if _CODED.search(line):
        score += 2
    if _PLACED.match(line):
        score += 2
    if _SHELL.match(line) and score > 1:
        score += 1
    if _SYNTAX.search(line):
        score += 2
    return min(score, 6)


def _without_place(line: str) -> str:
    rest = line.rpartition("stderr: ")[2] or line  # some agents put all streams into one line
    rest = rest[found.end() :] if (found := _SHELL.match(rest)) else rest
    for _ in range(2):
        found = _PLACED.match(rest)
        if not found or found.end() >= len(rest):
            break
        rest = rest[found.end() :].lstrip(": ")
    return rest or line
