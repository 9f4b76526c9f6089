"""Passwords in the options of programs: `curl -u ada:...`, `mysql -p...`, `openssl -passin pass:...`. Options that say password are in `names`.

One letter says nothing, so a row names the programs that mean a password by it. The program is looked for from the option back to the
beginning of the command, in a shell or in a list of words, as code has them.
"""

from clan_learnings.redaction.compiled_patterns import compiled
from clan_learnings.redaction.secret_values import is_password, is_stand_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clan_learnings.redaction.compiled_patterns import Span

SORT = "password"
SORTS = frozenset({SORT})

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


def find(text: str, _: str) -> "list[Span]":
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
                    return [(*value, SORT)]
        if name in _AFTER_USER and _is_after_user(command):
            value = _value(text, start + len(name), _APART, "")
            if value and is_password(text[value[0] : value[1]][:_JUDGED_CHARS], is_literal=False):
                return [(*value, SORT)]
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
    return (at, value.end()) if value and _is_secret(value[0][:_JUDGED_CHARS]) else None


def _is_secret(value: str) -> bool:
    if len(value) < _LEAST_CHARS or value[0] == "-" or value in _SPOKEN or is_stand_in(value):
        return False
    return not (value.isdigit() and len(value) <= 5)  # a port
