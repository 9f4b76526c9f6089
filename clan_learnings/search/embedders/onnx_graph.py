"""A BERT encoder as an ONNX graph with 8-bit weights: ids of word pieces in, one vector of length 1 out. Pure: weights in, bytes out.

Devlin et al., https://arxiv.org/abs/1810.04805; the mean of the last layer is what sentence models of this shape are trained
for (Reimers and Gurevych, https://arxiv.org/abs/1908.10084). A graph takes one text at a time: no padding, no mask, and no
row that depends on its neighbours.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import struct
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clan_learnings.search.embedders.embedder import Rows
from clan_learnings.search.embedders.safetensors_file import TensorFile
from mesh.core.errors import Malformed

if TYPE_CHECKING:
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


BUILD = 2  # counts up when the same weights would give another graph: names the cached file and the vectors
_FLOAT_TYPE = 1  # ONNX's number for 32-bit floats
_ZERO = 128  # what stands for it. With a sign, two products could overflow 16 bits on processors without VNNI.


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What a model's config.json says of its size."""

    width: int
    inner: int
    layers: int
    heads: int
    words: int
    kinds: int  # of segments; only the first is used
    positions: int
    epsilon: float
    takes_first: bool = False  # the vector is the first piece's, not the mean of all

    @classmethod
    def parse(cls, config: object, *, takes_first: bool = False) -> ModelShape:
        """From config.json; `Malformed` if it is no BERT that the graph below computes."""
        if not isinstance(config, dict) or config.get("model_type") != "bert":
            raise Malformed("only a model of the type bert can be built from its weights")
        if config.get("hidden_act") != "gelu" or config.get("position_embedding_type", "absolute") != "absolute":
            raise Malformed("its activation or its positions are none that can be built")

        def size(name: str, most: int) -> int:
            value = config.get(name)
            if type(value) is not int or not 0 < value <= most:
                raise Malformed(f"config.json has no usable {name}")
            return value

        width = size("hidden_size", 4096)
        heads = size("num_attention_heads", 128)
        epsilon = config.get("layer_norm_eps", 1e-12)
        if width % heads or not isinstance(epsilon, float) or not 0 < epsilon < 1:
            raise Malformed("the sizes of config.json do not go together")
        return cls(
            width,
            size("intermediate_size", 16_384),
            size("num_hidden_layers", 48),
            heads,
            size("vocab_size", 1_000_000),
            size("type_vocab_size", 16),
            size("max_position_embeddings", 65_536),
            epsilon,
            takes_first,
        )


def build_graph(weights: TensorFile, shape: ModelShape, pieces: int) -> bytes:
    """The graph as a file of ONNX; `pieces`: the longest text it takes."""
    builder = _Builder(weights, shape)
    row = builder.embedded(min(pieces, shape.positions))
    for number in range(shape.layers):
        row = builder.layer(row, f"encoder.layer.{number}.")
    return builder.graph.model(["ids"], builder.pooled(row))


