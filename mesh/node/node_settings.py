"""How a node runs: where it listens, how others reach it. Read from the command line in `mesh.cli.node_process`."""

import socket
from collections.abc import Sequence
from typing import NamedTuple

from mesh.core.errors import UsageError
from peers.transport.address import format_address, parse_address

_ELSEWHERE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}  # addresses for examples: no packet is sent


_LAST_PORT = 65_535
_PORTS = f"a port is a number from 1 to {_LAST_PORT - 1}; 0 is any free one"
_EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 (asked for by the person who starts the node)


class NodeSettings(NamedTuple):
    """One run of a sidecar. Nothing here is needed by a node that only dials out."""

    listen: tuple[tuple[str, int], ...] = ()
    advertise: tuple[str, ...] = ()  # instead of what we find out ourselves
    leave: bool = False  # say goodbye for good, and stop


def settings(listen: Sequence[str], advertise: Sequence[str], *, leave: bool = False) -> NodeSettings:
    """Parsed and checked; raises UsageError."""
    for address in advertise:
        parse_address(address)
    if advertise and not listen:
        raise UsageError(
            "a node that listens nowhere has no address to advertise",
            "add --listen HOST:PORT, or leave --advertise out",
        )
    return NodeSettings(tuple(map(_listening, listen)), tuple(advertise), leave)


def advertised(given: Sequence[str], bound: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """How others reach us: as given, else where we listen; for "everywhere" the addresses of this machine."""
    if given:
        return tuple(given)
    found: dict[str, None] = {}
    for host, port in bound:
        hosts = _own_hosts(host) if host in _EVERYWHERE else [host]
        found |= dict.fromkeys(format_address(name, port) for name in hosts)
    return tuple(found)


def _listening(text: str) -> tuple[str, int]:
    """An address of our own: port 0 is any free one."""
    host, port = parse_address(text, least=0, ports=_PORTS)
    if port == _LAST_PORT:
        raise UsageError(f"{text} leaves no port for joining, which is the next one", "listen on a lower port")
    return host, port


def _own_hosts(wildcard: str) -> list[str]:
    """The address the system would send from. `::` listens on IPv6 only: give `0.0.0.0` too for both."""
    family = socket.AF_INET6 if ":" in wildcard else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((_ELSEWHERE[family], 9))
            return [probe.getsockname()[0]]
    except OSError:
        return ["::1" if ":" in wildcard else "127.0.0.1"]
