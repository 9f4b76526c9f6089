"""What redaction finds, what it leaves alone, and what it never does. The examples are in `redaction_examples`."""

import base64
import json
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench import redaction_cases
from clan_learnings.context.harmless_lines import harmless as one_line
from clan_learnings.redaction import Redacted, SecretCount, describe, redact, redact_value
from clan_learnings.redaction.passes import SORTS, UNSETTLED, mark
from clan_learnings.redaction.secret_shapes import TABLE
from clan_learnings.redaction.secret_values import is_random
from tests.clan_learnings.redaction.redaction_examples import (
    BASE32,
    BASE62,
    HEX,
    NAMED,
    UPPER,
    URLSAFE,
    block,
    fake,
    fake_jwt,
    fake_lines,
    fake_uuid,
    harmless,
    secrets,
)

SECRETS = secrets()
HARMLESS = harmless()

# Known and accepted; ADR 0029 says why. A miss that is not listed here fails.
MISSED = {
    "sentence: letters only",
}

SIGNS = [*"@.:='\"`\\\n/,;&|([{}])$<>\0 éİ", "\\n", "//", "://", "--", "\x1b[31m"]
WORDS = [
    "password",
    "passphrase",
    "pass",
    "pwd",
    "secret",
    "token",
    "api_key",
    "key",
    "authorization: bearer",
    "cookie",
]
OPENS, CLOSES = "-----BEGIN PRIVATE" + " KEY-----", "-----END PRIVATE" + " KEY-----"
# Pieces that rules look for, to be put together into texts that no person would write.
PIECES = st.sampled_from(
    [
        *(word for _, words, _ in TABLE for word in words),
        *(example.secret for example in SECRETS),
        *(mark(sort) for sort in sorted(SORTS)),
        *SIGNS,
        *WORDS,
        "-----BEGIN RSA PRIVATE" + " KEY-----",
        "-----END RSA PRIVATE" + " KEY-----",
        "[redacted: ",
        "AKIA",
        "A" * 20,
    ]
)
TEXTS = st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=12).map("".join))
# Shapes that make a careless pattern go over the same characters again and again.
HOSTILE = [
    "a",
    "=",
    "@",
    "a@",
    "@a.b",
    "a@b.",
    "key=",
    "key='",
    'key="',
    "token:",
    "password=",
    "://",
    "://a:",
    "://a:b@",
    "-",
    "\\",
    "\\n",
    "eyJ",
    "eyJa.",
    "ghp_",
    "sk-",
    "pat",
    "$",
    "{",
    "${",
    'passphrase="a ',
    OPENS,
    CLOSES,
    OPENS + "\nAaa: ",
    OPENS + "\\n" + "A" * 20,
    "the token is ",
    "cookie: a=",
    "cookie: a=b; ",
    "set-cookie:a=bcdefghij;",
    "connect.sid=",
    ".abcdef.",
    "a.abcdef." + "a1B2" * 7,
    "user password ",
    "api_key: a1b2",
    " is the token",
    "login a password ",
    "curl -u ",
    "authorization: bearer ",
    "<password>",
    "[redacted: ",
    "[redacted: aws key]a1",
    "a1B2c3D4e5",
    "x@y.com,",
    "İkey=",
    OPENS + "\\" * 15,
    OPENS + "\n" * 16 + "x",
    OPENS + "\nMI",
    OPENS + "\nMIIE\n" + CLOSES,
    CLOSES + "\n" + "A" * 20 + "\n",
    "password is the new ",
    "key is ",
    "password\t",
    "token: gpt-4-4-4-4-4-4-4-4-4-4x ",
    "token=claude-3-20240229-20240229-20240229-x ",
    "hf_" + "a1" * 10,
    "xhf_" + "a1" * 10,
    *(" -u ", " -p", " -p a", '"-p", ', "curl -u a:", "x -u a -p ", "openssl -passin pass:", "mysql -p", "http -a a:"),
    *(
        "sqlplus a/",
        "thin:a/",
        "htpasswd -b a ",
        "net use ",
        "net use a ",
        "nmcli ",
        "vault login -a ",
        "rabbitmqctl ",
        "mc alias set a ",
    ),
    *("echo ", "echo a|", "echo a | sudo ", "printf '%s' ", "<<<", "<<< a", "sudo -S <<< a", 'send "', "expect send {"),
    *(
        "login is ",
        "login for a ",
        "login is a:",
        "log in with a and ",
        "credentials: a/",
        "admin / ",
        "AUTH ",
        "> AUTH a ",
    ),
    *(
        "auth=(",
        "auth=('a',",
        "auth=('a','",
        "jwt.sign(a,",
        "jwt.sign({",
        "getconnection(a,",
        "hmac.new(b'",
        ".login(a[",
        "pdo((",
    ),
    *(
        "identified by ",
        "create user a identified by ",
        "create ",
        "set password = '",
        "attach key ",
        "pragma key='",
        "convertto-securestring ",
    ),
    *("(a,b) values (", "insert (a,password) values ('a',", "insert into t (password) values ('", "insert values (("),
    *(
        "1",
        "1 ",
        "1-",
        "4111 1111 ",
        "4111111111111111 ",
        "+49 1",
        "+1",
        "+4915",
        "(212) 5",
        "phone 1",
        "tel. ",
        "ssn 1",
        "123-45-",
    ),
    *("DE", "DE89 ", "DE89 3704 ", "GB29 NWBK ", "AB12", "A1 "),
    *("LS0tLS1CRUdJTi", "LS0tLS1CRUdJTiB", "mnemonic ", "mnemonic abcd ", "seed phrase: abcd efgh "),
    *(
        "password for a b ",
        "password for a is ",
        "password from ",
        "password from a1b2c3! to ",
        "pw is ",
        "api key ",
        "use key ",
        " as the password",
    ),
    *(
        "PIN ",
        "PIN for a ",
        "otp code is ",
        "cookies={",
        "cookies={'a':'b',",
        "--cookie a=b;",
        "curl -b a=",
        "sid=s%3A",
        "sessionid=",
    ),
    *(
        '<a name="password">',
        '<a key="password" value="',
        '<a name="',
        "<a ",
        'password" value=',
        'variable "password" {',
        "password {default",
    ),
    *("ftp\nuser a ", "ftp ", ":5432:", ":*:a:b:", "a:b@tcp(", "requirepass ", "psk ", "enable secret ", "username a "),
    *(
        "$2",
        "$6$",
        "$6$a$",
        "$argon2id$",
        "pbkdf2_sha256$1$",
        "token a.b",
        "K10",
        "re_",
        "prv",
        "password:-",
        "${password:-a",
        "password.fill(",
    ),
    *(
        "password: abcdef\n",
        "user: a\npassword: abcdef\n",
        "password=abcdef\n",
        "storePassword ",
        "password 'a'\n",
        "contraseña ",
        "密码: ",
    ),
]
# What stands once before and after a bad shape that goes on and on.
HOSTILE_INSIDE = [
    *(
        (OPENS, unit, "")
        for unit in (
            *("\\", "\n", "\\n", "\n=", "\nAaa: ", " - ", "\n+ ", "A", "\n" + "A" * 15, "\n" + "A" * 16 + "=="),
            *("\n" + "A" * 20, "\\\\n" + "A" * 20, "\nAaa: " + "x" * 120),
        )
    ),
    *(
        ("", unit, CLOSES)
        for unit in ("\\", "\\n", "n\\", "A\n", "==\n", "= ", "A", "n", "\n" + "A" * 20, "\\n" + "A" * 16)
    ),
    *(("password", unit, "") for unit in (" ", " is", " a", " =", " the new", " ist lautet", " for a", " it's", "\"'")),
    *(("x -u ", unit, "") for unit in ("a", "\\\n", "'", " a")),
    *(("insert into t (password) values (", unit, "") for unit in ("'a',", "'", "a,", "\\'", "''")),
    *(("auth=(", unit, "") for unit in ("a", "a,", "'a',", "[a]", "(a)", "{a}")),
    *(("mnemonic: ", unit, "") for unit in ("abc ", "abc\n", "a", " ")),
    *(("cookies={", unit, "") for unit in (" ", "'a': 'b',", "a")),
    *(("create ", unit, " identified by ") for unit in ("a", " ", "\n")),
    *(("hf_", unit, "") for unit in ("a1", "_", "a1b2c3d4e5f6a7b8c9d0hf_")),
    ("token: gpt-4", "-4", ""),
    ("token: o1", "-01-2024", "x"),
]


