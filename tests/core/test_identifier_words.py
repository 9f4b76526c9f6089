"""The words that identifiers are made of: either spelling finds the other, whole and in parts; any text has an answer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core.identifier_words import extra_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a plain sentence, with an ERROR.", []),
        ("HTTP_405", ["http405"]),
        ("got http405 again", ["http", "405"]),
        ("getUserById", ["get", "user", "by", "id"]),
        ("get_user_by_id", ["getuserbyid"]),
        ("git commit --no-verify", ["noverify"]),
        ("`src/auth/token.ts:42:7`", ["srcauthtokents", "tokents"]),
        ("C:\\Users\\Foo\\bar.txt", ["cusersfoobartxt", "bartxt"]),
        ("parseJSON and XMLHttpRequest", ["parse", "json", "xml", "http", "request"]),
        ("std::vector", ["stdvector"]),
        ("Docker hangs. See a.py. Then b_c... Was it d-e?", ["apy", "bc", "de"]),
        ("Die Größe fehlt: siehe größe.py, Änderung nötig.", ["größepy"]),
        ("key=value(fooBar,baz_q)", ["foo", "bar", "bazq"]),
        ("version 1.2.3, or v1.2.3", ["v123"]),
        ("some URLs", []),
        ("commit a1b2c3d4e5f6", []),
        ("___ -- ... :: :9 \0", []),
        ("“getUser” — naïveCase", ["get", "user", "naïve", "case"]),
        ("Docker容器启动", ["容器", "器启", "启动", "docker"]),
        ("错", ["错"]),
        ("x" * 65 + "_y", []),
    ],
)
def test_identifiers_are_given_whole_and_in_parts(text: str, words: list[str]) -> None:
    """Whole is what its separators leave; parts are what an index would not split by itself."""
    assert extra_words(text) == words


def test_the_two_spellings_of_a_name_meet() -> None:
    """What an index has of either by itself, and the extra words of the other."""
    assert extra_words("get_user_by_id") == ["getUserById".lower()]
    assert set(extra_words("getUserById")) == {"get", "user", "by", "id"}


def test_a_hostile_text_has_a_bounded_number_of_words() -> None:
    """However many identifiers or characters it consists of."""
    assert len(extra_words(" ".join(f"some_name{number}" for number in range(9000)))) < 600
    assert len(extra_words("a_" * 30_000)) == 0
    assert len(extra_words("".join(map(chr, range(0x4E00, 0x9FFF))) * 3)) < 9000
    assert len(extra_words("aB" * 30)) <= 8


@given(st.text(max_size=300))
@settings(max_examples=200)
def test_any_text_has_an_answer_of_plain_words(text: str) -> None:
    """In small letters, without blanks or signs, each once; and the same one again."""
    words = extra_words(text)
    assert words == extra_words(text)
    assert len(words) == len(set(words))
    assert all(word and word.isalnum() and len(word) <= 300 for word in words)
