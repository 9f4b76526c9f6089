"""Secrets known by the call or statement they stand in: `auth=("ada", "...")`, `jwt.sign(payload, "...")`, `IDENTIFIED BY '...'`. Names are judged elsewhere.

A row says which argument is the secret. Only a literal counts: what code hands over in a variable is no secret yet.
"""

from clan_learnings.redaction.compiled_patterns import compiled, places
from clan_learnings.redaction.secret_values import is_password, is_random, is_stand_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clan_learnings.redaction.compiled_patterns import Span

PASSWORD, SECRET = "password", "secret"
SORTS = frozenset({PASSWORD, SECRET})

# word, lower case | what stands there before the arguments, number of the argument, sort
_CALLS: tuple[tuple[str, tuple[tuple[str, int, str], ...]], ...] = (
    (
        "auth",
        (
            (r"(?<![a-z])auth[\"']?\s?[=:]\s?(?=[\[(])", 1, PASSWORD),
            (
                r"(?:(?<=basic)|(?<=basic_)|(?<=digest)|(?<=ntlm)|(?<=\.)|(?<=->)|(?<=password))auth(?:entication)?",
                1,
                PASSWORD,
            ),
            (r"auth\.basic", 1, PASSWORD),
            (r"(?<=plain)auth", 2, PASSWORD),
            (r"(?<=ssh2_)auth_password", 2, PASSWORD),
        ),
    ),
    (
        "login",
        (
            (r"(?:(?<=\.)|(?<=->))login", 1, PASSWORD),
            (r"(?<=ftp_)login", 2, PASSWORD),
            (r"(?<![\w.>-])login", 1, SECRET),
        ),
    ),
    (
        "credential",
        (
            (
                r"(?:(?<=network)|(?<=usernamepassword)|(?<=aws)|(?<=basicsession))credentials?|credentials\.basic",
                1,
                PASSWORD,
            ),
            (r"(?<=clientsecret)credential", 2, SECRET),
            (r"(?:(?<=azurekey)|(?<=apikey))credentials?", 0, SECRET),
        ),
    ),
    ("userpassword", ((r"(?<=url\.)userpassword", 1, PASSWORD),)),
    ("getconnection", ((r"getconnection", 2, PASSWORD),)),
    ("pdo", ((r"(?<![a-z])pdo", 2, PASSWORD),)),
    ("mysql", ((r"mysqli?(?:_connect)?", 2, PASSWORD),)),
    (
        "password",
        (
            (
                r"(?:(?<=set)|(?<=set_)|(?<=make_)|(?<=check_)|(?<=hash)|(?<=hash_)|(?<=change_)|(?<=ssh\.)|(?<=verify_)|(?<=encode)|(?<=with))password",
                0,
                PASSWORD,
            ),
        ),
    ),
    ("jwt.", ((r"jwt\.(?:encode|sign|verify|decode)", 1, SECRET),)),
    ("fernet", ((r"(?<![a-z])fernet", 0, SECRET),)),
    (
        "hmac",
        (
            (r"hmac\.new", 0, SECRET),
            (r"(?:(?<=create)|(?<=create_))hmac", 1, SECRET),
            (r"(?<=hash_)hmac", 2, SECRET),
        ),
    ),
    ("aes.new", ((r"aes\.new", 0, SECRET),)),
)
_OPENS = r"\s?[\[(]\s{0,40}"
# An argument that is no literal: a name, a path, a call without arguments.
_OTHER = r"(?:[\w.$*&>-]|\{[^{}\n]{0,120}\}|\[[^\[\]\n]{0,40}\]|\([^()\n]{0,60}\)){1,100}"
_LITERAL = (
    r"(?:[bBrRuU]{1,2}(?=[\"'`])|@(?=\")|Some\((?=\")|Buffer\.from\((?=[\"'])|new SecureString\((?=\"))?(\\*[\"'`])"
)
_NEXT = r"(?:\.\w{1,20}\(\))?\)?\s{0,40},\s{0,40}"

