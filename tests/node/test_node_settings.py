"""Where a node listens and what it tells others: addresses as people write them."""

import pytest

from mesh.core.errors import UsageError
from mesh.node.node_settings import advertised, settings


def test_addresses_are_parsed_also_ipv6_and_any_free_port() -> None:
    """Host and port, a bracketed IPv6 address, and port 0."""
    chosen = settings(["127.0.0.1:7946", "[::1]:0"], ["mesh.example:443"])
    assert chosen.listen == (("127.0.0.1", 7946), ("::1", 0))
    assert chosen.advertise == ("mesh.example:443",)


@pytest.mark.parametrize(
    "text", ["7946", "localhost", "host:99999", "host:-1", "host: 1", "[::1", "::1:80", "a b:1", ""]
)
def test_what_is_no_address_is_refused_with_a_next_step(text: str) -> None:
    """Both for listening and for advertising."""
    for listen, advertise in ([text], []), ([], [text]):
        with pytest.raises(UsageError) as refused:
            settings(listen, advertise)
        assert refused.value.next_step


def test_what_is_given_is_advertised_before_what_is_listened_on() -> None:
    """Behind a forwarded port only the person knows the address."""
    assert advertised(["mesh.example:443"], [("10.0.0.5", 7946)]) == ("mesh.example:443",)
    assert advertised([], [("10.0.0.5", 7946), ("::1", 7946)]) == ("10.0.0.5:7946", "[::1]:7946")


def test_listening_everywhere_advertises_real_addresses() -> None:
    """Nobody can dial 0.0.0.0."""
    for host in ("0.0.0.0", "::"):
        found = advertised([], [(host, 7946)])
        assert found
        assert not any(address.startswith(("0.0.0.0", "[::]")) for address in found)
