"""MiniLM with its real weights: what comes out, what is checked, what is kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clan_learnings.search.embedders import local_model
from clan_learnings.search.embedders.embedder import Embedder, available, open_embedder
from clan_learnings.search.embedders.model_installation import of_weights
from mesh.core.errors import Forged, MeshError

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
np = pytest.importorskip("numpy")
if not available("minilm")[0]:
    pytest.skip("the weights are not installed", allow_module_level=True)

SENTENCES = [
    "ECONNREFUSED on port 5432 means that the database has not started yet.",
    "The machine that runs the gateway is host-7.",
    "Never pass --no-verify to git commit.",
    "",
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def model(cache: Path) -> Embedder:
    return open_embedder("minilm", str(cache), {})


def test_eight_bits_are_close_to_the_floats_they_were_made_of(model: Embedder) -> None:
    """The same weights, computed in plain numpy without rounding, point the same way."""
    from clan_learnings.search.embedders.local_model import open_tokenizer
    from clan_learnings.search.embedders.safetensors_file import TensorFile
    from tests.clan_learnings.search.models import reference, shapes

    tokenizer = open_tokenizer(Path(local_model._file("tokenizer.json")).read_bytes(), 256)
    with open(local_model._file("model.safetensors"), "rb") as file:
        weights = TensorFile(file)
        floats = {name: weights.read(name, *shape) for name, shape in shapes(local_model._CONFIG).items()}
    rows = model.embed(SENTENCES)
    for row, text in zip(rows, SENTENCES, strict=True):
        exact = reference(floats, local_model._CONFIG, tokenizer.encode(text).ids)
        assert float(row @ exact) > (0.997 if text else 0.98), text  # of two pieces that mean nothing, rounding is more


def test_what_means_the_same_lies_closer_than_what_shares_words(model: Embedder) -> None:
    """A paraphrase wins over a sentence of the same words about something else."""
    asked, alike, other = model.embed(
        [
            "undo my last commit",
            "git reset --soft HEAD~1 takes back what was checked in",
            "my last commitment was to a choir",
        ]
    )
    assert float(asked @ alike) > float(asked @ other)


def test_a_row_does_not_depend_on_its_neighbours(model: Embedder) -> None:
    """Alone, in company, in another order: the same bytes, so that nodes agree."""
    alone = np.concatenate([model.embed([text]) for text in SENTENCES])
    assert alone.dtype == np.float32
    assert alone.tobytes() == model.embed(SENTENCES).tobytes()
    assert alone[::-1].tobytes() == model.embed(SENTENCES[::-1]).tobytes()
    assert np.allclose(np.linalg.norm(alone, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "\ud800 half a pair",
        "\x00\x1b[31m",
        "😀" * 300,
        "検索" * 3000,
        "a" * 200_000,
        "(" * 5000,
        "\u202e\u200b",
        " \n\t",
    ],
    ids=["surrogate", "control", "emoji", "cjk", "one long word", "brackets", "invisible", "blank"],
)
def test_any_text_has_a_vector(model: Embedder, text: str) -> None:
    """Records are anybody's text: none may keep the others from being embedded."""
    (row,) = model.embed([text])
    assert np.isfinite(row).all()
    assert abs(float(np.linalg.norm(row)) - 1) < 1e-5


def test_nothing_gives_a_table_without_rows(model: Embedder) -> None:
    """An empty batch is no error."""
    assert model.embed([]).shape == (0, 384)


def test_the_graph_is_small_and_built_once(cache: Path, model: Embedder) -> None:
    """The cached file is used as it is: weights are not even looked at."""
    graph = cache / f"{model.name}.onnx"
    written = graph.stat().st_mtime_ns
    assert graph.stat().st_size < 24_000_000
    again = open_embedder("auto", str(cache), {})
    assert graph.stat().st_mtime_ns == written
    assert again.name == model.name
    assert again.embed(SENTENCES).tobytes() == model.embed(SENTENCES).tobytes()


def test_weights_that_are_not_the_known_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of that name with other files is not used, whatever is in it."""
    folder = tmp_path / local_model.PACKAGE
    (folder / "model").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('this code must never run')")
    os.symlink(local_model._file("tokenizer.json"), folder / "model" / "tokenizer.json")
    monkeypatch.syspath_prepend(str(tmp_path))
    (folder / "model" / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(Forged, match=r"model\.safetensors .* not the file that was checked") as refused:
        open_embedder("minilm", str(tmp_path / "cache"), {})
    assert refused.value.next_step == of_weights("--force-reinstall")
    (folder / "model" / "tokenizer.json").unlink()
    (folder / "model" / "tokenizer.json").write_text("{}")
    with pytest.raises(Forged, match=r"tokenizer\.json"):
        open_embedder("minilm", str(tmp_path / "cache"), {})
    (folder / "model" / "tokenizer.json").unlink()
    with pytest.raises(MeshError, match="not installed") as absent:
        open_embedder("minilm", str(tmp_path / "cache"), {})
    assert absent.value.next_step == of_weights()


def test_the_package_is_never_imported(cache: Path) -> None:
    """Only two of its files are read; its code is not ours to run."""
    script = (
        "import sys; from clan_learnings.search.embedders.embedder import open_embedder;"
        f"open_embedder('auto', {str(cache)!r}, {{}}); assert {local_model.PACKAGE!r} not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_nobody_is_told_that_it_runs(cache: Path, tmp_path: Path) -> None:
    """The runtime would report to its makers, and keep an id of this machine in the user's folder."""
    script = f"from clan_learnings.search.embedders.embedder import open_embedder; open_embedder('minilm', {str(cache)!r}, {{}}).embed(['a'])"
    environ = {
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    subprocess.run([sys.executable, "-c", script], check=True, env=environ)
    assert list(tmp_path.rglob("*")) == []
