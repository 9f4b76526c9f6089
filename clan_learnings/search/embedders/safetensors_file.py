"""Weights from a `.safetensors` file: a JSON header, then plain numbers. Reads only what the header may name; runs nothing.

The format: https://github.com/huggingface/safetensors#format. Whatever breaks it is `Malformed`.
"""

from __future__ import annotations

import json
import math
from typing import Any, BinaryIO

from clan_learnings.search.embedders.embedder import Rows
from mesh.core.errors import Malformed

HEADER_BYTES = 10_000_000
_KINDS = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}


class TensorFile:
    """The tensors of an open file, each read when it is asked for: so that only one at a time takes memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._bytes = file.seek(0, 2)
        file.seek(0)
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length <= min(HEADER_BYTES, self._bytes - 8):
            raise Malformed("the weights have no header")
        self._start = 8 + length
        self._header = _parsed(file.read(length))

    def names(self) -> frozenset[str]:
        """Every tensor's name."""
        return frozenset(self._header)

    def read(self, name: str, *shape: int) -> Rows:
        """A tensor of exactly this shape, as 32-bit floats, all of them finite."""
        import numpy as np

        kind, dims, first, last = _told(name, self._header.get(name))
        if dims != list(shape):
            raise Malformed(f"{name} has the shape {str(dims)[:100]}, not {list(shape)}")
        raw = np.empty(0, _KINDS[kind])
        if self._start + last > self._bytes or last - first != math.prod(shape) * raw.itemsize:
            raise Malformed(f"{name} does not fit into the file")
        raw = np.empty(math.prod(shape), raw.dtype)
        self._file.seek(self._start + first)
        if self._file.readinto(raw.data.cast("B")) != last - first:  # type: ignore[attr-defined]
            raise Malformed(f"{name} ends early")
        if kind == "BF16":  # the upper half of a 32-bit float
            values = (raw.astype(np.uint32) << 16).view(np.float32)
        else:
            values = raw.astype(np.float32, copy=False)
        if not np.isfinite(values).all():
            raise Malformed(f"{name} has numbers that are none")
        return values.reshape(shape)


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed("the header of the weights cannot be read") from error
    if not isinstance(header, dict):
        raise Malformed("the header of the weights is no table")
    header.pop("__metadata__", None)
    return header


def _told(name: str, told: object) -> tuple[str, list[int], int, int]:
    """What the header says of a tensor: its kind, its shape, where it begins and ends."""
    match told:
        case None:
            raise Malformed(f"the weights have no {name}")
        case {"dtype": ("F32" | "F16" | "BF16") as kind, "shape": [*dims], "data_offsets": [int(first), int(last)]} if (
            0 <= first <= last and all(type(size) is int for size in dims)
        ):
            return kind, dims, first, last
    raise Malformed(f"the header says nothing usable of {name}")