def test_recall_and_false_alarms_on_the_examples() -> None:
    """At least 95 % of the secrets go, and nothing harmless does. `pytest -s` prints the table."""
    rows: dict[str, Counter[str]] = {}
    missed, alarms = set(), []
    for example in SECRETS:
        kept = example.secret in redact(example.text).text
        rows.setdefault(example.group.split(":")[0], Counter())["missed" if kept else "found"] += 1
        missed |= {example.group} if kept else set()
    for text in HARMLESS:
        changed = redact(text.text).text != text.text
        rows.setdefault("harmless: " + text.group, Counter())["false alarm" if changed else "left alone"] += 1
        alarms += [text] if changed else []
    recall = 1 - len(missed) / len(SECRETS)
    print(f"\n{'group':<24} {'examples':>8}  outcome")
    for group, row in rows.items():
        print(f"{group:<24} {row.total():>8}  {', '.join(f'{count} {name}' for name, count in row.items())}")
    print(
        f"recall {recall:.3f} of {len(SECRETS)}, false alarms {len(alarms)} of {len(HARMLESS)}; missed: {sorted(missed)}"
    )
    assert len(SECRETS) >= 60
    assert len(HARMLESS) >= 200
    assert {text.group for text in HARMLESS} >= set(NAMED)
    assert alarms == []
    assert recall >= 0.95
    assert missed == MISSED


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_templates_are_found_whatever_is_put_into_them(seed: int) -> None:
    """The development set with other secrets than those the rules were mended on; what is harmless stays."""
    kept = [
        (case.template, secret)
        for case in redaction_cases.secrets("development", seed)
        for clean in (redact(case.text).text,)
        for secret in case.secrets
        if redaction_cases.survives(secret, clean)
    ]
    changed = [each.text for each in redaction_cases.harmless("development", seed) if redact(each.text).findings]
    assert changed == []
    assert len(kept) <= 0.03 * len(redaction_cases.templates("development_secrets.txt")), kept


