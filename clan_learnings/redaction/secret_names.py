"""Secrets known by the name beside them: assignments, arguments, `the token is ...`. `secret_values` decides whether a value is a secret.

A name is a word like password, secret, token or API key at the end of an identifier: `DB_PASSWORD`, `clientSecret`,
`x-api-key`, but not `token_count`. `key` alone says little, so it needs a companion or a value that cannot be a hash.
"""

from re import Match

from clan_learnings.redaction.compiled_patterns import BLANK, Span, compiled, places
from clan_learnings.redaction.cookies import has_cookie
from clan_learnings.redaction.secret_values import (
    is_bare_pass,
    is_hex,
    is_hex_key,
    is_made_up,
    is_mixed,
    is_one_time,
    is_password,
    is_phrase,
    is_random,
    is_secret,
    is_stand_in,
    is_strong,
    is_uuid,
)

PASSWORD, SECRET = "password", "secret"
SORTS = frozenset({PASSWORD, SECRET})

# How much of a value is judged. What is longer goes as a whole if its beginning is a secret.
_JUDGED_CHARS = 128
_BEFORE_CHARS = 24
_LINK_CHARS = 80
_OPENER_CHARS = 5  # with more before the quote it is a call

_TRIGGERS = ("pass", "pw", "pswd", "secret", "token", "key", "cred", "cookie", "auth")
_FOREIGN = ("contrase", "senha", "kennwort", "wachtwoord", "парол", "密码", "密碼", "パスワード", "비밀번호")
_WORD = (
    r"(?i:(pass(?:words?|wort|wd|phrase|code|e)|p(?:ass|wd?|swd)|secrets?|tokens?|credentials?|creds|cookie|"
    r"auth(?:orization)?|keys?|contrase(?:ñ|n)as?|senhas?|kennwort|wachtwoord|парол[ья]|密码|密碼|パスワード|비밀번호))"
)
_SUFFIX = r"(?i:[_-]?(?:\d{1,3}|value|prod|production|dev|staging|live|base|base64|b64|hex|raw|plain))?"
_ANNOTATION = r"(?:[ \t]?:[ \t]?&?(?:'static )?(?:str|[sS]tring|bytes|Final(?:\[str\])?)(?=[ \t]?=))?"
_OWNER = r"(?:[ \t](?i:for|of|on)[ \t][\w.@/-]{1,40}(?=[ \t]?[:=]))?"
# A sign; or what stands between a name and its value in a list of names and values, a variable of Terraform, a form that is filled in.
_SEPARATOR = (
    r"([ \t]{0,8}(?::-(?=[^}\s]{1,200}\})|,?(?:\s|\\[nrt]){0,40}\\*[\"']?value\\*[\"']?[ \t]{0,4}[:=]|[:=!?|+]?={1,3}>?|:\*{0,2}|->|,|\||"
    r"\{[^{}\0]{0,200}?\bdefault[ \t]{0,8}=|\.(?:send_?[kK]eys|fill|type|setValue)\()[ \t]{0,8})"
)
# Before a name that has its value in `value="..."`.
_NAMED = r"(?i)\b(?:name|key|id|property|variable)[\"']?\s?[:=]\s?\\*[\"']?[\w.:-]{0,60}$"
_OPENER = (
    r"((?:[A-Za-z_][\w.:]{0,40}\((?=[bru]?[\"']))?[\[(]?(?:[fFrRbBuUN]{1,2}(?=[\"']))?\\*(?:\"\"\"|\'\'\'|[\"'`])?)"
)
_ASSIGNMENT = rf"{_WORD}{_SUFFIX}([\\\"'`*\])]{{0,6}}){_OWNER}{_ANNOTATION}{_SEPARATOR}{_OPENER}"

