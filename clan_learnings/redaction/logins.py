"""Credentials known by their place: in a URL, a header, an XML element, a line of settings, a pipe, `login is ada:...`. Options of programs are in `secret_arguments`.

The place alone decides, so any value counts that is not plainly a placeholder. Where a sentence could stand in the same place, the value
must also look like a password.
"""

from binascii import a2b_base64
from re import Match

from clan_learnings.redaction.compiled_patterns import Span, compiled, places
from clan_learnings.redaction.secret_values import is_password, is_random, is_stand_in

URL, HEADER, ARGUMENT, WORDS = "password in url", "authorization", "password", "seed phrase"
SORTS = frozenset({URL, HEADER, ARGUMENT, WORDS})

# Up to the last @ before the path. A port with a query after it is no password.
_URL = r"://[^\s/:@\"'`<>\0]{0,256}:(?!\d{1,5}[?#])([^\s/\"'`<>\0]+)@"
# A name alone before the host: a token, if it looks like chance.
_URL_NAME = r"://([^\s/:@\"'`<>\0]{16,256})@"
_HEADER = (
    r"authorization[\\\"'\]]{0,6}[ \t]{0,4}(?:[:=,][ \t]{0,4}|(?<=[ \t])(?=[\"']))[\\\"'`]{0,4}"
    r"(?:(?:bearer|basic|token|digest|apikey|api-key|bot|negotiate|key|splunk|genie)[ \t]{1,4})([^\s\"'`<>\\,;\0]{6,})"
)
_BEARER = r"(?i)\bbearer[ \t]{1,4}[\"'`]?([\w.~+/=-]{12,})"
# Without a header's name: what it is has to be shown by what is in it.
_BASIC = r"(?i)\bbasic[ \t]{1,4}[\"'`]?([A-Za-z0-9+/]{8,400}={0,2})(?![\w+/=-])"
_NETRC = r"login\s{1,8}[^\s\0]{1,100}\s{1,8}password\s{1,4}([^\s\0]{3,})"
_ELEMENT = (
    r"(?i)<(?:[a-z]{1,20}[:_-]?)?(?:password|passwd|passphrase|secret|token|api-?key)>([^<>\s\0]{4,})</|"
    r"<[\w:.-]{1,40}\s[^<>]{0,80}?(?:name|key|id)=[\"'][\w.:-]{0,60}(?:password|passwd|passphrase|secret|token|api_?key)[\"'][^<>]{0,80}>"
    r"(?:\s{0,20}<\w{1,12}>)?([^<>\s\0]{4,})</"
)
_VALUE = r"[\"']?(?!-)([^\s\"'`;|&\\\0]{3,})"
_WORD = r"\\*[\"']?[^\s\"'\0]{1,100}[\"']?\s+"
_ORACLE = r"(?:(?:sqlplus|expdp|impdp|sqlldr)[ \t]{1,4}(?:-\w+[ \t]{1,4}){0,3}[\"']?|thin:)\w{1,40}/([^\s/@\"'\0]{3,})(?:@|\s|$)"
_PGPASS = r"(?<=[\w*]):(?:\d{4,5}|\*):[A-Za-z_*][\w-]{0,60}:[A-Za-z_][\w-]{0,60}:(\S{4,200})(?:\n|$)"
# A password that is written into a program: `echo ... | sudo -S`, `chpasswd <<< ...`.
_SINK = (
    r"(?:(?:sudo[ \t]+(?:-\w+[ \t]+){0,3})?(?:chpasswd|passwd\b[^\n|;]{0,40}--stdin|smbpasswd\b|kinit\b|cryptsetup\b|su\b|gocryptfs\b|encfs\b|"
    r"openconnect\b|vncpasswd\b)|[^\n|;]{0,120}(?:--password-stdin|--with-token|--passphrase-fd|--passwd-on-stdin|--pass-stdin|--token-stdin|"
    r"secret (?:set|create))|(?:secret-tool store|pass insert)\b|sudo[ \t]+[^\n|;]{0,20}-\w*S\b)"
)
_ECHOED = (
    r"(?:echo|printf)[ \t]+(?:-\w+[ \t]+){0,2}(?:\\*[\"']%s(?:\\+n)?\\*[\"'][ \t]+)?(?:\\*[\"'])?([^\n|\"'\\\0]{3,120}?)"
    rf"(?:\\+n)?\\*[\"']?[ \t]{{0,4}}\|[ \t]{{0,4}}{_SINK}"
)
_HERE = r"<<<[ \t]{0,4}\\*[\"']?([^\s\"'\\\0]{3,})"
_HERE_CHARS = 160
_SENT = r"send(?:_slow)?[ \t]+(?:--?\w*[ \t]+){0,2}(?:\\*\"|\{)([^\s\"\\{}\0]{3,60})(?:\\+[rn]|\})"
# In a sentence: who logs in, a sign, and with what.
_PAIR = (
    r"(?<![\w./-])(?:log-?ins?|log in|logged in|sign(?:ed)? in|creds?|credentials?|account|auth|authenticate|connect)(?=[ \t:=])"
    r"(?:(?:[ \t]+\w{1,12}){1,5}?(?=:[ \t]))?(?:[ \t]+(?:for|to|on|of|at)[ \t]+(?:the[ \t]+)?[\w.-]{1,30}(?:[ \t]+\w{1,20})?(?=[ \t]*(?:[:=]|is|are|with)))?"
    r"(?:[ \t]+(?:is|are|was|as|with|using|via|now|the|these|here|user|account|credentials|to connect)){0,4}"
    r"[ \t]{0,2}[:=]?[ \t]{0,2}[\"'`(]{0,2}(?!https?:)[\w.@+-]{2,40}"
    r"(?::|[ \t]?/[ \t]?|[ \t]+(?:and|with)[ \t]+(?:the[ \t]+)?(?:password[ \t]+)?)[\"'`]?(?!\d+:)([^\s\"'`,;()<>\0]{5,80})"
)
_PIN = (
    r"(?:(?<![A-Za-z])(?-i:PIN|OTP)\b(?:[ \t](?:code|number))?|(?:(?<=my )|(?<=our )|(?<=her )|(?<=his )|(?<=card )|(?<=door )|(?<=bank )|(?<=sim ))pin\b|passcode\b|(?:(?<=pin )|(?<=verification )|(?<=security )|(?<=2fa )|(?<=mfa )|(?<=otp )|(?<=access )|(?<=door ))code\b)"
    r"(?:[ \t]+(?:for|of|on|to)(?:[ \t]+[\w.-]{1,20}){1,4}?)?(?:[ \t]+(?:(?:is|was|are|be)(?:[ \t]+(?:now|still|set[ \t]+to|changed[ \t]+to))?|now)|[ \t]?[:=])[ \t]{1,2}[\"'`]?"
    r"(\d{4,10}(?:-\d{3,6})?)(?![\w:%-]|\.\w|[ \t](?:digits|chars|bytes|bits|ms|seconds|times))"
)
_SEED = (
    r"(?:mnemonic|phrase|seed)(?:[ _-](?:phrase|words?|is|was|mnemonic)){0,3}[\"'`]?(?:[ \t]?[:=][ \t\n]{0,4}|[ \t]{1,2})[\"'`\[]?"
    r"((?-i:[a-z]{3,8}(?:,?[ \t]+|\n)){11,23}(?-i:[a-z]{3,8}))(?![\w'])"
)