def test_the_sets_of_the_benchmark_are_large_and_made_of_templates() -> None:
    """Nobody's rules are tuned on the held-out set, so nothing is asserted of what is found in it."""
    for name in ("development", "held_out"):
        assert sum(len(case.secrets) for case in redaction_cases.secrets(name)) >= 150
        assert redaction_cases.secrets(name, 1) != redaction_cases.secrets(name, 2)
        assert redaction_cases.secrets(name, 1) == redaction_cases.secrets(name, 1)
        assert all(case.secrets for case in redaction_cases.secrets(name))
    assert len(redaction_cases.harmless("held_out")) >= 300


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("curl -u svc:hunter2 https://x", "curl -u svc:[redacted: password] https://x"),
        ('["curl", "-u", "svc:hunter2", url]', '["curl", "-u", "svc:[redacted: password]", url]'),
        ("openssl rsa -passin pass:otter7 -out a", "openssl rsa -passin pass:[redacted: password] -out a"),
        ("smbclient -U ada%otter7! //x/y", "smbclient -U ada%[redacted: password] //x/y"),
        ("tool -u ada -p otter77 run", "tool -u ada -p [redacted: password] run"),
        ("docker run -u ada -p 8080:80 x", "docker run -u ada -p 8080:80 x"),
        ("mysql -u root -p app2 < a", "mysql -u root -p app2 < a"),
        ("requests.get(u, auth=('ada', 'otter'))", "requests.get(u, auth=('ada', '[redacted: password]'))"),
        ("requests.get(u, auth=(name, word))", "requests.get(u, auth=(name, word))"),
        ("jwt.sign({ id: 1 }, 'otter-77x')", "jwt.sign({ id: 1 }, '[redacted: secret]')"),
        ("CREATE USER a IDENTIFIED BY 'otter';", "CREATE USER a IDENTIFIED BY '[redacted: password]';"),
        ("a header identified by 'name'", "a header identified by 'name'"),
        (
            "INSERT INTO u (a, password) VALUES ('x', 'otter')",
            "INSERT INTO u (a, password) VALUES ('x', '[redacted: password]')",
        ),
        ("the login is admin:hunter2, ok", "the login is admin:[redacted: password], ok"),
        ("test/account.sh:23:echo", "test/account.sh:23:echo"),
        ("the password for the VPN is hunter2.", "the password for the VPN is [redacted: password]."),
        ("use the API key 9f8b2c7e41d05a63, please", "use the API key [redacted: secret], please"),
        ("use the API key 9f8b2c7e", "use the API key 9f8b2c7e"),
        ("look up the key 9f8b2c7e41d05a63", "look up the key 9f8b2c7e41d05a63"),
        ("password from otter77! to raven88!", "password from [redacted: password]! to [redacted: password]"),
        ("PASSWORD=${PASSWORD:-otter77}", "PASSWORD=${PASSWORD:-[redacted: password]"),
        ("user: ada\npassword: otter\n", "user: ada\npassword: otter\n"),
        ("user: ada\npassword: otterden\n", "user: ada\npassword: [redacted: password]\n"),
        ("token: ghp_" + "x" * 36, "token: ghp_" + "x" * 36),
    ],
)
def test_a_place_says_what_is_a_secret(text: str, clean: str) -> None:
    """The same word goes in one place and stays in another."""
    assert redact(text).text == clean


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("4111 1111 1111 1111", "card number"),
        ("4111111111111111", "card number"),
        ("3782 822463 10005", "card number"),
        ("4111 1111 1111 1112", ""),
        ("0.4111111111111111", ""),
        ("1712345678901234", ""),
        ("542F 5430 5431 5432 5433", ""),
        ("DE89 3704 0044 0532 0130 00", "bank account"),
        ("GB29NWBK60161331926819", "bank account"),
        ("GB29 NWBK 6016 1331 9268 19", "bank account"),
        ("DE89370400440532013001", ""),
        ("FB27 CF2D 2160 94DF", ""),
        ("536-22-1234", "social security number"),
        ("SSN: 536221234", "social security number"),
        ("666-22-1234", ""),
        ("PROJ-536-22-1234", ""),
        ("+49 30 1234 5678", "phone number"),
        ("+14155550123", ""),  # a line that a diff adds
        ("tel:+14155550123", "phone number"),
        ("(212) 555-0143", "phone number"),
        ("212-555-0143", "phone number"),
        ("212.555.0143", ""),
        ("phone: 212.555.0143", "phone number"),
        ("call 030 1234567", "phone number"),
        ("pid 030 1234567", ""),
        ("Decimal('+35236450.6')", ""),
        ("+1700000000 rows", ""),
    ],
)
def test_numbers_of_persons_are_told_from_other_numbers(text: str, sort: str) -> None:
    """By check digits and by form; agents write many long numbers."""
    assert {finding.sort for finding in redact(text).findings} == ({sort} if sort else set())


