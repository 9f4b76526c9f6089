r"""Texts for measuring redaction, made from the templates in `redaction_set/`. Judges nothing; no secret is written down there or here.

A template is a line; `\\n` in it is a line break. `«pw»` stands for a secret that must not survive, `⟨hex:40⟩` for a harmless value. Both
are made at random from the seed and the template, so that another seed makes other secrets in the same places.
"""

import base64
import random
import re
from collections.abc import Callable
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

SET = Path(__file__).resolve().parent / "redaction_set"

_SLOT = re.compile(r"([«⟨])(\w+)(?::(\d+))?[»⟩]")
_ALPHABETS = {
    "hex": digits + "abcdef",
    "hexu": digits + "ABCDEF",
    "b62": ascii_letters + digits,
    "b64": ascii_letters + digits + "+/",
    "url": ascii_letters + digits + "-_",
    "b32": ascii_uppercase + "234567",
    "b32u": ascii_uppercase + digits,
    "b32l": ascii_lowercase + digits,
    "digits": digits[1:],
}
_WORDS = (
    *("otter", "canyon", "maple", "falcon", "winter", "copper", "dragon", "marble", "velvet", "harbor", "summit"),
    *("pepper", "rocket", "silver", "tundra", "walnut", "zephyr", "banjo", "cactus", "ember", "granite", "hollow"),
    *("island", "jigsaw", "kettle", "lantern", "meadow", "nickel", "oyster", "pirate", "quartz", "raven", "saddle"),
)
_SEED_WORDS = (
    *("abandon", "ability", "above", "abstract", "acid", "acoustic", "actor", "adapt", "balance", "bamboo", "banner"),
    *("cabbage", "cactus", "camera", "canvas", "carbon", "dolphin", "donkey", "dragon", "earth", "eagle", "elbow"),
    *("fabric", "faculty", "galaxy", "garage", "habit", "hammer", "icon", "idle", "jacket", "jaguar", "kangaroo"),
    *("ladder", "lake", "magnet", "maple", "napkin", "noble", "oak", "obey", "paddle", "palace", "quality", "rabbit"),
    *("sadness", "saddle", "tackle", "talent", "umbrella", "vacant", "wagon", "yellow", "zebra", "zoo"),
)
_LEET = str.maketrans({"a": "4", "e": "3", "i": "1", "o": "0", "s": "5"})
_SAFE_SIGNS, _SIGNS = "!-_.#*+~", "!-_.#*+~@&?^"
# Country, and the digits of its account number.
_IBAN = {"DE": 18, "FR": 23, "ES": 20, "AT": 16, "CH": 17, "BE": 12, "PL": 24}


class Secret(NamedTuple):
    """A text, and the parts of it that must not survive."""

    kind: str
    template: str
    text: str
    secrets: tuple[str, ...]


class Harmless(NamedTuple):
    """A text that has to come through as it is."""

    kind: str
    template: str
    text: str


def secrets(name: str, seed: int = 1) -> list[Secret]:
    """The texts with secrets of a set: `development`, `held_out`, `fresh` or `stranger`."""
    return [Secret(kind, line, *filled(line, seed)) for kind, line in templates(f"{name}_secrets.txt")]


def harmless(name: str, seed: int = 1) -> list[Harmless]:
    """The texts without any."""
    return [Harmless(kind, line, filled(line, seed)[0]) for kind, line in templates(f"{name}_harmless.txt")]


def templates(name: str) -> list[tuple[str, str]]:
    """Kind and template, line by line."""
    kind, found = "", []
    for line in (SET / name).read_text("utf-8").splitlines():
        heading = re.fullmatch(r"\[(\w+)\]", line)
        if heading:
            kind = heading[1]
        elif line:
            found.append((kind, line))
    return found


