"""Secrets passed as arguments: to a call (`auth=("ada", "...")`), a statement (`IDENTIFIED BY '...'`) or a program (`mysql -p...`).

Calls: a row says which argument is the secret. Only a literal counts: a variable that is passed on is no secret yet.

Options of programs: one letter says nothing, so a row names the programs that take a password by it. The program is searched for from
the option back to the start of the command, in a shell line or in a list of words in code. Options named after passwords
(`--password`) are in `secret_names`.
"""

from clan_learnings.redaction.compiled_patterns import Span, compiled, places
from clan_learnings.redaction.secret_values import is_password, is_random, is_stand_in

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


def find_in_calls(text: str, lower: str) -> "list[Span]":
    """Every secret that a call or a statement is given."""
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
    return [(*value.span(), sort)] if _is_argument(value[0][:256], sort) else []


def _is_argument(value: str, sort: str) -> bool:
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


# Between an option and its value: apart, glued to it, or both ways. Words of a list are quoted and have a comma between them.
_APART = r"(?:[ \t]*=[ \t]*|[ \t]+(?:\\\n[ \t]*)?|\\*[\"'],\s{0,20}(?=\\*[\"']))"
_GLUED = r"(?=[^\s=,\"'-]|\\*[\"'][^,\s])"
_EITHER = rf"(?:{_APART})?"

# options | programs | how the value stands | what stands in it before the secret
_TABLE: tuple[tuple[str, str, str, str], ...] = (
    ("-u --user --proxy-user -U", r"curl|wget|xh|hurl|etcdctl|influx|aria2c|consul|wscat|websocat", _EITHER, ":"),
    ("-a --auth", r"https?|xh|httpie", _EITHER, ":"),
    ("-A", r"ab", _APART, ":"),
    ("-U --user", r"smbclient|rpcclient|net|wmic|smbget|smbcacls|winexe|pth-\w+", _APART, "%"),
    ("-u", r"lftp|ncftp", _APART, ","),
    ("-p", r"sshpass", _EITHER, ""),
    ("-p", r"mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb|mariadb-dump|mycli|7z[azr]?|rar|unrar", _GLUED, ""),
    (
        "-p",
        r"(?:docker|podman|helm|az|oc|nerdctl|buildah|skopeo|oras|crane|regctl|cf|ibmcloud|argocd|npm|bw)\b.*\blogin",
        _EITHER,
        "",
    ),
    (
        "-p",
        (
            r"mongo(?:sh|dump|restore|import|export|stat)?|cqlsh|twine|cypher-shell|nxc|netexec|crackmapexec|evil-winrm|"
            r"rabbitmqadmin|couchbase-cli|arangosh|useradd|usermod|rdesktop|vncdo|ncftpput|flit|lpass|openstack|pgcli|hdbsql|"
            r"clickhouse(?:-client)?|databricks|weblogic|jboss-cli(?:\.sh)?|add-user(?:\.sh)?|kcadm(?:\.sh)?|bcp|isql|svn"
        ),
        _EITHER,
        "",
    ),
    ("-a --pass", r"redis-cli|valkey-cli|keydb-cli|redis-benchmark", _EITHER, ""),
    ("-w -s -a", r"ldap(?:search|add|modify|whoami|delete|passwd|compare|modrdn)", _EITHER, ""),
    ("-passin -passout -pass -password", r"openssl", _APART, "pass:"),
    ("-k -K", r"openssl\s+enc\b.*", _APART, ""),
    ("-P", r"zip|unzip|zipcloak|sqlcmd|bcp|mosquitto_\w+|ipmitool|tsql|fisql|kpcli|jmx\w*|ncat", _EITHER, ""),
    ("-storepass -keypass -srcstorepass -deststorepass -destkeypass -srckeypass", r"keytool|jarsigner", _APART, ""),
    ("--ks-pass --key-pass", r"apksigner", _APART, "pass:"),
    ("-A -X", r"snmp\w+", _APART, ""),
    ("-pw", r"putty|plink|pscp|psftp|winscp|kitty", _APART, ""),
    (
        "-w --password --pass -passwd",
        r"htpasswd|security|nmcli|vncpasswd|x11vnc|kinit|pdftk|qpdf|gs|ffmpeg",
        _APART,
        "",
    ),
    ("-N -P", r"ssh-keygen", _APART, ""),
    ("--passphrase", r"gpg2?|gpgsm|gpg-preset-passphrase|duplicity|steghide|borg|mkpasswd|aescrypt", _APART, ""),
    ("-b --body", r"gh\s+secret\s+set\b.*", _APART, ""),
    ("-t --access-token", r"doctl\b.*", _APART, ""),
)
_OPTIONS: dict[str, list[tuple[str, str, str]]] = {}
for _options, *_rest in _TABLE:
    for _option in _options.split():
        _OPTIONS.setdefault(_option, []).append((_rest[0], _rest[1], _rest[2]))