# words, lower case | sort | whether it also has to look like a password | pattern, from one of the words on
_TABLE: tuple[tuple[tuple[str, ...], str, bool, str], ...] = (
    (("://",), URL, False, _URL),
    (("authorization",), HEADER, False, _HEADER),
    (("login",), ARGUMENT, False, _NETRC),
    (("sqlplus", "thin:", "expdp", "impdp", "sqlldr"), ARGUMENT, False, _ORACLE),
    ((":5432:", ":*:", ":6432:"), ARGUMENT, True, _PGPASS),
    (
        ("rabbitmqctl",),
        ARGUMENT,
        False,
        rf"rabbitmqctl\s(?:[^\n|;]{{0,60}}\s)?(?:add_user|change_password|authenticate_user)\s+{_WORD}{_VALUE}",
    ),
    (
        ("wpa_pass",),
        ARGUMENT,
        False,
        rf"wpa_passphrase\s+(?:\"[^\"\n]{{1,60}}\"\s+|'[^'\n]{{1,60}}'\s+|{_WORD}){_VALUE}",
    ),
    (
        ("openssl passwd",),
        ARGUMENT,
        False,
        rf"openssl passwd\s+(?:-(?:salt|in)\s+\S{{1,40}}\s+|-\w+\s+){{0,4}}{_VALUE}",
    ),
    (("mc alias",), ARGUMENT, False, rf"mc alias\s+(?:set|add)\s+{_WORD}{_WORD}{_WORD}{_VALUE}"),
    (
        ("vault login", "vault operator"),
        ARGUMENT,
        False,
        rf"vault (?:login|operator unseal)\s+(?:-\S+\s+){{0,3}}{_VALUE}",
    ),
    (("nmcli",), ARGUMENT, False, rf"nmcli\s[^\n|;]{{0,120}}?\bpassword\s+{_VALUE}"),
    (("freerdp", "rdesktop"), ARGUMENT, False, rf"(?:freerdp|rdesktop)\d?\s[^\n|;]{{0,200}}?\s/p:{_VALUE}"),
    (("net use",), ARGUMENT, False, rf"net use\s[^\n|;]{{0,160}}?(?:/user:\S{{1,80}}\s+|(?=\S+\s+/user:)){_VALUE}"),
    (("net user",), ARGUMENT, False, rf"net user\s+{_WORD}(?=\S+\s+/add){_VALUE}"),
    (
        ("htpasswd",),
        ARGUMENT,
        False,
        (
            r"htpasswd\s+(?:-\w+\s+){0,4}-\w*b\w*\s+(?:-\w+\s+){0,4}(?:[\"']?[\w./-]{1,100}[\"']?\s+){1,2}"
            r"[\"']?([^\s\"'|;&\0-][^\s\"'|;&\0]{2,})[\"']?(?=\s*(?:[|;&>)\"'`\\]|\n|$))"
        ),
    ),
    (
        ("requirepass", "masterauth", "rootpw", "snmp-server", "rocommunity", "pre-shared-key"),
        ARGUMENT,
        False,
        (
            r"(?:requirepass|masterauth|rootpw(?:[ \t]+--(?:plaintext|iscrypted))?|snmp-server[ \t]+community|rocommunity|"
            rf"pre-shared-key(?:[ \t]+(?:local|remote|ascii-text))?)[ \t]+{_VALUE}"
        ),
    ),
    (
        ("enable secret", "enable password", "username "),
        ARGUMENT,
        True,
        (
            r"(?:enable|username[ \t]+[\w.-]{1,40})[ \t]+(?:privilege[ \t]+\d+[ \t]+)?(?:secret|password)(?:[ \t]+[0-9])?"
            rf"[ \t]+{_VALUE}"
        ),
    ),
    (
        ("_pw ", "encrypt_string ", "rclone obscure "),
        ARGUMENT,
        False,
        rf"(?:_pw|encrypt_string|rclone obscure)[ \t]+{_VALUE}",
    ),
    (("_authtoken ",), ARGUMENT, False, r"_authtoken[ \t]+([\w-]{16,})"),
    (("psk",), ARGUMENT, False, rf"psk(?:[ \t]{{0,4}}=[ \t]{{0,4}}|[ \t]+(?=[\"'])){_VALUE}"),
    (("ftp",), ARGUMENT, True, r"ftp\b[^\0]{0,80}?\nuser[ \t]+[\w.-]{1,40}[ \t]+(\S{4,80})(?:\n|$)"),
    (("echo", "printf"), ARGUMENT, False, _ECHOED),
    (("send",), ARGUMENT, True, _SENT),
    (("log", "sign", "cred", "account", "auth", "connect"), ARGUMENT, True, _PAIR),
    # `admin / ...`, `(admin/...)`: with blanks or in brackets, as paths are not written.
    (
        ("root", "admin"),
        ARGUMENT,
        True,
        r"(?:root|admin(?:istrator)?)(?:[ \t]/[ \t]|(?<=\(root)/|(?<=\(admin)/)([^\s/()\0]{6,60})",
    ),
    (
        ("auth",),
        ARGUMENT,
        True,
        r"(?:(?<=> )|(?<![^\n]))(?-i:AUTH)[ \t]+(?:[\w-]{1,40}[ \t]+)?([^\s\0]{4,200})(?:\n|$)",
    ),
    (("pin", "otp", "passcode", "code"), ARGUMENT, False, _PIN),
    (("mnemonic", "phrase", "seed"), WORDS, False, _SEED),
)
_ROWS = tuple((word, sort, is_doubtful, pattern) for words, sort, is_doubtful, pattern in _TABLE for word in words)


