"""Writing pages: redaction, old texts in editors, other processes, workers that die, texts that are too large."""

import multiprocessing
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

import mesh.app.store_registry  # noqa: F401 (the processes started here come without conftest)
from mesh.core.errors import HomeBusy, PageMoved, UsageError
from mesh.core.limits import OPERATION_BYTES
from mesh.pages.book import Book, PageInfo
from mesh.pages.edit_acceptance import EditAcceptance
from mesh.pages.editor import MOST_CHARS, Editor
from mesh.pages.page_fields import PageFields
from mesh.pages.worker_client import WorkerClient, WorkerDied
from mesh.store.home import create_home, open_home
from tests.pages.nodes import Node, agree, meet, nodes

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_page_is_made_with_its_front_matter_and_read_as_it_was_given(tmp_path: Path) -> None:
    text = "---\nowner: me  # and you\ntags: [a, b]\n---\n# Title\n\ntext with é and 😀\n"
    with nodes(2, tmp_path) as (one, two):
        info, saved = one.editor.new("p", text)
        assert saved.text == text
        meet(one, two)
        page = two.book.read(info)
        assert page.text == text
        assert page.front == PageFields(
            {"owner": "owner: me  # and you\n", "tags": "tags: [a, b]\n"}, ("owner", "tags")
        )
        assert page.plain == "# Title\n\ntext with é and 😀\n"


def test_what_looks_like_a_secret_becomes_no_operation(tmp_path: Path) -> None:
    with nodes(1, tmp_path) as (one,):
        info, saved = one.editor.new("p", f"---\ntoken: {TOKEN}\n---\nuse {TOKEN}\n")
        assert saved.findings
        saved = one.editor.save(info, saved.text, saved.text.replace("use", f"do use {TOKEN} or"))
        assert saved.findings
        saved = one.editor.append(info, f"or {TOKEN}")
        assert saved.findings
        assert "do use" in saved.text
        assert TOKEN not in saved.text
        assert TOKEN.encode() not in b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_the_change_from_an_old_text_is_made_to_the_page_as_it_is_now(tmp_path: Path) -> None:
    with nodes(1, tmp_path) as (one,):
        info, saved = one.editor.new("p", "---\na: 1\nb: 1\n---\none\ntwo\nthree\n")
        base = saved.text
        one.save("p", "---\na: 2\nb: 1\n---\none\ntwo\nthree\nfour\n")
        saved = one.editor.save(info, base, "---\na: 1\nb: 3\n---\nzero\none\nthree\n")
        assert saved.text == "---\na: 2\nb: 3\n---\nzero\none\nthree\nfour\n"
        assert saved.changed
        again = one.editor.save(info, saved.text, saved.text)
        assert not again.changed


def test_a_page_that_ends_in_an_older_one_the_moment_it_is_made_is_told_as_it_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between writing it and looking at it a sidecar of the same home may join it with another node's page."""
    with nodes(2, tmp_path) as (one, two):
        two.editor.new("p", "same\n")
        one.editor.new("other", "")  # so that what follows is younger
        parcels, listed = two.ranges(), one.book.pages

        def joined_first() -> list[PageInfo]:
            monkeypatch.undo()
            sidecar = Node(0, one.folder)
            sidecar.author.merge_ranges(parcels)
            assert len(sidecar.joiner.join_twins()) == 1
            sidecar.close()
            return listed()

        monkeypatch.setattr(one.book, "pages", joined_first)
        info, saved = one.editor.new("p", "same\n")
        assert (info.name, info.shown, saved.text) == ("p", "p", "same\n")
        assert one.shown() == {"other": "", "p": "same\n"}
        assert one.book.ended()[info.id] == one.find("p")


