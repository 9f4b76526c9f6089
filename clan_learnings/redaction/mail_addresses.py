"""E-mail addresses. Hosts, packages, versions and units that are written with an @ are not addresses."""

from clan_learnings.redaction.compiled_patterns import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

    from clan_learnings.redaction.compiled_patterns import Span

SORT = "e-mail address"
SORTS = frozenset({SORT})

_HOST = r"(?!v?\d+(?:\.[\dx*]|$))(?:[^\W_][\w-]{0,62}\.){1,8}([^\W\d_]{2,24})(?![\w@])"
_NAME_BACK = r"[\w.+-]{1,65}"
_NAME_CHARS = 64
# Ends of names that are files, units or hosts of a private network.
_LISTED = """
    png jpg jpeg gif svg ico webp css scss js ts jsx tsx mjs cjs vue json yaml yml toml ini cfg conf lock html htm
    xml txt log csv tar gz xz bz zst zip whl egg jar war rb hs kt cs go ex jl db sql sqlite map min service socket
    timer target mount slice scope device path swap local internal lan corp home localdomain localhost svc cluster
    intranet
"""
_NOT_DOMAINS = frozenset(_LISTED.split())
# A program that logs in at a host, and its options.
_REMOTE = (
    r"\b(?:ssh|sftp|mosh|autossh|ssh-copy-id)(?:[ \t]+-{1,2}[A-Za-z][\w-]*(?:[ =][^\s@-][^\s@]*)?){0,6}[ \t]+[\"']?$"
)


def find(text: str) -> "list[Span]":
    """Every e-mail address."""
    if "@" not in text and "%40" not in text:
        return []
    spans: list[Span] = []
    for at in compiled("@|%40").finditer(text):
        # Read from the @ to the left: a long word without one costs nothing.
        name = compiled(_NAME_BACK).match(text[max(0, at.start() - _NAME_CHARS - 1) : at.start()][::-1])
        host = compiled(_HOST).match(text, at.end())
        if name and host and len(name[0]) <= _NAME_CHARS:
            start = at.start() - len(name[0])
            if text[start - 1 : start + 1] in ("\\n", "\\r", "\\t"):  # an escaped line break, then the address
                start += 1
            if start < at.start() and _is_address(text, start, at.start(), host):
                spans.append((start, host.end(), SORT))
    return spans


def _is_address(text: str, start: int, at: int, host: "Match[str]") -> bool:
    end = host[1].lower()
    if text[max(0, start - 1) : start] in ("/", "@") or text[start:at].lower() == "git" or end in _NOT_DOMAINS:
        return False
    if host[0][: -len(end) - 1].isdigit() and end not in ("com", "net", "cn"):
        return False  # openssl@3.dylib; but 163.com has mail
    after = text[host.end() : host.end() + 2]
    if after[:1] in ("(", "[", "/") or (after[:1] == ":" and len(after) > 1 and not after[1].isspace()):
        return False  # a call, an index, a path at a host: host.example:repo.git
    return compiled(_REMOTE).search(text[max(0, start - 100) : start]) is None
