"""Credentials known by where they stand: in a URL, a header, an element, a netrc line, the arguments of a program. Names are judged elsewhere.

Here the place alone decides, so any value counts that is not plainly a stand-in for one.
"""

from clan_learnings.redaction.patterns import compiled
from clan_learnings.redaction.values import is_random, is_stand_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clan_learnings.redaction.patterns import Span

URL, HEADER, ARGUMENT = "password in url", "authorization", "password"
SORTS = frozenset({URL, HEADER, ARGUMENT})

# Up to the last @ before the path. A port with a query after it is no password.
_URL = r"://[^\s/:@\"'`<>\0]{0,256}:(?!\d{1,5}[?#])([^\s/\"'`<>\0]+)@"
# A name alone before the host: a token, if it looks like chance.
_URL_NAME = r"://([^\s/:@\"'`<>\0]{16,256})@"
_HEADER = (
    r"(?i)authorization[\\\"'\]]{0,6}[ \t]{0,4}[:=,][ \t]{0,4}[\\\"'`]{0,4}"
    r"(?:(?:bearer|basic|token|digest|apikey|api-key|bot|negotiate)[ \t]{1,4})([^\s\"'`<>\\,;\0]{6,})"
)
_BEARER = r"(?i)\bbearer[ \t]{1,4}[\"'`]?([\w.~+/=-]{12,})"
_NETRC = r"\blogin[ \t]{1,4}[^\s\0]{1,100}[ \t]{1,4}password[ \t]{1,4}([^\s\0]{3,})"
_ELEMENT = r"(?i)<(?:[a-z]{1,20}[:_-]?)?(?:password|passwd|passphrase|secret|token|api-?key)>([^<>\s\0]{4,})</"
_CURL = r"(?:curl|wget)\b[^\n|;]{0,200}?[ \t](?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"'\0]{1,100}:([^\s\"'\0]{2,})"
_SSHPASS = r"\bsshpass[ \t]{1,4}-p[ \t]{0,4}[\"']?([^\s\"'\0]{3,})"
_LOGIN = r"\b(?:docker|podman|helm|az|oc)\b[^\n|;]{0,40}\blogin\b[^\n|;]{0,120}?[ \t]-p[ =][\"']?([^\s\"'\0]{3,})"
_REDIS = r"redis-cli\b[^\n|;]{0,120}?[ \t](?:-a|--pass)[ =][\"']?([^\s\"'\0]{3,})"
_MONGO = r"\bmongo(?:sh|dump|restore|import|export)?\b[^\n|;]{0,120}?[ \t]-p[ =]?[\"']?([^\s\"'\0]{3,})"
_MYSQL = r"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;]{0,120}?[ \t]-p[\"']?([^\s\"'\0-][^\s\"'\0]{3,})"

# words it cannot be without, lower case | sort | pattern
_TABLE = (
    (("://",), URL, _URL),
    (("authorization",), HEADER, _HEADER),
    (("login",), ARGUMENT, _NETRC),
    (("</",), ARGUMENT, _ELEMENT),
    (("curl", "wget"), ARGUMENT, _CURL),
    (("sshpass",), ARGUMENT, _SSHPASS),
    (("docker", "podman", "helm", "az ", "oc "), ARGUMENT, _LOGIN),
    (("mysql", "mariadb"), ARGUMENT, _MYSQL),
    (("redis-cli",), ARGUMENT, _REDIS),
    (("mongo",), ARGUMENT, _MONGO),
)


def find(text: str) -> "list[Span]":
    """Every credential in one of these places."""
    lower = text.lower()
    spans = [
        (*match.span(1), sort)
        for words, sort, pattern in _TABLE
        if any(word in lower for word in words)
        for match in compiled(pattern).finditer(text)
        if not is_stand_in(match[1][:256])
    ]
    if "://" in text:
        spans += [(*match.span(1), URL) for match in compiled(_URL_NAME).finditer(text) if is_random(match[1])]
    if "bearer" in lower:
        spans += [
            (*match.span(1), HEADER) for match in compiled(_BEARER).finditer(text) if is_random(match[1][:256], 12)
        ]
    return spans
