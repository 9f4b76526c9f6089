"""Tokens that say by their shape which service they open. No shape here needs a name beside it; those that do are in `names`.

Each row has words that such a token cannot be without. Only if a text has one of them is the pattern compiled and run, so
a text without secrets costs a few dozen substring searches. Shapes as the services document them or print them.
"""

from clan_learnings.redaction.patterns import EDGE, compiled
from clan_learnings.redaction.values import is_random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clan_learnings.redaction.patterns import Span

# sort | words it cannot be without | pattern; the secret is the first group, or all of it.
# Patterns without an edge have a beginning that nothing else has.
TABLE: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("aws key", ("AKIA", "ASIA", "ABIA", "ACCA"), EDGE + r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("aws key", ("ABSK",), EDGE + r"ABSK[A-Za-z0-9+/]{80,}={0,2}"),
    ("github token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9][\w.-]{29,}"),
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
    ("digitalocean token", ("_v1_",), EDGE + r"do[opr]_v1_[a-f0-9]{64}"),
    ("npm token", ("npm_",), EDGE + r"npm_[A-Za-z0-9]{36,}"),
    ("pypi token", ("pypi-AgE",), r"pypi-AgE[\w-]{32,}"),
    ("rubygems key", ("rubygems_",), r"rubygems_[a-f0-9]{48}"),
    ("crates token", ("cio",), EDGE + r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("hugging face token", ("hf_",), EDGE + r"(?:api_org|hf)_[A-Za-z0-9]{30,}"),
    ("docker token", ("dckr_",), r"dckr_(?:pat|oat)_[\w-]{20,}"),
    ("vault token", ("hvs.", "hvb.", "hvr."), EDGE + r"hv[sbr]\.[\w-]{20,}"),
    ("terraform token", (".atlasv1.",), r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
    ("databricks token", ("dapi",), EDGE + r"dapi[a-f0-9]{32}(?:-\d)?"),
    ("sendgrid key", ("SG.",), EDGE + r"SG\.[\w-]{16,32}\.[\w-]{16,64}"),
    ("twilio key", ("SK",), EDGE + r"SK[a-f0-9]{32}(?![A-Za-z0-9])"),
    ("mailgun key", ("key-",), EDGE + r"key-[a-f0-9]{32}(?![A-Za-z0-9])"),
    (
        "mailchimp key",
        ("-us1", "-us2", "-us3", "-us4", "-us5", "-us6", "-us7", "-us8", "-us9"),
        r"(?<![A-Za-z0-9])[a-f0-9]{32}-us\d{1,2}(?![A-Za-z0-9])",
    ),
    ("shopify token", ("shp",), EDGE + r"shp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{32}"),
    ("square token", ("sq0",), EDGE + r"sq0[a-z]{3}-[\w-]{22,}"),
    ("linear key", ("lin_api_", "lin_oauth_"), r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("notion token", ("ntn_", "secret_"), EDGE + r"(?:ntn|secret)_[A-Za-z0-9]{40,}"),
    ("figma token", ("figd_",), r"figd_[\w-]{36,}"),
    ("airtable token", ("pat",), EDGE + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("grafana token", ("glsa_", "glc_"), EDGE + r"(?:glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,2})"),
    ("sentry token", ("sntrys_", "sntryu_"), r"sntry[su]_[\w+/=-]{32,}"),
    ("new relic key", ("NRAK-", "NRJS-"), r"NR(?:AK|JS)-[A-Za-z0-9]{19,}"),
    ("postman key", ("PMAK-",), r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("heroku key", ("HRKU-",), r"HRKU-[\w-]{30,}"),
    ("planetscale secret", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[\w.=-]{24,}"),
    ("supabase key", ("sbp_", "sb_secret_"), EDGE + r"(?:sbp_[a-f0-9]{40}|sb_secret_[\w-]{20,})"),
    ("api key", ("gsk_", "pplx-", "xai-"), EDGE + r"(?:gsk_|pplx-|xai-)[A-Za-z0-9]{32,}"),
    ("api key", ("nvapi-", "lsv2_", "r8_"), EDGE + r"(?:nvapi-[\w-]{32,}|lsv2_(?:pt|sk)_\w{32,}|r8_[A-Za-z0-9]{30,})"),
    ("tailscale key", ("tskey-",), r"tskey-[a-z]{1,20}-[\w-]{16,}"),
    ("fly token", ("fm1", "fm2_", "fo1_"), EDGE + r"(?:fm1[ar]_|fm2_|fo1_)[\w+/=-]{40,}"),
    ("atlassian token", ("ATATT3", "ATCTT3", "ATBB"), EDGE + r"(?:AT[AC]TT3[\w=+/-]{32,}|ATBB[A-Za-z0-9]{24,})"),
    ("doppler token", ("dp.",), EDGE + r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,}"),
    ("pulumi token", ("pul-",), EDGE + r"pul-[a-f0-9]{40}"),
    ("ci token", ("bkua_", "CCIPAT_", "CCIPRJ_"), r"(?:bkua_[a-f0-9]{40}|CCIP(?:AT|RJ)_\w{22,})"),
    ("1password token", ("ops_eyJ", "A3-"), EDGE + r"(?:ops_eyJ[\w+/=-]{40,}|A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,6}){4,6})"),
    ("facebook token", ("EAA",), EDGE + r"EAA[A-Za-z0-9]{90,}"),
    ("age key", ("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{30,}"),
    ("mesh invitation", ("clan1-",), EDGE + r"clan1-[a-z2-7]{60,}"),
    # Cut off or whole; two parts at least, as the first alone says only which algorithm it is. Five are an encrypted one.
    ("jwt", ("eyJ",), r"eyJ(?:(?<![\w-]eyJ)|(?<=\\[nrt]eyJ)|(?<=[0-9]meyJ))[\w-]{8,}\.[\w-]{10,}(?:\.[\w-]*){0,3}"),
)
SORTS = frozenset(sort for sort, _, _ in TABLE)


def find(text: str) -> "list[Span]":
    """Every token of a known shape."""
    spans = []
    for sort, words, pattern in TABLE:
        for word in words:
            if word in text:
                # The edge is looked at afterwards: a pattern that begins with a letter is searched for much faster.
                found, edge = compiled(pattern.removeprefix(EDGE)), compiled(EDGE if pattern.startswith(EDGE) else "")
                spans += [
                    (*match.span(found.groups), sort)
                    for match in found.finditer(text)
                    if edge.match(text, match.start())
                ]
                break
    return spans + _bare_discord(text)


def _bare_discord(text: str) -> "list[Span]":
    """Tokens of Discord where nobody says that they are: three parts, the first and the last of them made by chance."""
    if all(len(part) != 6 for part in text.split(".")[1:-1]):
        return []
    spans = []
    for middle in compiled(r"\.[\w-]{6}\.(?=([\w-]{27,80}))").finditer(text):
        first = compiled(r"[\w-]{24,40}").match(text[max(0, middle.start() - 41) : middle.start()][::-1])
        if first and is_random(first[0][::-1], 24) and is_random(middle[1]):
            spans.append((middle.start() - len(first[0]), middle.end(1), "discord token"))
    return spans