def test_a_private_key_in_base_64_is_told_from_a_certificate() -> None:
    """Both begin with the same fourteen characters."""
    key, certificate = (
        base64.b64encode(block(kind, fake_lines(kind, 3)).encode()).decode()
        for kind in ("RSA PRIVATE" + " KEY", "CERTIFICATE")
    )
    text = f"client-certificate-data: {certificate}\nclient-key-data: {key}\n"
    assert redact(text).text == f"client-certificate-data: {certificate}\nclient-key-data: [redacted: private key]\n"


@pytest.mark.parametrize("example", [pytest.param(each, id=each.group) for each in SECRETS if each.group not in MISSED])
def test_a_secret_is_gone_and_its_sort_is_told(example: tuple[str, str, str]) -> None:
    """Also in the middle of other text, and no finding holds a part of it."""
    _, text, secret = example
    for around in (text, f"Grüße ✓\n{text}\nend", json.dumps({"output": text}, ensure_ascii=False)):
        result = redact(around)
        told = describe(result.findings)
        assert secret not in result.text
        assert result.findings
        assert {finding.sort for finding in result.findings} <= SORTS
        assert all(mark(finding.sort) in result.text for finding in result.findings)
        assert secret not in told
        assert redact(result.text) == Redacted(result.text, ())


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("password = 'hunter2'", "password = '[redacted: password]'"),
        ("postgres://app:hunter2@db/x", "postgres://app:[redacted: password in url]@db/x"),
        ("ask bob@example.com.", "ask [redacted: e-mail address]."),
        ('{"password":"hunter2","user":"bob"}', '{"password":"[redacted: password]","user":"bob"}'),
        ("GET /x?token=" + fake("t", 32) + "&page=2", "GET /x?token=[redacted: secret]&page=2"),
        ("a\\nbob@example.com\\nb", "a\\n[redacted: e-mail address]\\nb"),
        ("postgres://u:p@ss@db.example.com/x", "postgres://u:[redacted: password in url]@db.example.com/x"),
    ],
)
def test_what_stands_around_a_secret_stays(text: str, clean: str) -> None:
    """A record is worth something only with the words around the mark."""
    assert redact(text).text == clean


