"""Vectors in the background, made by a real server of embeddings on this machine: what is made, what is dropped, what failure costs."""

import os
from pathlib import Path

import pytest

from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.node_finder import NodeFinder
from mesh.app.application import Application
from mesh.store.database import Database
from mesh.store.reader import Entry
from tests.clan_learnings.records.notebooks import OTHER, REPO, Notebook
from tests.clan_learnings.search.kept_homes import Recalling, fill, recalling, settled, snapshot, wipe, write
from tests.clan_learnings.search.servers import Asked, Server, serving, status, well
from tests.end_to_end.commands import wait_until

pytestmark = pytest.mark.usefixtures("hurried")

EVERYWHERE = SearchFilters()


def choice(server: Server) -> str:
    return f"{server.address} some-model"


def embedded(recall: Recalling, count: int) -> None:
    """Wait until so many records have a vector, and nothing is left to do."""

    def is_done() -> bool:
        space, kept = recall.building._sink.space, recall.building._vectors.kept
        return space is not None and len(space.vectors) == count and kept is not None and kept.is_whole

    wait_until(is_done)


def _tags(found: list[tuple[Entry, float]]) -> list[tuple[bytes, float]]:
    return [(entry.tag, cosine) for entry, cosine in found]


def nearest(
    book: Notebook, recall: Recalling, text: str, within: SearchFilters = EVERYWHERE, count: int = 1
) -> list[bytes]:
    with snapshot(book) as reader:
        return [entry.tag for entry, _ in NodeFinder(recall, reader).by_meaning(text, within, count)]


def texts_asked(server: Server) -> list[str]:
    return [text for asked in server.asked for text in asked.texts]


def test_every_record_gets_a_vector_and_is_found_by_it(book: Notebook, server: Server) -> None:
    """Once: who comes back makes only what is new."""
    tags = fill(book, 40)
    book.add("facts", text="not for people")
    with recalling(book, choice(server)) as recall:
        embedded(recall, 40)
        with snapshot(book) as reader:
            finder = NodeFinder(recall, reader)
            assert finder.has_meaning
            entry = reader.entry(tags[11])
            assert entry is not None
            text = entry.record["text"]
            assert text in {found.record["text"] for found, _ in finder.by_meaning(text, EVERYWHERE, 3)}
            cosine = finder.cosines(text, [tags[11]])[tags[11]]
            assert cosine == pytest.approx(1.0, abs=0.02)
            plain = finder.by_meaning(text, EVERYWHERE, 3)
            for expected in (EVERYWHERE, SearchFilters(REPO), SearchFilters(category="build-errors")):
                finder.expect(text, expected, 3)
                for within in (EVERYWHERE, SearchFilters(REPO), SearchFilters(category="build-errors")):
                    near = NodeFinder(recall, reader).by_meaning(text, within, 3)
                    assert _tags(finder.by_meaning(text, within, 3)) == _tags(near)
                assert finder.cosines(text, [tags[11]])[tags[11]] == cosine
            other = "another question"
            finder.by_meaning(other, EVERYWHERE, 40)
            assert finder.cosines(text, [tags[11]])[tags[11]] == cosine  # not of what was asked last
            assert _tags(finder.by_meaning(text, EVERYWHERE, 3)) == _tags(plain)
        assert recall.status()["vectors"]["made"] == recall.status()["vectors"]["of"] == 40
    before = len(texts_asked(server))
    write(book, {"text": "quixotic", "repo": ""})
    with recalling(book, choice(server)) as recall:
        embedded(recall, 41)
    assert texts_asked(server)[before + 1 :] == ["quixotic"]  # the first asks for the dimensions


