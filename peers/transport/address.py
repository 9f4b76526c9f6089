"""Addresses as people write them: `host:port`, `[v6]:port`. No lookups here."""

import re
from ipaddress import AddressValueError, IPv6Address

from mesh.core.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9.])?")
_PORT = re.compile(r"[0-9]{1,5}")
_LAST = 65_535
_V6 = frozenset("0123456789abcdefABCDEF:.")
_PORTS = f"a port is a number from 1 to {_LAST}"
_LIKE, _LIKE_V6 = "write host:port, like 127.0.0.1:7946", "write [address]:port, like [::1]:7946"


def parse_address(text: str, *, least: int = 1, ports: str = _PORTS) -> tuple[str, int]:
    """Host and port. Strict: addresses come from other nodes, and what is odd in one is not ours to interpret.

    `least`: the lowest port. `ports`: which there are, for a person who gave another.
    """
    shown = repr(_shown(text))
    host, port = _parts(text, shown)
    if not _PORT.fullmatch(port) or not least <= int(port) <= _LAST:
        raise UsageError(f"{shown}: {_shown(port)} is not a port", ports)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        try:
            IPv6Address(host)
        except AddressValueError as error:
            raise UsageError(f"{shown}: {_shown(host)} is not an IPv6 address", _LIKE_V6) from error
    elif not _NAME.fullmatch(host):
        raise UsageError(f"{shown}: {_shown(host)} is not a host", _LIKE)
    return host, int(port)


def format_address(host: str, port: int) -> str:
    """The text form; an IPv4 address that came through an IPv6 socket is shown as what it is."""
    host = host.removeprefix("::ffff:") if "." in host else host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _parts(text: str, shown: str) -> tuple[str, str]:
    """The text before the port, and the port; both are there."""
    host, _, port = (text, "", "") if text.endswith("]") else text.rpartition(":")
    if not text:
        raise UsageError("an address is missing", _LIKE)
    if ":" in host and _V6.issuperset(host):
        raise UsageError(f"{shown}: an IPv6 address stands in brackets", _LIKE_V6)
    if not port or ":" not in text:
        raise UsageError(f"{shown} has no port", _LIKE_V6 if host.startswith("[") else _LIKE)
    if not host:
        raise UsageError(f"{shown} has no host", _LIKE)
    return host, port


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text[:80])
