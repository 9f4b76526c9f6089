"""Examples of what redaction must find and must leave alone. No secret is written here: each is made when the tests run.

Every value comes out of a hash of its own name, so it is of the right shape, opens nothing, is the same in every run, and
no scanner of repositories takes this file for a leak.
"""

import base64
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

DIGITS = "0123456789"
HEX = DIGITS + "abcdef"
LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = LOWER.upper()
BASE32 = LOWER + "234567"
BASE62 = DIGITS + UPPER + LOWER
BASE64 = BASE62 + "+/"
URLSAFE = BASE62 + "-_"


class Secret(NamedTuple):
    """A text, and the part of it that must not survive."""

    group: str
    text: str
    secret: str


class Harmless(NamedTuple):
    """A text that has to come through as it is."""

    group: str
    text: str


def fake(name: str, length: int, alphabet: str = BASE62) -> str:
    """So many characters that depend on the name only and look like chance."""
    number = int.from_bytes(
        b"".join(blake2b(f"{name} {part}".encode()).digest() for part in range(length // 32 + 1)), "big"
    )
    found = []
    for _ in range(length):
        number, index = divmod(number, len(alphabet))
        found.append(alphabet[index])
    return "".join(found)


def fake_uuid(name: str) -> str:
    digits = fake(name, 32, HEX)
    return "-".join((digits[:8], digits[8:12], "4" + digits[13:16], "a" + digits[17:20], digits[20:]))


def fake_jwt(name: str) -> str:
    header = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    claims = base64.urlsafe_b64encode(f'{{"sub":"{name}","iat":1700000000}}'.encode()).decode().rstrip("=")
    return f"{header}.{claims}.{fake(name, 43, URLSAFE)}"


def fake_lines(name: str, count: int) -> list[str]:
    return ["MII" + fake(f"{name} {number}", 61, BASE64) for number in range(count)]


def block(kind: str, lines: list[str], ends: str = "\n") -> str:
    return ends.join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"))


def secrets() -> list[Secret]:
    """Every text with a secret in it."""
    return [
        *_of_services(),
        *_of_keys(),
        *_of_urls_and_headers(),
        *_of_assignments(),
        *_of_sentences(),
        *_of_mail(),
        *_held_out(),
        *_made_up(),
        *_reported(),
    ]


def _of_services() -> Iterator[Secret]:
    shapes = {
        "aws": ("AKIA" + fake("aws", 16, UPPER + DIGITS), "aws configure set aws_access_key_id {}"),
        "aws temporary": ("ASIA" + fake("sts", 16, UPPER + DIGITS), "AccessKeyId: {}, expires in an hour"),
        "github": ("ghp_" + fake("ghp", 36), "git clone with {} works, without it is 404"),
        "github app": ("ghs_" + fake("ghs", 36), "the runner printed {}"),
        "github fine": ("github_pat_" + fake("pat", 22) + "_" + fake("pat2", 59), "use {}"),
        "gitlab": ("glpat-" + fake("gl", 20, URLSAFE), "PRIVATE-TOKEN: {}"),
        "gitlab runner": ("glrt-" + fake("glrt", 20, URLSAFE), "register --token {}"),
        "slack bot": (
            "xoxb-" + fake("x1", 12, DIGITS) + "-" + fake("x2", 12, DIGITS) + "-" + fake("x3", 24),
            "posting with {} fails",
        ),
        "slack app": (
            "xapp-1-A" + fake("xa", 10, UPPER) + "-" + fake("xb", 12, DIGITS) + "-" + fake("xc", 64, HEX),
            "socket mode: {}",
        ),
        "slack hook": (
            "T" + fake("t", 8, UPPER) + "/B" + fake("b", 8, UPPER) + "/" + fake("h", 24),
            "POST https://hooks.slack.com/services/{}",
        ),
        "discord hook": (
            fake("dn", 18, DIGITS[1:]) + "/" + fake("dw", 68, URLSAFE),
            "https://discord.com/api/webhooks/{}",
        ),
        "discord bot": (
            "MT" + fake("d1", 24) + "." + fake("d2", 6) + "." + fake("d3", 38, URLSAFE),
            "the discord bot logs in with {}",
        ),
        "telegram": (
            fake("tg", 9, DIGITS[1:]) + ":AA" + fake("tg2", 33, URLSAFE),
            "https://api.telegram.org/bot{}/getMe",
        ),
        "stripe": ("sk_" + "live_" + fake("stripe", 24), "stripe.api_key = '{}'"),
        "stripe test": ("rk_" + "test_" + fake("stripe2", 24), "charge with {}"),
        "webhook": ("whsec_" + fake("wh", 32), "verify with {}"),
        "anthropic": ("sk-ant-api03-" + fake("ant", 93, URLSAFE) + "AA", "ANTHROPIC_API_KEY={} claude"),
        "openai": ("sk-proj-" + fake("oai", 120, URLSAFE), "OpenAI(api_key='{}')"),
        "openai old": (
            "sk-" + fake("oai2", 20) + "T3Blbk" + "FJ" + fake("oai3", 20),
            "curl -H 'Authorization: Bearer {}'",
        ),
        "openrouter": ("sk-or-v1-" + fake("or", 64, HEX), "model list with {}"),
        "google": ("AIza" + fake("goog", 35, URLSAFE), "https://maps.example/api?key={}"),
        "google oauth": ("ya29." + fake("ya", 120, URLSAFE), "access {} has expired"),
        "google client": ("GOCSPX-" + fake("gc", 28, URLSAFE), '"client_secret":"{}"'),
        "azure storage": (
            fake("az", 86, BASE64) + "==",
            "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};EndpointSuffix=core",
        ),
        "azure sas": (fake("sas", 43) + "%3D", "https://x.blob.core.example/c?sv=2022-11-02&sr=c&sig={}"),
        "aws signed": (fake("sig", 64, HEX), "https://b.s3.example/o?X-Amz-Date=20240101T000000Z&X-Amz-Signature={}"),
        "digitalocean": ("dop_v1_" + fake("do", 64, HEX), "doctl auth init -t {}"),
        "npm": ("npm_" + fake("npm", 36), "//registry.example.org/:_authToken={}"),
        "pypi": ("pypi-AgEIcHlwaS5vcmc" + fake("pypi", 120, URLSAFE), "twine upload -p {}"),
        "hugging face": ("hf_" + fake("hf", 34), "huggingface-cli login --token {}"),
        "docker": ("dckr_pat_" + fake("dk", 27, URLSAFE), "echo {} | docker login --password-stdin"),
        "vault": ("hvs." + fake("hv", 90, URLSAFE), "vault login {}"),
        "databricks": ("dapi" + fake("db", 32, HEX), "databricks host with {}"),
        "sendgrid": ("SG." + fake("sg1", 22, URLSAFE) + "." + fake("sg2", 43, URLSAFE), "mail was sent with {}"),
        "twilio": ("SK" + fake("tw", 32, HEX), "twilio {} is not authorised"),
        "mailgun": ("key-" + fake("mg", 32, HEX), "curl --user 'api:{}'"),
        "mailchimp": (fake("mc", 32, HEX) + "-us12", "mailchimp ping {}"),
        "shopify": ("shpat_" + fake("sh", 32, HEX), "X-Shopify-Access-Token: {}"),
        "linear": ("lin_api_" + fake("lin", 40), "query with {}"),
        "notion": ("ntn_" + fake("ntn", 46), "notion says 401 for {}"),
        "grafana": ("glsa_" + fake("gf", 32) + "_" + fake("gf2", 8, HEX), "grafana {}"),
        "groq": ("gsk_" + fake("gsk", 52), "groq with {}"),
        "tailscale": ("tskey-auth-" + fake("ts1", 12) + "-" + fake("ts2", 32), "tailscale up --authkey {}"),
        "age": ("AGE-SECRET-KEY-1" + fake("age", 58, UPPER + DIGITS), "sops needs {}"),
        "mesh": ("clan1-" + fake("mesh", 180, BASE32), "mesh join {}"),
        "jwt": (fake_jwt("alice"), "cookie has {} in it"),
        "jwt cut off": (fake_jwt("bob")[:70], "the log ends in {}"),
        "escaped break": ("ghp_" + fake("esc", 36), '"output": "ok\\n{}\\n"'),
        "colour": ("AKIA" + fake("col", 16, UPPER + DIGITS), "\x1b[32m{}\x1b[0m"),
    }
    for name, (secret, text) in shapes.items():
        yield Secret(f"service: {name}", text.replace("{}", secret), secret)


def _of_keys() -> Iterator[Secret]:
    lines = fake_lines("rsa", 6)
    kind = "RSA PRIVATE" + " KEY"
    whole = block(kind, lines)
    yield Secret("private key: PEM", f"the file is\n{whole}\nand it is 0644", lines[3])
    yield Secret("private key: PKCS8", block("PRIVATE" + " KEY", lines), lines[0])
    yield Secret("private key: OpenSSH", block("OPENSSH PRIVATE" + " KEY", lines), lines[5])
    yield Secret(
        "private key: encrypted",
        block(kind, ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123", "", *lines]),
        lines[1],
    )
    yield Secret(
        "private key: PGP", block("PGP PRIVATE" + " KEY BLOCK", ["Version: GnuPG v2", "", *lines, "=aB3d"]), lines[2]
    )
    yield Secret(
        "private key: escaped", '{"private_key": "' + block("PRIVATE" + " KEY", lines, "\\n") + '\\n"}', lines[4]
    )
    yield Secret("private key: escaped twice", "'" + block("PRIVATE" + " KEY", lines, "\\\\n") + "'", lines[4])
    yield Secret("private key: cut off", "cat key:\n" + whole[:200], lines[1])
    yield Secret("private key: cut off in a line", "cat key:\n" + whole[:170], lines[1])
    yield Secret("private key: escaped and cut off", '"' + block(kind, lines, "\\n")[:300], lines[2])
    yield Secret("private key: without beginning", "...\n" + whole[100:], lines[4])
    yield Secret("private key: of a diff", "\n".join("+" + line for line in whole.split("\n")), lines[4])
    yield Secret("private key: indented", "\n".join("    " + line for line in whole.split("\n")), lines[4])
    yield Secret("private key: windows", whole.replace("\n", "\r\n"), lines[4])
    yield Secret(
        "private key: PuTTY",
        "Private-Lines: 3\n" + "\n".join(lines[:3]) + "\nPrivate-MAC: " + fake("mac", 40, HEX),
        lines[1],
    )


def _of_urls_and_headers() -> Iterator[Secret]:
    places = {
        "postgres": ("hunter2", "postgres://app:{}@db.internal:5432/app"),
        "redis": ("s3same", "redis://:{}@cache:6379/0"),
        "with an at": ("p@ss!word", "amqp://guest:{}@rabbit/vhost"),
        "https": ("fakepass", "pip install --index-url https://ci:{}@pypi.corp.example/simple x"),
        "mongodb": ("Zq%2Fqq", "mongodb+srv://root:{}@cluster0.example/test"),
        "with a hash sign": ("ab#cd?ef", "mysql://root:{}@localhost/x"),
        "token as user": (fake("tu", 40, HEX), "git clone https://{}@git.example/o/r.git"),
        "token as password": (fake("tp", 40), "https://x-access-token:{}@git.example/o/r"),
        "bearer": (fake("be", 40), "Authorization: Bearer {}"),
        "bearer in json": (fake("bj", 40), '{"Authorization": "Bearer {}"}'),
        "basic": (base64.b64encode(b"fake-user:fake-password").decode(), "curl -H 'Authorization: Basic {}' x"),
        "bearer alone": (fake("ba", 32, URLSAFE), "sent as bearer {} in the header"),
        "curl": ("hunter2", "curl -sS -u admin:{} https://ci.example/job"),
        "sshpass": ("hunter2", "sshpass -p {} ssh root@host"),
        "netrc": ("hunter2", "machine ftp.example login bob password {}"),
        "docker login": ("hunter2", "docker login -u bob -p {} registry.example"),
        "mysql": ("hunter2", "mysql -uroot -p{} app < dump.sql"),
        "xml": ("hunter2", "<server><username>x</username><password>{}</password></server>"),
        "query": (fake("qu", 32), "GET /v1/items?access_token={}&page=2"),
    }
    for name, (secret, text) in places.items():
        yield Secret(f"place: {name}", text.replace("{}", secret), secret)


def _of_assignments() -> Iterator[Secret]:
    places = {
        "python": ("hunter2", "password = '{}'"),
        "python annotated": ("hunter2", 'password: str = "{}"'),
        "python argument": ("swordfish", 'connect(user="bob", password="{}")'),
        "json": ("swordfish", '{"user": "bob", "password": "{}"}'),
        "json tight": ("hunter2", '{"password":"{}","user":"bob"}'),
        "json in json": ("hunter2", '"{\\"password\\": \\"{}\\"}"'),
        "yaml": ("Tr0ub4dor&3", "db:\n  password: {}\n  host: x"),
        "environment": ("swordfish", "DB_PASSWORD={} make migrate"),
        "environment quoted": ("correct-horse", "export PGPASSWORD='{}'"),
        "dotenv": (fake("de", 50, LOWER + DIGITS + "!$%()"), "SECRET_KEY={}"),
        "aws secret": (fake("as", 40, BASE64), "aws_secret_access_key = {}"),
        "aws environment": (fake("ae", 40, BASE64), "AWS_SECRET_ACCESS_KEY={}"),
        "client secret": (fake("cs", 32, URLSAFE), "clientSecret: '{}'"),
        "api key": (fake("ak", 32, HEX), "api_key={}"),
        "api key header": (fake("ah", 32), "curl -H 'X-Api-Key: {}' https://x"),
        "api key uuid": (fake_uuid("heroku"), "HEROKU_API_KEY={}"),
        "token": (fake("to", 40, HEX), 'token: "{}"'),
        "auth token": (fake("at", 32, HEX), "authToken = '{}';"),
        "toml": (fake("tm", 24), 'secret = "{}"'),
        "ini": ("hunter2", "[db]\npasswd={}"),
        "php": ("hunter2", "'password' => '{}',"),
        "go": ("hunter2", 'password := "{}"'),
        "environ": (fake("en", 32), "os.environ['STRIPE_SECRET'] = '{}'"),
        "getenv": (fake("ge", 32), 'os.getenv("API_KEY", "{}")'),
        "option": ("swordfish", "tool --password={} run"),
        "option apart": ("hunter2!", "tool --db-password {} run"),
        "option token": (fake("ot", 32), "tool --token {} run"),
        "java": ("hunter2", "spring.datasource.password={}"),
        "compare": ("hunter2", 'if password == "{}":'),
        "passphrase": ("correct horse battery staple", 'passphrase = "{}"'),
        "made up": ("s3cr3t-K3y-42", 'secret = "{}"'),
        "encryption key": (fake("ek", 64, HEX), "ENCRYPTION_KEY={}"),
        "key mixed": (fake("km", 40), 'key: "{}"'),
        "cookie": (fake("ck", 40), "Cookie: sid={}"),
        "unicode": ("pässwört9", "password: {}"),
        "camel": (fake("cm", 32), "accessToken={}"),
        "markdown": (fake("md", 32, HEX), "**API key:** `{}`"),
        "table": (fake("tb", 32), "| api key | {} |"),
    }
    for name, (secret, text) in places.items():
        yield Secret(f"assignment: {name}", text.replace("{}", secret), secret)


def _of_sentences() -> Iterator[Secret]:
    places = {
        "password is": ("hunter2", "the root password is {}, do not tell"),
        "password was": ("Tr0ub4dor&3", "The password was {}."),
        "set to": ("qwerty123", "I set the password to {} and it worked"),
        "token is": (fake("ti", 40, HEX), "the token is {}"),
        "token quoted": (fake("tq", 32), "Use the token `{}` for the registry"),
        "secret": (fake("se", 40, BASE62), "webhook secret {} was rotated"),
        "api key": (fake("sk", 32), "our API key {} has no quota"),
        "colon": (fake("co", 32), "Token: {}"),
        "letters only": ("swordfish", "the password is {}"),
        "value first": (fake("vf", 32), "{} is the token of the registry"),
    }
    for name, (secret, text) in places.items():
        yield Secret(f"sentence: {name}", text.replace("{}", secret), secret)


def _of_mail() -> Iterator[Secret]:
    places = {
        "plain": ("bob@example.com", "ask {} about it"),
        "at the end": ("bob.smith+ci@mail.example.org", "the owner is {}."),
        "git": ("123+bob@users.noreply.example.com", "Author: Bob <{}>"),
        "mailto": ("bob@example.de", "[mail](mailto:{})"),
        "json": ("bob_smith@example.io", '{"email":"{}"}'),
        "percent": ("bob%40example.com", "https://x.example/login?user={}&x=1"),
        "unicode": ("jörg@exämple.de", "frag {} danach"),
        "escaped": ("bob@example.pl", "a\\n{}\\nb"),
        "digits": ("bob@163.com", "{} wrote"),
        "capitals": ("BOB@EXAMPLE.COM", "from {}"),
    }
    for name, (secret, text) in places.items():
        yield Secret(f"mail: {name}", text.replace("{}", secret), secret)


def _made_up() -> Iterator[Secret]:
    """Values that chance did not make, or that do not show it, after names and in places that tell."""
    word = "Json" + "ApiVal" + fake("made", 12, DIGITS)
    base = "abcdEFGH/" + "ijkl+mnopQRSTuvwx/yzABCDEFGHIJKL"
    discord = "MT" + fake("bare1", 24) + "." + fake("bare2", 6) + "." + fake("bare3", 27, BASE62)
    mii = "MII" + fake("short", 6)
    pazz = "Yell0w" + "Pazz"
    cookie = fake("cookie", 18, LOWER + DIGITS)
    opens, closes = "-----BEGIN PRIVATE" + " KEY-----", "-----END PRIVATE" + " KEY-----"
    for text, secret in (
        ("SECRET_KEY_BASE={}", fake("base", 64, HEX)),
        ("secret_key_base: {}", fake("base2", 128, HEX)),
        ("api_key: {}", word),
        ('api_key: "{}"', word),
        ('"apiKey": "{}",', word),
        ("export STAGING_TOKEN={}", "correct" + "horsebattery"),
        ("client_secret = '{}'", "acme-" + fake("cs", 6, DIGITS)),
        # As the names of models begin, and they are none.
        ("token: {}", "gpt-4-" + "s3cr3t-9981"),
        ("access_token: {}", "gpt-4-1106-" + "hunter2"),
        ('secret: "{}"', "claude-" + "2024-1984"),
        ("token: {}", "claude-3-5-sonnet-" + fake("model", 8, DIGITS)),
        ("API_KEY={}", "gemini-" + fake("model2", 12, LOWER + DIGITS)),
        ("password: {}", "gpt-4-1106-" + "preview"),
        ('"AWS_SECRET_ACCESS_KEY": "{}"', base),
        ("Cookie: session={}", cookie),
        ("Cookie: theme=dark; sessionid={}; lang=en", cookie),
        ("-H 'Cookie: sid={}'", cookie),
        ('{{"Cookie": "a=b; sid={}"}}', cookie),
        ("Set-Cookie: sid={}; Path=/; HttpOnly", cookie),
        ("set-cookie: Secure; sid={}", cookie),
        ("connect.sid={}", "s%3A" + fake("sid", 32, URLSAFE) + "." + fake("sid2", 20)),
        ("curl -b PHPSESSID={} http://localhost", fake("php", 26, LOWER + DIGITS)),
        ("it answered {} and stopped", discord),
        ('"private_key":"' + opens + "\\n{}\\n" + closes + '\\n"', mii),
        ('"private_key":"' + opens + "\\n{}…", mii),
        ("log in as user bob password {}", pazz),
        ("the account is demo with password {} for now", pazz),
        ("Das Passwort ist {}", pazz),
        ("Das neue Passwort lautet {}.", pazz),
    ):
        yield Secret(f"made up: {text}", text.replace("{}", secret).replace("{{", "{").replace("}}", "}"), secret)


def _held_out() -> Iterator[Secret]:
    """Written after the rules and without looking at them: the first run on these is the recall to believe (ADR 0029)."""
    word, made_up = "hunter2", "p4ssw0rd"
    basic = base64.b64encode(b"fakeuser:fakepassword123").decode()
    places = [
        ("kubectl create secret generic db --from-literal=password={}", word),
        ("spring.mail.password={}", "gT5!kqp"),
        ("PASSWORD={}", "letmein"),
        ("passwd: '{}'", "qwerty"),
        ('$env:API_TOKEN = "{}"', fake("a", 30)),
        ("set DB_PASS={}", made_up),
        ("setx OPENAI_KEY {}", "sk-" + fake("b", 48)),
        ("  - name: TOKEN\n    value: {}", fake("c", 40)),
        ('{"name": "API_TOKEN", "value": "{}"}', fake("c2", 40)),
        ("curl https://api.example/x -H 'api-key: {}'", fake("d", 32, HEX)),
        ('curl -H "X-Auth-Token: {}"', fake("e", 40)),
        ("const apiKey = `{}`", fake("g", 32)),
        ('let secret: &str = "{}";', fake("h", 24)),
        ('String token = "{}";', fake("i", 32)),
        ("ENV NPM_TOKEN {}", fake("j", 36)),
        ("ARG SECRET={}", fake("k", 20)),
        ("--build-arg TOKEN={}", fake("l", 20)),
        ("client_secret={}&grant_type=x", fake("m", 36)),
        ('"refresh_token":"{}"', fake("n", 48)),
        ("refreshToken: {},", fake("o", 48)),
        ("I used the API key {} and got 403", fake("p", 32)),
        ("key={}", fake("q", 40)),
        ("GOOGLE_API_KEY='{}'", "AIza" + fake("r", 35, URLSAFE)),
        ("logged in as admin / {}", word),
        ("user: admin, pass: {}", word),
        ("username=admin password={}", word),
        ("pw={}", word),
        ("The DB password (`{}`) leaked", word),
        ("my token ({}) expired", fake("s", 32)),
        ("Set-Cookie: session={}; HttpOnly", fake("t", 40)),
        ("PGPASSWORD={} psql", "abc123"),
        ("redis-cli -a {} ping", word),
        ("mongosh -u a -p {} host", word),
        ("psql 'host=x user=y password={}'", word),
        ("Server=x;Database=y;User Id=z;Password={};", word),
        ("jdbc:mysql://h/db?user=a&password={}", word),
        ("smtp://a%40b.com:{}@mail.example", word),
        ("x-goog-api-key: {}", fake("w", 39)),
        ('auth_token = "{}"', fake("x", 20)),
        ("signing_secret: {}", fake("y", 32, HEX)),
        ("WEBHOOK_SECRET={}", fake("z", 32, HEX)),
        ("Secret Access Key: {}", fake("A", 40, BASE64)),
        ('  secret_access_key: "{}"', fake("B", 40, BASE64)),
        ("password -> {}", word),
        ("password => {}", word),
        ("password for root: {}", word),
        ("contact: {}", "jane.doe@corp.example.co.uk"),
        ("user.email={}", "jane@example.com"),
        ("ansible_become_pass: {}", word),
        ("vault kv put secret/x password={}", "swordfish1"),
        ("az login --service-principal -u x -p {} --tenant t", "Ab1~" + fake("1", 30)),
        ("gh auth login --with-token <<< {}", "gho_" + fake("2", 36)),
        ("MYSQL_ROOT_PASSWORD: {}", "root123"),
        ("      MINIO_SECRET_KEY: {}", "minio12345"),
        ("app.config['SECRET_KEY'] = '{}'", "dev-9f8e7d6c"),
        ('SECRET_KEY = "{}"', "django-insecure-" + fake("3", 50)),
        ("Authorization: token {}", fake("4", 40, HEX)),
        ("headers={'Authorization': f'Bearer {}'}", fake("5", 40)),
        ("the login is admin:{}", word),
        ("TOKEN={} ./deploy.sh", fake("6", 20, HEX)),
        ('"auth": "{}"', basic),
        ("_auth={}", basic),
        ("SENTRY_DSN=https://{}@o1.ingest.example/2", fake("7", 32, HEX)),
        ("ssh_key_passphrase: '{}'", "open sesame 42 times"),
        ("otp secret: {}", fake("9", 32, UPPER + "234567")),
        ("wifi password: {}", "Sommer2024!"),
        ("Passwort: {}", "geheim123"),
        ("mot de passe: {}", "secret123"),
        ("consumer_secret={}", fake("bb", 50)),
        ("aws_session_token={}", fake("dd", 200, BASE64)),
        ("fatal: Authentication failed for 'https://bob:{}@git.example/x.git/'", "tok3n"),
        ("My creds: bob / {}", "Hunter2!"),
        ("encryption_key = bytes.fromhex('{}')", fake("ff", 64, HEX)),
        ("key = b'{}'", fake("gg", 43, URLSAFE) + "="),
        ("Fernet(b'{}')", fake("hh", 43, URLSAFE) + "="),
        ("Signed-off-by: J <{}>", "j@example.eu"),
    ]
    for text, secret in places:
        yield Secret(f"held out: {text.strip()[:30]}", text.replace("{}", secret), secret)


def _reported() -> Iterator[Secret]:
    """Forms that a check of the rules found missing, and what is beside them."""
    basic = base64.b64encode(b"ada:hunter2").decode()
    places = [
        ("pass: {}", "Qwerty!23"),
        ("pass={}", "Qwerty!23"),
        ("{'user': 'ada', 'pass': '{}'}", "hunter2"),
        ("PASS={}", "Hunter23x"),
        ("gpg --batch --passphrase '{}' -c a.tar", "open sesame 9"),
        ("gpg --passphrase {} -d a.gpg", "swordfish"),
        ('borg init --passphrase "{}"', "one two three"),
        ("Basic {}", basic),
        ("it sends basic {} each time", basic.rstrip("=")),
        ("my PIN is {}.", "4821"),
        ("her PIN code was {}, she says", "48213"),
        ("my pin is {}", "4821"),
        ("PIN for the door is now {}", "9912"),
        ("passphrase: {}", "correct horse battery staple"),
        ("Passphrase: {}.", "Otter Canyon Maple Falcon Winter"),
        ("my API key is {}", fake("ten", 10, HEX[2:8] + "ab")),
        ("the access key is {}, ask Bob", fake("twelve", 12, HEX[2:8] + "ab")),
        ("DB_PASSWORD={}", "rs99yncX"),
        ("password: '{}'", "es2Kq9wv"),
        ("DB_PASSWORD={}", "md5sun99"),
        ("APP_PASSWORD={}", "x9tQbf2w"),
        (
            "the vault opens with {}",
            "A3-" + "-".join(fake(f"a3{n}", n, UPPER + DIGITS) for n in (6, 11)) + "-23DC2-86TVM-H43EB",
        ),
        ("settle with {}", "sm_pat_" + fake("sm1", 15) + "7"),
        ("log in to the intra with {}", "s-s4t2ud-" + fake("in", 64, HEX)),
        ("geo lookups use {} here", fake("mm", 6) + "_" + fake("mm2", 29) + "_mmk"),
        ("the pipeline has {}", "pat." + fake("h1", 22) + "." + fake("h2", 24, HEX) + "." + fake("h3", 20)),
        ("origin certificates by {}", "v1.0-" + fake("cf1", 24, HEX) + "-" + fake("cf2", 146, HEX)),
        ("the feed is read with {}", "aio_" + fake("aio", 28)),
    ]
    for text, secret in places:
        yield Secret(f"reported: {text[:30]}", text.replace("{}", secret), secret)


# The groups that the requirement names: here not one false alarm is accepted.
NAMED = ("hash", "uuid", "git id", "path", "image", "remote", "user at host", "package", "action", "decorator")


def harmless() -> list[Harmless]:
    """Every text without a secret."""
    image = fake("png", 400, BASE64)
    integrity = fake("sri", 86, BASE64) + "=="
    commit, digest, uuid = fake("commit", 40, HEX), fake("sha", 64, HEX), fake_uuid("u")
    groups = {
        "model": """
            token: gpt-4-1106-preview
            token: "gpt-4o-2024-08-06"
            "token": "gpt-3.5-turbo-0125",
            tokens: claude-3-5-sonnet-20241022
            TOKEN=claude-opus-4-1-20250805
            api_key: anthropic.claude-3-5-sonnet-20241022-v2:0
            secret = gemini-2.5-flash-preview-09-2025
            token: llama-3.1-405b-instruct
            token=mixtral-8x7b-instruct-v0.1
            token: o3-2025-04-16
            token: qwen2.5-coder-32b-instruct
        """,
        "hash": f"""
            sha256:{digest}
            image@sha256:{digest}
            the sha256 is {digest}
            md5 {fake("md5", 32, HEX)}  file.tar.gz
            {digest}  dist/app.whl
            "integrity": "sha512-{integrity}"
            integrity sha512-{integrity}
            "js-tokens": {{"version": "4.0.0", "integrity": "sha512-{integrity}"}}
            --hash=sha256:{digest}
            ETag: "{fake("etag", 32, HEX)}"
            cache key {digest}
            cache-key: npm-linux-{fake("ck", 32, HEX)}
            blake2b-256 gives {digest}
            checksum = "{digest}"
            digest: {digest}
            the key's fingerprint is SHA256:{fake("fp", 43, BASE64)}
            hash of the token: {fake("th", 12, HEX)}
            crc32 {fake("crc", 8, HEX)}
            h1:{fake("gosum", 43, BASE64)}=
            0x{fake("addr", 16, HEX)} in malloc
            object hash {fake("oh", 40, HEX)} has no parent
            bundle.{fake("bundle", 8, HEX)}.js
            key={fake("kh", 32, HEX)} is the name of the cached object
        """,
        "uuid": f"""
            {uuid}
            session {uuid} was resumed
            id: {uuid}
            "requestId": "{uuid}"
            claude:{uuid}
            idempotency key {uuid}
            Idempotency-Key: {uuid}
            /api/items/{uuid}/edit
            urn:uuid:{uuid}
            primary key {uuid} exists
            key: {uuid}
            trace {fake("tr", 32, HEX)} span {fake("sp", 16, HEX)}
            PARTUUID={uuid}
            the key {uuid} is missing in the map
            MESH_SESSION=codex:{uuid}
            correlation_id={uuid}
            {{"key": "{uuid}", "value": 1}}
            volume-{uuid} bound
            device key {uuid.upper()}
            rowkey:{uuid}
        """,
        "git id": f"""
            commit {commit}
            fixed in {commit[:7]}
            git checkout {commit}
            {commit[:8]}..{commit[8:16]}
            index {commit[:7]}..{commit[7:14]} 100644
            git revert {commit} --no-edit
            git+https://git.example/o/r@{commit}
            rev = "{commit}"
            uses: actions/checkout@{commit}
            HEAD is now at {commit[:10]} token: refuse expired ones
            Merge: {commit[:7]} {commit[8:15]}
            node key {fake("nk", 52, BASE32)}
            tag {fake("tag", 52, BASE32)} was erased
            mesh erase {fake("er", 12, BASE32)}
            refs/heads/main -> {commit}
            the commit before the token change is {commit}
            github.com/o/r v0.0.0-20240102150405-{commit[:12]}
            Change-Id: I{commit}
            see {commit[:12]} (key handling)
            git show {commit}:src/auth/token.py
        """,
        "path": """
            /etc/ssl/private/server.key
            ~/.ssh/id_ed25519
            token = ./secrets/token.txt
            key: /run/secrets/api_key
            KEY_FILE=/home/u/keys/prod.pem
            secret: projects/p1/secrets/s2/versions/3
            src/auth/token_store.py
            C:\\Users\\bob\\AppData\\Local\\token.json
            PWD=/home/runner/app
            OLDPWD=/tmp/x1y2z3
            pwd: /srv/app/v2
            node_modules/.pnpm/react@18.2.0/node_modules/react/index.js
            password file: /etc/app/password.txt
            TOKEN=/var/run/secrets/kubernetes.io/serviceaccount/token
            file:///home/u/a:b@c/d
            /api/v1/users/{user}/tokens
            s3://bucket/keys/2024/10/12/part-0001.parquet
            tests/fixtures/password-reset-2.html
            key = ~/.config/clan/node.key
            /nix/store/0c3kfhhfkhq2w7x1zmkfhhfkhq2w7x1z-token-1.0/bin/token
        """,
        "image": f"""
            data:image/png;base64,iVBORw0KGgo{image}
            <img src="data:image/png;base64,iVBORw0KGgo{image}">
            ![key](data:image/png;base64,iVBORw0KGgo{image})
            url(data:font/woff2;base64,d09GMgAB{image})
            "image": "/9j/4AAQSkZJRg{image}"
            {image}
            "screenshot": "iVBORw0KGgo{image}=="
            background: url("data:image/svg+xml;base64,PHN2Zy{image}")
            token_image: "iVBORw0KGgo{image}"
            "data": "R0lGODlhAQABAIAAAP{image}"
        """,
        "remote": """
            git@github.com:o/r
            git@github.com:owner/repo.git
            git clone git@gitlab.example.com:group/sub/repo.git
            origin  git@host:o/r (fetch)
            ssh://git@github.com/o/r.git
            ssh://git@host.example.com:2222/o/r.git
            git+ssh://git@github.com/o/r.git#v1.2.3
            url = git@bitbucket.org:team/repo.git
            scp build.tar deploy@web1.example.com:/srv/app
            rsync -av ./ deploy@web1.example.com:site/
            https://github.com/o/r.git
            insteadOf = git@github.com:
            org-1234@github.com:org/repo.git
            user@build-host.example.net:~/x
            http://localhost:8080/path@v2
            http://host:3000/@scope/pkg
            https://example.com:443?x=a@b
            https://bob@git.example.com/o/r
        """,
        "user at host": """
            user@host
            root@localhost
            bob@laptop:~/src$ make
            ssh deploy@10.0.0.1
            ssh deploy@build.example.com
            ssh -p 2222 -i key deploy@build.example.com uptime
            pi@raspberrypi.local
            ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFakeFakeFakeFakeFakeFakeFakeFakeFakeFake1 bob@laptop
            [root@web1 ~]# systemctl restart x
            postgres@db-1
            bob@macbook.lan
            getty@tty1.service
            wg-quick@wg0.service failed
            sftp backup@nas.example.com
            agent@node·abcde
            ssh-copy-id bob@server.example.com
            ubuntu@ip-10-0-0-1.ec2.internal
            postgres://app@db/app
        """,
        "package": """
            pkg@1.2.3
            react@18.2.0
            @types/node@20.11.5
            @babel/core@^7.0.0
            npm i left-pad@latest
            lodash@4.17.21.js
            pip install x@https://example.com/x.whl
            python@3.11.7
            foo@1.2.3-beta.rc
            foo@v1.2.3-rc.alpha
            go install golang.org/x/tools/gopls@v0.15.1
            golang.org/x/tools/cmd/goimports@latest
            pnpm add js-tokens@9.0.0
            brew install postgresql@16
            openssl@3.dylib
            icon@2x.png
            logo@3x.webp
            yarn add foo@npm:bar@2.0.1
            tokens@1.0.0 and keys@2.0.0
            docker.io/library/redis@7.2
            jsonwebtoken@9.0.2
            "next-auth@5.0.0-beta.25"
            node@20.x
            rust@1.80.x.stable
        """,
        "action": f"""
            uses: actions/checkout@v4
            actions/setup-python@v5.1.0
            checkout@v4
            uses: docker/login-action@v3
            uses: org/get-token@v1
            uses: ./.github/actions/key@main
            actions/cache@{commit}
            uses: o/r/.github/workflows/ci.yml@main
            actions/create-github-app-token@v1.9.0
            softprops/action-gh-release@v2.0.4
        """,
        "decorator": """
            @app.route("/login")
            @pytest.mark.parametrize
            @property
            @dataclass(frozen=True, slots=True)
            @given(st.text())
            class A: @functools.cache
            @router.post("/token")
            y = a@b.T
            loss = w@x.mean()
            @app.get("/users/{id}/key")
            @Override public String getPassword()
            @Input() password: string;
            @login_required
            @tokens.setter
            @media (min-width: 10px)
            @param password the password
            @param {string} token - the token
            @see Foo#getSecret
            @my.decorator.name
            @click.option("--password", prompt=True)
        """,
        "code": """
            token = get_token()
            password = os.environ["DB_PASSWORD"]
            api_key = settings.api_key
            connect(user=user, password=password)
            password=config.db.password
            secret = Secret.from_env()
            def login(user: str, password: str) -> Token:
            password: Optional[str] = None
            password: str = Field(min_length=8)
            token: str | None = None
            self.token = token
            if not password:
            key = lambda item: item[1]
            sorted(rows, key=itemgetter("created_at_2"))
            for key, value in items.items():
            const token = await getAccessTokenSilently();
            private readonly tokenService: TokenService1
            password = input("Password: ")
            getpass.getpass("password: ")
            token := r.Header.Get("X-Token")
            return { token: user.accessToken2 }
            auth = (user, password)
            auth=HTTPBasicAuth(user, pw)
            next_page_token = response["nextPageToken"]
            max_tokens=4096
            max_tokens: 128000
            tokens = tokenizer.encode("hello world")
            token_count = 1234567890
            {"password": {"type": "string", "minLength": 12}}
            <input type="password" name="password" id="password1">
            autocomplete="new-password"
            "password": "string"
            password_hash = bcrypt(password)
            secretKeyRef: {name: app-secrets, key: db-password-v2}
            key: "user.profile.settings.title"
            t("auth.password.label")
            key="users-table-row-12"
            React key={item.id}
            partition_key = "tenant#42"
            x.key = "ArrowLeft"
            event.key === "Escape"
            "secret": true
            token_url = "https://auth.example/oauth2/token"
            secrets.token_urlsafe(32)
            raise ValueError("password: must not be empty")
            assert token == expected_token_1
            public_key = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="
            credentials = Credentials.from_file(path)
            credentials: 'include'
            token: str
            api_key: str = ""
            api_key = os.environ["ACME_API_KEY_2024"]
            secret_key_base: Rails.application.secret
            secret_key_base: <%= ENV["SECRET_KEY_BASE"] %>
            api_key: Annotated[str, Field(max_length=1024)]
            password_hash column
            access_token: AccessTokenResponse
            token: "authenticity_token"
            const cookie: string = document.cookie
            cookies = {"session": session_cookie}
            response.set_cookie("theme", "dark", max_age=86400)
            module.abcdef.some_function_with_a_long_name_here
            org.springframework.boot.autoconfigure.EnableAutoConfiguration
            TOKEN_FILE=tokenizer1024.json
            API_KEY=changeme
            api_key: your-api-key-1234
            API_KEY=xxxx-xxxx-xxxx-1234
            APP_SECRET=production
            refresh_token: RefreshTokenV2Schema
            credentials: "same-origin"
        """,
        "placeholder": """
            password=${DB_PASSWORD}
            password: ${{ secrets.DB_PASSWORD }}
            TOKEN=$TOKEN
            export API_KEY=<your-api-key>
            api_key = "YOUR_API_KEY"
            api_key: "your-api-key-here"
            token: "***"
            password: ********
            Authorization: Bearer $TOKEN
            Authorization: Bearer <token>
            Authorization: Bearer ${TOKEN}
            curl -u "$USER:$PASS" https://x
            postgres://user:${PASSWORD}@host/db
            postgres://user:<password>@host/db
            postgres://{user}:{password}@{host}/db
            secret: {{ .Values.secret }}
            password = "changeme"
            SECRET_KEY=replace-me
            password: "{{ vault_password }}"
            token = f"{prefix}{number}"
            password = '%s'
            api_key=xxxxxxxxxxxxxxxxxxxx
            token: [redacted: github token]
            PASSWORD=None
            token: null
            secret = ""
            GITHUB_TOKEN: ${{ github.token }}
            op://vault/item/password
            token: !vault
            password: !ENV [DB_PASSWORD]
        """,
        "sentence": f"""
            the password is wrong
            the password is required and must have 12 characters
            Password: at least 8-64 characters
            the password is hashed with argon2id
            token: see docs
            the token is expired, ask for a new one
            the secret is that the cache is warmed before the first request
            a token is base64url without padding
            key insight: the lock is held across the await
            the key is sorted by created_at2
            tests pass: 120, fail: 3
            pass: 12
            the API key is read from the environment variable ANTHROPIC_API_KEY
            secret scanning: push protection blocked the push
            bearer authentication is needed
            Basic understanding of tokens helps
            use --password to set it
            the --token flag is ignored
            -----BEGIN CERTIFICATE-----
            the file begins with {"-----BEGIN PRIVATE" + " KEY-----"}
            the key file has the mode 0600
            HTTP 401: token v2 is not accepted by the api
            key: value
            token budget: 2000
            the keyboard: qwerty123 layout
            monkey: business2go
            authentication: OAuth2
            auth: basic
            password policy: NIST-800-63B
            password reset e-mails are sent at 09:00
            a key of 4096 bits
            secret: no
            turnkey: solution4you
            credential helper: osxkeychain
            cookie: SameSite=Lax
            Set-Cookie: theme=dark; Path=/application; Max-Age=31536000; SameSite=Strict
            Cookie: session=<session-id>
            Cookie: session=$SESSION_COOKIE
            Das Passwort ist falsch
            the user password is required
            the user password reset is broken
            log in with user and password OAuth2
            hash of the token: 0a1b2c3d4e5f
            tokens: 128000in, 4096out
            the token for the commit {commit} is not needed
            login with password is disabled since 2024-10-12
            The secret sauce: use WAL mode with synchronous=FULL
            Set the cookie to HttpOnly; Secure
            key points: a) fast b) small
            pass: 3/4
            pass: 100%
            PASS=12 FAIL=0
            PASS: TestFoo2Bar (0.01s)
            pass: foo@1.2.3
            pass=second2
            compass=North!23
            Basic functionality works
            basic learning: Basic dGhpcyBpcyB0ZXh0
            Basic dXNlcjpwYXNzd29yZA== is what the manual shows
            the pin is 4000 ohm
            pin 4821 of the header
            my PIN is 4821ms late
            passphrase: leave it empty for none
            passphrase: stored inside team vault
            use the gpg --passphrase option
            parser.add_argument("--passphrase", help="what opens the key")
            the key is 9f8b2c7d11
            the API key is a1b2c3
            password=RS256
            password: sha512crypt
            password: aes-256-gcm
            password=utf8mb4_general_ci
            password = argon2id
            password: pbkdf2_sha256
        """,
        "data": f"""
            2024-10-12T09:30:00Z
            token: 2024-10-12T09:30:00Z
            192.168.0.1:8080
            arn:aws:iam::123456789012:role/deploy-key
            secret_arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:app-Ab12Cd"
            projects/p/locations/l/keyRings/r/cryptoKeys/k
            x86_64-unknown-linux-gnu
            us-east-1-prod-db-2
            ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789
            callFunctionCheckIfDataAlreadyExistsPerpetualSubinventory
            getUserAccessTokenFromRequestHeaders
            key: com.example.app.feature.v2.enabled
            SKU SK1234567890
            AKIA is the prefix of a key id
            ghp_ is what classic tokens begin with
            eyJ is how a JSON Web Token begins
            sk-learn is spelled scikit-learn
            risk-assessment-and-mitigation-of-2024-projects
            {fake("ids", 24, DIGITS)}
            ISBN 978-3-16-148410-0
            sm_pat_handler and aio_read_callback_function_pointer
            s-s4t2ud- is what the ids of the intranet begin with
            release v1.0-9f8b2c7d1102
            see compat.{fake("cp", 22)} for more
            {fake("nm", 6)}_nommk
            -----BEGIN PUBLIC KEY----- {fake("pub", 64, BASE64)} -----END PUBLIC KEY-----
            ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ{fake("ssh", 60, BASE64)} bob@laptop
            npm_config_registry=https://registry.example
            hf_hub_download(repo_id="o/r", filename="model.safetensors")
            glcontext and glpath are not tokens
        """,
    }
    return [
        Harmless(group, line.strip())
        for group, text in groups.items()
        for line in text.strip().splitlines()
        if line.strip()
    ]
