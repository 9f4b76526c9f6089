"""The sidecar's index of words beside the database's: the same answers, at once, whatever happens to its files."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from clan_learnings.search import index_thread
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.finder import KeywordFinder
from clan_learnings.search.keywords.word_index import WordIndex
from clan_learnings.search.node_finder import NodeFinder
from mesh.app.application import Application
from tests.clan_learnings.records.notebooks import OTHER, REPO, Notebook
from tests.clan_learnings.search.kept_homes import (
    WORDS,
    Stale,
    answers,
    anywhere,
    asked,
    fill,
    recalling,
    same_as_database,
    settled,
    snapshot,
    wipe,
    write,
)
from tests.end_to_end.commands import wait_until

EVERYWHERE = SearchFilters()


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits come as soon as there is something to commit."""
    monkeypatch.setattr(index_thread, "_COMMIT_SECONDS", 0.0)
    monkeypatch.setattr(index_thread, "_LOOK_SECONDS", 0.01)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Notebook]:
    made = Notebook(tmp_path)
    yield made
    made.author.store.close()


def words_folder(book: Notebook) -> str:
    return book.home.file("recall/words")


def found(book: Notebook, recall: Stale, word: str) -> list[bytes]:
    with snapshot(book) as reader:
        return [tag for tag, _ in asked(NodeFinder(recall, reader), {word: 1.0}, EVERYWHERE)]


def test_weights_and_order_are_those_of_the_database(book: Notebook) -> None:
    """Whatever was edited and taken back before the index was begun, or after."""
    tags = fill(book, 60)
    book.retract(tags[7])
    with recalling(book) as recall:
        settled(book, recall)
        same_as_database(book, recall)
        book.set(tags[3], "text", "nothing but tana")
        book.set(tags[4], "repo", OTHER)
        book.retract(tags[5])
        fill(book, 5, seed=9)
        settled(book, recall)
        same_as_database(book, recall)


def test_what_was_written_since_the_last_commit_counts_at_once(book: Notebook) -> None:
    """Also in how rare each word is: as if the index had been brought up to date."""
    tags = fill(book, 40)
    with recalling(book) as recall:
        stale = Stale(settled(book, recall))
    same_as_database(book, stale)
    new = book.add("discoveries", text="quixotic bana", repo=REPO)
    assert found(book, stale, "quixotic") == [new]
    book.set(new, "text", "sesquipedalian bana")
    assert found(book, stale, "quixotic") == []
    assert found(book, stale, "sesquipedalian") == [new]
    book.set(tags[0], "text", "sesquipedalian too")
    assert set(found(book, stale, "sesquipedalian")) == {new, tags[0]}
    book.set(tags[1], "repo", OTHER)
    book.retract(tags[2])
    same_as_database(book, stale)
    book.retract(new)
    assert found(book, stale, "sesquipedalian") == [tags[0]]


def test_an_index_that_is_newer_than_a_snapshot_answers_for_the_snapshot(book: Notebook) -> None:
    """Nothing of what was written after a question began is in its answer."""
    tags = fill(book, 30)
    with recalling(book) as recall:
        settled(book, recall)
        with snapshot(book) as reader:
            reader.last_arrived()  # from here on it stays as it is
            before = asked(NodeFinder(recall, reader), {WORDS[0]: 1.0}, EVERYWHERE, 40)
            fill(book, 10, seed=5)
            book.set(tags[0], "text", WORDS[0])
            settled(book, recall)
            assert asked(NodeFinder(recall, reader), {WORDS[0]: 1.0}, EVERYWHERE, 40) == before


def test_of_many_equal_records_the_newest_are_found(book: Notebook) -> None:
    """However the index has put them."""
    tags = write(book, *[{"text": "always the same", "repo": ""}] * 300)
    with recalling(book) as recall:
        settled(book, recall)
        with snapshot(book) as reader:
            same = asked(NodeFinder(recall, reader), {"same": 1.0}, EVERYWHERE, 20)
    assert [tag for tag, _ in same] == tags[:-21:-1]