# Between a name and its value in a sentence.
_FILLER = (
    r"(?i:(?>(?:,?[ \t]+(?:ist|is|was|are|be|been|set|reset|changed|to|as|value|now|the|a|an|new|of|named|equals|=|here|currently|still|"
    r"it's|its|it|again|will|should|war|lautet|hei(?:ß|ss)t|est|es|é|jetzt|from)(?![\w'])){0,5}))"
)
# Of what it is the password: `for the build server`, if somebody says after that what it is.
_FOR = r"(?i:(?:[ \t]+(?:for|of|on|to|at|in|used|we|für|de|du|pour|para)(?:[ \t]+[\w.@/'-]{1,30}){1,5}?(?=[ \t]+(?:is|was|=|ist|est|es|lautet|are)\b|[ \t]?[:=][ \t])|[ \t]+(?:for|of)[ \t]+[\w.@-]{1,30}(?=[ \t]+to\b))?)"
_SENTENCE = (
    r"(?i:(password|passwort|passwd|passphrase|passcode|passe|pwd?|secret|token|credential|key|contrase(?:ñ|n)a|senha|kennwort|wachtwoord))"
    rf"{_FOR}{_FILLER}(?i:(?:[ \t]+(?:generated|created))?(?:[ \t]+for[ \t]+(?:the[ \t]+)?(?:user[ \t]+)?[\w.@-]{{1,60}}(?=:[ \t]))?)[:=?]?[ \t]+(\(?[\"'`]?)(?=[^\s\"'`(])"
)
# Only after one of these can a word in a sentence be somebody's password.
_SAYS = r"(?i:[ \t](?:is|was|be|to|as|=|equals|ist|war|lautet|hei(?:ß|ss)t|est|es|it's|from)(?=[ \t:=\"'`])|[:=][ \t])"
# Before a key that can only be a secret one.
_TELLING_BEFORE = r"(?i)(?:\b(?:api|access|client|auth|bearer|secret)[ _-]?|api|\b(?:use|using|with|my|our)[ \t]+(?:the[ \t]+|this[ \t]+)?)$"
# Before `key is 9f8b2c7d11`: of any other key that is a hash, or an id.
_API_BEFORE = r"(?i)\b(?:api|access|secret)[ _-]?$"
_HEX_CHARS = 16  # without `is` it could be a short hash that stands beside the words by chance
# Who logs in, some words before `password Yell0wPazz`.
_LOGIN = r"(?i:\b(?:authenticat\w{2,4}|ssh|s?ftp|vnc|rdp|sudo|user(?:name)?|login|log(?:ged)? ?in|sign(?:ed)? ?in|account|benutzer|credentials)\b)"
_LOGIN_CHARS = 60
# `... is the token of the registry`: what stands between the value and the name, and the value, read from its end.
_LINK = r"(?i:[\"'`]?[ \t]+(?:is|was|as)[ \t]+(?:the|our|my|your|its|an?)[ \t]+(?:\w{1,20}[ \t]+){0,2})$"
_VALUE_BACK = r"[^\s\"'`\0]{8,128}"
# `--db-password hunter2!`
_ARGUMENT = r"(?i:(pass(?:word|wd|phrase)?|secret|token|key))[ \t]{1,4}([\"'`]?)(?=[^\s\"'`-])"
_USER = r"(?:^|\s)--?(?:u|U|user\w*|login)[ =](?!and\b|or\b|-)\S"
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
_SECRET_WORDS = ("secret", "token", "cred", "cookie", "auth", "key")
_PLAIN_WORDS = r"(?i)(?:key|auth|pass|pwd?$|cookie|creds)"


def find(text: str, lower: str) -> "list[Span]":
    """Every secret that stands beside its name."""
    spans: list[Span] = []
    done = 0
    for place in _places(lower):
        before = text[max(0, place - _BEFORE_CHARS) : place]
        if place >= done:
            found = _assigned(text, place, before)
            if found:
                spans.append(found)
                done = found[1]
                continue
        spans += _said(text, place, before)
    return spans


def _places(lower: str) -> list[int]:
    """Where a name may end. Found by plain searches: a pattern would have to be tried at every letter."""
    words = _TRIGGERS + (_FOREIGN[:4] if lower.isascii() else _FOREIGN)
    return sorted(place for word in words if word in lower for place in places(lower, word))


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
    if match and not sort and match[1].lower() == "pass":
        return _bare_pass(text, match, before)
    if not match or not sort:
        return None
    word, closers, separator, opener = match.groups()
    quote = opener[-1:] if opener[-1:] in ("'", '"', "`") else ""
    value = _value(text, match.end(), quote, is_escaped="\\" in opener)
    sign = separator.strip()
    if not value:
        return _passphrase(text, match.end(), quote, word) if sort == PASSWORD and quote else None
    if not quote and word.lower() == "passphrase" and sign in (":", "="):
        words = compiled(_WORDS).match(text, match.end())
        if words and (phrase := _leading_phrase(words[0])):
            return (match.end(), match.end() + len(phrase), PASSWORD)
    if sign.endswith("=") and "value" in sign and not compiled(_NAMED).search(text, max(0, place - _LINK_CHARS), place):
        return None
    if sign in (",", "|") or len(opener) > _OPENER_CHARS:
        # ("API_KEY", "..."), | token | ... |, key = fromhex("..."): names stand in such places, too, so only chance counts.
        is_pair = bool(quote) and any(char in "\"'`" for char in closers)
        is_wanted = (sign != "," or is_pair) and (
            is_random(value) or (sort == PASSWORD and sign == "," and is_password(value, is_literal=False))
        )
    else:
        is_given = separator == "=" and (
            word.isupper() or before[-1:] in ("?", "&") or "--" in before.rpartition(" ")[2]
        )
        is_wanted = _is_secret(
            sort, word, before, value, is_literal=bool(quote) or is_given, is_setting=is_given and word.isupper()
        )
    if not is_wanted and not (sort == PASSWORD and not quote and _is_line(text, place, match.end(), separator, value)):
        return None
    return (match.end(), _end(text, match.end(), quote, is_escaped="\\" in opener), sort)


