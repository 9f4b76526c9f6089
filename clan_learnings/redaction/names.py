"""Secrets known by the name beside them: assignments, arguments, `the token is ...`. Whether a value is a secret is judged in `values`.

A name is a word like password, secret, token or API key at the end of an identifier: `DB_PASSWORD`, `clientSecret`,
`x-api-key`, but not `token_count`. `key` alone says little, so it needs a companion or a value that cannot be a hash.
"""

from clan_learnings.redaction.cookies import has_cookie
from clan_learnings.redaction.patterns import BLANK, compiled
from clan_learnings.redaction.values import (
    is_hex,
    is_made_up,
    is_mixed,
    is_password,
    is_random,
    is_secret,
    is_stand_in,
    is_uuid,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clan_learnings.redaction.patterns import Span

PASSWORD, SECRET = "password", "secret"
SORTS = frozenset({PASSWORD, SECRET})

# How much of a value is judged. What is longer goes as a whole if its beginning is a secret.
_JUDGED_CHARS = 128
_BEFORE_CHARS = 24
_LINK_CHARS = 80
_OPENER_CHARS = 5  # with more before the quote it is a call

_TRIGGERS = ("pass", "pw", "pswd", "secret", "token", "key", "cred", "cookie", "auth")
_WORD = (
    r"(?i:(pass(?:words?|wort|wd|phrase|code)|p(?:ass|wd?|swd)|secrets?|tokens?|credentials?|creds|cookie|"
    r"auth(?:orization)?|keys?))"
)
_SUFFIX = r"(?i:[_-]?(?:\d{1,3}|value|prod|production|dev|staging|live|base|base64|b64|hex|raw|plain))?"
_ANNOTATION = r"(?:[ \t]?:[ \t]?&?(?:'static )?(?:str|[sS]tring|bytes|Final(?:\[str\])?)(?=[ \t]?=))?"
_OWNER = r"(?:[ \t](?i:for|of|on)[ \t][\w.@/-]{1,40}(?=[ \t]?[:=]))?"
_SEPARATOR = r"([ \t]{0,8}(?:,?(?:\s|\\[nrt]){0,40}\\*[\"']?value\\*[\"']?[ \t]{0,4}:|[:=!?|+]?={1,3}>?|:\*{0,2}|->|,|\|)[ \t]{0,8})"
_OPENER = r"((?:[A-Za-z_][\w.]{0,40}\((?=[bru]?[\"']))?[\[(]?(?:[fFrRbBuU]{1,2}(?=[\"']))?\\*[\"'`]?)"
_ASSIGNMENT = rf"{_WORD}{_SUFFIX}([\\\"'`*\])]{{0,6}}){_OWNER}{_ANNOTATION}{_SEPARATOR}{_OPENER}"

# Between a name and its value in a sentence.
_FILLER = (
    r"(?i:(?>(?:[ \t]+(?:ist|is|was|are|be|set|to|as|value|now|the|a|an|new|of|named|equals|=|here|currently|still|"
    r"war|lautet|hei(?:ß|ss)t)){0,4}))"
)
_SENTENCE = rf"(?i:(password|passwort|passwd|passphrase|secret|token|credential|key)){_FILLER}[:=]?[ \t]+(\(?[\"'`]?)(?=[^\s\"'`(])"
# Only after one of these can a word in a sentence be somebody's password.
_SAYS = r"(?i:[ \t](?:is|was|be|to|as|=|equals|ist|war|lautet|hei(?:ß|ss)t)[ \t:=\"'`]*$)"
# Who logs in, some words before `password Yell0wPazz`.
_LOGIN = r"(?i:\b(?:user(?:name)?|login|log(?:ged)? ?in|sign(?:ed)? ?in|account|benutzer|credentials)\b)"
_LOGIN_CHARS = 60
# `... is the token of the registry`: what stands between the value and the name, and the value, read from its end.
_LINK = r"(?i:[\"'`]?[ \t]+(?:is|was|as)[ \t]+(?:the|our|my|your|its|an?)[ \t]+(?:\w{1,20}[ \t]+){0,2})$"
_VALUE_BACK = r"[\w+/=.-]{20,128}"
# `--db-password hunter2!`
_ARGUMENT = r"(?i:(pass(?:word|wd|phrase)?|secret|token|key))[ \t]{1,4}([\"'`]?)(?=[^\s\"'`-])"
_OPTION = r"(?:^|[\s\"'])--?[A-Za-z0-9-]{0,20}$"

_UNQUOTED = r"(?:[^\s\"'`,;&<>\\\0]+|[,;&](?![\s\"'`,;&\0]|[\w.-]{1,40}[=:]|$)|\\(?![nrt\"'`\\]))+"

_STRONG_KEY = (
    r"(?i)(?:api|secret|access|private|priv|auth|encrypt\w*|decrypt\w*|crypto|cipher|sign(?:ing|ature)?|master|shared|account|"
    r"storage|service|service[_ -]?role|client|admin|licen[cs]e|hmac|aes|app|application|subscription|webhook|root|recovery|"
    r"write|ingest|deploy|session|jwt|django|flask|rails|integration|project|team|openai|anthropic|stripe|aws|azure|google)[ _.-]?$"
)
_WEAK_KEY = (
    r"(?i)(?:public|pub|primary|foreign|cache|partition|sort|idempotency|row|object|index|hash|group|map|dict|host|node|lookup|"
    r"unique|routing|websocket|shard|range|composite|natural|cursor|node|merge|dedupe|react|i18n|translation|hot)[ _.-]?$"
)
_HARMLESS_TOKEN = r"(?i)(?:page|next|continuation|cursor|sync|cancel(?:lation)?|resume|watermark|nextpage)[ _.-]?$"  # noqa: S105
_PLAIN_WORDS = r"(?i)(?:key|auth|pass|pwd?$|cookie|creds)"


def find(text: str) -> "list[Span]":
    """Every secret that stands beside its name."""
    spans: list[Span] = []
    done = 0
    for place in _places(text):
        before = text[max(0, place - _BEFORE_CHARS) : place]
        if place >= done:
            found = _assigned(text, place, before)
            if found:
                spans.append(found)
                done = found[1]
                continue
        spans += _said(text, place, before)
    return spans


def _places(text: str) -> list[int]:
    """Where a name may end. Found by plain searches: a pattern would have to be tried at every letter."""
    lower = text.replace("\u0130", "I").lower()  # the one letter that grows when it is made small
    places = []
    for word in _TRIGGERS:
        place = lower.find(word)
        while place >= 0:
            places.append(place)
            place = lower.find(word, place + len(word))
    places.sort()
    return places


def may_name_secret(name: str) -> bool:
    """Whether a key can be the name of a secret at all, whatever stands under it."""
    return compiled(rf"{_WORD}{_SUFFIX}$").search(name[-64:]) is not None


def is_secret_of(name: str, value: str) -> str:
    """The sort of secret that a value is under this key, or nothing."""
    match = compiled(rf"{_WORD}{_SUFFIX}$").search(name[-64:])
    before = name[-64:][: match.start()] if match else ""
    sort = match and _sort(match[1], before)
    if match and match[1].lower() == "cookie" and sort and has_cookie(value):
        return sort
    if not sort or not value or len(value.split()) != 1 or BLANK in value:
        return ""
    return sort if _is_secret(sort, match[1] if match else "", before, value[:_JUDGED_CHARS], is_literal=True) else ""


def _assigned(text: str, place: int, before: str) -> "Span | None":
    match = compiled(_ASSIGNMENT).match(text, place)
    sort = match and _sort(match[1], before)
    if not match or not sort:
        return None
    word, closers, separator, opener = match.groups()
    quote = opener[-1:] if opener[-1:] in ("'", '"', "`") else ""
    value = _value(text, match.end(), quote, is_escaped="\\" in opener)
    if not value:
        return _passphrase(text, match.end(), quote) if word.lower() == "passphrase" and quote else None
    sign = separator.strip()
    if sign in (",", "|") or len(opener) > _OPENER_CHARS:
        # ("API_KEY", "..."), | token | ... |, key = fromhex("..."): names stand in such places, too, so only chance counts.
        is_wanted = is_random(value) and (sign != "," or (bool(quote) and any(char in "\"'`" for char in closers)))
    else:
        is_given = separator == "=" and (
            word.isupper() or before[-1:] in ("?", "&") or "--" in before.rpartition(" ")[2]
        )
        is_wanted = _is_secret(
            sort, word, before, value, is_literal=bool(quote) or is_given, is_setting=is_given and word.isupper()
        )
    return (match.end(), _end(text, match.end(), quote, is_escaped="\\" in opener), sort) if is_wanted else None


def _passphrase(text: str, start: int, quote: str) -> "Span | None":
    """Several words in quotes. Under any other name they would be a sentence."""
    value = compiled(rf"[^{quote}\n\0]{{12,{_JUDGED_CHARS}}}(?={quote})").match(text, start)
    return (*value.span(), PASSWORD) if value and not is_stand_in(value[0]) else None


def _said(text: str, place: int, before: str) -> "list[Span]":
    """A name and a value without a sign between them: in a sentence, or as arguments of a program."""
    argument = compiled(_ARGUMENT).match(text, place)
    if argument and compiled(_OPTION).search(before):
        value = _value(text, argument.end(), argument[2], is_escaped=False)
        sort = _sort("password" if argument[1].lower() == "pass" else argument[1], before)
        if value and sort and _is_secret(sort, argument[1], before, value, is_literal=bool(argument[2])):
            return [(argument.end(), _end(text, argument.end(), argument[2], is_escaped=False), sort)]
        return []
    match = compiled(_SENTENCE).match(text, place)
    if not match or before[-1:].isalnum() or not (sort := _sort(match[1], before)):
        return []
    quote = match[2].lstrip("(")
    value = _value(text, match.end(), quote, is_escaped=False).rstrip(".,;:!?)]}")
    if sort == PASSWORD and (match[2] or compiled(_SAYS).search(match[0])):
        is_wanted = is_password(value, is_literal=False)
    elif sort == PASSWORD and compiled(_LOGIN).search(text, max(0, place - _LOGIN_CHARS), place):
        is_wanted = is_mixed(value) and len(value) >= 8 and is_password(value, is_literal=False)
    else:
        is_wanted = is_random(value, 20) and (is_mixed(value) or (len(value) >= 32 and match[1].lower() != "key"))
        is_wanted = is_wanted and is_secret(value, is_literal=True)
    if is_wanted:
        end = _end(text, match.end(), quote, is_escaped=False)
        return [(match.end(), max(match.end() + len(value), end if end - match.end() > _JUDGED_CHARS else 0), sort)]
    return _said_before(text, place)


def _said_before(text: str, place: int) -> "list[Span]":
    start = max(0, place - _LINK_CHARS)
    link = compiled(_LINK).search(text, start, place)
    if not link:
        return []
    end = link.start()
    value = compiled(_VALUE_BACK).match(text[max(0, end - _JUDGED_CHARS) : end][::-1])
    if not value or not is_mixed(value[0]) or not is_secret(value[0][::-1], is_literal=True):
        return []
    return [(end - len(value[0]), end, SECRET)]


def _value(text: str, start: int, quote: str, *, is_escaped: bool) -> str:
    """The beginning of the value here, as much as is judged; empty if a quoted one has blanks in it, as sentences have."""
    value = compiled(_value_pattern(quote, is_escaped=is_escaped)).match(text, start, start + _JUDGED_CHARS)
    if not value or (quote and text[value.end() : value.end() + 1] in (" ", "\t")):
        return ""
    return value[0]


def _end(text: str, start: int, quote: str, *, is_escaped: bool) -> int:
    """Where the value ends. Looked for only once it is a secret, so that no character is passed over twice."""
    value = compiled(_value_pattern(quote, is_escaped=is_escaped)).match(text, start)
    return value.end() if value else start


def _value_pattern(quote: str, *, is_escaped: bool) -> str:
    if not quote:
        return _UNQUOTED
    return rf"(?:[^{quote}\\\s\0]+|\\+(?![\\{quote}]))+" if is_escaped else rf"(?:[^{quote}\\\s\0]+|\\[^\n\0])+"


def _sort(word: str, before: str) -> str:
    """What a name's last word promises, given what stands before it; nothing if it is a part of another word."""
    lower = word.lower()
    if compiled(_PLAIN_WORDS).match(word):
        glued = before[-1:].isalpha() and not (before[-1:].islower() and word[:1].isupper())
        if (
            lower.startswith("key")
            and glued
            and compiled(r"(?i)(?:api|access|secret|private|account|auth)$").search(before)
        ):
            return SECRET
        if glued and not lower.startswith("pass"):
            return ""
    if lower.startswith("key") and compiled(_WEAK_KEY).search(before):
        return ""
    if lower.startswith("token") and compiled(_HARMLESS_TOKEN).search(before):
        return ""
    if lower == "pass":  # tests pass, too
        is_part = before[-1:] in ("_", "-", ".") or (before[-1:].islower() and word[:1].isupper())
        return PASSWORD if is_part or compiled(r"(?i)user|login|admin|root").search(before) else ""
    if lower == "pwd" and (before.endswith(("OLD", "$")) or (word.isupper() and before[-1:] != "_")):
        return ""  # the folder one is in
    return PASSWORD if lower.startswith("p") else SECRET


def _is_secret(sort: str, word: str, before: str, value: str, *, is_literal: bool, is_setting: bool = False) -> bool:
    if sort == PASSWORD:
        if word.lower() == "pwd" and value[:1] in ("/", "~", "."):
            return False
        return is_password(value, is_literal=is_literal)
    is_weak = word.lower() in ("key", "keys") and not _is_strong_key(word, before)
    if is_weak and (not is_mixed(value) or is_hex(value) or is_uuid(value) or not is_random(value)):
        return False
    if is_secret(value, is_literal=is_literal):
        return True
    return _is_telling(word, before) and is_made_up(value, is_literal=is_literal, is_setting=is_setting)


def _is_telling(word: str, before: str) -> bool:
    """Whether a name can be that of a secret only: then it need not look like chance."""
    lower = word.lower()
    if lower == "key":
        return compiled(r"(?i)(?:api|access|secret|private)[ _.-]?$").search(before) is not None
    return lower in ("secret", "token", "authorization")


def _is_strong_key(word: str, before: str) -> bool:
    return compiled(_STRONG_KEY).search(before.removesuffix(word)) is not None
