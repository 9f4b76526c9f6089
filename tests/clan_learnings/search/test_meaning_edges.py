"""Vectors where they are out of date, refused, deleted or not to be had: nothing is found, or said, by what they are not."""

import os
import shutil
from pathlib import Path

import pytest

from clan_learnings.records.provenance_table import edits_of
from clan_learnings.search import index_building, node_finder
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.index_files import wipe_erased
from clan_learnings.search.keywords import word_table
from clan_learnings.search.node_finder import NodeFinder
from clan_learnings.search.vectors import record_vectors
from clan_learnings.search.vectors.vector_wiping import wipe_rows
from mesh.app.application import Application
from mesh.cli.index import _sidecar
from mesh.core.errors import MeshError
from tests.clan_learnings.records.notebooks import REPO, Notebook
from tests.clan_learnings.search.kept_homes import Recalling, fill, recalling, settled, snapshot, wipe, write
from tests.clan_learnings.search.servers import Asked, Server, raw, serving, status, well
from tests.clan_learnings.search.test_record_vectors import EVERYWHERE, choice, embedded, nearest, texts_asked
from tests.end_to_end.commands import wait_until

pytestmark = pytest.mark.usefixtures("hurried")

VECTORS = "recall/vectors/vectors.bin"


def picky(asked: Asked) -> None:
    """A server that does not like one word."""
    status(400)(asked) if any("poison" in text for text in asked.texts) else well(asked)


def kept(book: Notebook) -> bytes:
    return Path(book.home.file(VECTORS)).read_bytes()


@pytest.mark.parametrize("within", [EVERYWHERE, SearchFilters(REPO), SearchFilters(since_ms=1)])
def test_an_edited_record_is_not_found_by_what_it_said(
    book: Notebook, server: Server, monkeypatch: pytest.MonkeyPatch, within: SearchFilters
) -> None:
    """However long its next vector takes; and if the edit is undone, it is found again."""
    tags = write(book, *({"text": f"xylophone {number}", "repo": REPO} for number in range(30)))
    with recalling(book, choice(server)) as running:
        embedded(running, 30)
        settled(book, running)
        assert nearest(book, running, "xylophone 7", within) == [tags[7]]
        monkeypatch.setattr(running.building._sink, "put", lambda *_: None)  # it has other things to do
        book.set(tags[7], "text", "vibraphone")
        settled(book, running)
        found = nearest(book, running, "xylophone 7", within, 30)
        assert len(found) == 29
        assert tags[7] not in found
        with snapshot(book) as reader:
            assert [*NodeFinder(running, reader).cosines("xylophone 7", tags[6:9])] == [tags[6], tags[8]]
        book.set(tags[7], "text", "xylophone 7")
        assert nearest(book, running, "xylophone 7", within) == [tags[7]]


def test_what_is_erased_while_nobody_runs_has_no_vector_on_the_disk(book: Notebook, server: Server) -> None:
    """Its row is zeros when the erase is done; all others stay, and need not be made again."""
    tags = fill(book, 50)
    with recalling(book, choice(server)) as running:
        embedded(running, 50)
    assert all(tag in kept(book) for tag in tags)
    before = len(texts_asked(server))
    wipe(book, tags[3])
    assert tags[3] not in kept(book)
    assert sum(tag in kept(book) for tag in tags) == 49
    with recalling(book, choice(server)) as running:
        embedded(running, 49)
    assert len(texts_asked(server)) == before + 1  # the first asks for the dimensions


def test_an_erased_edit_takes_the_vector_of_its_record_with_it(book: Notebook, server: Server) -> None:
    """It was made of the edit."""
    tags = fill(book, 5)
    book.set(tags[1], "text", "the password is xyzzyplugh")
    (edit,) = dict(edits_of(book.author.store, tags[1]))
    with recalling(book, choice(server)) as running:
        embedded(running, 5)
    wipe(book, edit)
    assert [tag in kept(book) for tag in tags] == [True, False, True, True, True]


