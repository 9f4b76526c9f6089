"""Addresses as people write them: what is understood, and what is said of the rest."""

import pytest

from mesh.core.errors import UsageError
from mesh.node.node_settings import settings
from peers.transport.address import parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7946", ("127.0.0.1", 7946)),
        ("laptop.local:1", ("laptop.local", 1)),
        ("[::1]:65535", ("::1", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: tuple[str, int]) -> None:
    """Of IPv6 in brackets."""
    assert parse_address(text) == address


@pytest.mark.parametrize(
    ("text", "sentence", "step"),
    [
        ("127.0.0.1:99999", "'127.0.0.1:99999': 99999 is not a port", "a port is a number from 1 to 65535"),
        ("127.0.0.1:0", "'127.0.0.1:0': 0 is not a port", "a port is a number from 1 to 65535"),
        ("127.0.0.1:-1", "'127.0.0.1:-1': -1 is not a port", "a port is a number from 1 to 65535"),
        ("127.0.0.1:http", "'127.0.0.1:http': http is not a port", "a port is a number from 1 to 65535"),
        ("127.0.0.1:٣", "'127.0.0.1:٣': ٣ is not a port", "a port is a number from 1 to 65535"),
        ("127.0.0.1:" + "9" * 5000, "is not a port", "a port is a number from 1 to 65535"),
        ("127.0.0.1", "'127.0.0.1' has no port", "write host:port, like 127.0.0.1:7946"),
        ("127.0.0.1:", "'127.0.0.1:' has no port", "write host:port, like 127.0.0.1:7946"),
        ("[::1]", "'[::1]' has no port", "write [address]:port, like [::1]:7946"),
        ("[::1]:", "'[::1]:' has no port", "write [address]:port, like [::1]:7946"),
        ("7946", "'7946' has no port", "write host:port, like 127.0.0.1:7946"),
        (":7946", "':7946' has no host", "write host:port, like 127.0.0.1:7946"),
        ("", "an address is missing", "write host:port, like 127.0.0.1:7946"),
        ("::1:7946", "'::1:7946': an IPv6 address stands in brackets", "write [address]:port, like [::1]:7946"),
        ("::1", "'::1': an IPv6 address stands in brackets", "write [address]:port, like [::1]:7946"),
        ("[::zz]:7946", "'[::zz]:7946': ::zz is not an IPv6 address", "write [address]:port, like [::1]:7946"),
        ("bad host:7946", "'bad host:7946': bad host is not a host", "write host:port, like 127.0.0.1:7946"),
        ("http://host:7946", "'http://host:7946': http://host is not a host", "write host:port, like 127.0.0.1:7946"),
        ("\x1b[2J:7946", "'?[2J:7946': ?[2J is not a host", "write host:port, like 127.0.0.1:7946"),
    ],
)
def test_what_is_wrong_with_an_address_is_named(text: str, sentence: str, step: str) -> None:
    """Not the whole of it, if only its port is wrong."""
    with pytest.raises(UsageError) as caught:
        parse_address(text)
    assert sentence in str(caught.value)
    assert caught.value.next_step == step
    assert len(str(caught.value)) < 300


def test_port_nought_is_any_free_one_to_listen_on_and_none_to_advertise() -> None:
    """Nobody could reach it there. What others reach is said by the node itself."""
    assert settings(["127.0.0.1:0", "[::1]:0"], ()).listen == (("127.0.0.1", 0), ("::1", 0))
    with pytest.raises(UsageError, match=r"'127\.0\.0\.1:0': 0 is not a port"):
        settings(["127.0.0.1:0"], ["127.0.0.1:0"])


def test_the_last_port_leaves_none_for_joining() -> None:
    """Which is the next one."""
    with pytest.raises(UsageError, match="leaves no port for joining"):
        settings(["127.0.0.1:65535"], ())
    with pytest.raises(UsageError, match=r"'127\.0\.0\.1:65536': 65536 is not a port") as caught:
        settings(["127.0.0.1:65536"], ())
    assert caught.value.next_step == "a port is a number from 1 to 65534; 0 is any free one"
