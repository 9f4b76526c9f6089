"""A model folder by its path: built of weights or run as it is, and every way in which it may be wrong."""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
np = pytest.importorskip("numpy")

from clan_learnings.search.embedders.embedder import available, open_embedder  # noqa: E402
from clan_learnings.search.embedders.onnx_graph import ModelShape, build_graph  # noqa: E402
from clan_learnings.search.embedders.safetensors_file import TensorFile  # noqa: E402
from mesh.core.errors import Malformed, MeshError, UsageError  # noqa: E402
from tests.clan_learnings.search.models import CONFIG, WORDS, packed, reference, tiny_weights, write_folder  # noqa: E402

TEXT = "the gateway host"
IDS = [2, *(WORDS.index(word) for word in TEXT.split()), 3]


def vector(folder: Path, text: str = TEXT) -> Any:
    return open_embedder(str(folder), str(folder / "cache"), {}).embed([text])[0]


def test_weights_become_the_graph_they_describe(tmp_path: Path) -> None:
    """The built graph gives what numpy computes of the same weights."""
    folder = write_folder(tmp_path / "model")
    assert available(str(folder)) == (True, f"the model in {folder}")
    assert float(vector(folder) @ reference(tiny_weights(), CONFIG, IDS)) > 0.995


def test_pooling_and_length_are_those_the_model_was_trained_for(tmp_path: Path) -> None:
    """The first piece's vector where the folder says so; texts cut where it says so."""
    folder = write_folder(tmp_path / "model")
    mean = vector(folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert float(vector(folder) @ reference(tiny_weights(), CONFIG, IDS, first=True)) > 0.995
    assert float(vector(folder) @ mean) < 0.99
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 4}')
    assert vector(folder, "the gateway host").tobytes() == vector(folder, "the gateway token retry").tobytes()


def test_half_precision_and_prefixed_names_are_read(tmp_path: Path) -> None:
    """Weights are published in 16 bits of two sorts, and under the name of the whole model."""
    exact = reference(tiny_weights(), CONFIG, IDS)
    for kind in ("F16", "BF16"):
        weights = {
            f"bert.{name}": values.astype(np.float16)
            if kind == "F16"
            else (values.view(np.uint32) >> 16).astype(np.uint16)
            for name, values in tiny_weights().items()
        }
        folder = write_folder(tmp_path / kind)
        (folder / "model.safetensors").write_bytes(packed(weights, kind))
        assert float(vector(folder) @ exact) > 0.99


@pytest.mark.parametrize("place", ["model.onnx", "onnx/model.onnx"])
def test_a_graph_is_run_as_it_is(tmp_path: Path, place: str) -> None:
    """Where there is a graph, no weights are needed, and nothing is built."""
    folder = write_folder(tmp_path / "model")
    exact = vector(folder)
    shutil.rmtree(folder / "cache")
    with open(folder / "model.safetensors", "rb") as file:
        graph = build_graph(TensorFile(file), ModelShape.parse(CONFIG), 32)
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / place).write_bytes(graph)
    (folder / "model.safetensors").unlink()
    assert vector(folder).tobytes() == exact.tobytes()
    assert not (folder / "cache").exists()


def test_a_graph_that_gives_a_vector_a_piece_is_pooled(tmp_path: Path) -> None:
    """Published graphs take a mask and segments, and leave the mean to whoever runs them."""
    from clan_learnings.search.embedders.onnx_graph import Graph

    graph = Graph()
    table = graph.tensor("words", tiny_weights()["embeddings.word_embeddings.weight"])
    pieces = graph.add("Gather", table, "input_ids")
    mask = graph.add(
        "Unsqueeze", graph.add("Cast", "attention_mask", to=1), graph.tensor("last", np.array([2], np.int64))
    )
    kinds = graph.add(
        "Unsqueeze", graph.add("Cast", "token_type_ids", to=1), graph.tensor("last", np.array([2], np.int64))
    )
    output = graph.add("Add", graph.add("Mul", pieces, mask), kinds)
    folder = write_folder(tmp_path / "model")
    model = graph.model(["input_ids", "attention_mask", "token_type_ids"], output)
    (folder / "model.onnx").write_bytes(model)
    mean = tiny_weights()["embeddings.word_embeddings.weight"][IDS].mean(axis=0)
    assert float(vector(folder) @ (mean / np.linalg.norm(mean))) > 0.9999