def test_a_crowd_is_one_for_the_index_and_for_the_database(book: Notebook) -> None:
    """Whatever is committed, written a moment ago, or taken back: also where the newest of many equals decide."""
    book.sessions("use-pnpm", 25)
    with recalling(book) as recall:
        stale = Stale(settled(book, recall))
    seen = set()
    for step in range(6):
        with snapshot(book) as reader:
            for count, others in ((5, 2), (20, 10), (30, 10), (60, 10)):
                asked_for = ({"pnpm": 1.0, "install": 1.0}, EVERYWHERE, count, others)
                crowded = NodeFinder(stale, reader).is_crowded(*asked_for)
                assert crowded is KeywordFinder(reader).is_crowded(*asked_for), (step, count)
                seen.add(crowded)
        for number in range(4):
            book.discover(f"pnpm install {step} {number}")
        book.retract(book.sessions("use-pnpm", 1, first=100 + step)[0])
    assert seen == {False, True}


def test_who_asks_for_a_few_more_is_answered_by_one_search(book: Notebook) -> None:
    """And each longer answer begins with the shorter one."""
    fill(book, 120)
    with recalling(book) as recall:
        stale = Stale(settled(book, recall))
        with snapshot(book) as reader:
            finder = NodeFinder(stale, reader)
            finder.is_crowded({WORDS[0]: 1.0}, EVERYWHERE, 30, 10)
            sought = finder._sought
            short, long = (asked(finder, {WORDS[0]: 1.0}, EVERYWHERE, count) for count in (5, 30))
            assert finder._sought is sought
            assert long[:5] == short
            assert long == asked(NodeFinder(stale, reader), {WORDS[0]: 1.0}, EVERYWHERE, 30)


def test_what_is_not_for_people_counts_and_is_not_found(book: Notebook) -> None:
    """Its words are words of the notebook; the weights are those of the database, before and after a commit and an edit."""
    fill(book, 20)
    aside = book.add("supersessions", old="quixotic", new=WORDS[0])
    tag = book.discover(f"quixotic {WORDS[0]}")
    with recalling(book) as recall:
        for field in ("quixotic windmill", "nothing"):
            settled(book, recall)
            same_as_database(book, recall)
            with snapshot(book) as reader:
                finder = NodeFinder(recall, reader)
                assert aside not in [found for found, _ in asked(finder, {"quixotic": 1.0}, EVERYWHERE)]
                for word in ("quixotic", WORDS[0]):
                    assert finder.counts([word]) == KeywordFinder(reader).counts([word])
            book.set(tag, "text", field)
            book.set(aside, "old", field)


def test_every_filter_is_applied_before_the_best_are_taken(book: Notebook) -> None:
    """One of many that share a word is found by what it is."""
    other = {"text": "lock", "repo": OTHER, "category": "api-patterns", "tags": ["ci"], "agent": "codex"}
    write(book, *[other] * 80)
    one = book.add(
        "discoveries", text="lock held by a long sentence", repo=REPO, category="build-errors", tags=["x"], agent="me"
    )
    with recalling(book) as recall:
        settled(book, recall)
        own = book.author.store.own
        for within in (
            SearchFilters(REPO),
            SearchFilters(category="build-errors"),
            SearchFilters(tags=["x", "y"]),
            SearchFilters(agent="me"),
            SearchFilters(author=own, category="build-errors"),
            SearchFilters(since_ms=book.now_ms),
        ):
            with snapshot(book) as reader:
                assert [tag for tag, _ in asked(NodeFinder(recall, reader), {"lock": 1.0}, within, 3)] == [one]
        with snapshot(book) as reader:
            assert asked(NodeFinder(recall, reader), {"lock": 1.0}, SearchFilters(author=bytes(32)), 3) == []


