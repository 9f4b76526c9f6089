"""Secrets known by their own shape: tokens of well-known services, and private keys. Secrets that need a name beside them are in `secret_names`.

Each row of tokens has words that such a token cannot be without. Only if a text has one of them is the pattern compiled and run,
so a text without secrets costs a few dozen substring searches. Shapes are as the services document or print them.

A private key is a block of lines: PEM, OpenSSH, PGP, SSH2, PuTTY. A block may be cut off at either end, its line breaks may be escaped
once or several times, and its lines may be quoted, indented or the lines of a diff. A header without a key after it is only talk about
keys. Public keys and certificates stay.
"""

from base64 import b64decode

from clan_learnings.redaction.compiled_patterns import EDGE, Span, compiled
from clan_learnings.redaction.secret_values import is_random


def _prefixed(listed: str) -> "list[tuple[str, list[str]]]":
    """Sort and prefixes, row by row; a row that names no sort goes on with the last one."""
    rows: list[tuple[str, list[str]]] = []
    for line in listed.strip().splitlines():
        sort, colon, prefixes = line.strip().rpartition(": ")
        if colon:
            rows.append((sort, []))
        rows[-1][1].extend(prefixes.split())
    return rows


# sort | words it cannot be without | pattern; the secret is the first group, or all of it.
# Patterns without an edge have a beginning that nothing else has.
TABLE: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "aws key",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        EDGE + r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    ),
    ("aws key", ("ABSK",), EDGE + r"ABSK[A-Za-z0-9+/]{80,}={0,2}"),
    # Cut off or of the long form that has dots; whole ones are found by their prefix.
    ("github token", ("ghs_", "ghp_"), EDGE + r"gh[ps]_[A-Za-z0-9][\w.-]{29,}"),
    ("github token", ("github_pat_",), r"github_pat_\w{22,}"),
    (
        "gitlab token",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glsoat-", "glcbt-", "glagent-", "gloas-", "glft-", "glimt-"),
        r"gl(?:pat|dt|rt|ptt|soat|cbt|agent|oas|ft|imt)-[\w.-]{18,}",
    ),
    ("slack token", ("xox", "xapp-", "xwfp-"), EDGE + r"(?:xox[a-z](?:\.xox[a-z])?|xapp|xwfp)-[A-Za-z0-9-]{10,}"),
    ("slack webhook", ("hooks.slack.com/",), r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/]{16,})"),
    ("discord webhook", ("/api/webhooks/",), r"discord(?:app)?\.com/api/webhooks/(\d{15,20}/[\w-]{30,})"),
    ("discord token", ("discord", "Discord", "DISCORD"), EDGE + r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}"),
    ("telegram token", (":AA",), r"(?:(?<![A-Za-z0-9])|(?<=/bot))\d{8,10}:AA[\w-]{33}"),
    ("stripe key", ("k_live_", "k_test_"), EDGE + r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    ("webhook secret", ("whsec_",), r"whsec_[A-Za-z0-9+/]{16,}={0,2}"),
    ("anthropic key", ("sk-ant-",), r"sk-ant-[\w-]{16,}"),
    ("openai key", ("sk-proj-", "sk-svcacct-", "sk-admin-"), r"sk-(?:proj|svcacct|admin)-[\w-]{20,}"),
    ("api key", ("sk-or-", "sk-lf-"), EDGE + r"sk-(?:or|lf)-[\w-]{20,}"),
    ("api key", ("sk-",), EDGE + r"sk-(?=[A-Za-z-]{0,40}[0-9])[A-Za-z0-9]{32,}"),
    ("google key", ("AIza",), EDGE + r"AIza[\w-]{35}"),
    ("google token", ("ya29.", "GOCSPX-"), r"(?:ya29\.[\w.-]{20,}|GOCSPX-[\w-]{20,})"),
    ("google token", ("1//0",), EDGE + r"1//0[\w-]{40,}"),
    ("azure key", ("ccountKey=", "ccessKey="), r"(?:Account|Access)Key=([A-Za-z0-9+/]{40,}={0,2})"),
    ("azure secret", ("8Q~", "7Q~"), r"(?<![\w~.-])[\w~.-]{3}[78]Q~[\w~.-]{31,34}"),
    ("signed url", ("ignature=", "sig="), r"(?:[?&]sig|[?&;]X-(?:Amz|Goog)-Signature|[?&]Signature)=([\w%+/=-]{16,})"),
    ("signed url", ("X-Amz-Security-Token=",), r"X-Amz-Security-Token=([\w%+/=-]{16,})"),
    ("pypi token", ("pypi-AgE",), r"pypi-AgE[\w-]{32,}"),
    ("crates token", ("cio",), EDGE + r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("terraform token", (".atlasv1.",), r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
    ("databricks token", ("dapi",), EDGE + r"dapi[a-f0-9]{32}(?:-\d)?"),
    ("sourcegraph token", ("sgp_",), EDGE + r"sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}(?![A-Za-z0-9])"),
    ("sendgrid key", ("SG.",), EDGE + r"SG\.[\w-]{16,32}\.[\w-]{16,64}"),
    ("twilio key", ("SK",), EDGE + r"SK[a-f0-9]{32}(?![A-Za-z0-9])"),
    ("mailgun key", ("key-",), EDGE + r"key-[a-f0-9]{32}(?![A-Za-z0-9])"),
    (
        "mailchimp key",
        ("-us",),
        r"(?<![A-Za-z0-9])[a-f0-9]{32}-us\d{1,2}(?![A-Za-z0-9])",
    ),
    ("square token", ("sq0",), EDGE + r"sq0[a-z]{3}-[\w-]{22,}"),
    ("figma token", ("figd_",), r"figd_[\w-]{36,}"),
    ("airtable token", ("pat",), EDGE + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("grafana token", ("glsa_", "glc_"), EDGE + r"(?:glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,2})"),
    ("sentry token", ("sntrys_", "sntryu_"), r"sntry[su]_[\w+/=-]{32,}"),
    ("new relic key", ("NRAK-", "NRJS-"), r"NR(?:AK|JS)-[A-Za-z0-9]{19,}"),
    ("postman key", ("PMAK-",), r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("heroku key", ("HRKU-",), r"HRKU-[\w-]{30,}"),
    ("planetscale secret", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[\w.=-]{24,}"),
    ("supabase key", ("sb_secret_",), EDGE + r"sb_secret_[\w-]{20,}"),
    ("docker token", ("dckr_",), r"dckr_(?:pat|oat)_[\w-]{20,}"),
    ("vault token", ("hvs.", "hvb.", "hvr."), EDGE + r"hv[sbr]\.[\w-]{20,}"),
    ("api key", ("nvapi-",), EDGE + r"nvapi-[\w-]{32,}"),
    ("tailscale key", ("tskey-",), r"tskey-[a-z]{1,20}-[\w-]{16,}"),
    ("fly token", ("fm1", "fm2_", "fo1_"), EDGE + r"(?:fm1[ar]_|fm2_|fo1_)[\w+/=-]{40,}"),
    ("atlassian token", ("ATATT3", "ATCTT3", "ATBB"), EDGE + r"(?:AT[AC]TT3[\w=+/-]{32,}|ATBB[A-Za-z0-9]{24,})"),
    ("doppler token", ("dp.",), EDGE + r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,}"),
    ("1password token", ("ops_eyJ", "A3-"), EDGE + r"(?:ops_eyJ[\w+/=-]{40,}|A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,6})"),
    (
        "settlemint token",
        ("sm_pat_", "sm_aat_", "sm_sat_"),
        EDGE + r"sm_[aps]at_(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{16,}",
    ),
    ("intra42 secret", ("s-s4t2ud-", "s-s4t2af-"), EDGE + r"s-s4t2(?:ud|af)-[a-f0-9]{32,}"),
    ("maxmind key", ("_mmk",), EDGE + r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![A-Za-z0-9])"),
    (
        "harness token",
        ("pat.", "sat."),
        EDGE + r"[ps]at\.[\w-]{20,24}\.[A-Za-z0-9]{20,28}\.[A-Za-z0-9]{18,24}(?![\w.])",
    ),
    ("cloudflare key", ("v1.0-",), EDGE + r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    (
        "teams webhook",
        ("/incomingwebhook/", "/IncomingWebhook/"),
        r"/(?i:incomingwebhook)/([a-zA-Z0-9]{32}(?:/[\w-]{36})?)",
    ),
    ("webhook", ("hooks.zapier.com/", "/hooks/catch/"), r"/hooks/catch/(\d{4,12}/\w{6,})"),
    (
        "webhook",
        ("/bot/v2/hook/", "/with/key/", "/incomingwebhooks/"),
        r"/(?:bot/v2/hook|with/key|incomingwebhooks)/([\w-]{16,})",
    ),
    ("api key", ("re_",), EDGE + r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    ("alibaba key", ("LTAI",), EDGE + r"LTAI[A-Za-z0-9]{12,24}(?![A-Za-z0-9])"),
    ("tencent key", ("AKID",), EDGE + r"AKID[A-Za-z0-9]{28,40}(?![A-Za-z0-9])"),
    ("artifactory key", ("AKCp", "cmVmdGtu"), EDGE + r"(?:AKCp[A-Za-z0-9]{50,}|cmVmdGtu[A-Za-z0-9]{40,})"),
    ("easypost key", ("EZAK", "EZTK"), EDGE + r"EZ[AT]K[A-Za-z0-9]{54}"),
    ("dynatrace token", ("dt0",), EDGE + r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("openshift token", ("sha256~",), EDGE + r"sha256~[\w-]{40,}"),
    ("kubernetes token", ("token",), r"token[ =:\"']{1,4}([a-z0-9]{6}\.[a-z0-9]{16})(?![\w.])"),
    ("kubernetes token", ("K10",), EDGE + r"K10[a-f0-9]{64}::[\w-]{1,20}:[a-f0-9]{16,}"),
    ("swarm token", ("SWMTKN-",), r"SWMTKN-\d-[a-z0-9]{40,}-[a-z0-9]{20,}"),
    ("plaid token", ("access-",), EDGE + r"access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f-]{27}"),
    ("hubspot token", ("pat-",), EDGE + r"pat-[a-z]{2}\d-[0-9a-f]{8}-[0-9a-f-]{27}"),
    ("dropbox token", ("sl.",), EDGE + r"sl\.(?:u\.)?[\w=-]{100,}"),
    ("firebase key", (":APA91b",), EDGE + r"AAAA[\w-]{7}:APA91b[\w-]{100,}"),
    ("twitter token", ("AAAAAAAAAAAAAAAAAAAAA",), EDGE + r"A{20,22}(?!A)[\w%]{50,}"),
    ("nuget key", ("oy2",), EDGE + r"oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("square token", ("EAAA",), EDGE + r"EAAA[\w-]{56,64}(?![\w-])"),
    ("wallet key", ("prv",), EDGE + r"[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100,}"),
    (
        "password hash",
        ("$",),
        r"\$(?:2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}|(?:[156]|y|apr1)\$(?:[\w=.,/]{1,40}\$){1,2}[./A-Za-z0-9]{22,86})",
    ),
    (
        "password hash",
        ("$argon2", "pbkdf2", "scrypt"),
        r"(?:\$argon2(?:id?|d)\$[\w=,$]{1,60}\$[\w+/.-]{8,}\$[\w+/.-]{16,}|pbkdf2[_:-]sha\d{1,3}[$:]\d{1,8}[$:][\w+/=.-]{4,}[$:][\w+/=.-]{16,})",
    ),
    ("facebook token", ("EAA",), EDGE + r"EAA[A-Za-z0-9]{90,}"),
    ("age key", ("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{30,}"),
    ("mesh invitation", ("clan1-",), EDGE + r"clan1-[a-z2-7]{60,}"),
    # Cut off or whole; two parts at least, as the first alone says only which algorithm it is. Five are an encrypted one.
    ("jwt", ("eyJ",), r"eyJ(?:(?<![\w-]eyJ)|(?<=\\[nrt]eyJ)|(?<=[0-9]meyJ))[\w-]{8,}\.[\w-]{10,}(?:\.[\w-]*){0,3}"),
)
# Tokens that are a prefix and then twenty letters and digits or more: found by the sign before these, so that a prefix more costs no search more.
_PREFIXED = """
    github token: ghp_ gho_ ghu_ ghs_ ghr_
    gitlab token: glpat- gldt- glrt- glptt- glsoat- glcbt- glagent- gloas- glft- glimt- GR1348941-
    stripe key: sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_
    digitalocean token: dop_v1_ doo_v1_ dor_v1_
    npm token: npm_
    rubygems key: rubygems_
    hugging face token: hf_ api_org_
    linear key: lin_api_ lin_oauth_
    notion token: ntn_ secret_
    shopify token: shpat_ shpca_ shppa_ shpss_ shpua_
    pulumi token: pul-
    ci token: bkua_ bkpt_ CCIPAT_ CCIPRJ_
    supabase key: sbp_
    adafruit key: aio_
    api key: gsk_ pplx- xai- r8_ lsv2_pt_ lsv2_sk_ csk- pcsk_ tvly- tvly-dev- fc- jina_ fw_ e2b_ napi_ rnd_ nfp_ vcp_ rdme_ ico- pnu_ fio-u-
        duffel_live_ duffel_test_ dnkey- p8e- shippo_live_ shippo_test_ sgp_ sqp_ squ_ sqa_ xkeysib- xsmtpsib- tk-us- tfp_
        phx_ phs_ CFPAT- hcaik_ hcbik_ dbtc_ dbtu_ rzp_live_ rzp_test_ live_ NRII- NRRA- FLWSECK- FLWSECK_TEST- CLOJARS_ API- sk_ apify_api_
        ghv_ sk-ant-oat01- sk-ant-sid01- ak_live_ wandb_v1_ gr_ bt_ key_live_ mongodb_atlas_ cloudsmith_ ops_ nt_ pt_live_ pscale_tkn_ tok_live_
"""
_LEAST_CHARS = 16
# As documents write a token that is none.
_STAND_IN = r"(?i)x{8}"
_JUDGED_CHARS = 80
_SHORT_PREFIX = 3  # in base 64 for URLs such a prefix stands by chance
PREFIXES: dict[str, str] = {prefix: sort for sort, prefixes in _prefixed(_PREFIXED) for prefix in prefixes}
_PREFIX_ENDS = frozenset(prefix[-3:] for prefix in PREFIXES)
_LENGTHS = sorted({len(prefix) for prefix in PREFIXES}, reverse=True)
PRIVATE_KEY = "private key"
SORTS = frozenset((PRIVATE_KEY, *PREFIXES.values(), *(sort for sort, _, _ in TABLE)))


# The words of the rows, and the row of each. One that ends in a sign is searched for only where its last characters stand before such a sign.
_SIGNS = "_-."
_ROW_OF = {word: row for row, (_, words, _) in enumerate(TABLE) for word in words}
_WORDS = tuple(word for word in _ROW_OF if word[-1] not in _SIGNS)
_SIGNED: dict[str, list[str]] = {}
for _word in _ROW_OF:
    if _word[-1] in _SIGNS:
        _SIGNED.setdefault(_word[-3:], []).append(_word)


def find_tokens(text: str, _: str) -> "list[Span]":
    """Every token of a known shape."""
    if len(text) < _LEAST_CHARS:
        return []
    spans: list[Span] = []
    words = [word for word in _WORDS if word in text]
    words += [word for end in _ends(text, spans) if end in _SIGNED for word in _SIGNED[end] if word in text]
    for row in sorted({_ROW_OF[word] for word in words}):
        sort, _words, pattern = TABLE[row]
        # The edge is looked at afterwards: a pattern that begins with a letter is searched for much faster.
        found, edge = compiled(pattern.removeprefix(EDGE)), compiled(EDGE if pattern.startswith(EDGE) else "")
        spans += [
            (*match.span(found.groups), sort)
            for match in found.finditer(text)
            if edge.match(text, match.start()) and not compiled(_STAND_IN).search(match[0][:_JUDGED_CHARS])
        ]
    return spans + _bare_discord(text)


def _ends(text: str, spans: "list[Span]") -> set[str]:
    """The last characters of every word before a sign and a row of characters. Tokens of a prefix are found on the way."""
    ends = set()
    for sign in _SIGNS:
        if sign not in text:
            continue
        done = 0  # what is a part of a token is not looked at again
        for found in compiled(rf"\{sign}(?=[\w.+/=~-]{{10}})").finditer(text):
            start = found.end()
            end = text[start - 3 : start]
            ends.add(end)
            if start >= done and end in _PREFIX_ENDS and (token := _with_prefix(text, start)):
                spans.append(token)
                done = token[1]
    return ends


def _with_prefix(text: str, start: int) -> "Span | None":
    for length in _LENGTHS:
        sort = PREFIXES.get(text[start - length : start]) if length <= start else None
        if sort and compiled(EDGE if length > _SHORT_PREFIX else r"(?<![\w+-])").match(text, start - length):
            if compiled(r"[A-Za-z]{20}[A-Za-z_=-]{0,44}+(?![A-Za-z0-9])").match(text, start):
                return None  # words, as identifiers have them
            body = compiled(r"[A-Za-z0-9]{20}[\w=-]*").match(text, start)
            is_token = body and not compiled(_STAND_IN).search(body[0][:_JUDGED_CHARS])
            return (start - length, body.end(), sort) if body and is_token else None
    return None


def _bare_discord(text: str) -> "list[Span]":
    """Tokens of Discord without a name beside them: three parts, of which the first and the last are random."""
    spans: list[Span] = []
    if "." not in text:
        return spans
    for middle in compiled(r"\.[\w-]{6}\.(?=([\w-]{27,80}))").finditer(text):
        first = compiled(r"[\w-]{24,40}").match(text[max(0, middle.start() - 41) : middle.start()][::-1])
        if first and is_random(first[0][::-1], 24) and is_random(middle[1]):
            spans.append((middle.start() - len(first[0]), middle.end(1), "discord token"))
    return spans


# A key of 16,384 bits takes 13 KB. What is farther away belongs to something else.
_REACH_CHARS = 32_768

_OPENS = r"-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-Lines: ?\d+"
_CLOSES = r"-{4,5} ?END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-MAC: ?[0-9a-f]+"

# Between two lines of a key: line breaks real or escaped, quotes, commas, the marks of a diff or of a quoted mail.
_GAP = r"(?:[\s\"',>|#*\0]|\\+[nrt]?|(?<=\s)[-+](?=\s))"
_HEADER_LINES = rf"(?>(?:(?>{_GAP}{{1,16}})[A-Z][A-Za-z-]{{2,20}}: ?[^\n\\]{{0,120}}){{0,9}})"
_LINES = rf"(?>(?:(?>{_GAP}{{0,16}})=?[A-Za-z0-9+/]{{16,}}+={{0,2}})+)"
_LAST_LINE = rf"(?>(?:(?>{_GAP}{{1,16}})=?[A-Za-z0-9+/]{{1,15}}+={{0,2}}(?![A-Za-z0-9 ]))?)"
_BODY = _HEADER_LINES + _LINES + _LAST_LINE

# A key that was shortened by hand: lines and nothing else between the marks, or how all such keys begin.
_BREAKS = r"(?:[\s\"',]|\\+[nrt])"
_SHORT = rf"(?>{_BREAKS}{{0,16}})(?>(?:[A-Za-z0-9+/=]{{4,}}+(?>(?:\\+[nrt]|[\r\n])*))+)"
_SHORT_KEY_CHARS = 1024
_BEGINNING = rf"(?>{_BREAKS}{{1,16}})(?:MI|MC4|b3Bl)[A-Za-z0-9+/=]{{2,}}+"

# The same lines read from their end, for a block whose beginning is missing. Escaped line breaks are turned round, too.
_GAP_BACK = r"(?:[\s\"',>|#*\0]|[nrt]?\\+)"
_LINES_BACK = (
    rf"(?>(?:(?>{_GAP_BACK}{{0,16}})={{0,2}}[A-Za-z0-9+/]{{1,15}}+(?={_GAP_BACK}))?)"
    rf"(?>(?:(?>{_GAP_BACK}{{0,16}})={{0,2}}[A-Za-z0-9+/]{{16,}}+)+)"
)


# A block that is base 64 as a whole, as kubeconfig and secrets of Kubernetes have it.
_ENCODED_OPENS = "LS0tLS1CRUdJTi"
_ENCODED = rf"{_ENCODED_OPENS}[A-Za-z0-9+/]{{34}}[A-Za-z0-9+/]*={{0,2}}"


def find_keys(text: str, _: str) -> "list[Span]":
    """Every private key that has at least a line of key in it."""
    encoded = _encoded(text) if _ENCODED_OPENS in text else []
    if "PRIVATE KEY" not in text and "Private-" not in text:
        return encoded
    body = compiled(_BODY)
    openings = [match.span() for match in compiled(_OPENS).finditer(text)]
    closings = [match.span() for match in compiled(_CLOSES).finditer(text)]
    spans: list[Span] = []
    closing = 0
    for number, (start, key) in enumerate(openings):
        while closing < len(closings) and closings[closing][0] < key:
            closing += 1
        limit = openings[number + 1][0] if number + 1 < len(openings) else len(text)
        limit = min(limit, key + _REACH_CHARS)
        lines = body.match(text, key)
        if closing < len(closings) and closings[closing][0] < limit and _has_line(text, key, closings[closing][0]):
            spans.append((start, closings[closing][1], PRIVATE_KEY))
        elif lines or (lines := compiled(_BEGINNING).match(text, key)):
            spans.append((start, lines.end(), PRIVATE_KEY))
    return encoded + spans + _without_beginning(text, closings, spans)


def _encoded(text: str) -> "list[Span]":

    return [
        (*block.span(), PRIVATE_KEY)
        for block in compiled(_ENCODED).finditer(text)
        if b"PRIVATE KEY" in b64decode(block[0][:48])  # a certificate begins in the same way
    ]


def _has_line(text: str, start: int, end: int) -> bool:
    if compiled(r"[A-Za-z0-9+/]{16}").search(text, start, end) is not None:
        return True
    return end - start <= _SHORT_KEY_CHARS and compiled(_SHORT).fullmatch(text, start, end) is not None


def _without_beginning(text: str, closings: list[tuple[int, int]], whole: "list[Span]") -> "list[Span]":
    """Keys of which only the end is there."""
    spans: list[Span] = []
    covered = {end for _, end, _ in whole}
    floor = 0
    for start, end in closings:
        if end not in covered:
            before = text[max(floor, start - _REACH_CHARS) : start][::-1]
            lines = compiled(_LINES_BACK).match(before)
            if lines:
                spans.append((start - lines.end(), end, PRIVATE_KEY))
        floor = end
    return spans
