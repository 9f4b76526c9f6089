"""Cookies: what stands after `Cookie:` and `Set-Cookie:`, and the session cookies of well-known servers. Other headers are in `logins`.

The names of cookies say little, so every value counts that is long enough and no stand-in; attributes of a cookie are no cookies.
"""

from clan_learnings.redaction.patterns import compiled
from clan_learnings.redaction.values import is_stand_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clan_learnings.redaction.patterns import Span

SORT = "cookie"
SORTS = frozenset({SORT})

_LEAST_CHARS = 8
_PAIRS = 60
_JUDGED_CHARS = 256
_HEADER = r"(?i)(?<![A-Za-z])cookie2?\\*[\"']?\]?[ \t]{0,4}[:,][ \t]{0,4}\\*[\"'`]?(?=[\w.-]{1,64}[=;])"
_SESSION = r"(?<![A-Za-z])(?i:connect\.sid|phpsessid|jsessionid|asp\.net_sessionid|laravel_session)="
_NAME = r"([\w.!#$%&*+^|~-]{1,64})="
_CHAR = r"[^\s;,\"'`\\<>()\[\]{}\0]"
_VALUE = rf"{_CHAR}*+"
_BEGINNING = rf"{_CHAR}{{1,{_JUDGED_CHARS}}}+"
_NEXT = r"(?:;|%3B)[ \t]{0,4}"
_FLAG = r"(?i:secure|httponly|partitioned)(?![\w=-])"
_ATTRIBUTES = frozenset(("path", "domain", "expires", "max-age", "samesite", "priority", "version", "comment"))


def find(text: str) -> "list[Span]":
    """Every value of a cookie."""
    lower = text.lower()
    spans: list[Span] = []
    if "cookie" in lower:
        _find_headers(text, spans)
    if "connect.sid" in lower or "sessi" in lower:
        _find_sessions(text, spans)
    return spans


def _find_headers(text: str, spans: "list[Span]") -> None:
    done = 0  # what was read once is not read again
    for header in compiled(_HEADER).finditer(text):
        if header.end() >= done:
            done = _pairs(text, header.end(), spans)


def _find_sessions(text: str, spans: "list[Span]") -> None:
    done = 0  # as above
    for session in compiled(_SESSION).finditer(text):
        if session.end() < done:
            continue
        beginning = compiled(_BEGINNING).match(text, session.end())
        if beginning and _is_cookie("", beginning[0]):
            done = _end(text, session.end())
            spans.append((session.end(), done, SORT))


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