def test_an_edited_record_gets_another_and_what_is_gone_has_none(book: Notebook, server: Server) -> None:
    """Taken back, erased, also while nobody runs."""
    tags = fill(book, 10)
    with recalling(book, choice(server)) as recall:
        embedded(recall, 10)
        book.set(tags[0], "text", "quixotic")
        wait_until(lambda: nearest(book, recall, "quixotic") == [tags[0]])
        book.set(tags[0], "topic", "words")
        wait_until(lambda: nearest(book, recall, "words: quixotic") == [tags[0]])
        book.retract(tags[1])
        wipe(book, tags[2])
        embedded(recall, 8)
    wipe(book, tags[3])
    book.retract(tags[4])
    os.unlink(book.home.file("recall/vectors/state.json"))  # all are looked at again
    with recalling(book, choice(server)) as recall:
        embedded(recall, 6)
        assert recall.building._sink.space is not None
        assert set(recall.building._sink.space.vectors.tags()) == {tags[0], *tags[5:]}


def test_nobody_who_erases_waits_for_a_server_that_thinks_about_a_question(book: Notebook, server: Server) -> None:
    """While the server makes a vector, the search holds no state of the database: the WAL can be emptied."""
    fill(book, 10)
    emptied: list[bool] = []

    def slowly(asked: Asked) -> None:
        database = Database(book.home.file("mesh.db"))
        emptied.append(database.checkpoint())
        database.close()
        well(asked)

    with recalling(book, choice(server)) as recall:
        embedded(recall, 10)
        settled(book, recall)
        server.answers[:] = [slowly]
        found = Application(book.home.path, {}, recall=recall).search(
            "a question that nobody has asked", everywhere=True
        )
    assert emptied == [True]
    assert found["by"] == "keywords and vectors"


@pytest.mark.parametrize("behind", [False, True])
def test_the_nearest_are_those_in_scope(
    book: Notebook, server: Server, monkeypatch: pytest.MonkeyPatch, *, behind: bool
) -> None:
    """Few or many, also while the index of words cannot help."""
    monkeypatch.setattr("clan_learnings.search.node_finder._FEW", 5)
    tags = write(book, *({"text": f"number {number}", "repo": (REPO, OTHER)[number % 2]} for number in range(60)))
    with recalling(book, choice(server)) as recall:
        embedded(recall, 60)
        settled(book, recall)
        if behind:
            monkeypatch.setattr(recall, "fresh", lambda _reader: None)
        everything = nearest(book, recall, "some number", count=60)
        assert set(everything) == set(tags)
        in_scope = [tag for tag in everything if tag in tags[::2]]
        assert nearest(book, recall, "some number", SearchFilters(REPO), 3) == in_scope[:3]
        assert nearest(book, recall, "some number", SearchFilters(REPO), 50) == in_scope


def test_a_server_that_is_away_costs_the_vectors_and_nothing_else(book: Notebook) -> None:
    """Search goes on with keywords and says so; once the server is back the vectors are made."""
    fill(book, 5)
    with serving(status(500)) as server, recalling(book, choice(server)) as recall:
        application = Application(book.home.path, {}, "/", recall=recall)
        wait_until(lambda: bool(recall.status()["trouble"]))
        assert application.search("bana", everywhere=True)["by"] == "keywords"
        assert "keywords only" in recall.status()["says"]
        server.answers[:] = [well]
        embedded(recall, 5)
        assert application.search("bana", everywhere=True)["by"] == "keywords and vectors"
        assert recall.status()["trouble"] == []


def test_another_choice_is_taken_up_while_it_runs(book: Notebook, server: Server) -> None:
    """From none to one, and back."""
    fill(book, 5)
    with recalling(book) as recall:
        wait_until(lambda: recall.building._sink._chosen is not None)
        assert recall.meaning is None
        assert "switched off" in recall.status()["says"]
        Path(book.home.file("embedder")).write_text(choice(server), encoding="utf-8")
        embedded(recall, 5)
        Path(book.home.file("embedder")).write_text("none\n", encoding="utf-8")
        wait_until(lambda: not os.path.exists(book.home.file("recall/vectors/vectors.bin")))
        assert recall.meaning is None


def test_vectors_of_another_model_are_of_no_use(book: Notebook, server: Server) -> None:
    """All are made again."""
    fill(book, 5)
    with recalling(book, choice(server)) as recall:
        embedded(recall, 5)
    before = len(texts_asked(server))
    with recalling(book, f"{server.address} other-model") as recall:
        wait_until(lambda: len(texts_asked(server)) >= before + 5)
        embedded(recall, 5)
