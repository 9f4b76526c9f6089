"""Embedders whose cosines are on another scale: measured once, put on one scale, and left alone if they are of no use."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.search.embedders.cosine_scale import PAIRS
from clan_learnings.search.node_finder import NodeFinder
from mesh.app.application import Application
from tests.clan_learnings.records.notebooks import Notebook
from tests.clan_learnings.search.kept_homes import Recalling, fill, recalling, snapshot, write
from tests.clan_learnings.search.servers import Asked, Server, data, leaning, serving, status, vector, well
from tests.clan_learnings.search.test_record_vectors import choice, embedded, nearest, texts_asked
from tests.end_to_end.commands import wait_until

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.usefixtures("hurried")

SET = [text for pair in PAIRS for text in pair]


def upright(texts: list[str]) -> Any:
    rows = np.array([vector(text) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def one_for_all(asked: Asked) -> None:
    """Every text is the same."""
    data(lambda rows: [row | {"embedding": vector("the same")} for row in rows])(asked)


def cosines(book: Notebook, recall: Recalling, question: str, tags: list[bytes]) -> dict[bytes, float]:
    with snapshot(book) as reader:
        return NodeFinder(recall, reader).cosines(question, tags)


def kept(book: Notebook) -> Any:
    return json.loads(Path(book.home.file("recall/vectors/state.json")).read_bytes())["about"]["scale"]


def test_a_model_in_another_corner_gives_the_same_cosines(book: Notebook) -> None:
    """And so the same bars hold for it; the nearest are the same ones."""
    tags = fill(book, 30)
    question = "bana delo firi"
    with serving(leaning(upright)) as leant, serving() as plain:
        with recalling(book, choice(plain)) as recall:
            embedded(recall, 30)
            expected, near = cosines(book, recall, question, tags), nearest(book, recall, question, count=5)
        with recalling(book, choice(leant)) as recall:
            embedded(recall, 30)
            assert cosines(book, recall, question, tags) == pytest.approx(expected, abs=0.02)
            assert nearest(book, recall, question, count=5) == near
            assert recall.building._sink.space is not None
            assert recall.building._sink.space.scale.unrelated > 0.5


def test_an_embedder_is_measured_when_it_is_first_opened(book: Notebook, server: Server) -> None:
    """Not again, unless what was kept of it is lost; another model is measured for itself."""
    fill(book, 5)
    with recalling(book, choice(server)) as recall:
        embedded(recall, 5)
    assert texts_asked(server).count(SET[0]) == 1
    measured = kept(book)
    with recalling(book, choice(server)) as recall:
        embedded(recall, 5)
        write(book, {"text": "one more", "repo": ""})
        embedded(recall, 6)
    assert texts_asked(server).count(SET[0]) == 1
    assert kept(book) == measured
    state = Path(book.home.file("recall/vectors/state.json"))
    state.write_text(state.read_text().replace(json.dumps(measured), '["?"]'))
    with recalling(book, choice(server)) as recall:
        embedded(recall, 6)
        write(book, {"text": "and another", "repo": ""})
        embedded(recall, 7)
    assert texts_asked(server).count(SET[0]) == 2
    assert kept(book) == measured
    with recalling(book, f"{server.address} other-model") as recall:
        embedded(recall, 7)
    assert texts_asked(server).count(SET[0]) == 3


def test_an_embedder_of_no_use_is_not_used(book: Notebook) -> None:
    """It is said with a next step, and the server is asked no more until something else is chosen."""
    fill(book, 5)
    with serving(one_for_all) as server, recalling(book, choice(server)) as recall:
        wait_until(lambda: recall.building._vectors._failures > 3)
        assert texts_asked(server)[1:] == SET
        (trouble,) = recall.status()["trouble"]
        assert "of no use for searching" in trouble
        assert trouble.endswith("next: mesh index use auto")
        assert recall.meaning is None
        application = Application(book.home.path, {}, "/", recall=recall)
        assert application.search("bana", everywhere=True)["by"] == "keywords"
        server.answers[:] = [well]
        Path(book.home.file("embedder")).write_text(f"{choice(server)}\n\n", encoding="utf-8")  # chosen once more
        embedded(recall, 5)
        assert recall.status()["trouble"] == []


def test_a_server_that_fails_while_it_is_measured_is_tried_again(book: Notebook) -> None:
    """Until then there is no meaning, and that is said."""
    fill(book, 5)
    may = threading.Event()

    def answer(asked: Asked) -> None:
        status(404)(asked) if asked.texts[0] == SET[0] and not may.is_set() else well(asked)

    with serving(answer) as server, recalling(book, choice(server)) as recall:
        wait_until(lambda: bool(recall.building._vectors.says))
        assert "404" in recall.status()["says"]
        assert recall.meaning is None
        may.set()
        embedded(recall, 5)
        assert recall.status()["trouble"] == []


def test_a_sidecar_that_is_to_stop_does_not_wait_for_the_measuring(book: Notebook) -> None:
    """The server may think for a minute."""
    waits = threading.Event()

    def thinking(asked: Asked) -> None:
        waits.set()
        asked.server.over.wait()

    with serving(well, thinking) as server:
        with recalling(book, choice(server)) as recall:
            assert waits.wait(300)
        recall.building._vectors._thread.join(300)
        assert not recall.building._vectors.is_working
