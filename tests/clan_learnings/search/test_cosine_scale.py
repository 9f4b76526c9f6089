"""What cosines are worth: real models, real servers, and such as are of no use."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

from clan_learnings.search.embedders.cosine_scale import (  # noqa: E402
    PAIRS,
    USUAL,
    Scale,
    scale_of,
)
from clan_learnings.search.embedders.embedder import Embedder, available, open_embedder  # noqa: E402
from mesh.core.errors import MeshError  # noqa: E402
from tests.clan_learnings.search.servers import DIMENSIONS, Asked, leaning, serving, status, vector, well  # noqa: E402

needs_minilm = pytest.mark.skipif(not available("minilm")[0], reason="the weights of MiniLM-L6 are not installed")


class Drawn:
    """An embedder that is one function."""

    dimensions = DIMENSIONS

    def __init__(self, row: Callable[[str], Sequence[float]], name: str = "drawn") -> None:
        self.name = name
        self.asked = 0
        self._row = row

    def embed(self, texts: Sequence[str]) -> Any:
        self.asked += len(texts)
        rows = np.array([self._row(text) for text in texts], np.float32)
        sizes = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(sizes > 0, sizes, 1)

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return open_embedder("minilm", str(tmp_path_factory.mktemp("cache")), {})


class Renamed(Drawn):
    """The same model under a name that nobody knows."""

    def __init__(self, model: Embedder) -> None:
        super().__init__(lambda text: model.embed([text])[0], "another")


@needs_minilm
def test_minilm_is_what_is_pinned_for_it(minilm: Embedder) -> None:
    """So its bars hold for the same model by another way, from a folder or a server."""
    measured = scale_of(Renamed(minilm))
    assert measured == pytest.approx(USUAL, abs=0.005)
    assert [measured.put(cosine / 10) for cosine in range(11)] == pytest.approx(
        [cosine / 10 for cosine in range(11)], abs=0.005
    )


@needs_minilm
def test_a_model_that_leans_to_one_side_is_put_upright(minilm: Embedder) -> None:
    """Unrelated texts at 0.5 and more; on the one scale they are where MiniLM has them."""
    with serving(leaning(minilm.embed)) as server:
        model = open_embedder(f"{server.address} leaning", "", {})
        scale = scale_of(model)
        questions, records = zip(*PAIRS, strict=True)
        plain = minilm.embed(questions) @ minilm.embed(records).T
        leant = model.embed(questions) @ model.embed(records).T
    assert scale.unrelated > 0.5
    assert leant.mean() > plain.mean() + 0.4
    assert np.vectorize(scale.put)(leant) == pytest.approx(plain, abs=0.005)


def test_the_order_stays_and_equal_texts_stay_equal() -> None:
    """Whatever the scale: one that lies higher, or lower."""
    for unrelated in (-0.2, 0.0, 0.4, 0.9):
        scale = Scale(unrelated, 0.95)
        cosines = [at / 50 for at in range(-50, 51)]
        put = [scale.put(cosine) for cosine in cosines]
        assert put == sorted(set(put))
        assert put[-1] == 1.0
        assert scale.put(unrelated) == pytest.approx(USUAL.unrelated)


def test_minilm_is_neither_measured_nor_changed() -> None:
    """Every figure that was measured with it stays what it was."""
    model = Drawn(vector, "minilm-l6-int8-1")
    scale = scale_of(model, [0.9, 0.95, "anything"])
    assert (scale, scale.is_usual, model.asked) == (USUAL, True, 0)


def test_what_was_measured_before_is_not_measured_again() -> None:
    """It is kept in a file, which anybody may have damaged."""
    model = Drawn(vector)
    measured = scale_of(model)
    assert model.asked == 2 * len(PAIRS)
    assert scale_of(model, measured.kept()) == measured
    assert model.asked == 2 * len(PAIRS)
    unrelated, same, of = measured.kept()
    damaged: list[object] = [
        None, "", {}, [], [unrelated, same], [unrelated, same, "another set"], [same, unrelated, of], [True, 1, of],
        [float("nan"), same, of], [-1e300, 0.5, of], [0.5, 1e300, of], ["0.1", "0.2", of], [unrelated, None, of],
    ]  # fmt: skip
    for number, kept in enumerate(damaged, 2):
        assert scale_of(model, kept) == measured, kept
        assert model.asked == number * 2 * len(PAIRS)


def test_what_cannot_tell_rewordings_from_anything_is_of_no_use() -> None:
    """Every text is the same to it, or every text is another."""
    assert scale_of(Drawn(vector)).is_useful
    assert not scale_of(Drawn(lambda _: [1.0] * DIMENSIONS)).is_useful
    assert not scale_of(Drawn(lambda text: [byte - 127.5 for byte in hashlib.sha512(text.encode()).digest()])).is_useful


def test_a_text_without_a_vector_counts_for_nothing() -> None:
    """One or two do no harm; where most have none, nothing can be told."""

    def picky(text: str) -> list[float]:
        return [0.0] * DIMENSIONS if "robot" in text else vector(text)

    assert scale_of(Drawn(picky)) == pytest.approx(scale_of(Drawn(vector)), abs=0.03)
    with pytest.raises(MeshError, match="no vectors for plain sentences") as refused:
        scale_of(Drawn(lambda _: [0.0] * DIMENSIONS))
    assert refused.value.next_step


def test_a_server_that_fails_meanwhile_has_no_scale() -> None:
    """It is an error like any other; the next attempt measures."""

    def away(asked: Asked) -> None:
        status(404)(asked) if len(asked.texts) > 1 else well(asked)

    with serving(away) as server:
        model = open_embedder(f"{server.address} a-model", "", {})
        with pytest.raises(MeshError, match="404"):
            scale_of(model)
        server.answers[:] = [well]
        assert scale_of(model) == pytest.approx(scale_of(Drawn(vector)), abs=0.001)


def test_a_model_folder_is_measured_as_any_other(tmp_path: Path) -> None:
    """One of random weights is found out."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    from tests.clan_learnings.search.models import write_folder

    model = open_embedder(str(write_folder(tmp_path / "model")), str(tmp_path / "cache"), {})
    scale = scale_of(model)
    assert -1 <= scale.unrelated <= 1
    assert not scale.is_useful


def test_every_pair_is_about_something_else() -> None:
    """Two texts each, none twice, short enough for every model."""
    texts = [text for pair in PAIRS for text in pair]
    assert len(set(texts)) == len(texts) == 64
    assert all(10 < len(text) < 120 and text == text.strip() for text in texts)