def find(text: str, lower: str) -> "list[Span]":
    """Every credential in one of these places."""
    spans = [
        (*match.span(1), sort)
        for word, sort, is_doubtful, pattern in _ROWS
        if word in lower
        for place in places(lower, word)
        if (match := compiled(f"(?i:{pattern})").match(text, place))
        and _is_secret(match[1][:256], is_doubtful=is_doubtful)
    ]
    if "://" in text:
        spans += [(*match.span(1), URL) for match in compiled(_URL_NAME).finditer(text) if is_random(match[1])]
    if "</" in text:
        spans += [
            (*match.span(group), ARGUMENT)
            for match in compiled(_ELEMENT).finditer(text)
            for group in (match.lastindex or 0,)
            if _is_secret(match[group][:256], is_doubtful=False)
        ]
    if "bearer" in lower:
        spans += [
            (*match.span(1), HEADER) for match in compiled(_BEARER).finditer(text) if is_random(match[1][:256], 12)
        ]
    if "basic" in lower:
        spans += [(*match.span(1), HEADER) for match in compiled(_BASIC).finditer(text) if _is_pair(match[1])]
    if "<<<" in text:
        spans += [(*match.span(1), ARGUMENT) for match in compiled(_HERE).finditer(text) if _is_for_sink(text, match)]
    return spans + _of_sources(text)