# Of any program, if it was told who logs in: `-u ada -p ...`.
_AFTER_USER = frozenset(("-p", "-pw", "-P", "-pass"))
_USER = r"[\s\"'](?:-(?:u|U|l|usr|user|username|login)|--user(?:name)?)(?:[\s=]|[\"'],?\s?)[\"']?[A-Za-z]"

_STARTS = tuple(sign + r"(-{1,2}[A-Za-z][A-Za-z-]*)" for sign in (" ", '"', "'", "\t"))
_BACK_CHARS = 200
_JUDGED_CHARS = 256
_LEAST_CHARS = 3
# What is said of an option instead of being given to it.
_SPOKEN = frozenset(
    ("option", "flag", "argument", "parameter", "switch", "setting", "and", "but", "with", "for", "was")
)
_UNQUOTED = r"(?:[^\s\"'`|;&<>\\\0]+|\\[^\snrt\"'`\\\0])+"


def find_in_options(text: str, _: str) -> "list[Span]":
    """Every secret that an option of a program gives it."""
    if "-" not in text:
        return []
    spans: list[Span] = []
    for start in _STARTS:
        if start[0] + "-" in text:
            for option in compiled(start).finditer(text):
                spans += _given(text, option.start(1), option[1])
    return spans


def _given(text: str, start: int, option: str) -> "list[Span]":
    # `-phunter2` begins with an option, too.
    for name in (option, option[:2]) if len(option) > 2 and option[1] != "-" else (option,):
        rows = _OPTIONS.get(name)
        if not rows and name not in _AFTER_USER:
            continue
        command = _command(text, start)
        # All programs at once first: most options belong to none of them.
        if rows and compiled(_named("|".join(row[0] for row in rows))).search(command):
            for programs, between, before in rows:
                value = _value(text, start + len(name), between, before)
                if value and compiled(_named(programs)).search(command):
                    return [(*value, PASSWORD)]
        if name in _AFTER_USER and _is_after_user(command):
            value = _value(text, start + len(name), _APART, "")
            if value and is_password(text[value[0] : value[1]][:_JUDGED_CHARS], is_literal=False):
                return [(*value, PASSWORD)]
    return []


def _named(programs: str) -> str:
    return rf"(?:^|[\s\"'`/(=\\$>]|\\n)(?:{programs})(?=[\s\"',\\])"


def _is_after_user(command: str) -> bool:
    """Whether any program was told who logs in. The one after MySQL's `-p` is a database."""
    return (
        compiled(_USER).search(command) is not None and compiled(r"mysql|mariadb|docker|podman").search(command) is None
    )


def _command(text: str, end: int) -> str:
    """The command as far as it stands before its option; a backslash joins lines."""
    command = text[max(0, end - _BACK_CHARS) : end].replace("\\\n", "  ")
    return command[max(command.rfind(sign) for sign in "\n|;\0") + 1 :]


def _value(text: str, start: int, between: str, before: str) -> "tuple[int, int] | None":
    gap = compiled(between).match(text, start)
    if not gap:
        return None
    opener = compiled(r"\$?\\*[\"']?").match(text, gap.end())
    assert opener is not None  # it may be empty
    quote = opener[0][-1:] if opener[0][-1:] in ("'", '"') else ""
    at = opener.end() if quote else gap.end()
    if before:
        user = compiled(rf"[^\s\"'\0{before[0]}]{{0,100}}{before}" if len(before) == 1 else before).match(text, at)
        if not user:
            return None
        at = user.end()
    pattern = rf"(?:[^{quote}\\\n\0]+|\\(?![{quote}\n\0]))+" if quote else _UNQUOTED
    value = compiled(pattern).match(text, at)
    return (at, value.end()) if value and _is_option_value(value[0][:_JUDGED_CHARS]) else None


def _is_option_value(value: str) -> bool:
    if len(value) < _LEAST_CHARS or value[0] == "-" or value in _SPOKEN or is_stand_in(value):
        return False
    return not (value.isdigit() and len(value) <= 5)  # a port