def test_fields_go_and_come_in_any_order(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        one.editor.new("p", "---\na: 1\nb: 2\n---\ntext\n")
        meet(one, two)
        one.save("p", "---\nb: 2\na: 1\n---\ntext\n")
        assert one.text("p") == "---\nb: 2\na: 1\n---\ntext\n"
        two.save("p", "---\na: 1\nc: 3\n---\ntext\n")
        meet(one, two)
        pages = agree(one, two)
        assert one.read("p").front.fields == {"a": "a: 1\n", "c": "c: 3\n"}
        one.save("p", "text\n")
        meet(one, two)
        assert agree(one, two) == {"p": "text\n"}
        assert pages != agree(one, two)


def test_a_text_without_a_last_newline_gets_one_and_an_empty_one_stays_empty(tmp_path: Path) -> None:
    with nodes(1, tmp_path) as (one,):
        _, saved = one.editor.new("p", "no newline")
        assert saved.text == "no newline\n"
        one.save("p", "no newline\nmore")
        assert one.text("p") == "no newline\nmore\n"
        info, saved = one.editor.new("empty")
        assert saved.text == ""
        assert one.editor.append(info, "first").text == "first\n"
        one.save("empty", "")
        assert one.text("empty") == ""


def test_a_large_text_is_split_into_operations_that_hold_it(tmp_path: Path) -> None:
    large = "".join(f"line {number} is one of very many 😀\n" for number in range(3000))
    larger = large.replace("line 7 ", large.replace("very", "so") + "line 7 ").replace("line 9 ", "line nine ")
    with nodes(2, tmp_path) as (one, two):
        info, saved = one.editor.new("p", large)
        assert saved.text == large
        one.save("p", larger)
        ops = one.book.history(info)
        assert len(ops) > 4
        assert max(len(op.update) for op in ops) < OPERATION_BYTES
        meet(one, two)
        assert agree(one, two) == {"p": larger}
        with pytest.raises(UsageError, match="at most"):
            one.editor.append(info, "x" * MOST_CHARS)
        with pytest.raises(UsageError, match="at most"):
            one.editor.new("q", "x" * (MOST_CHARS + 1))
        assert two.text("p") == one.text("p")


def test_names_are_checked(tmp_path: Path) -> None:
    with nodes(1, tmp_path) as (one,):
        info, _ = one.editor.new("p")
        for name in ("../p", "a//b", "", "x~abcde", "a\x00b", ".hidden"):
            with pytest.raises(UsageError):
                one.editor.new(name)
            with pytest.raises(UsageError):
                one.editor.rename(info, name)
        assert one.editor.rename(info, "folder/q").shown == "folder/q"
        with pytest.raises(UsageError, match="same page"):
            one.editor.merge(info, info)


def test_the_last_name_wins(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        info, _ = one.editor.new("p", "text\n")
        meet(one, two)
        one.editor.rename(info, "by one")
        two.editor.rename(info, "then by two")
        two.editor.rename(info, "finally by two")
        meet(one, two)
        assert agree(one, two) == {"finally by two": "text\n"}


def test_an_edit_that_another_process_overtook_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every moment of a save: before the text was opened, before the edit is made, before it is written."""
    with nodes(1, tmp_path) as (one,), WorkerClient(seconds=300) as workshop:
        info, _ = one.editor.new("p", "start\n")
        other = Editor(Book(one.author, workshop))
        count = 0

        def before(owner: Any, name: str) -> None:
            called = getattr(owner, name)

            def interrupted(*args: Any, **named: Any) -> Any:
                nonlocal count
                monkeypatch.setattr(owner, name, called)
                count += 1
                other.append(info, f"other{count}")
                return called(*args, **named)

            monkeypatch.setattr(owner, name, interrupted)

        for owner, name in (
            (one.author, "place"),
            (one.book.texts, "opened"),
            (one.workshop, "edit"),
            (one.author, "append"),
            (one.book, "read"),
        ):
            before(owner, name)
            one.editor.append(info, f"mine-{name}")
        text = one.text("p")
        for word in ["start", *(f"other{number}" for number in range(1, 6))]:
            assert text.count(word) == 1, text
        for name in ("place", "opened", "edit", "append", "read"):
            assert text.count(f"mine-{name}\n") == 1, text
        ruling = EditAcceptance().rule(one.book.history(info))
        assert not ruling.refused
        assert not ruling.held
        assert one.from_nothing() == {"p": text}
        assert other.book.read(info).text == text


def test_an_edit_that_never_gets_through_is_given_up_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with nodes(1, tmp_path) as (one,):
        info, _ = one.editor.new("p", "start\n")

        def moved(_: object) -> None:
            raise PageMoved("moved", "repeat")

        monkeypatch.setattr(one.author, "append", moved)
        for write in (
            lambda: one.editor.append(info, "x"),
            lambda: one.editor.new("q", "x"),
            lambda: one.editor.begin(info, str.upper),
        ):
            with pytest.raises(HomeBusy, match="is being written to"):
                write()
        monkeypatch.undo()
        assert one.text("p") == "start\n"
        assert one.editor.append(info, "y").text == "start\ny\n"


def test_a_worker_that_dies_during_an_edit_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with nodes(1, tmp_path) as (one,):
        info, _ = one.editor.new("p", "start\n")
        edit = one.workshop.edit

        def dies_first(*args: Any) -> Any:
            monkeypatch.setattr(one.workshop, "edit", edit)
            one.kill_worker()
            return edit(*args)

        for write in (
            lambda: one.editor.append(info, "mine"),
            lambda: one.editor.new("q", "other page"),
            lambda: one.editor.begin(info, str.upper),
        ):
            monkeypatch.setattr(one.workshop, "edit", dies_first)
            write()
        assert one.shown() == {"p": "START\nMINE\n", "q": "other page\n"}

        def dies(*_: object) -> None:
            raise WorkerDied("the page worker died")

        monkeypatch.setattr(one.workshop, "edit", dies)
        with pytest.raises(WorkerDied):
            one.editor.append(one.find("p"), "poison")
        monkeypatch.undo()
        assert one.editor.append(one.find("p"), "fine").text == "START\nMINE\nfine\n"


def test_an_edit_that_cannot_be_written_leaves_the_page_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the worker has in memory then was never published."""
    with nodes(1, tmp_path) as (one,):
        info, _ = one.editor.new("p", "start\n")

        def full(_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(one.author, "append", full)
        with pytest.raises(KeyboardInterrupt):
            one.editor.append(info, "never written")
        monkeypatch.undo()
        assert one.text("p") == "start\n"
        assert one.editor.append(info, "written").text == "start\nwritten\n"
        assert not one.read("p").troubles


def test_merging_keeps_lines_whole(tmp_path: Path) -> None:
    with nodes(1, tmp_path) as (one,):
        one.editor.new("a", "# A\n\ncommon line\n\nlast of a\n")
        one.editor.new("b", "# B\n\ncommon line\n\nlast of b\n")
        one.editor.new("c", "")
        assert one.editor.merge(one.find("a"), one.find("c")).text == "# A\n\ncommon line\n\nlast of a\n"
        merged = one.editor.merge(one.find("a"), one.find("b")).text
        assert merged == "# A\n\n# B\n\ncommon line\n\nlast of a\n\nlast of b\n"
        assert set(one.shown()) == {"a"}


def test_settling_remembers_what_was_read_over(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        info, _ = one.editor.new("p", "text\n")
        one.editor.settle(info)
        meet(one, two)
        field = two.book.shelf.fields(info.id)["settled"]
        assert field.value == [op.tag[:8].hex() for op in two.book.history(info)]


def write_many(path: str, page: str, name: str, count: int) -> None:
    """In a process of its own: append and insert, as fast as it can."""
    author = open_home(path).author()
    with WorkerClient(seconds=300) as workshop:
        editor = Editor(Book(author, workshop))
        info = editor.book.find(page)
        for number in range(count):
            if number % 2:
                editor.append(info, f"{name}{number}.")
            else:
                text = editor.book.read(info).text
                editor.save(info, text, f"{name}{number}.\n" + text)
    author.store.close()


def test_two_processes_of_one_node_write_to_one_page(tmp_path: Path) -> None:
    """All words of both are there, and no operation claims the place of another."""
    path, count = str(tmp_path / "home"), 12
    author = create_home(path, "home").author()
    with WorkerClient(seconds=300) as workshop:
        book = Book(author, workshop)
        info, _ = Editor(book).new("p", "start\n")
        context = multiprocessing.get_context("spawn")
        processes: list[BaseProcess] = [
            context.Process(target=write_many, args=(path, "p", name, count)) for name in ("first", "second")
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            assert process.exitcode == 0
        text = book.read(info).text
        assert sorted(text.split()) == sorted(
            ["start", *(f"{name}{number}." for name in ("first", "second") for number in range(count))]
        )
        ops = book.history(info)
        ledger = EditAcceptance()
        ruling = ledger.rule(ops)
        assert (len(ruling.apply), ruling.held, ruling.refused, ledger.is_tangled) == (len(ops), [], [], False)
        assert not book.read(info).troubles
        book.shelf.reset(info.body)
        assert book.read(info).text == text
    author.store.close()


def test_a_new_epoch_goes_on_in_the_same_page(tmp_path: Path) -> None:
    """A home that was restored writes under a new client id, from the next edit on."""
    with nodes(2, tmp_path) as (one, two):
        info, _ = one.editor.new("p", "start\n")
        one.editor.append(info, "before")
        meet(one, two)
        one.author.store.database.run("DELETE FROM meta WHERE key='epoch'")
        one.editor.append(info, "after")
        meet(one, two)
        assert agree(one, two) == {"p": "start\nbefore\nafter\n"}
        assert len({op.epoch for op in one.book.history(info)}) == 2


def test_a_restored_home_and_its_copy(tmp_path: Path) -> None:
    """Two copies of a node wrote to one page: a fork. What both wrote is there, once they have met."""
    with nodes(2, tmp_path) as (one, two):
        info, _ = one.editor.new("p", "start\n")
        meet(one, two)
        one.close()
        copy = tmp_path / "copy"
        copy.mkdir()
        for file in one.folder.iterdir():
            (copy / file.name).write_bytes(file.read_bytes())
        one.restart()
        twin = Node(0, copy)
        twin.workshop = WorkerClient(seconds=300)
        try:
            twin.book = Book(twin.author, twin.workshop)
            twin.editor = Editor(twin.book)
            one.editor.append(info, "by the one")
            twin.editor.append(info, "by the copy")
            exchange_all = [one, two, twin]
            for _ in range(3):
                for giver in exchange_all:
                    for taker in exchange_all:
                        if giver is not taker:
                            taker.author.merge_statements(giver.statements())
                            taker.author.merge_ranges(giver.ranges())
            texts = {node.text("p") for node in exchange_all}
            assert len(texts) == 1
            (text,) = texts
            assert "by the one\n" in text
            assert "by the copy\n" in text
        finally:
            twin.workshop.close()
            twin.close()


def test_a_name_with_a_secret_in_it_is_no_name(tmp_path: Path) -> None:
    """It would stand in every list, and in the names of files."""
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
    with nodes(1, tmp_path) as (one,):
        info, _ = one.editor.new("p", "text\n")
        for write in (lambda: one.editor.new(f"notes {token}"), lambda: one.editor.rename(info, token)):
            with pytest.raises(UsageError, match="the name holds a secret"):
                write()
        assert one.shown() == {"p": "text\n"}


def test_a_page_that_several_made_too_long_can_be_made_shorter(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        one.editor.new("p", "x" * (MOST_CHARS - 10) + "\n")
        meet(one, two)
        one.editor.append(one.find("p"), "of one")
        two.editor.append(two.find("p"), "of two")
        meet(one, two)
        text = agree(one, two)["p"]
        assert len(text) > MOST_CHARS
        with pytest.raises(UsageError, match="at most"):
            one.editor.append(one.find("p"), "more")
        one.save("p", text[1:])
        assert len(one.text("p")) == len(text) - 1
        one.save("p", "short\n")
        meet(one, two)
        assert agree(one, two) == {"p": "short\n"}
