"""The few messages of ONNX's file format that a graph needs, written as protobuf. Pure: bytes out, no files, nothing is run.

Field numbers are those of `onnx.proto` (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto). The package `onnx` would do
the same and weighs more than all of this extra's own code.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import numpy as np

IR_VERSION = 8  # of 2021: every onnxruntime that runs on a supported Python reads it
OPSET = 17  # the first with LayerNormalization
CONTRIB = "com.microsoft"  # onnxruntime's own operators

_FLOAT, _INT64 = 1, 7
_TYPES = {"float32": _FLOAT, "uint8": 2, "int8": 3, "int32": 6, "int64": _INT64, "float16": 10}
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT, _ATTRIBUTE_INTS = 1, 2, 7


class Graph:
    """A graph as it is put together: each operator gives the name of its result, so calls nest like formulas."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []
        self._tensor_names: set[str] = set()

    def tensor(self, name: str, values: np.ndarray[Any, Any]) -> str:
        """A constant; the same name again is the same constant."""
        if name not in self._tensor_names:
            self._tensor_names.add(name)
            dims = b"".join(_number(1, size) for size in values.shape)
            kind = _number(2, _TYPES[values.dtype.name])
            raw = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
            self._tensors.append(_message(5, dims + kind + _text(8, name) + _message(9, raw)))
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: float | Sequence[int]) -> str:
        """An operator on these inputs; an empty name leaves an optional input out."""
        result = f"{operator}_{len(self._nodes)}"
        body = b"".join(_text(1, name) for name in inputs) + _text(2, result) + _text(3, result) + _text(4, operator)
        body += b"".join(_message(5, _attribute(name, value)) for name, value in attributes.items())
        self._nodes.append(_message(1, body + (_text(7, domain) if domain else b"")))
        return result

    def model(self, inputs: Iterable[str], output: str) -> bytes:
        """The whole file: `inputs` are tables of whole numbers, one row a text; the output a table of floats."""
        head = b"".join(_message(11, _table(name, _INT64)) for name in inputs)
        graph = b"".join(self._nodes) + _text(2, "sentences") + b"".join(self._tensors)
        graph += head + _message(12, _table(output, _FLOAT))
        sets = b"".join(
            _message(8, _text(1, domain) + _number(2, version)) for domain, version in (("", OPSET), (CONTRIB, 1))
        )
        return _number(1, IR_VERSION) + _text(2, "clan-mesh") + _message(7, graph) + sets


def _attribute(name: str, value: float | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, _ATTRIBUTE_INT)
    if isinstance(value, float):
        return _text(1, name) + _key(2, 5) + struct.pack("<f", value) + _number(20, _ATTRIBUTE_FLOAT)
    return _text(1, name) + b"".join(_number(8, each) for each in value) + _number(20, _ATTRIBUTE_INTS)


def _table(name: str, kind: int) -> bytes:
    """The type of an input or output: a table of any size."""
    dims = b"".join(_message(1, _text(2, f"{name}_{axis}")) for axis in ("rows", "columns"))
    return _text(1, name) + _message(2, _message(1, _number(1, kind) + _message(2, dims)))


def _message(field: int, body: bytes) -> bytes:
    return _key(field, 2) + _varint(len(body)) + body


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _number(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value & (1 << 64) - 1)


def _key(field: int, wire: int) -> bytes:
    return _varint(field << 3 | wire)


def _varint(value: int) -> bytes:
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)
