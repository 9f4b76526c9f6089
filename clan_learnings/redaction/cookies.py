"""Cookies: values after `Cookie:` and `Set-Cookie:`, and the session cookies of well-known servers. Other headers are in `logins`.

The names of cookies say little, so every value counts that is long enough and not a placeholder. Attributes of a cookie are left alone.
"""

from clan_learnings.redaction.compiled_patterns import Span, compiled, places
from clan_learnings.redaction.secret_values import is_random, is_stand_in

SORT = "cookie"
SORTS = frozenset({SORT})

_LEAST_CHARS = 8
_PAIRS = 60
_JUDGED_CHARS = 256
_CHAR = r"[^\s;,\"'`\\<>()\[\]{}\0]"
_HEADER = r"(?i)(?<![A-Za-z])cookie2?\\*[\"']?\]?[ \t]{0,4}[:,][ \t]{0,4}\\*[\"'`]?(?=[\w.-]{1,64}[=;])"
# `curl -b`, `--cookie`: pairs as in a header, but not the name of a file.
_OPTION = r"(?:--cookie|(?<=\s)-b)[ =]{1,4}\\*[\"']?(?=[\w.-]{1,64}=)"
# `cookies={"sid": "..."}`
_MAPPING = r"(?i:cookies)[\"']?[ \t]{0,4}[=:][ \t]{0,4}\{"
_ENTRY = rf"[\s,]{{0,40}}[\"']?([\w.-]{{1,64}})[\"']?[ \t]{{0,4}}:[ \t]{{0,4}}[\"'`]({_CHAR}{{1,400}})[\"'`]"
_SESSIONS = (
    *(
        "connect.sid=",
        "phpsessid=",
        "jsessionid=",
        "asp.net_sessionid=",
        "laravel_session=",
        "sessionid=",
        "csrftoken=",
    ),
    *("remember_token=", ".aspxauth=", "sid=s%3a"),
)
_NAME = r"([\w.!#$%&*+^|~-]{1,64})="
_VALUE = rf"{_CHAR}*+"
_BEGINNING = rf"{_CHAR}{{1,{_JUDGED_CHARS}}}+"
_NEXT = r"(?:;|%3B)[ \t]{0,4}"
_FLAG = r"(?i:secure|httponly|partitioned)(?![\w=-])"
_ATTRIBUTES = frozenset(("path", "domain", "expires", "max-age", "samesite", "priority", "version", "comment"))


def find(text: str, lower: str) -> "list[Span]":
    """Every value of a cookie."""
    spans: list[Span] = []
    if "cookie" in lower:
        _find_headers(text, spans)
        _find_mappings(text, spans)
    if "--cookie" in lower or (" -b " in text and "curl" in lower):
        for option in compiled(_OPTION).finditer(text):
            _pairs(text, option.end(), spans)
    for session in _SESSIONS:
        if session in lower:
            _find_sessions(text, lower, session, spans)
    return spans


def _find_headers(text: str, spans: "list[Span]") -> None:
    done = 0  # what was read once is not read again
    for header in compiled(_HEADER).finditer(text):
        if header.end() >= done:
            done = _pairs(text, header.end(), spans)


def _find_mappings(text: str, spans: "list[Span]") -> None:
    for mapping in compiled(_MAPPING).finditer(text):
        at = mapping.end()
        for _ in range(_PAIRS):
            entry = compiled(_ENTRY).match(text, at)
            if not entry:
                break
            if _is_cookie(entry[1], entry[2][:_JUDGED_CHARS]) and is_random(entry[2], 16):
                spans.append((*entry.span(2), SORT))
            at = entry.end()


def _find_sessions(text: str, lower: str, session: str, spans: "list[Span]") -> None:
    done = 0  # as above
    for place in places(lower, session):
        start = place + session.index("=") + 1
        if start < done or lower[max(0, place - 1) : place].isalpha():
            continue
        beginning = compiled(_BEGINNING).match(text, start)
        if beginning and _is_cookie("", beginning[0]):
            done = _end(text, start)
            spans.append((start, done, SORT))


def has_cookie(value: str) -> bool:
    """Whether the value of such a header has a cookie in it."""
    spans: list[Span] = []
    _pairs(value, 0, spans)
    return bool(spans)


def _pairs(text: str, at: int, spans: "list[Span]") -> int:
    """The cookies of one header. Returns up to where it was read."""
    for _ in range(_PAIRS):
        flag = compiled(_FLAG).match(text, at)
        if flag:
            at = flag.end()
        else:
            name = compiled(_NAME).match(text, at)
            if not name:
                break
            at = _end(text, name.end())
            if _is_cookie(name[1], text[name.end() : min(at, name.end() + _JUDGED_CHARS)]):
                spans.append((name.end(), at, SORT))
        following = compiled(_NEXT).match(text, at)
        if not following:
            break
        at = following.end()
    return at


def _end(text: str, start: int) -> int:
    """Where the value that begins here ends."""
    value = compiled(_VALUE).match(text, start)
    assert value is not None  # it may be empty
    return value.end()


def _is_cookie(name: str, value: str) -> bool:
    return len(value) >= _LEAST_CHARS and name.lower() not in _ATTRIBUTES and not is_stand_in(value)
