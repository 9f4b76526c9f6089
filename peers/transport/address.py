"""Addresses as people write them: `host:port`, `[v6]:port`. No lookups here."""

import re
from ipaddress import AddressValueError, IPv6Address

from mesh.core.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9.])?")
_PORT = re.compile(r"[0-9]{1,5}")


def parse_address(text: str) -> tuple[str, int]:
    """Host and port. Strict: addresses come from other nodes, and what is odd in one is not ours to interpret."""
    host, colon, port = text.rpartition(":")
    if not colon or not _PORT.fullmatch(port) or not 0 < int(port) < 65536:
        raise _wrong(text)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        try:
            IPv6Address(host)
        except AddressValueError as error:
            raise _wrong(text) from error
    elif not _NAME.fullmatch(host):
        raise _wrong(text)
    return host, int(port)


def format_address(host: str, port: int) -> str:
    """The text form; an IPv4 address that came through an IPv6 socket is shown as what it is."""
    host = host.removeprefix("::ffff:") if "." in host else host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _wrong(text: str) -> UsageError:
    shown = "".join(char if char.isprintable() else "?" for char in text[:80])
    return UsageError(f"{shown!r} is not an address", "write host:port, or [address]:port for IPv6")