# Statements, as SQL and PowerShell have them, and lines of settings: a word and a value without a sign.
# word, lower case | sort | pattern, from that word on
_STATEMENTS: tuple[tuple[str, str, str], ...] = (
    (
        "identified",
        PASSWORD,
        r"(?i)identified\s+(?:with\s+[\"'`]?\w+[\"'`]?\s+)?(?:by|as)\s+(?:password\s+)?(?:values\s+)?\\?[\"']?([^\s\"'`;\\\0]{3,})",
    ),
    ("password", PASSWORD, r"(?i)password(?:\s*=)?\s*\(?N?\\?'([^\s'\\\0]{3,})"),
    ("pragma", PASSWORD, r"(?i)pragma\s+(?:re)?key\s*=\s*[\"']([^\s\"'\0]{4,})"),
    ("attach", PASSWORD, r"(?i)attach\b[^\n;]{0,80}\bkey\s+[\"']([^\s\"'\0]{4,})"),
    (
        "convertto-securestring",
        PASSWORD,
        r"(?i)convertto-securestring\s+(?:-(?:asplaintext|force|string)\s+){0,3}\\*[\"']([^\"'\n\0\\]{3,})",
    ),
)
# Before `IDENTIFIED BY ...` and `PASSWORD '...'`, in the same statement.
_OF_SQL = {
    "identified": r"(?i)\b(?:create|alter|grant)\s[^;\0]{0,120}$",
    "password": r"(?i)\b(?:(?:create|alter|grant|set)\b[^;\0]{0,120}|(?:user|role|login)\b[^\n;]{0,40}|encrypted\s+|update\b[^;\0]{0,60})$",
}
_BEFORE_CHARS = 140


def find(text: str, lower: str) -> "list[Span]":
    """Every secret in such a place."""
    spans: list[Span] = []
    for word, rows in _CALLS:
        for place in places(lower, word) if word in lower else ():
            for before, number, sort in rows:
                call = compiled(rf"(?:{before}){_OPENS}").match(lower, place)
                if call:
                    spans += _argument(text, call.end(), number, sort)
    for word, sort, pattern in _STATEMENTS:
        for place in places(lower, word) if word in lower else ():
            match = compiled(pattern).match(text, place)
            if match and not is_stand_in(match[1][:256]) and match[1][:1] not in (":", "?", "@"):
                before = text[max(0, place - _BEFORE_CHARS) : place]
                if word not in _OF_SQL or compiled(_OF_SQL[word]).search(before):
                    spans.append((*match.span(1), sort))
    if "values" in lower and "insert" in lower:
        spans += _inserted(text)
    return spans


def _argument(text: str, at: int, number: int, sort: str) -> "list[Span]":
    """The argument with this number, if it is a literal that can be a secret."""
    for _ in range(number):
        literal = compiled(_LITERAL).match(text, at)
        if literal:
            end = compiled(rf"[^{literal[1][-1]}\n\0]{{0,200}}[\"'`]").match(text, literal.end())
        else:
            end = compiled(_OTHER).match(text, at)
        following = compiled(_NEXT).match(text, end.end()) if end else None
        if not following:
            return []
        at = following.end()
    literal = compiled(_LITERAL).match(text, at)
    if not literal:
        return []
    quote = literal[1][-1]
    value = compiled(rf"[^{quote}\\\s\0]{{3,400}}").match(text, literal.end())
    if not value or text[value.end() : value.end() + 1] not in (quote, "\\"):
        return []
    return [(*value.span(), sort)] if _is_secret(value[0][:256], sort) else []


def _is_secret(value: str, sort: str) -> bool:
    if is_stand_in(value) or "://" in value:
        return False
    if sort == PASSWORD:
        return is_password(value, is_literal=True)
    return len(value) >= 6 and (is_random(value) or is_password(value, is_literal=False))


_INSERT = r"(?i)\(([^()\n\0]{1,400})\)\s{0,20}values\s{0,20}\("
_ITEM = r"\s{0,8}(?:'((?:[^'\\\n\0]|\\.|''){0,200})'|\"((?:[^\"\\\n\0]){0,200})\"|[^,()'\"\n\0]{0,80})\s{0,8}(,|\))?"
_COLUMN = r"(?i)[\"'`\[]?(?:\w{0,30}_)?(?:password|passwd|pwd|secret|token|api_?key)[\"'`\]]?$"


def _inserted(text: str) -> "list[Span]":
    """Values of columns that are called password or the like."""
    spans: list[Span] = []
    for insert in compiled(_INSERT).finditer(text):
        columns = [name.strip() for name in insert[1].split(",")]
        wanted = {number for number, name in enumerate(columns) if compiled(_COLUMN).match(name)}
        at = insert.end()
        for number in range(len(columns) if wanted else 0):
            item = compiled(_ITEM).match(text, at)
            if not item:
                break
            group = 1 if item[1] else 2
            if number in wanted and item[group] and is_password(item[group], is_literal=True):
                spans.append((*item.span(group), PASSWORD))
            if item[3] != ",":
                break
            at = item.end()
    return spans
