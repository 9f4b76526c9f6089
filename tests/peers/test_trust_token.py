"""Tokens: one line of text that is whole or refused."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mesh.core.errors import UsageError
from mesh.core.ids import digest
from peers.trust.join_token import PREFIX, JoinToken, parse, split_address

TOKEN = JoinToken(digest(b"mesh"), digest(b"invite")[:16], digest(b"secret"), 1_790_000_000_000, ("10.0.0.7:4711",))
TEXT = TOKEN.encode()


def test_a_token_is_read_as_it_was_written() -> None:
    """With one address and with eight, of every sort."""
    assert parse(TEXT) == TOKEN
    assert TEXT.startswith(PREFIX)
    assert TEXT.lower() == TEXT
    many = TOKEN._replace(addresses=("[::1]:1", "[fe80::1%eth0]:65535", *(f"{'h' * 250}.x:{n}" for n in range(1, 7))))
    assert parse(many.encode()) == many


def test_line_breaks_and_spaces_do_no_harm() -> None:
    """A terminal or a mail may have put them in."""
    assert parse(f"  {TEXT[:40]}\n  {TEXT[40:]}\r\n") == TOKEN


def test_a_token_does_not_show_its_secret_by_accident() -> None:
    """Not in a traceback, not in a log."""
    assert repr(TOKEN.secret) not in repr(TOKEN)
    assert TOKEN.secret.hex() not in repr(TOKEN)


@given(st.integers(0, len(TEXT) - 1), st.sampled_from("abcdefghijklmnopqrstuvwxyz234567A-=! "))
def test_an_altered_character_is_noticed(position: int, char: str) -> None:
    """Wherever it is."""
    altered = TEXT[:position] + char + TEXT[position + 1 :]
    if altered != TEXT:
        with pytest.raises(UsageError) as told:
            parse(altered)
        assert "copy it again" in told.value.next_step


@given(st.integers(0, len(TEXT) - 1))
def test_a_part_of_a_token_is_noticed(length: int) -> None:
    """From either end."""
    for part in (TEXT[:length], TEXT[len(TEXT) - length :]):
        with pytest.raises(UsageError, match="invitation"):
            parse(part)


@given(st.text(max_size=300))
@example(TEXT + "a")
@example(TEXT.upper())
@example(TEXT + TEXT)
@example("x" * 100_000)
@example(PREFIX + "a" * 100_000)
def test_any_other_text_is_refused(text: str) -> None:
    """With the same advice."""
    with pytest.raises(UsageError) as told:
        parse(text)
    assert "copy it again" in told.value.next_step


@pytest.mark.parametrize(
    "addresses",
    [(), ("a:1",) * 9, ("a",), (":1",), ("a:0",), ("a:65536",), ("a b:1",), ("[x]:1",), ("a" * 300 + ":1",)],
)
def test_a_token_with_bad_addresses_is_not_made(addresses: tuple[str, ...]) -> None:
    """One to eight, each host:port or [v6]:port."""
    with pytest.raises(UsageError):
        TOKEN._replace(addresses=addresses).encode()


@pytest.mark.parametrize("wrong", [{"mesh": b""}, {"invite_id": bytes(15)}, {"secret": bytes(33)}, {"expires_ms": -1}])
def test_a_token_of_other_sizes_is_not_made(wrong: dict[str, bytes]) -> None:
    """What could not be read again is not written."""
    with pytest.raises(ValueError, match="out of range"):
        TOKEN._replace(**wrong).encode()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "parts"),
    [("host:80", ("host", 80)), ("10.0.0.1:1", ("10.0.0.1", 1)), ("[2001:db8::1]:65535", ("2001:db8::1", 65535))],
)
def test_an_address_is_a_host_and_a_port(text: str, parts: tuple[str, int]) -> None:
    """As a person writes it."""
    assert split_address(text) == parts
