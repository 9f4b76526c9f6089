"""The token of an invitation: all a newcomer needs, in one line of text. Pure.

It is as good as a key until it is used. It holds no address that must be believed: whoever answers there has to prove
that it belongs to the mesh.
"""

import base64
import binascii
from ipaddress import AddressValueError, IPv6Address
from typing import Any, NamedTuple

from mesh.core.errors import Malformed, UsageError
from mesh.core.ids import KEY_BYTES, named_digest
from mesh.core.strict_msgpack import pack, unpack

PREFIX = "clan1-"
INVITE_BYTES, SECRET_BYTES = 16, 32
ADDRESSES = 8
ADDRESS_CHARS = 260  # a host name of 253, a colon, a port
TOKEN_CHARS = 4096
_SUM_BYTES = 6
_HOST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")


class JoinToken(NamedTuple):
    """An invitation, as its reader needs it."""

    mesh: bytes
    invite_id: bytes
    secret: bytes
    expires_ms: int
    addresses: tuple[str, ...]

    def __repr__(self) -> str:  # never the secret, also in a traceback
        return f"Token({self.invite_id.hex()[:8]})"

    def encode(self) -> str:
        """One word, safe in a shell, a chat and a URL."""
        _require(self)
        data = pack([*self[:4], list(self.addresses)])
        return PREFIX + base64.b32encode(_sum(data) + data).decode().rstrip("=").lower()


def parse(text: str) -> JoinToken:
    """The token in a text; line breaks that a terminal or a mail put in do no harm."""
    word = "".join(text[: 2 * TOKEN_CHARS].split())
    if not word.startswith(PREFIX) or len(word) > TOKEN_CHARS:
        raise UsageError(f"this is not an invitation: they begin with {PREFIX}", "copy it again, whole")
    try:
        return _parse(word)
    except (binascii.Error, Malformed, UsageError, ValueError) as error:
        raise UsageError("this invitation is incomplete or damaged", "copy it again, whole") from error


def split_address(text: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[v6]:port`, or UsageError."""
    host, colon, port = text.rpartition(":")
    if colon and len(text) <= ADDRESS_CHARS and port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536:
        if host.startswith("[") and host.endswith("]") and _is_v6(host[1:-1]):
            return host[1:-1], int(port)
        if host and _HOST.issuperset(host):
            return host, int(port)
    raise UsageError(f"{text[:80]!r} is not an address", "write it as host:port, or [IPv6]:port")


def _parse(word: str) -> JoinToken:
    packed = word.removeprefix(PREFIX)
    raw = base64.b32decode(packed.upper() + "=" * (-len(packed) % 8))
    data = raw[_SUM_BYTES:]
    if raw[:_SUM_BYTES] != _sum(data):
        raise Malformed("the sum does not fit")
    mesh, invite, secret, expires, addresses = _fields(unpack(data))
    token = JoinToken(mesh, invite, secret, expires, tuple(addresses))
    if token.encode() != word:  # one token, one text
        raise Malformed("not as it was written")
    return token


def _require(token: JoinToken) -> None:
    """Raise ValueError for a token that could not be read again."""
    lengths = len(token.mesh), len(token.invite_id), len(token.secret)
    if lengths != (KEY_BYTES, INVITE_BYTES, SECRET_BYTES) or not 0 <= token.expires_ms < 2**47:
        raise ValueError("a field of the token is out of range")
    if not 0 < len(token.addresses) <= ADDRESSES:
        raise UsageError(f"an invitation has 1 to {ADDRESSES} addresses", "name fewer with --address")
    for address in token.addresses:
        split_address(address)


def _fields(value: Any) -> list[Any]:
    if type(value) is not list or [type(part) for part in value] != [bytes, bytes, bytes, int, list]:
        raise Malformed("a token has five fields")
    if any(type(address) is not str for address in value[4]):
        raise Malformed("an address is a text")
    return value


def _sum(data: bytes) -> bytes:
    return named_digest(b"clan-mesh token1", data)[:_SUM_BYTES]


def _is_v6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True