def _bare_pass(text: str, match: "Match[str]", before: str) -> "Span | None":
    """`pass: ...` and `pass=...`, where nothing before says that it is a name."""
    _, _, separator, opener = match.groups()
    if before[-1:].isalnum() or separator.strip() not in (":", "=") or len(opener) > _OPENER_CHARS:
        return None
    quote = opener[-1:]
    value = _value(text, match.end(), quote, is_escaped="\\" in opener)
    if not is_bare_pass(value, is_quoted=bool(quote), is_given=separator == "="):
        return None
    return (match.end(), _end(text, match.end(), quote, is_escaped="\\" in opener), PASSWORD)


_WORDS = r"[A-Za-z]{4,10}(?: [A-Za-z]{4,10}){3,7}"  # without quotes


def _leading_phrase(text: str) -> str:
    """As many of these words as no sentence has one after the other; empty if they are too few."""
    words = text.split(" ")
    return next(
        (phrase for count in range(len(words), 3, -1) if is_phrase((phrase := " ".join(words[:count])).lower())), ""
    )


# A file of settings: the name, the value and nothing else on the line; where code could stand, who logs in has to be beside it.
_LINE_BEGINS = r"(?:^|\n)[ \t]{0,20}(?:- )?[\w.-]{0,40}$"
_NEIGHBOUR = (
    r"(?i)(?:^|\n)[ \t]{0,20}(?:- )?[\w.-]{0,30}(?:user(?:name)?|login|host(?:name)?|database|email|account)[ \t]?[:=]"
)
_NEIGHBOUR_CHARS = 80


def _is_line(text: str, place: int, start: int, separator: str, value: str) -> bool:
    """Whether a word of letters is a password because of the lines it stands on and between."""
    end = start + len(value)
    if len(value) < 6 or not value.isalpha() or text[end : end + 1] not in ("", "\n", "\r") or is_stand_in(value):
        return False
    before, after = text[max(0, place - _NEIGHBOUR_CHARS) : place], text[end : end + _NEIGHBOUR_CHARS]
    if separator not in ("=", ": ") or not compiled(_LINE_BEGINS).search(before):
        return False
    if value.lower().startswith(("pass", "secret", "string", "optional")):
        return False
    return separator == "=" or before[-1:] == "_" or any(compiled(_NEIGHBOUR).search(part) for part in (before, after))


def _passphrase(text: str, start: int, quote: str, word: str) -> "Span | None":
    """Several words in quotes. Under any other name they are a sentence, if they can be one."""
    value = compiled(rf"[^{quote}\n\0]{{12,{_JUDGED_CHARS}}}(?={quote})").match(text, start)
    if not value or is_stand_in(value[0]) or not (word.lower() == "passphrase" or is_phrase(value[0])):
        return None
    return (*value.span(), PASSWORD)


def _said(text: str, place: int, before: str) -> "list[Span]":
    """A name and a value without a sign between them: in a sentence, or as arguments of a program."""
    argument = compiled(_ARGUMENT).match(text, place)
    if argument and compiled(_OPTION).search(before):
        value = _value(text, argument.end(), argument[2], is_escaped=False)
        sort = _sort("password" if argument[1].lower() == "pass" else argument[1], before)
        is_literal = bool(argument[2]) or (
            sort == PASSWORD and compiled(_USER).search(text, max(0, place - _LOGIN_CHARS), place) is not None
        )
        if value and sort and _is_secret(sort, argument[1], before, value, is_literal=is_literal):
            return [(argument.end(), _end(text, argument.end(), argument[2], is_escaped=False), sort)]
        if not value and sort == PASSWORD and argument[2] and argument[1].lower() != "pass":
            return _worded(text, argument.end(), argument[2])
        return []
    match = compiled(_SENTENCE).match(text, place)
    is_setting = match is not None and (_is_setting(text, place, match) or before.lower().endswith("api"))
    sort = _sort(match[1] if match else "password", before)
    if not match or not sort or (before[-1:].isalnum() and not is_setting):
        return _said_before(text, place, sort) if sort and not before[-1:].isalnum() else []
    quote = match[2].lstrip("(")
    value = _value(text, match.end(), quote, is_escaped=False).rstrip(".,;:!?)]}")
    if sort == PASSWORD and (match[2] or is_setting or compiled(_SAYS).search(match[0])):
        is_wanted = is_password(value, is_literal=bool(quote) and _is_alone(text, place, match.end() + len(value)))
    elif sort == PASSWORD and compiled(_LOGIN).search(text, max(0, place - _LOGIN_CHARS), place):
        is_wanted = compiled(r"(?=.*[0-9])[^_/.(\[{]+").fullmatch(value) is not None and is_password(
            value, is_literal=False
        )
    elif sort == PASSWORD:
        is_wanted = is_strong(value)
    else:
        is_telling = compiled(_TELLING_BEFORE).search(before) is not None
        is_plain = match[1].lower() == "key" and not is_telling
        is_wanted = is_random(value, 16 if is_telling else 20) and (
            is_mixed(value) or (len(value) >= 32 and not is_plain)
        )
        is_wanted = (is_wanted and is_secret(value, is_literal=True)) or (
            match[1].lower() == "secret" and is_one_time(value)
        )
        if compiled(_API_BEFORE).search(before) and (compiled(_SAYS).search(match[0]) or len(value) >= _HEX_CHARS):
            is_wanted = is_wanted or is_hex_key(value)
    if is_wanted:
        end = _end(text, match.end(), quote, is_escaped=False)
        end = max(match.end() + len(value), end if end - match.end() > _JUDGED_CHARS else 0)
        return [(match.end(), end, sort), *_changed(text, end, match)]
    return _said_before(text, place, sort)


