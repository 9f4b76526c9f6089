"""Personal data: payment cards, bank accounts (IBAN), US social security numbers, telephone numbers, and e-mail addresses.

Agents write many long numbers, so each has to prove itself: cards and accounts by their check digits, social security and telephone
numbers by the form people write them in. Digits without any form are a telephone number only after a word that says so.

Hosts, packages, versions and units that are written with an @ are not addresses.
"""

from re import Match

from clan_learnings.redaction.compiled_patterns import Span, compiled

CARD, ACCOUNT, SECURITY, PHONE = "card number", "bank account", "social security number", "phone number"
ADDRESS = "e-mail address"
SORTS = frozenset({CARD, ACCOUNT, SECURITY, PHONE, ADDRESS})

# A digit first: so the search skips everything else quickly. What stands before it is looked at afterwards.
_DIGITS = r"[0-9][0-9 ().\u00a0\u2011/-]{7,}[0-9]"
_GROUP = r"(?<![0-9])[0-9]+"
_BEFORE = r"[\w.,:#$%@=*^~-]"
_BEFORE_CHARS = 28
_CARD = (
    r"(?<![0-9A-F]{4} )(?:4[0-9]{3}|5[1-5][0-9]{2}|2[2-7][0-9]{2}|6011|6[45][0-9]{2}|35[0-9]{2})([ -]?)[0-9]{4}\1[0-9]{4}\1[0-9]{4}|"
    r"3[47][0-9]{2}([ -]?)[0-9]{6}\2[0-9]{5}"
)
_SECURITY = r"(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}"
_SECURITY_WORD = r"(?i)(?:\bssn|social[ _-]security)(?:[ _-]?(?:no|number|nr))?\W{0,6}(?:is\W{1,3})?$"
_SECURITY_AFTER_WORD = r"[0-9]{3}([ -]?)[0-9]{2}\1[0-9]{4}"
# As it is written in North America; with dots only after a word that says what it is.
_AMERICAN = r"(?:1[ .-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}-)[0-9]{3}[ -][0-9]{4}"
_NATIONAL = r"\(?[0-9][0-9 ().\u00a0\u2011/-]{5,18}[0-9]"
_PHONE_WORD = r"(?i)(?:phone|mobile|cell|\btel(?:ephone|efon)?|\bfax|handy|whatsapp|\bsms|\bcall(?: (?:me|us|him|her|them))?|\bring|hotline)(?:[ _.-]?(?:no|nr|number|nummer))?\W{0,6}(?:(?:is|was|at|on|to|under)\W{1,3}){0,2}$"
# sort | form | what must not follow
_FORMS = (
    (CARD, _CARD, r"(?![\w%]|-[0-9]|[ ][0-9A-F]{4,5}(?![0-9A-Za-z/])|[.,:][0-9])"),
    (SECURITY, _SECURITY, r"(?![\w%]|-[0-9]|[.,:/][0-9])"),
    (PHONE, _AMERICAN, r"(?![\w%]|-[0-9]|[.,:/][0-9])"),
)
# sort | word before it | form
_NAMED = ((SECURITY, _SECURITY_WORD, _SECURITY_AFTER_WORD), (PHONE, _PHONE_WORD, _NATIONAL))
# After a plus: the codes of countries, so that `+12345678 lines` is none.
_COUNTRY = (
    r"(?:1(?=[ .(-]{0,2}[2-9])|7|2(?:[07]|[1-689][0-9])|3(?:[0-469]|[578][0-9])|4(?:[013-9]|2[013])|5(?:[1-8]|[09][0-9])|"
    r"6(?:[0-6]|[789][0-9])|8(?:[1246]|[058][0-9])|9(?:[0-58]|[679][0-9]))"
)
_INTERNATIONAL = rf"{_COUNTRY}(?:[ .\u00a0\u2011/-]?\(?[0-9]{{1,14}}\)?){{1,6}}"
# What of an account may stand before its digits: the country, or also the check digits and the letters of a bank.
_ACCOUNT_BEGINS = r"(?:^|[^A-Za-z0-9+/-])([A-Z]{2}(?:[0-9]{2} ?[A-Z]{4} ?)?)$"
_ACCOUNT_CHARS = 12
# Letters and digits of an account, by country.
_COUNTRIES = """
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 GB22 GE22 GI23
    GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18
    NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SE24 SI19 SK24 SM27 TN24 TR26 UA29 VA22 VG24 XK20
"""
_LENGTHS = {row[:2]: int(row[2:]) for row in _COUNTRIES.split()}