@pytest.mark.parametrize(
    "hidden", ["\x1b[0m", "\x1b[01;31m\x1b[K", "\x9b1m", "\u200b", "\xad", "\0", "\ufeff", "\u2060", "\ufe0f"]
)
def test_a_secret_does_not_hide_behind_what_is_not_shown(hidden: str) -> None:
    """Contexts leave such characters out, so a token with one in its middle would stand there whole."""
    token = "ghp_" + fake("hidden", 36)
    token = token[:16] + hidden + token[16:]
    done = redact(f"push with {token} \u2014 or pass{hidden}word=Hx7!hunter2 as op{hidden}s@acme.exam{hidden}ple")
    assert done.text.startswith("push with [redacted: github token] \u2014 or pass")
    assert one_line(done.text).endswith("password=[redacted: password] as [redacted: e-mail address]")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("the root password is hunter2, do not tell", "the root password is [redacted: password], do not tell"),
        ('token = "gpt-4-1106-preview"', 'token = "gpt-4-1106-preview"'),
        ('token = "gpt-4-1106-"', 'token = "[redacted: secret]"'),
        (f"cut:\n{'Zz9/' * 5}\n{CLOSES}", "cut:\n[redacted: private key]"),
        (f"cut: {'Zz9/' * 4}\\n{CLOSES}", "cut: [redacted: private key]"),
        (f"cut:\n{'Zz9/' * 5}\n{'Zz9/' * 5}\nAb=\n{CLOSES}", "cut:\n[redacted: private key]"),
        (f"{OPENS}\n> {'Zz9/' * 5}", "[redacted: private key]"),
        (f"{OPENS}\nProc-Type: 4\n\n{'Zz9/' * 9}\nAb=", "[redacted: private key]"),
        (f"{OPENS}\\nAbCd\\n{CLOSES}", "[redacted: private key]"),
        (f"{OPENS}\\abcd{CLOSES}", f"{OPENS}\\abcd{CLOSES}"),
        (f"{OPENS}\n\\MIabc", f"{OPENS}\n\\MIabc"),
        (f"{OPENS}\n-{'Zz9/' * 5} is not one", f"{OPENS}\n-{'Zz9/' * 5} is not one"),
    ],
)
def test_a_repetition_takes_what_it_should_and_no_more(text: str, clean: str) -> None:
    """Where a rule reads a row of words, parts or lines, half of one more is not taken along: some Pythons did that."""
    assert redact(text).text == clean


