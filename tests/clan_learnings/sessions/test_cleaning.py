"""Cleaning: no secret, no private text and no home folder survives, wherever in a line and however escaped it stands."""

import json
from collections.abc import Callable

import pytest

from clan_learnings.redaction import redact
from clan_learnings.sessions.cleaning import LONG_CHARS, Cleaner, homeless
from tests.clan_learnings.redaction.redaction_examples import harmless, secrets


def escaped(text: str) -> str:
    """Every character as JSON can also write it."""
    return "".join(f"\\u{ord(char):04x}" for char in text)


def lines_with(text: str) -> dict[str, str]:
    """A text in every place of a transcript's line."""
    quoted = json.dumps(text)
    return {
        "prompt": json.dumps({"type": "user", "message": {"content": text}}),
        "argument": json.dumps({"tool": "shell", "arguments": {"command": ["bash", "-c", text]}}),
        "key": json.dumps({"env": {text: 1}}),
        "in a list": json.dumps([[{"a": [text]}]]),
        "json in a string": json.dumps({"arguments": json.dumps({"command": text})}),
        "json in json in a string": json.dumps({"arguments": json.dumps({"inner": json.dumps({"command": text})})}),
        "a piece of json in a string": json.dumps({"command": f"curl -d '{json.dumps({'note': text})}' host"}),
        "escaped": '{"text": "' + escaped(text) + '"}' if text.isascii() else quoted,
        "glued": json.dumps({"a": 1}) + json.dumps({"b": text}),
        "cut off": json.dumps({"text": text + " and more"})[:-9],
        "twice under one name": '{"a": ' + quoted + ', "a": "x"}',
        "plain text": "output: " + text.replace("\n", " "),
    }


@pytest.mark.parametrize("place", list(lines_with("")))
def test_no_planted_secret_survives_in_any_place(place: str) -> None:
    """Of every example that redaction knows in plain text."""
    kept = []
    for example in (each for each in secrets() if each.secret not in redact(each.text).text):
        line = lines_with(example.text)[place]
        cleaned = Cleaner().clean(line.encode()).decode()
        decoded = cleaned.replace("\\\\", "\\").replace("\\n", "\n").replace('\\"', '"')
        if example.secret in cleaned or example.secret in decoded:
            kept.append((example.group, cleaned))
    assert kept == []


def test_harmless_text_stays_as_it_was_written() -> None:
    """Byte for byte, also with the spaces and escapes of whoever wrote it."""
    for example in harmless():
        if homeless(example.text) != example.text:
            continue
        line = json.dumps({"message": {"content": example.text}}, indent=None).encode()
        assert Cleaner().clean(line) == line


def test_a_value_is_judged_by_the_name_it_stands_under() -> None:
    """Also in a list, and where the name is in the line before."""
    cleaned = Cleaner().clean(b'{"password":\n "hunter2-Xy7",\n "other": "hunter2-Xy7"}')
    assert cleaned == b'{"password":\n "[redacted: password]",\n "other": "hunter2-Xy7"}'


def test_lines_stay_where_they_are() -> None:
    """Whatever is taken out of a document, as many lines come back, with the same things on them."""
    document = json.dumps({"a": ["x", "-----BEGIN", "<private>one", "two</private>", "y"], "b": "z"}, indent=1).encode()
    cleaned = Cleaner().clean(document)
    assert cleaned.count(b"\n") == document.count(b"\n")
    assert json.loads(cleaned)["b"] == "z"
    assert cleaned.split(b"\n")[-2] == document.split(b"\n")[-2]
    assert b"one" not in cleaned
    assert b"two" not in cleaned


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: json.dumps({"text": text}),
        lambda text: json.dumps({"text": json.dumps({"deep": text})}),
        lambda text: json.dumps({"text": text}).replace("<", "\\u003c").replace(">", "\\u003e"),
        lambda text: json.dumps({"text": json.dumps({"deep": text}).replace("<", "\\u003c").replace(">", "\\u003e")}),
        lambda text: text,
    ],
)
def test_private_text_is_never_kept(wrap: Callable[[str], str]) -> None:
    """Not behind escapes either."""
    cleaned = Cleaner().clean(wrap("before <private>the diagnosis</private> after").encode())
    assert b"diagnosis" not in cleaned
    assert b"before" in cleaned
    assert b"after" in cleaned


@pytest.mark.parametrize(
    ("line", "clean"),
    [
        ('{"cwd": "/home/alice/work"}', '{"cwd": "~/work"}'),
        ('{"cwd": "\\/Users\\/alice\\/work"}', '{"cwd": "~/work"}'),
        ('{"cwd": "C:\\\\Users\\\\alice\\\\work"}', '{"cwd": "~\\\\work"}'),
        ("plain /root/x", "plain ~/x"),
    ],
)
def test_home_folders_become_a_tilde(line: str, clean: str) -> None:
    """Whatever the system and the escapes."""
    assert Cleaner().clean(line.encode()).decode() == clean


def test_a_huge_string_is_cut_at_a_blank() -> None:
    """Its beginning and end stay; one without a blank goes whole, so that no half of a secret is left."""
    words = "word " * LONG_CHARS
    cleaner = Cleaner()
    cleaned = json.loads(cleaner.clean(json.dumps({"a": words, "image": "A1b2" * LONG_CHARS}).encode()))
    assert len(cleaned["a"]) < LONG_CHARS + 100
    assert cleaned["a"].startswith("word word")
    assert cleaned["a"].endswith("word ")
    assert cleaned["image"] == f"[{4 * LONG_CHARS} characters left out]"
    assert cleaner.shortened == 2


def test_a_secret_where_a_long_text_is_parted_is_found() -> None:
    """Long texts are looked at in pieces, parted between lines only."""
    lines = [f"line {number} of a long output" for number in range(8000)]
    for example in [each for each in secrets() if "\n" not in each.text][:40]:
        text = "\n".join([*lines[:600], example.text, *lines[600:4000]])
        assert example.secret not in Cleaner().clean(json.dumps({"t": text}).encode()).decode()


@pytest.mark.parametrize(
    ("before", "unit", "after"),
    [
        *((b"", unit, b"") for unit in (b"true", b"1e5,", b"e+", b"nulltru", b'"', b'\\"', b'"a":', b'"a":true,')),
        *((b"[", unit, after) for unit in (b"true,", b"1E-7 ", b"null") for after in (b"]", b"x", b"e")),
        *((b'"', unit, after) for unit in (b"\\n", b"\\", b"\\u00") for after in (b'"', b"")),
    ],
)
def test_work_grows_with_the_length_only(before: bytes, unit: bytes, after: bytes) -> None:
    """A quarter of a megabyte of a bad shape ends, and its line stays a line."""
    line = before + unit * (250_000 // len(unit)) + after
    assert Cleaner().clean(line).decode().count("\n") == 0


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\0\0", b'"\\', b'{"a": "\\ud800"}', b'"' * 9999, b"\\" * 9999, b'{"a":"\\u00']
)
def test_damaged_bytes_are_no_reason_to_fail(data: bytes) -> None:
    """As many lines come back, as UTF-8."""
    assert Cleaner().clean(data).decode().count("\n") == data.count(b"\n")
