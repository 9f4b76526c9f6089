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
_VALUE = r"[^\s;,\"'`\\<>()\[\]{}\0]*+"
_NEXT = r"(?:;|%3B)[ \t]{0,4}"
_FLAG = r"(?i:secure|httponly|partitioned)(?![\w=-])"
_ATTRIBUTES = frozenset(("path", "domain", "expires", "max-age", "samesite", "priority", "version", "comment"))


def find(text: str) -> "list[Span]":
    """Every value of a cookie."""
    lower = text.lower()
    spans: list[Span] = []
    if "cookie" in lower:
        done = 0
        for header in compiled(_HEADER).finditer(text):
            if header.end() >= done:  # what was read once is not read again
                done = _pairs(text, header.end(), spans)
    if any(name in lower for name in ("connect.sid", "sessi")):
        done = 0
        for session in compiled(_SESSION).finditer(text):
            if session.end() >= done:  # the same here
                begins = compiled(f"{_VALUE[:-2]}{{1,{_JUDGED_CHARS}}}+").match(text, session.end())
                if begins and _is_cookie("", begins[0]):
                    whole = compiled(_VALUE).match(text, session.end())
                    assert whole is not None
                    spans.append((*whole.span(), SORT))
                    done = whole.end()
    return spans


def has_cookie(value: str) -> bool:
    """Whether the value of such a header has a cookie in it."""
    spans: list[Span] = []
    _pairs(value, 0, spans)
    return bool(spans)


def _pairs(text: str, at: int, spans: "list[Span]") -> int:
    for _ in range(_PAIRS):
        flag = compiled(_FLAG).match(text, at)
        if flag:
            at = flag.end()
        else:
            name = compiled(_NAME).match(text, at)
            if not name:
                break
            value = compiled(_VALUE).match(text, name.end())
            assert value is not None
            at = value.end()
            if _is_cookie(name[1], value[0][:_JUDGED_CHARS]):
                spans.append((*value.span(), SORT))
        following = compiled(_NEXT).match(text, at)
        if not following:
            break
        at = following.end()
    return at


def _is_cookie(name: str, value: str) -> bool:
    return len(value) >= _LEAST_CHARS and name.lower() not in _ATTRIBUTES and not is_stand_in(value)
