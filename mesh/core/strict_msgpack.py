"""msgpack with strict decoding: every byte may come from an attacker. The only module that imports msgpack.

`unpackb` works in one shot on bytes already bounded by the caller: every length it meets is checked
against what is left, so a 5-byte message cannot ask for gigabytes. Extension types are refused, but for msgpack's own
timestamp, which decodes to a type that no reader accepts.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from msgpack import packb, unpackb

from mesh.core.errors import Malformed
from mesh.core.limits import VALUE_DEPTH

_SCALARS = frozenset({str, bytes, int, bool, type(None)})
_DECODING = (ValueError, TypeError, OverflowError, RecursionError, MemoryError, UnicodeError, KeyError)


def pack(value: Any) -> bytes:
    """The shortest encoding of a value; equal values give equal bytes (maps keep their order)."""
    return packb(value, use_bin_type=True)  # type: ignore[no-any-return]


def unpack(data: bytes) -> Any:
    """Decode exactly one value, or raise Malformed."""
    try:
        return unpackb(data, ext_hook=_no_extensions, strict_map_key=True, use_list=True)
    except _DECODING as error:
        raise Malformed(f"not a msgpack value: {type(error).__name__}") from error
    except Exception as error:  # msgpack's own errors share no base class across its builds
        raise Malformed(f"not a msgpack value: {type(error).__name__}") from error


def is_value(value: Any, depth: int = VALUE_DEPTH) -> bool:
    """Whether a decoded value may live in a record: JSON's types and bytes, shallow, finite, text keys."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if kind is float:
        return isfinite(value)
    if depth == 0:
        return False
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or (type(item) not in _SCALARS and not is_value(item, depth - 1)):
                return False
        return True
    return kind is list and all(is_value(item, depth - 1) for item in value)


def _no_extensions(code: int, _data: bytes) -> Any:
    raise ValueError(f"extension type {code}")
