"""Models for tests: a tiny BERT in a folder, and the same arithmetic once more in plain numpy, to compare with."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *["the", "gateway", "host", "listens", "on", "port", "of", "a", "machine", "that", "runs", "it", "retry", "token"],
]
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": len(WORDS),
    "type_vocab_size": 2,
    "max_position_embeddings": 40,
    "layer_norm_eps": 1e-12,
}


def shapes(config: Mapping[str, Any] = CONFIG) -> dict[str, tuple[int, ...]]:
    """Every tensor of a BERT of this size."""
    width, inner = config["hidden_size"], config["intermediate_size"]
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (config["vocab_size"], width),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], width),
        "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], width),
    }
    norms, dense = ["embeddings.LayerNorm"], dict[str, tuple[int, int]]()
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        dense |= {f"{layer}.attention.self.{part}": (width, width) for part in ("query", "key", "value")}
        dense |= {f"{layer}.attention.output.dense": (width, width)}
        dense |= {f"{layer}.intermediate.dense": (inner, width), f"{layer}.output.dense": (width, inner)}
    for name in norms:
        found |= {f"{name}.weight": (width,), f"{name}.bias": (width,)}
    for name, (outputs, inputs) in dense.items():
        found |= {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}
    return found


def tiny_weights(seed: int = 1) -> dict[str, Floats]:
    """Random, but such that attention and both dense layers matter."""
    random = np.random.default_rng(seed)
    made = {}
    for name, shape in shapes().items():
        values = random.standard_normal(shape) * (0.5 if len(shape) == 2 else 0.1)
        made[name] = (values + ("LayerNorm.weight" in name)).astype(np.float32)
    return made


def packed(weights: Mapping[str, NDArray[Any]], kind: str = "F32") -> bytes:
    """The bytes of a `.safetensors` file."""
    header, body = dict[str, Any](), b""
    for name, values in weights.items():
        raw = values.tobytes()
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    return len(text).to_bytes(8, "little") + text + body


def tokenizer_json() -> str:
    """A tokenizer that knows the few words above."""
    import tokenizers
    from tokenizers import models, normalizers, pre_tokenizers, processors

    made = tokenizers.Tokenizer(models.WordPiece({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    made.enable_padding(length=32)  # as published ones do; nothing of ours may be padded
    return str(made.to_str())


def write_folder(folder: Path, weights: Mapping[str, Floats] | None = None, **config: object) -> Path:
    """A model folder, as sentence models are published."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(packed(tiny_weights() if weights is None else weights))
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))
    (folder / "tokenizer.json").write_text(tokenizer_json())
    return folder


def reference(
    weights: Mapping[str, Floats], config: Mapping[str, Any], ids: list[int], *, first: bool = False
) -> Floats:
    """The vector of one text, in 32-bit floats, step by step as the papers have it."""
    w = weights
    erf = np.frompyfunc(math.erf, 1, 1)
    heads, width = config["num_attention_heads"], config["hidden_size"]

    def norm(x: NDArray[Any], name: str) -> NDArray[Any]:
        spread = np.sqrt(x.var(axis=-1, keepdims=True) + config["layer_norm_eps"])
        made: NDArray[Any] = (x - x.mean(axis=-1, keepdims=True)) / spread * w[f"{name}.weight"] + w[f"{name}.bias"]
        return made

    def dense(x: NDArray[Any], name: str) -> NDArray[Any]:
        made: NDArray[Any] = x @ w[f"{name}.weight"].T + w[f"{name}.bias"]
        return made

    def split(x: NDArray[Any]) -> NDArray[Any]:
        parts: NDArray[Any] = x.reshape(len(ids), heads, width // heads).transpose(1, 0, 2)
        return parts

    x: NDArray[Any] = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][: len(ids)] + w["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, "embeddings.LayerNorm")
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        query, key, value = (split(dense(x, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value"))
        scores = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(width // heads))
        seen = (scores / scores.sum(axis=-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(len(ids), width)
        x = norm(x + dense(seen, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        wide = dense(x, f"{layer}.intermediate.dense")
        wide = wide * 0.5 * (1 + np.asarray(erf(wide / math.sqrt(2)), np.float32))
        x = norm(x + dense(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    row = x[0] if first else x.mean(axis=0)
    made: Floats = (row / np.linalg.norm(row)).astype(np.float32)
    return made