def filled(template: str, seed: int) -> tuple[str, tuple[str, ...]]:
    """The text with a value in each slot, and those that are secrets."""
    chance = random.Random(f"{seed} {template}")
    kept: list[str] = []

    def value(slot: re.Match[str]) -> str:
        made = _made(slot[2], int(slot[3] or 0), chance)
        if slot[1] == "«":
            kept.append(made)
        return made

    text = _SLOT.sub(value, re.sub(r"(?<!\\)\\([nt])", lambda found: {"n": "\n", "t": "\t"}[found[1]], template))
    return text.replace("\\\\", "\\"), tuple(kept)


def survives(secret: str, text: str) -> bool:
    """Whether a secret is still there, or half of it. Of several lines or words each counts."""
    half = max(4, (len(secret) + 1) // 2)
    return secret in text or (len(secret) > 4 and (secret[:half] in text or secret[-half:] in text))


def _made(what: str, length: int, chance: random.Random) -> str:
    if what in _ALPHABETS:
        return _characters(_ALPHABETS[what], length, chance)
    return _MAKERS[what](chance)


def _characters(alphabet: str, length: int, chance: random.Random) -> str:
    """At random, but never all of one sort where the alphabet has several."""
    while True:
        made = "".join(chance.choices(alphabet, k=length))
        if length < 12 or alphabet.isdigit() or (re.search("[0-9]", made) and re.search("[A-Za-z]", made)):
            return made


def _password(signs: str, chance: random.Random) -> str:
    """As people and generators make them."""
    first, second = chance.sample(_WORDS, 2)
    number, sign = str(chance.randrange(10, 9999)), chance.choice(signs)
    match chance.randrange(6):
        case 0:
            return f"{first.title()}{number}{sign}"
        case 1:
            return f"{first}{second}".translate(_LEET) + sign
        case 2:
            return f"{first.title()}{second.title()}_{number}"
        case 3:
            return f"{first}-{second}-{chance.choice(_WORDS)}-{number}"
        case 4:
            return chance.choice(ascii_letters) + "".join(chance.choices(ascii_letters + digits + signs, k=13)) + "7q"
        case _:
            return f"{sign if sign in '!#*' else '!'}{first}{number}{second.upper()}"


def _weak(chance: random.Random) -> str:
    return chance.choice(_WORDS) + str(chance.randrange(1, 999)) + chance.choice(("", "", "!"))


def _word(chance: random.Random) -> str:
    return "".join(chance.sample(_WORDS, 2))


def _uuid(chance: random.Random) -> str:
    made = _characters(_ALPHABETS["hex"], 32, chance)
    return f"{made[:8]}-{made[8:12]}-4{made[13:16]}-a{made[17:20]}-{made[20:]}"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _jwt(chance: random.Random) -> str:
    claims = _base64(f'{{"sub":"{chance.randrange(10**6)}","iat":1700000000}}').rstrip("=")
    header = _base64('{"alg":"HS256","typ":"JWT"}').rstrip("=")
    return f"{header}.{claims}.{_characters(_ALPHABETS['url'], 43, chance)}"


def _pem(kind: str, chance: random.Random) -> str:
    lines = [_characters(_ALPHABETS["b64"], 64, chance) for _ in range(4)]
    return _base64("\n".join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----")))


def _card(chance: random.Random) -> str:
    beginning = chance.choice(("4", "51", "55", "2221", "6011"))
    body = beginning + "".join(chance.choices(digits, k=15 - len(beginning)))
    doubled = [int(digit) * (2 - at % 2) for at, digit in enumerate(body)]
    return body + str(-sum(each - 9 * (each > 9) for each in doubled) % 10)


def _iban(chance: random.Random) -> str:
    country = chance.choice(sorted(_IBAN))
    account = "".join(chance.choices(digits, k=_IBAN[country]))
    number = int("".join(str(int(char, 36)) for char in f"{account}{country}00"))
    return f"{country}{98 - number % 97:02}{account}"


def _in_fours(text: str) -> str:
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def _ssn(chance: random.Random) -> str:
    return f"{chance.randrange(100, 665)}-{chance.randrange(10, 99)}-{chance.randrange(1000, 9999)}"


def _us(form: str, chance: random.Random) -> str:
    return form.format(chance.randrange(201, 989), chance.randrange(200, 999), chance.randrange(1000, 9999))


def _international(chance: random.Random) -> str:
    form = chance.choice(
        ("+49 30 {} {}", "+44 20 {} {}", "+33 6 12 {:.2} {:.2} 78", "+91 98{:.3} {}0", "+1 {:.3} {:.3} {}")
    )
    return form.format(*(str(chance.randrange(2345, 9999)) for _ in range(3)))


_MAKERS: dict[str, Callable[[random.Random], str]] = {
    "s": lambda _: " ",
    "pw": lambda chance: _password(_SIGNS, chance),
    "pws": lambda chance: _password(_SAFE_SIGNS, chance),
    "pwlong": lambda chance: "".join(chance.choices(ascii_letters + digits + _SIGNS + "()[]{}|:;<>,", k=64)),
    "weak": _weak,
    "word": _word,
    "uuid": _uuid,
    "jwt": _jwt,
    "akia": lambda chance: "AKIA" + _characters(_ALPHABETS["b32"], 16, chance),
    "npm": lambda chance: "npm_" + _characters(_ALPHABETS["b62"], 36, chance),
    "ghp": lambda chance: "ghp_" + _characters(_ALPHABETS["b62"], 36, chance),
    "pypi": lambda chance: "pypi-AgEIcHlwaS5vcmc" + _characters(_ALPHABETS["url"], 140, chance),
    "stripe": lambda chance: "sk_" + "live_" + _characters(_ALPHABETS["b62"], 24, chance),
    "basic": lambda chance: _base64(f"ci-bot:{_password(_SAFE_SIGNS, chance)}"),
    "b64pw": lambda chance: _base64(_password(_SAFE_SIGNS, chance)),
    "b64pem": lambda chance: _pem("RSA PRIVATE" + " KEY", chance),
    "b64cert": lambda chance: _pem("CERTIFICATE", chance),
    "pemline": lambda chance: "MII" + _characters(_ALPHABETS["b64"], 61, chance),
    "slackhook": lambda chance: "/".join(
        (f"T{_characters(_ALPHABETS['b32u'], 9, chance)}", "B05ABCDEF12", _characters(_ALPHABETS["b62"], 24, chance))
    ),
    "slackbot": lambda chance: f"{chance.randrange(10**11, 10**12)}-{_characters(_ALPHABETS['b62'], 24, chance)}",
    "sendgrid": lambda chance: ".".join(_characters(_ALPHABETS["url"], length, chance) for length in (22, 43)),
    "telegram": lambda chance: f"{chance.randrange(10**8, 10**9)}:AA{_characters(_ALPHABETS['url'], 33, chance)}",
    "kubeadm": lambda chance: ".".join(_characters(_ALPHABETS["b32l"], length, chance) for length in (6, 16)),
    "swarm": lambda chance: "-".join(
        ("SWMTKN-1", *(_characters(_ALPHABETS["b32l"], length, chance) for length in (50, 25)))
    ),
    "phrase": lambda chance: " ".join(chance.sample(_WORDS, 4)),
    "seed": lambda chance: " ".join(chance.sample(_SEED_WORDS, 12)),
    "card": _card,
    "card4": lambda chance: _in_fours(_card(chance)),
    "iban": _iban,
    "iban4": lambda chance: _in_fours(_iban(chance)),
    "ssn": _ssn,
    "phone_us": lambda chance: _us("({}) {}-{}", chance),
    "phone_us2": lambda chance: _us("{}-{}-{}", chance),
    "phone_us3": lambda chance: _us("{}.{}.{}", chance),
    "phone_intl": _international,
    "phone_e164": lambda chance: f"+49{chance.randrange(1510000000, 1799999999)}",
}