def test_a_model_is_named_by_what_is_in_it(tmp_path: Path) -> None:
    """Another model in the same place has another name; the same one elsewhere has the same."""

    def name(folder: Path) -> str:
        return open_embedder(str(folder), str(tmp_path / "cache"), {}).name

    folder = write_folder(tmp_path / "model")
    assert name(folder) == name(write_folder(tmp_path / "copy"))
    names = {name(folder)}
    write_folder(folder, tiny_weights(2))
    names.add(name(folder))
    write_folder(folder, num_attention_heads=2)
    names.add(name(folder))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    names.add(name(folder))
    assert len(names) == 4


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The graph is used from memory, and the log says why."""
    folder = write_folder(tmp_path / "model")
    exact = vector(folder)
    (tmp_path / "file").write_text("no folder")
    assert open_embedder(str(folder), str(tmp_path / "file"), {}).embed([TEXT])[0].tobytes() == exact.tobytes()
    assert "cannot be written" in caplog.text


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "model.safetensors"])
def test_what_is_missing_is_named(tmp_path: Path, name: str) -> None:
    """The message names the file, the next step says what a folder needs."""
    folder = write_folder(tmp_path / "model")
    (folder / name).unlink()
    assert not available(str(folder))[0]
    with pytest.raises(UsageError, match=name) as wrong:
        open_embedder(str(folder), str(tmp_path / "cache"), {})
    assert "mesh index use" in wrong.value.next_step


def without(name: str) -> Callable[[Path], object]:
    weights = {key: values for key, values in tiny_weights().items() if key != name}
    return lambda folder: (folder / "model.safetensors").write_bytes(packed(weights))


def changed(name: str, **values: object) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(json.dumps({**CONFIG, **values}))


WRONG: dict[str, Callable[[Path], object]] = {
    "no weights at all": lambda folder: (folder / "model.safetensors").write_bytes(b""),
    "a tensor less": without("encoder.layer.1.output.dense.bias"),
    "other layers": changed("config.json", num_hidden_layers=3),
    "other width": changed("config.json", hidden_size=64),
    "another type": changed("config.json", model_type="roberta"),
    "another activation": changed("config.json", hidden_act="relu"),
    "odd heads": changed("config.json", num_attention_heads=5),
    "no heads": changed("config.json", num_attention_heads=0),
    "endless layers": changed("config.json", num_hidden_layers=10**9),
    "sizes in words": changed("config.json", vocab_size="many"),
    "true as a number": changed("config.json", num_hidden_layers=True),
    "config is no JSON": lambda folder: (folder / "config.json").write_text("{"),
    "config is deep": lambda folder: (folder / "config.json").write_text("[" * 100_000),
    "config is huge": lambda folder: (folder / "config.json").write_text(" " * 1_000_001),
    "config is a list": lambda folder: (folder / "config.json").write_text("[]"),
    "tokenizer is no JSON": lambda folder: (folder / "tokenizer.json").write_text("{"),
    "tokenizer is no text": lambda folder: (folder / "tokenizer.json").write_bytes(b"\xff\xfe"),
    "graph is none": lambda folder: (folder / "model.onnx").write_bytes(b"no graph"),
    "graph is empty": lambda folder: (folder / "model.onnx").write_bytes(b""),
    "weights in the place of settings": lambda folder: (folder / "model.safetensors").rename(folder / "config.json"),
    "weights without numbers": lambda folder: write_folder(
        folder, {**tiny_weights(), "embeddings.LayerNorm.bias": np.full(48, np.nan, np.float32)}
    ),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_folder_is_refused_in_words(tmp_path: Path, how: str) -> None:
    """Whatever is wrong with it, it is an error with a next step, and nothing is left in the cache."""
    folder = write_folder(tmp_path / "model")
    WRONG[how](folder)
    with pytest.raises(MeshError) as wrong:
        open_embedder(str(folder), str(tmp_path / "cache"), {})
    assert wrong.value.next_step
    assert not (tmp_path / "cache").exists()


def with_a_word_too_many(folder: Path) -> None:
    text = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(text.replace(f'"token":{WORDS.index("token")}', '"token":999999'))


def test_a_tokenizer_with_more_words_than_the_weights_is_refused(tmp_path: Path) -> None:
    """Its last words would have no vector."""
    folder = write_folder(tmp_path / "model")
    with_a_word_too_many(folder)
    with pytest.raises(Malformed, match="more words than the model"):
        open_embedder(str(folder), str(tmp_path / "cache"), {})


def test_a_word_that_a_graph_does_not_have_fails_in_words(tmp_path: Path) -> None:
    """How many words a graph has cannot be seen: the text that has one is an error, not a read beyond the table's end."""
    folder = write_folder(tmp_path / "model")
    with open(folder / "model.safetensors", "rb") as file:
        (folder / "model.onnx").write_bytes(build_graph(TensorFile(file), ModelShape.parse(CONFIG), 32))
    with_a_word_too_many(folder)
    model = open_embedder(str(folder), str(tmp_path / "cache"), {})
    with pytest.raises(MeshError, match="the model failed"):
        model.embed(["token"])


def test_a_graph_of_another_sort_is_refused(tmp_path: Path) -> None:
    """A graph that asks for something else than word pieces is no model of sentences."""
    from clan_learnings.search.embedders.onnx_graph import Graph

    graph = Graph()
    folder = write_folder(tmp_path / "model")
    (folder / "model.onnx").write_bytes(graph.model(["pixels"], graph.add("Cast", "pixels", to=1)))
    with pytest.raises(Malformed, match="pixels"):
        open_embedder(str(folder), str(tmp_path / "cache"), {})


def test_threads_share_a_model_until_it_is_closed(tmp_path: Path) -> None:
    """Each gets what it would get alone; after closing, a batch ends at once."""
    model = open_embedder(str(write_folder(tmp_path / "model")), str(tmp_path / "cache"), {})
    texts = [" ".join(WORDS[4 + number :]) for number in range(10)]
    alone = model.embed(texts)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(model.embed, [texts] * 8))
    assert {rows.tobytes() for rows in found} == {alone.tobytes()}
    model.close()
    with pytest.raises(MeshError, match="closed"):
        model.embed(texts)
