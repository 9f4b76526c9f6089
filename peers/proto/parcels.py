"""Ranges as gossip handles them: what one is about without checking it, and many in one compressed blob.

Nothing here is verified: the notebook does that. What comes out of a blob is bounded before it is unpacked.
"""

from collections.abc import Sequence

from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError, get_frame_parameters

from mesh.core.errors import Malformed
from mesh.core.feed import decode_feed, require_seq
from mesh.core.limits import RANGE_BYTES
from mesh.core.wire import pack, unpack
from peers.proto.config import ANSWER_BYTES
from peers.proto.replica import Parcel

_LEVEL = 3  # zstd's own default: 5 would save 3 % of the bytes for twice the time
_BLOB_BYTES = ANSWER_BYTES + RANGE_BYTES


def peek(data: bytes) -> Parcel:
    """What a range says it is."""
    value = unpack(data)
    if type(value) is not list or len(value) != 5 or type(value[4]) is not list or not value[4] or len(value[4]) % 3:
        raise Malformed("a range has five fields, the last of operations")
    first = require_seq(value[1])
    return Parcel(decode_feed(value[0]), first, first + len(value[4]) // 3 - 1, data)


def pack_ranges(ranges: Sequence[bytes]) -> bytes:
    """Many ranges in one blob; nothing for none."""
    return ZstdCompressor(_LEVEL).compress(pack(list(ranges))) if ranges else b""


def unpack_ranges(blob: bytes) -> list[bytes]:
    """The ranges in a blob, or Malformed."""
    if not blob:
        return []
    try:
        # A frame that says its size is believed by the library, whatever limit it is given: so look first.
        size = get_frame_parameters(blob).content_size
        if size > _BLOB_BYTES:
            raise Malformed(f"a blob would unpack to {size} bytes")
        raw = ZstdDecompressor().decompress(blob, max_output_size=_BLOB_BYTES, allow_extra_data=False)
    except ZstdError as error:
        raise Malformed("a blob is not zstd") from error
    value = unpack(raw)
    if type(value) is not list or not all(type(item) is bytes and 0 < len(item) <= RANGE_BYTES for item in value):
        raise Malformed("a blob holds ranges")
    return value
