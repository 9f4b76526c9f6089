"""A model folder given by its path, as sentence models are published: a graph or weights, a tokenizer, a few settings.

`model.onnx` (or `onnx/model.onnx`) is run as it is; of `model.safetensors` with a `config.json` of the type bert a graph is built.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from clan_learnings.search.embedders.embedder import CHOICES
from clan_learnings.search.embedders.local_model import PIECES, LocalModel, open_session, open_tokenizer
from clan_learnings.search.embedders.onnx_graph import BUILD, ModelShape, build_graph, cached
from clan_learnings.search.embedders.safetensors_file import TensorFile
from mesh.core.errors import Malformed, MeshError, UsageError

if TYPE_CHECKING:
    import tokenizers


GRAPHS = ("model.onnx", os.path.join("onnx", "model.onnx"))
WEIGHTS = "model.safetensors"
_SETTINGS_BYTES, _TOKENIZER_BYTES = 1_000_000, 100_000_000
_CHOOSE = "mesh index use FOLDER, with model.onnx and tokenizer.json in it; or: mesh index use auto"


def check(folder: str) -> None:
    """Raise UsageError if this is not a model folder. Reads no file."""
    path = os.path.expanduser(folder)
    if not os.path.isdir(path):
        raise UsageError(f"{folder!r} is neither an embedder nor a folder", f"choose one: {CHOICES}")
    if missing := _missing(path):
        raise UsageError(f"{folder} has no {missing}", _CHOOSE)


def open_folder(folder: str, cache: str) -> LocalModel:
    """The model of a folder. It is named by the content of its files, so that another model in the same place is another model."""
    folder = os.path.expanduser(folder)
    try:
        pieces, takes_first = _pieces(folder), _takes_first(folder)
        words = _read(folder, "tokenizer.json", _TOKENIZER_BYTES)
        tokenizer = open_tokenizer(words, pieces)
        graph = _graph(folder)
        mark = _mark(os.path.join(folder, graph or WEIGHTS), words, pieces, takes_first)
        if graph:
            name, session = f"folder-{mark}", open_session(os.path.join(folder, graph))
        else:
            shape = _shape(folder, tokenizer, takes_first=takes_first)
            name, session = _built(folder, cache, mark, pieces, shape)
        return LocalModel(name, session, tokenizer, takes_first=takes_first)
    except OSError as error:
        raise MeshError(f"the model in {folder} cannot be read: {error.strerror}", _CHOOSE) from error
    except Malformed as error:
        raise Malformed(f"the model in {folder} is not usable: {error}", error.next_step or _CHOOSE) from error


def _shape(folder: str, tokenizer: tokenizers.Tokenizer, *, takes_first: bool) -> ModelShape:
    """The sizes of a model to be built: its table of words has to have every piece of its tokenizer."""
    shape = ModelShape.parse(_settings(folder, "config.json"), takes_first=takes_first)
    if max(tokenizer.get_vocab().values(), default=0) >= shape.words:
        raise Malformed("tokenizer.json has more words than the model")
    return shape


def _built(folder: str, cache: str, mark: str, pieces: int, shape: ModelShape) -> tuple[str, Any]:
    """A session of the graph that is built from weights, and its name."""

    def build() -> bytes:
        with open(os.path.join(folder, WEIGHTS), "rb") as file:
            return build_graph(TensorFile(file), shape, pieces)

    sizes = hashlib.sha256(repr(shape).encode()).hexdigest()[:8]
    name = f"folder-{mark}-{sizes}-int8-{BUILD}"
    return name, open_session(cached(cache, name, build))


def _missing(folder: str) -> str:
    if not os.path.isfile(os.path.join(folder, "tokenizer.json")):
        return "tokenizer.json"
    if _graph(folder):
        return ""
    if not os.path.isfile(os.path.join(folder, WEIGHTS)):
        return f"model.onnx, nor {WEIGHTS}"
    return "" if os.path.isfile(os.path.join(folder, "config.json")) else "config.json"


def _graph(folder: str) -> str:
    return next((name for name in GRAPHS if os.path.isfile(os.path.join(folder, name))), "")


def _pieces(folder: str) -> int:
    """How many pieces of a text the model takes: what it was trained for, never more than its positions."""
    told = _settings(folder, "sentence_bert_config.json").get("max_seq_length")
    most = _settings(folder, "config.json").get("max_position_embeddings")
    return min(number for number in (told, most, PIECES) if type(number) is int and number > 2)


def _takes_first(folder: str) -> bool:
    return _settings(folder, os.path.join("1_Pooling", "config.json")).get("pooling_mode_cls_token") is True


def _settings(folder: str, name: str) -> dict[str, Any]:
    """A file of settings; empty if the file does not exist."""
    try:
        value = json.loads(_read(folder, name, _SETTINGS_BYTES))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise Malformed(f"{name} cannot be read") from error
    return value if isinstance(value, dict) else {}


def _read(folder: str, name: str, most: int) -> bytes:
    with open(os.path.join(folder, name), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise Malformed(f"{name} is larger than {most} bytes")
    return data


def _mark(path: str, words: bytes, *settings: object) -> str:
    """What tells two models apart."""
    digest = hashlib.sha256(repr(settings).encode() + hashlib.sha256(words).digest())
    for each in (path, f"{path}_data", f"{path}.data"):  # a graph may keep its weights beside it
        if os.path.isfile(each):
            with open(each, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]