def find_numbers(text: str, _: str) -> "list[Span]":
    """Every number that belongs to a person."""
    spans: list[Span] = []
    if not _has_digit(text):
        return spans
    for digits in compiled(_DIGITS).finditer(text):
        done = 0
        # Another number may stand before it, or the number of an item of a list.
        for group in compiled(_GROUP).finditer(text, *digits.span()):
            if group.start() >= done and (found := _number(text, group.start(), digits.end())):
                spans.append(found)
                done = found[1]
    return spans


def _has_digit(text: str) -> bool:
    """Plain searches: a text without any needs no pattern."""
    return any([digit in text for digit in "1023456789"])  # noqa: C419 - a generator takes longer than the searches


def _number(text: str, start: int, end: int) -> "Span | None":
    """What the digits here are, if they are one of these."""
    before = text[max(0, start - 2) : start]
    last = before[-1:]
    if last.isupper() or last == " ":
        account = compiled(_ACCOUNT_BEGINS).search(text, max(0, start - _ACCOUNT_CHARS), start)
        span = _account(text, account.start(1)) if account else None
        if span or last != " ":
            return span
    if last == "(":
        start, before = start - 1, text[max(0, start - 3) : start - 1]
        last = before[-1:]
    if last == "+" and not compiled(_BEFORE).match(before[:1] if len(before) > 1 else " "):
        return _with_plus(text, start - 1)
    if compiled(_BEFORE).match(last) and last not in "=:" and before != "\\n":
        return None
    return _by_form(text, start, end) or _after_word(text, start, end)


def _by_form(text: str, start: int, end: int) -> "Span | None":
    """A number that its form alone gives away."""
    for sort, pattern, ends in _FORMS:
        found = compiled(pattern).match(text, start, end)
        if found and compiled(ends).match(text, found.end()) and (sort != CARD or _is_card(found[0])):
            return (start, found.end(), sort)
    return None


def _after_word(text: str, start: int, end: int) -> "Span | None":
    """A number that a word before it gives away."""
    for sort, word, pattern in _NAMED:
        if compiled(word).search(text, max(0, start - _BEFORE_CHARS), start):
            found = compiled(pattern).match(text, start, end)
            if found and _ends(text, found.end()) and 7 <= sum(char.isdigit() for char in found[0]) <= 15:
                return (start, found.end(), sort)
    return None


def _with_plus(text: str, start: int) -> "Span | None":
    found = compiled(rf"\+{_INTERNATIONAL}").match(text, start, start + 24)
    if not found or not _ends(text, found.end()):
        return None
    count = sum(char.isdigit() for char in found[0])
    is_plain = found[0][1:].isdigit()
    if is_plain and text[max(0, start - 1) : start] in ("", "\n"):
        return None  # a line that a diff adds
    if compiled(r"\+[0-9]+\.[0-9]+$").match(found[0]):
        return None  # a decimal
    if count > 15 or count < 9 or (found[0][1] == "1" and count != 11):
        return None
    return (start, found.end(), PHONE)


def _ends(text: str, end: int) -> bool:
    """Whether a number is over here: no digit, letter or decimal follows."""
    return compiled(r"(?![\w%]|[ ]?-?[0-9]|[.,:/][0-9])").match(text, end) is not None


def _is_card(written: str) -> bool:
    """Luhn's check."""
    digits = [int(char) for char in written if char.isdigit()]
    doubled = (each if place % 2 else each * 2 - 9 * (each > 4) for place, each in enumerate(digits, len(digits) % 2))
    return sum(doubled) % 10 == 0


def _account(text: str, start: int) -> "Span | None":
    """The account that begins here, if it has its country's length and the right check digits."""
    length = _LENGTHS.get(text[start : start + 2])
    if not length:
        return None
    found = compiled(rf"[A-Z0-9](?: ?[A-Z0-9]){{{length - 1}}}(?![A-Za-z0-9])").match(text, start)
    if not found:
        return None
    account = found[0].replace(" ", "")
    number = int("".join(str(int(char, 36)) for char in account[4:] + account[:4]))
    return (*found.span(), ACCOUNT) if number % 97 == 1 else None


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


def find_addresses(text: str) -> "list[Span]":
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
                spans.append((start, host.end(), ADDRESS))
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