def _worded(text: str, start: int, quote: str) -> "list[Span]":
    """Several words that an option is given in quotes."""
    value = compiled(rf"[^{quote}\n\0]{{4,{_JUDGED_CHARS}}}(?={quote})").match(text, start)
    return [(*value.span(), PASSWORD)] if value and not is_stand_in(value[0]) else []


def _is_alone(text: str, place: int, end: int) -> bool:
    """Whether there is nothing else on the line, as in a file of settings."""
    line = text[text.rfind("\n", max(0, place - _LINK_CHARS), place) + 1 : place]
    return not line.strip() and compiled(r"[\"'`]?,?[ \t]*(?:\n|$)").match(text, end) is not None


def _changed(text: str, end: int, match: "Match[str]") -> "list[Span]":
    """The second of `password from ... to ...`."""
    second = compiled(r"[^\s\w]{0,3}[ \t]+to[ \t]+[\"'`]?([^\s\"'`\0]{4,128})").match(text, end)
    if not second or "from" not in match[0].lower() or not is_password(second[1], is_literal=False):
        return []
    return [(*second.span(1), PASSWORD)]


def _is_setting(text: str, place: int, match: "Match[str]") -> bool:
    """Whether it is `storePassword "..."` on a line of its own, as Gradle has it."""
    line = text.rfind("\n", 0, place) + 1
    return (
        match[1][:1].isupper()
        and compiled(r"(?:[^\n]{0,80}\{)?[ \t]*[a-z]+$").match(text[line:place][-120:]) is not None
    )


def _said_before(text: str, place: int, sort: str) -> "list[Span]":
    start = max(0, place - _LINK_CHARS)
    link = compiled(_LINK).search(text, start, place)
    if not link:
        return []
    end = link.start()
    value = compiled(_VALUE_BACK).match(text[max(0, end - _JUDGED_CHARS) : end][::-1])
    if not value:
        return []
    found = value[0][::-1]
    if sort == PASSWORD and is_strong(found):
        return [(end - len(found), end, PASSWORD)]
    if compiled(r"[\w+/=.-]{20,}").fullmatch(found) and is_mixed(found) and is_secret(found, is_literal=True):
        return [(end - len(found), end, SECRET)]
    return []


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
    if lower == "key" and compiled(r"(?i)(?:wi-?fi|wlan|wpa\d?|hotspot|network security)[ _-]$").search(before):
        return PASSWORD
    if lower.startswith("key") and compiled(_WEAK_KEY).search(before):
        return ""
    if lower.startswith("token") and compiled(_HARMLESS_TOKEN).search(before):
        return ""
    if lower == "pass":  # tests pass, too
        is_part = before[-1:] in ("_", "-", ".") or (before[-1:].islower() and word[:1].isupper())
        return PASSWORD if is_part or compiled(r"(?i)user|login|admin|root").search(before) else ""
    if lower == "pwd" and (before.endswith(("OLD", "$")) or (word.isupper() and before[-1:] != "_")):
        return ""  # the folder one is in
    if lower == "passe" and not before.lower().endswith("mot de "):
        return ""
    return SECRET if lower.startswith(_SECRET_WORDS) else PASSWORD


def _is_secret(sort: str, word: str, before: str, value: str, *, is_literal: bool, is_setting: bool = False) -> bool:
    if sort == PASSWORD:
        if word.lower() == "pwd" and value[:1] in ("/", "~", "."):
            return False
        return is_password(value, is_literal=is_literal)
    if word.lower() == "auth" and compiled(r"[\w.@-]{2,40}:(?=\S)").match(value):
        return is_password(value.partition(":")[2], is_literal=False)
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
