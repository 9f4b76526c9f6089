"""The bundle: a state, or what a vector lacks of one, as a stream of frames. Pure; files are `mesh.store.bundles`.

magic line, then frames: 4 bytes of length, 1 byte of type, payload
H header (first)   S statement   R range   E end (last): the digest of every frame before it
"""

from typing import Any, NamedTuple

from mesh.core.errors import Malformed
from mesh.core.feed import require_hash
from mesh.core.limits import PROTOCOL_VERSION, RANGE_BYTES, STATEMENT_BYTES
from mesh.core.wire import pack, unpack

MAGIC = b"clan-mesh bundle 1\n"
HEADER, STATEMENT, RANGE, END = b"H", b"S", b"R", b"E"
FRAME_HEAD_BYTES = 5
_READ = (1, PROTOCOL_VERSION)  # what version 1 wrote says the same today; what counts of it is decided here
FRAME_LIMITS = {HEADER: 4096, STATEMENT: STATEMENT_BYTES, RANGE: RANGE_BYTES, END: 64}


class Header(NamedTuple):
    """Which mesh a bundle is of, and the public keys that name it (empty when the exporter had not learned them)."""

    mesh: bytes
    root_key: bytes
    recovery_key: bytes
    private: bool


def frame(kind: bytes, payload: bytes) -> bytes:
    """One frame."""
    return len(payload).to_bytes(4, "big") + kind + payload


def frame_head(data: bytes) -> tuple[bytes, int]:
    """Type and payload length of a frame, checked against its limit before anything is read."""
    kind, length = data[4:5], int.from_bytes(data[:4], "big")
    limit = FRAME_LIMITS.get(kind)
    if limit is None:
        raise Malformed(f"unknown frame type {kind!r}")
    if length > limit:
        raise Malformed(f"a frame of {length} bytes is above the limit of {limit}")
    return kind, length


def encode_header(header: Header) -> bytes:
    """The payload of the first frame."""
    return pack([PROTOCOL_VERSION, *header])


def decode_header(data: bytes) -> Header:
    """The first frame's payload, or Malformed."""
    value: Any = unpack(data)
    if type(value) is not list or not value or type(value[0]) is not int:
        raise Malformed("a bundle's header is an array that begins with its version")
    if value[0] not in _READ:
        raise Malformed(
            f"the bundle has protocol version {value[0]}, this is {PROTOCOL_VERSION}",
            "upgrade clan-mesh on the older side",
        )
    if len(value) != 5 or type(value[4]) is not bool:
        raise Malformed("a bundle's header has five fields")
    mesh, root_key, recovery_key, private = value[1:]
    keys = [b"" if key == b"" else require_hash(key) for key in (root_key, recovery_key)]
    return Header(require_hash(mesh), keys[0], keys[1], private)