def test_what_others_erased_while_nobody_ran_has_no_vector_either(
    book: Notebook, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an import."""
    tags = fill(book, 5)
    with recalling(book, choice(server)) as running:
        embedded(running, 5)
    wipe_erased(book.home)
    assert all(tag in kept(book) for tag in tags)
    monkeypatch.setattr(word_table, "wipe_vectors", lambda *_: None)
    wipe(book, tags[2])
    monkeypatch.undo()
    assert tags[2] in kept(book)
    wipe_erased(book.home)
    assert [tag in kept(book) for tag in tags] == [True, True, False, True, True]


def test_vectors_of_which_nothing_is_known_are_erased_altogether(book: Notebook, server: Server) -> None:
    """They are made again; a text that was to be gone is not."""
    tags = fill(book, 5)
    with recalling(book, choice(server)) as running:
        embedded(running, 5)
    os.unlink(book.home.file("recall/vectors/state.json"))
    wipe(book, tags[0])
    assert not os.path.exists(book.home.file(VECTORS))
    with recalling(book, choice(server)) as running:
        embedded(running, 4)


def test_a_running_sidecar_erases_its_vectors_itself(book: Notebook, server: Server) -> None:
    """Nobody else writes to a file that it has open."""
    tags = fill(book, 5)
    with recalling(book, choice(server)) as running:
        embedded(running, 5)
        wipe_rows(book.home.file("recall/vectors"), tags)
        assert all(tag in kept(book) for tag in tags)
        wipe(book, tags[0])
        embedded(running, 4)
        assert tags[0] not in kept(book)
    wipe_rows(book.home.file("no/such/folder"), tags)


def test_what_nobody_has_asked_for_by_name_waits_until_a_sidecar_has_started(
    book: Notebook, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not a moment longer once somebody asks."""
    monkeypatch.setattr(index_building, "_UNHURRIED_SECONDS", 600.0)
    opened: list[str] = []
    monkeypatch.setattr(record_vectors, "available", opened.append)
    fill(book, 5)
    with Recalling(book.home.path, {}) as running:
        settled(book, running)
        assert opened == []
        monkeypatch.undo()
        Path(book.home.file("embedder")).write_text(choice(server), encoding="utf-8")
        embedded(running, 5)


def test_an_answer_says_what_it_was_found_by(book: Notebook, server: Server) -> None:
    """A question that cannot be embedded is answered by words alone."""
    book.add("discoveries", text="poison in the gateway", repo="")
    with recalling(book, choice(server)) as running:
        embedded(running, 1)
        application = Application(book.home.path, {}, "/", recall=running)
        assert application.search("gateway", everywhere=True)["by"] == "keywords and vectors"
        server.answers[:] = [picky]
        found = application.search("gateway poison", everywhere=True)
        assert found["by"] == "keywords"
        assert len(found["results"]) == 1
        found = application.search("poisonless zeppelins", everywhere=True)
        assert (found["by"], found["results"]) == ("keywords", [])
        assert application.search("gateway", everywhere=True)["by"] == "keywords and vectors"


@pytest.mark.parametrize("question", ["🚀", '"', "--", "_", "q" * 10_000])
def test_a_question_without_a_word_means_nothing(book: Notebook, server: Server, question: str) -> None:
    """Something would be near it all the same."""
    fill(book, 5)
    long = book.add("discoveries", text="検" * 500, repo="")
    with recalling(book, choice(server)) as running:
        embedded(running, 6)
        assert nearest(book, running, question) == []
        assert nearest(book, running, "検" * 500) == [long]


def test_what_is_only_faintly_near_was_not_found(
    book: Notebook, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found by its words has its cosine, however small."""
    tags = fill(book, 20)
    book.set(tags[4], "text", "quixotic")
    monkeypatch.setattr(node_finder, "_FAINT", 0.98)
    with recalling(book, choice(server)) as running:
        embedded(running, 20)
        wait_until(lambda: nearest(book, running, "quixotic", count=20) == [tags[4]])
        with snapshot(book) as reader:
            assert len(NodeFinder(running, reader).cosines("quixotic", tags)) == 20


def test_a_text_that_is_refused_costs_its_own_vector_only(
    book: Notebook, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said once, not tried again and again, and made once the server takes it."""
    with serving(picky) as server:
        first = book.add("discoveries", text="a poison apple in the lunch box", repo="")
        with recalling(book, choice(server)) as running:
            wait_until(lambda: running.building._sink.left_out == 1)
            write(book, *({"text": f"good pear {number}", "repo": ""} for number in range(40)))
            second = book.add("discoveries", text="another poison apple", repo="")
            book.add("discoveries", text="the last pear", repo="")
            embedded(running, 41)
            wait_until(lambda: running.building._sink.left_out == 2)
            told = [line for line in _sidecar(running.status()) if line.startswith("trouble")]
            assert "2 records" in " ".join(told)
            assert nearest(book, running, "good pear 3", count=100)
        said = [record for record in caplog.records if "no vector can be had" in record.message]
        assert len(said) == 1
        assert texts_asked(server).count("another poison apple") < 10
        monkeypatch.setattr(record_vectors, "_RETRY_SECONDS", 0.0)
        server.answers[:] = [well]
        with recalling(book, choice(server)) as running:
            wait_until(lambda: running.building._sink.left_out == 2)  # known from the last time
            book.add("discoveries", text="a pear after all", repo="")
            embedded(running, 44)
            assert running.status()["trouble"] == []
            assert running.building._sink.space is not None
            assert {first, second} <= {*running.building._sink.space.vectors.tags()}


def test_vectors_that_were_deleted_are_made_again_while_a_sidecar_runs(book: Notebook, server: Server) -> None:
    """A file that is open outlives its name: nothing more may go there."""
    fill(book, 10)
    with recalling(book, choice(server)) as running:
        embedded(running, 10)
        before, size = len(texts_asked(server)), len(kept(book))
        shutil.rmtree(book.home.file("recall/vectors"), ignore_errors=True)
        wait_until(lambda: os.path.exists(book.home.file(VECTORS)) and len(kept(book)) == size)
        embedded(running, 10)
        assert len(texts_asked(server)) >= before + 10
        write(book, {"text": "one more", "repo": ""})
        embedded(running, 11)
        assert len(kept(book)) > size


def test_without_an_embedder_nothing_of_it_stays(book: Notebook, server: Server) -> None:
    """Not even what was remembered of its vectors."""
    fill(book, 5)
    with recalling(book, choice(server)) as running:
        embedded(running, 5)
        Path(book.home.file("embedder")).write_text("none\n", encoding="utf-8")
        wait_until(lambda: not os.path.exists(book.home.file("recall/vectors")))


def test_trouble_is_told_with_a_next_step_or_none(book: Notebook) -> None:
    """Never with an empty one."""
    fill(book, 5)
    with serving(raw(b"<html>")) as server, recalling(book, choice(server)) as running:
        wait_until(lambda: bool(running.building._vectors.says))
        assert server.address in running.building._vectors.says
        assert running.building._vectors.says.partition("; next: ")[2]
        running.__exit__(None, None, None)
        running.building._vectors._complain(MeshError("something happened"))
        assert running.building._vectors.says == "something happened"