class _Builder:
    """Puts one graph together. `x` is always the name of a result of shape (1, pieces, width)."""

    def __init__(self, weights: TensorFile, shape: ModelShape) -> None:
        self.graph = Graph()
        self._weights = weights
        self._shape = shape
        self._prefix = "bert." if "bert.embeddings.word_embeddings.weight" in weights.names() else ""

    def embedded(self, pieces: int) -> str:
        """Words and positions. The table of words is half of the model: one byte a number, one scale a word."""
        import numpy as np

        graph, shape = self.graph, self._shape
        words = self._read("embeddings.word_embeddings.weight", shape.words, shape.width)
        scales = _scales(words)
        words /= scales  # in place: it is by far the largest
        table = graph.tensor("words", np.rint(words, out=words).astype(np.int8))
        word = graph.add("Cast", graph.add("Gather", table, "ids"), to=_FLOAT_TYPE)
        word = graph.add("Mul", word, graph.add("Gather", graph.tensor("scales", scales), "ids"))
        places = self._read("embeddings.position_embeddings.weight", shape.positions, shape.width)[:pieces]
        kinds = self._read("embeddings.token_type_embeddings.weight", shape.kinds, shape.width)
        length = graph.add("Slice", graph.add("Shape", "ids"), self._index(1), self._index(2))
        place = graph.add("Slice", graph.tensor("places", places + kinds[0]), self._index(0), length)
        norm = self._norm("embeddings.LayerNorm")
        return graph.add("LayerNormalization", graph.add("Add", word, place), *norm, epsilon=shape.epsilon)

    def layer(self, x: str, name: str) -> str:
        """Attention, then the two dense layers, each added to what it was made of and normed."""
        import numpy as np

        graph, width, inner = self.graph, self._shape.width, self._shape.inner
        parts = [self._dense(f"{name}attention.self.{part}", width, width) for part in ("query", "key", "value")]
        joined = [np.concatenate(each) for each in zip(*parts, strict=True)]
        triple = self._linear(x, f"{name}qkv", joined[0], joined[1])
        bounds = [self._index(width * number) for number in range(4)]
        heads = [graph.add("Slice", triple, bounds[at], bounds[at + 1], self._index(2)) for at in range(3)]
        seen = graph.add("MultiHeadAttention", *heads, domain=CONTRIB, num_heads=self._shape.heads)
        seen = self._linear(seen, f"{name}seen", *self._dense(f"{name}attention.output.dense", width, width))
        x = self._added(seen, x, f"{name}attention.output.LayerNorm")
        wide = self._linear(x, f"{name}wide", *self._dense(f"{name}intermediate.dense", inner, width))
        wide = graph.add("Gelu", wide, domain=CONTRIB)
        narrow = self._linear(wide, f"{name}narrow", *self._dense(f"{name}output.dense", width, inner))
        return self._added(narrow, x, f"{name}output.LayerNorm")

    def pooled(self, x: str) -> str:
        """One vector of length 1 for the text."""
        graph = self.graph
        if self._shape.takes_first:
            one = graph.add(
                "Squeeze", graph.add("Slice", x, self._index(0), self._index(1), self._index(1)), self._index(1)
            )
        else:
            one = graph.add("ReduceMean", x, axes=[1], keepdims=0)
        return graph.add("LpNormalization", one, axis=-1, p=2)

    def _linear(self, x: str, name: str, matrix: Rows, bias: Rows) -> str:
        """`x · matrixᵀ + bias`, in whole numbers of 8 bits, with a scale a row of either (ADR 0045).

        The operator has one scale for all of `x`. So each row is brought to the same length before, and back again after.
        """
        import numpy as np

        graph = self.graph
        scales = _scales(matrix)
        numbers = np.ascontiguousarray((np.rint(matrix / scales) + _ZERO).T.astype(np.uint8))
        tiny = graph.tensor("tiny", np.array([1e-12], np.float32))  # a row of zeros stays one
        most = graph.add("Max", graph.add("ReduceMax", graph.add("Abs", x), axes=[2], keepdims=1), tiny)
        product = graph.add(
            "DynamicQuantizeMatMul",
            graph.add("Div", x, most),
            graph.tensor(f"{name}.weight", numbers),
            graph.tensor(f"{name}.scale", scales[:, 0]),
            graph.tensor(f"{name}.zero", np.full(len(matrix), _ZERO, np.uint8)),
            domain=CONTRIB,
        )
        return graph.add("Add", graph.add("Mul", product, most), graph.tensor(f"{name}.bias", bias))

    def _added(self, x: str, before: str, norm: str) -> str:
        weight, bias = self._norm(norm)
        return self.graph.add(
            "SkipLayerNormalization", x, before, weight, bias, domain=CONTRIB, epsilon=self._shape.epsilon
        )

    def _norm(self, name: str) -> tuple[str, str]:
        width = self._shape.width
        weight, bias = (
            self.graph.tensor(f"{name}.{part}", self._read(f"{name}.{part}", width)) for part in ("weight", "bias")
        )
        return weight, bias

    def _dense(self, name: str, outputs: int, inputs: int) -> tuple[Rows, Rows]:
        return self._read(f"{name}.weight", outputs, inputs), self._read(f"{name}.bias", outputs)

    def _read(self, name: str, *shape: int) -> Rows:
        return self._weights.read(self._prefix + name, *shape)

    def _index(self, number: int) -> str:
        import numpy as np

        return self.graph.tensor(f"index_{number}", np.array([number], np.int64))


def _scales(values: np.ndarray[Any, np.dtype[np.float32]]) -> Rows:
    """What 127 stands for, for each run of the last axis."""
    import numpy as np

    most = np.maximum(values.max(axis=-1, keepdims=True), -values.min(axis=-1, keepdims=True)) / np.float32(127)
    scales: Rows = np.where(most > 0, most, np.float32(1)).astype(np.float32)
    return scales


_DRAFT = ".draft-"
_OLD_SECONDS = 600  # a draft that old was left by a process that was killed
_log = logging.getLogger(__name__)


def cached(folder: str, name: str, build: Callable[[], bytes]) -> str | bytes:
    """The file of the graph of that name, built if it is not there whole.

    Two processes at once may both build it: the bytes are the same. Where nothing can be written the graph itself is given.
    """
    path = os.path.join(folder, f"{name}.onnx")
    if _is_whole(path):
        return path
    graph = build()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _sweep(folder)
        _replace(path, graph)
        _replace(_beside(path), hashlib.sha256(graph).hexdigest().encode())
    except OSError as error:
        _log.warning("the model is built at each start: %s cannot be written: %s", path, error.strerror)
        return graph
    return path


def _is_whole(path: str) -> bool:
    try:
        with open(_beside(path), "rb") as file:
            told = file.read(100)
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest().encode()
    except FileNotFoundError:
        return False
    except OSError as error:
        _log.warning("%s cannot be read: %s", path, error.strerror)
        return False
    if told != found:
        _log.warning("%s is damaged and is built anew", path)
    return told == found


def _beside(path: str) -> str:
    return f"{path}.sha256"


def _replace(path: str, data: bytes) -> None:
    """All of it, or what was there before."""
    draft = f"{path}{_DRAFT}{secrets.token_hex(8)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def _sweep(folder: str) -> None:
    """Remove the drafts of processes that were killed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if _DRAFT in entry.name and time.time() - entry.stat(follow_symlinks=False).st_mtime > _OLD_SECONDS:
                os.unlink(entry.path)