def test_findings_are_sorted_counted_and_described() -> None:
    """One finding a sort, in the order of the alphabet."""
    result = redact("bob@example.com, eve@example.com: password='hunter2'")
    assert result.findings == (SecretCount("e-mail address", 2), SecretCount("password", 1))
    assert describe(result.findings) == "2 x e-mail address, 1 password"
    assert describe(()) == ""


def test_the_name_of_the_service_wins_over_the_name_of_the_variable() -> None:
    """Two rules see the same secret; one mark, the more telling."""
    assert redact("GITHUB_TOKEN=ghp_" + fake("g", 36)).text == "GITHUB_TOKEN=[redacted: github token]"


def test_a_mark_hides_nothing_but_itself() -> None:
    """Only the marks we make are passed over: writing one around a secret does not save it."""
    key = "AKIA" + fake("aws", 16, UPPER)
    assert redact(f"[redacted: {key}]").text == "[redacted: [redacted: aws key]]"
    assert redact("password=[redacted: password] x").findings == ()


def test_several_keys_in_one_text_are_several_findings() -> None:
    """What stands between two keys is not taken for key, also if the first has no end."""
    whole, cut = block("PRIVATE" + " KEY", fake_lines("a", 3)), block("PRIVATE" + " KEY", fake_lines("b", 3))[:120]
    result = redact(f"one\n{cut}\n\ntwo is here\n{whole}\nthree")
    assert result.text == "one\n[redacted: private key]\n\ntwo is here\n[redacted: private key]\nthree"
    assert result.findings == (SecretCount("private key", 2),)


def test_values_are_redacted_at_every_depth() -> None:
    """Strings in lists and dicts, also judged by the key above them; numbers and the rest stay."""
    value = {
        "login": [{"password": "swordfish"}, {"token": ["ghp_" + fake("v", 36)]}],
        "n": 1,
        "none": None,
        "t": (True, 1.5),
    }
    clean, findings = redact_value(value)
    assert clean == {
        "login": [{"password": "[redacted: password]"}, {"token": ["[redacted: github token]"]}],
        "n": 1,
        "none": None,
        "t": [True, 1.5],
    }
    assert findings == (SecretCount("github token", 1), SecretCount("password", 1))
    assert value["login"][0] == {"password": "swordfish"}  # type: ignore[index]  # what was given is not changed


def test_keys_are_redacted_and_none_is_lost() -> None:
    """Two addresses as keys stay two keys, and a key that looks like a numbered mark keeps its name."""
    taken = "[redacted: e-mail address] (2)"
    clean, findings = redact_value({"bob@example.com": 1, "eve@example.com": 2, taken: 3, 4: "x"})
    assert clean == {"[redacted: e-mail address]": 1, "[redacted: e-mail address] (3)": 2, taken: 3, 4: "x"}
    assert findings == (SecretCount("e-mail address", 2),)
    assert redact_value(clean) == (clean, ())


def test_a_value_under_a_harmless_key_is_left_alone() -> None:
    """Settings, counts and types stand under such names, too."""
    value = {
        "token_count": "128000",
        "key": fake("k", 40, HEX),
        "password": "",
        "secret": "true",
        "session": fake_uuid("s"),
    }
    assert redact_value(value) == (value, ())


def test_nesting_has_no_limit() -> None:
    """A hostile value cannot end the process by its depth."""
    value: list[object] = ["bob@example.com"]
    for _ in range(50_000):
        value = [value]
    clean, findings = redact_value(value)
    while isinstance(clean, list):
        clean = clean[0]
    assert clean == "[redacted: e-mail address]"
    assert findings == (SecretCount("e-mail address", 1),)