def test_any_word_may_be_asked_for(book: Notebook) -> None:
    """Nothing is read as a query, and nothing is an error."""
    book.add("discoveries", text="Ünï lock", repo="")
    with recalling(book) as recall:
        settled(book, recall)
        with snapshot(book) as reader:
            finder = NodeFinder(recall, reader)
            for word in ("", " ", '"', "*", "a" * 70_000, "🔥", "日本語", "\0", "NOT", "words:x", "tag:*"):
                assert asked(finder, {word: 1.0}, EVERYWHERE) == []
                assert finder.counts([word]) == (1, {word: 0})
            assert len(asked(finder, {"Ünï": 1.0}, EVERYWHERE)) == 1


def test_an_index_that_was_deleted_is_made_again_with_the_same_answers(book: Notebook) -> None:
    """While it is in use, and while nobody is there."""
    tags = fill(book, 50)
    book.set(tags[0], "text", "bana bana delo")
    with recalling(book) as recall:
        settled(book, recall)
        book.set(tags[1], "text", "tana nelo")
        book.retract(tags[2])
        settled(book, recall)
        before = answers(book, recall)
        os.rename(words_folder(book), book.home.file("gone"))  # all of it at once: it is being written to
        wait_until(lambda: os.path.exists(os.path.join(words_folder(book), "state.json")))
        settled(book, recall)
        assert answers(book, recall) == before
    shutil.rmtree(book.home.file("recall"))
    with recalling(book) as recall:
        settled(book, recall)
        assert answers(book, recall) == before


def test_an_index_goes_on_where_it_was(book: Notebook) -> None:
    """Nothing that is there is made again; what was written meanwhile is added."""
    tags = fill(book, 30)
    with recalling(book) as recall:
        settled(book, recall)
    before = sorted(os.listdir(os.path.join(words_folder(book), "index")))
    fill(book, 3, seed=8)
    book.retract(tags[0])
    book.set(tags[1], "text", "bana")
    with recalling(book) as recall:
        settled(book, recall)
        assert set(before) & set(os.listdir(os.path.join(words_folder(book), "index"))) > {"meta.json"}
        same_as_database(book, recall)