def _is_pair(encoded: str) -> bool:
    """Whether base 64 holds somebody's name and password."""
    bare = encoded.rstrip("=")
    if len(bare) % 4 == 1:
        return False
    user, colon, password = a2b_base64(bare + "=" * (-len(bare) % 4)).partition(b":")
    if not user or not colon or len(password) < 3 or not (user + password).isascii():
        return False
    text = (user + password).decode()
    return text.isprintable() and not is_stand_in(password.decode())


def _is_for_sink(text: str, here: "Match[str]") -> bool:
    command = text[max(0, here.start() - _HERE_CHARS) : here.start()].rpartition("\n")[2]
    return not is_stand_in(here[1][:256]) and compiled(rf"(?:^|[\s;&|(]){_SINK}").search(command) is not None


def _of_sources(text: str) -> "list[Span]":
    """`user:password@tcp(host)`, as databases of Go are named."""
    return [
        (*match.span(1), URL)
        for sign in ("@tcp(", "@unix(")
        if sign in text
        for match in compiled(rf"(?<=[\w.-]:)([^\s:/@\"'`\0]{{2,200}}){sign[:-1]}\(").finditer(text)
        if not is_stand_in(match[1])
    ]


def _is_secret(value: str, *, is_doubtful: bool) -> bool:
    return not is_stand_in(value) and (not is_doubtful or is_password(value, is_literal=False))