@given(TEXTS)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    """Whatever the text, a second time finds nothing, and nothing raises."""
    once = redact(text)
    assert redact(once.text) == Redacted(once.text, ())
    assert redact(text) == once


@given(TEXTS)
def test_no_text_of_pieces_is_given_up(text: str) -> None:
    """Giving up a whole text is for texts made to that end; not even nonsense gets there."""
    assert UNSETTLED not in {finding.sort for finding in redact(text).findings}


@given(
    st.recursive(
        st.none() | st.integers() | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=8
    )
)
def test_values_are_redacted_once(value: object) -> None:
    """The same for values, and they keep their shape."""
    clean, _ = redact_value(value)
    assert redact_value(clean) == (clean, ())
    assert json.loads(json.dumps(clean)) == clean
    assert not isinstance(value, dict | list) or len(clean) == len(value)


@given(st.sampled_from([each for each in SECRETS if each.group not in MISSED]), TEXTS, TEXTS)
def test_a_secret_on_its_own_lines_is_found_in_any_text(example: tuple[str, str, str], before: str, after: str) -> None:
    """What stands on other lines cannot hide a secret."""
    _, text, secret = example
    assume(secret not in before + after)
    assert secret not in redact(f"{before}\n\n{text}\n\n{after}").text


_LONG = 250_000


def test_a_session_cookie_goes_as_a_whole_however_long_it_is() -> None:
    """Only its beginning is judged, and what stands behind it stays."""
    value = fake("session", 40, URLSAFE)
    for long in (value, value * 200, f"{value}connect.sid={value}" * 100):
        assert redact(f"connect.sid={long}; and so on").text == "connect.sid=[redacted: cookie]; and so on"
    assert redact("connect.sid=${SID}; and so on").findings == ()


@pytest.mark.parametrize("unit", HOSTILE)
def test_work_grows_with_the_length_only(unit: str) -> None:
    """A quarter of a megabyte of a bad shape ends. Work that grew with the square would not, within the time a test has."""
    text = (unit * (_LONG // len(unit)))[:_LONG]
    clean = redact(text)
    assert clean.findings or clean.text == text


@pytest.mark.parametrize(("before", "unit", "after"), HOSTILE_INSIDE)
def test_work_grows_with_the_length_only_after_one_name_or_mark(before: str, unit: str, after: str) -> None:
    """The same where a rule begins once and reads on, or reads back from its end."""
    text = before + unit * (_LONG // len(unit)) + after
    clean = redact(text)
    assert clean.findings or clean.text == text


@pytest.mark.parametrize(
    ("value", "is_chance"),
    [
        *((fake(str(number), 24, alphabet), True) for number in range(20) for alphabet in (BASE62, URLSAFE)),
        *((fake(str(number), 40, HEX), True) for number in range(20)),
        (fake_uuid("x"), True),
        ("getUserAccessTokenFromRequest", False),
        ("x86_64-unknown-linux-gnu", False),
        ("us-east-1-prod-db-2-replica-3", False),
        ("2024-10-12T09:30:00.123456Z", False),
        ("aaaaaaaaaaaaaaaaaaaaaaaa1111", False),
        ("123456789012345678901234", False),
        ("sha256-" + fake("s", 43), False),
    ],
)
def test_chance_is_told_from_words(value: str, *, is_chance: bool) -> None:
    """Keys of every alphabet against names, dates and numbers."""
    assert is_random(value) is is_chance


def test_ids_of_the_mesh_are_not_taken_for_secrets() -> None:
    """Node ids and tags are public keys and hashes; records cite them."""
    for text in (f"node key: {fake('n', 52, BASE32)}", f"see {fake('t', 52, BASE32)}", f"tag={fake('t', 12, BASE32)}"):
        assert redact(text).text == text


def test_every_sort_makes_a_mark_that_is_known_again() -> None:
    """The mark of every sort is passed over, beside any name."""
    for sort in SORTS:
        assert redact(f"password={mark(sort)} token: '{mark(sort)}' {fake_jwt('x')[:20]}").findings == ()