def test_a_damaged_file_costs_nothing_but_time(book: Notebook) -> None:
    """A byte of each file in turn: the index is made anew, or it made no difference."""
    tags = fill(book, 30)
    with recalling(book) as recall:
        settled(book, recall)
        book.retract(tags[3])
        settled(book, recall)
        before = answers(book, recall)
    kept = book.home.file("kept")
    shutil.copytree(book.home.file("recall"), kept)
    paths = [os.path.relpath(os.path.join(place, name), kept) for place, _, names in os.walk(kept) for name in names]
    assert len(paths) > 8
    for path in paths:
        shutil.rmtree(book.home.file("recall"))
        shutil.copytree(kept, book.home.file("recall"))
        damaged = Path(book.home.file("recall")) / path
        content = bytearray(damaged.read_bytes() or b"\0")
        content[len(content) // 2] ^= 0x15
        damaged.write_bytes(content)
        with recalling(book) as recall:
            settled(book, recall)
            assert answers(book, recall) == before, path


@pytest.mark.parametrize("content", ["", '{"form": 1}', '{"form": 1, "progress": {"feeds": 3}}'])
def test_a_state_that_says_nothing_is_not_believed(book: Notebook, content: str) -> None:
    """The index is made anew."""
    fill(book, 20)
    with recalling(book) as recall:
        settled(book, recall)
        before = answers(book, recall)
    (Path(words_folder(book)) / "state.json").write_text(content)
    with recalling(book) as recall:
        settled(book, recall)
        assert answers(book, recall) == before


def test_an_erased_record_is_gone_at_once_and_its_words_from_every_file(book: Notebook) -> None:
    """From answers with the erase itself, from the folder as soon as it is noticed; also if that was while nobody ran."""
    fill(book, 20)
    first = book.add("discoveries", text="the password is xyzzyplugh", repo="")
    second = book.add("discoveries", text="another one is frobnitz", repo="")
    folder = book.home.file("recall")
    with recalling(book) as recall:
        stale = Stale(settled(book, recall))
        assert found(book, stale, "xyzzyplugh") == [first]
        assert anywhere(folder, "xyzzyplugh")
        wipe(book, first)
        assert found(book, stale, "xyzzyplugh") == []
        with snapshot(book) as reader:
            assert asked(NodeFinder(recall, reader), {"xyzzyplugh": 1.0}, EVERYWHERE) == []
        wait_until(lambda: not anywhere(folder, "xyzzyplugh"))
        settled(book, recall)
        assert not anywhere(folder, "xyzzyplugh")
        same_as_database(book, recall)
    assert anywhere(folder, "frobnitz")
    wipe(book, second)
    with recalling(book) as recall:
        settled(book, recall)
        assert not anywhere(folder, "frobnitz")
        same_as_database(book, recall)


def test_a_broken_index_is_made_anew_while_the_database_answers(book: Notebook) -> None:
    """Nobody who searches notices."""
    fill(book, 20)
    with recalling(book) as recall:
        settled(book, recall)
        before = answers(book, recall)
        assert recall.building._words is not None
        assert recall.building._words.kept is not None
        recall.distrust(ValueError("it is broken"))
        application = Application(book.home.path, {}, "/", recall=recall)
        assert application.search(WORDS[0], everywhere=True)["results"]
        settled(book, recall)
        assert answers(book, recall) == before


def test_a_follower_ends_in_the_middle_of_its_work(book: Notebook) -> None:
    """And the next one ends what it had begun."""
    fill(book, 300)
    for _ in range(5):
        with recalling(book) as recall:
            wait_until(lambda: recall.building._words is not None and recall.building._words._taken is not None)
        assert recall.building._words is not None
        assert not recall.building._words._thread.is_alive()
    with recalling(book) as recall:
        settled(book, recall)
        same_as_database(book, recall)


def test_no_transaction_is_left_open_between_questions(book: Notebook) -> None:
    """An erase writes the file anew, which waits for every reader."""
    fill(book, 10)
    with recalling(book) as recall:
        settled(book, recall)
        application = Application(book.home.path, {}, "/", recall=recall)
        before = application.search(WORDS[0], everywhere=True)
        assert book.author.store.database.checkpoint()
        assert application.search(WORDS[0], everywhere=True) == before


def test_what_is_known_of_a_state_is_used_again_until_somebody_writes(book: Notebook) -> None:
    """Not a moment longer."""
    tag = fill(book, 10)[0]
    with recalling(book) as recall:
        with recall.memory() as first:
            assert first.note(tag) is not None
        with recall.memory() as second:
            assert second is first
        book.set(tag, "text", "another")
        with recall.memory() as third:
            assert third is not first
            note = third.note(tag)
            assert note is not None
            assert note.text == "another"


def test_a_database_in_the_place_of_another_is_read_and_indexed(book: Notebook) -> None:
    """As after a repair, or from a backup."""
    fill(book, 10)
    with recalling(book) as recall:
        settled(book, recall)
        path = book.home.file("mesh.db")
        assert book.author.store.database.checkpoint()
        shutil.copy(path, f"{path}.copy")
        os.replace(f"{path}.copy", path)
        new = Notebook.__new__(Notebook)
        new.now_ms, new.home, new.muted = book.now_ms, book.home, set()
        new.author = book.home.author(clock=lambda: new.now_ms)
        try:
            new.add("discoveries", text="quixotic", repo="")
            settled(new, recall)
            with recall.memory() as memory:
                assert len(memory.finder.by_words({"quixotic": 1.0}, EVERYWHERE, 3)) == 1
        finally:
            new.author.store.close()


def test_what_fails_while_its_folder_is_being_deleted_is_tried_again_in_silence(
    book: Notebook, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An erase deletes it under whoever writes there, which may take more than one try."""
    fill(book, 5)
    commit = WordIndex.commit
    failed: list[WordIndex] = []

    def fail_twice(index: WordIndex) -> None:
        if len(failed) < 2:
            failed.append(index)
            raise ValueError("no such file")
        commit(index)

    monkeypatch.setattr(WordIndex, "commit", fail_twice)
    with recalling(book) as recall:
        settled(book, recall)
        same_as_database(book, recall)
    assert len(failed) == 2
    assert "ValueError" not in caplog.text
