"""Which pages there are and what they say: worked out by a worker, kept in the store, found again there."""

import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesh.app.checks.page_checks import examine_pages
from mesh.core.errors import AmbiguousId, UnknownId, UsageError
from mesh.core.ids import text_id
from mesh.core.operation import Page
from mesh.pages import page_texts
from mesh.pages.book import Book
from mesh.pages.edit_acceptance import EditAcceptance
from mesh.pages.edit_codec import Id, InsertedText, Update, client_of, encode
from mesh.pages.editor import Editor
from mesh.pages.page_table import StoredText
from mesh.pages.worker_client import WorkerClient, WorkerDied
from tests.pages.nodes import CLAN, Node, agree, exchange, meet, nodes
from tests.worlds import Chain, open_author

POISONED = """
    import os, sys
    from mesh.pages import document, worker
    apply = document.Document.apply
    def poisoned(self, update):
        apply(self, update)
        if b"{poison" in update and not os.path.exists(sys.argv[0] + ".cured"):
            os.abort()
    document.Document.apply = poisoned
    worker.main()
"""


def test_a_page_is_found_by_any_spelling_of_its_name_and_by_its_id(tmp_path: Path) -> None:
    with nodes(1, tmp_path) as (node,):
        info, saved = node.editor.new("Runbooks/Café deploy", "how to\n")
        assert saved.text == "how to\n"
        for spelling in ("Runbooks/Café deploy", "runbooks/CAFE\u0301 DEPLOY", "Runbooks/Café deploy.md"):
            assert node.find(spelling) == info
        assert node.find(text_id(info.id)) == info
        assert node.find(text_id(info.id)[:6]) == info
        with pytest.raises(UnknownId, match="no page called 'deploy'") as error:
            node.find("deploy")
        assert "Runbooks/Café deploy" in error.value.next_step
        with pytest.raises(UnknownId) as error:
            node.find("nothing like it")
        assert "mesh page new 'nothing like it'" in error.value.next_step


def test_an_id_that_fits_several_pages_is_not_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with nodes(1, tmp_path) as (node,):
        node.editor.new("one")
        node.editor.new("two")
        monkeypatch.setattr("mesh.pages.book.text_id", lambda _: "abcdefgh" * 7)
        with pytest.raises(AmbiguousId, match="2 pages go by abcde"):
            node.find("abcde")


def test_pages_of_one_name_show_under_two_and_the_older_keeps_it(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        first, _ = one.editor.new("notes", "of one\n")
        exchange(one, two)
        second, _ = two.editor.new("NOTES", "of two\n")
        meet(one, two)
        assert second.shown == f"NOTES~{text_id(second.id)[:5]}"
        assert agree(one, two) == {"notes": "of one\n", second.shown: "of two\n"}
        assert one.find("notes").id == first.id
        (finding,) = examine_pages(one.book)
        assert finding.next_step.startswith(f"mesh page merge notes '{second.shown}'")


def test_reading_again_asks_no_worker(tmp_path: Path) -> None:
    with nodes(1, tmp_path) as (node,):
        info, _ = node.editor.new("kept", "some text\n")
        node.restart()
        book = Book(node.author, WorkerClient(command=["/bin/false"]))
        assert book.read(info).text == "some text\n"


def test_what_a_page_said_at_a_time(tmp_path: Path) -> None:
    """Also before something was erased in it, and its front matter as it was."""
    with nodes(1, tmp_path) as (node,):
        info, _ = node.editor.new("p", "---\nstate: new\n---\none\n")
        first = node.book.history(info)[-1].at
        node.save("p", "---\nstate: old\n---\none two\n")
        second = node.book.shelf.fields(info.id)["front.state"].at
        node.editor.begin(info, lambda _: "three\n")
        now = node.find("p")
        third = node.book.shelf.fields(info.id)["body"].at
        assert node.text("p") == "---\nstate: old\n---\nthree\n"
        assert node.book.text_at(now, first) == "---\nstate: new\n---\none\n"
        assert node.book.text_at(now, second) == "---\nstate: old\n---\none two\n"
        assert node.book.text_at(now, third) == node.text("p")
        with pytest.raises(UsageError, match="was not there yet"):
            node.book.text_at(now, 1)
        assert [item.body for item in node.book.generations(now)] == [info.body, now.body]


def test_a_removed_page_is_found_by_name_and_made_anew(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        info, _ = one.editor.new("gone", "---\na: 1\n---\nstill known\n")
        one.editor.remove(info, "a mistake")
        exchange(one, two)
        assert two.book.pages() == []
        removed = two.book.removed("GONE")
        assert removed.id == info.id
        assert two.book.removed(text_id(info.id)[:8]).id == info.id
        made = two.editor.restore(removed)
        assert made.id != info.id
        meet(one, two)
        assert agree(one, two) == {"gone": "---\na: 1\n---\nstill known\n"}
        with pytest.raises(UnknownId, match="was removed"):
            one.book.removed("other")


@pytest.mark.parametrize("moment", range(1, 10))
def test_a_page_that_is_made_while_the_removed_ones_are_listed_is_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """Another process may write between any two questions; who erases a text erases it in removed pages of that name too."""
    with nodes(1, tmp_path) as (node,):
        info, _ = node.editor.new("p", "text\n")
        node.editor.remove(info, "test")
        shelf, asked = node.book.shelf, list[str]()

        def interrupted(name: str, answer: Callable[..., Any]) -> Callable[..., Any]:
            def ask(*args: Any) -> Any:
                asked.append(name)
                if len(asked) == moment:
                    other = Node(0, node.folder)
                    other.editor.new("p", "another\n")
                    other.close()
                return answer(*args)

            return ask

        for name in ("assigned", "elements"):
            monkeypatch.setattr(shelf, name, interrupted(name, getattr(shelf, name)))
        assert [item.id for item in node.book.gone()] == [info.id]
        assert len(asked) >= moment


def test_the_version_changes_with_what_comes_in(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        one.editor.new("p", "text\n")
        before = two.book.version()
        assert two.book.version() == before
        exchange(one, two)
        assert two.book.version() != before


@pytest.mark.parametrize("keep", [0, 3, 256])
def test_another_process_is_seen_whatever_was_kept_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: int
) -> None:
    """Two books of one home, each with the text open: one saves the state, by which all news go, the other edits on."""
    monkeypatch.setattr(page_texts, "_KEEP_UPDATES", keep)
    with nodes(1, tmp_path) as (sidecar,), WorkerClient(seconds=300) as workshop:
        info, _ = sidecar.editor.new("p", "first\n")
        sidecar.editor.append(info, "second")
        command = Editor(Book(sidecar.author, workshop))
        for number in range(12):
            (command if number % 3 else sidecar.editor).append(info, f"line{number}")
        expected = "first\nsecond\n" + "".join(f"line{number}\n" for number in range(12))
        assert sidecar.text("p") == command.book.read(info).text == expected
        assert not EditAcceptance().rule(sidecar.book.history(info)).refused
        assert not sidecar.read("p").troubles
        assert sidecar.from_nothing() == {"p": expected}


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        info, _ = one.editor.new("p", "first\n")
        for number in range(4):
            one.kill_worker()
            one.editor.append(info, f"line{number}")
        exchange(one, two)
        two.kill_worker()
        assert agree(one, two) == {"p": "first\nline0\nline1\nline2\nline3\n"}


def test_a_text_is_whole_if_another_process_keeps_its_state_while_a_worker_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in a state is news no more: who reads the state before and the news after has lost what went over."""
    with nodes(2, tmp_path) as (one, two), WorkerClient(seconds=300) as workshop:
        info, _ = two.editor.new("p", "first\n")
        exchange(two, one)
        asked, kept = list[bytes](), one.book.shelf.kept

        def interrupted(body: bytes) -> StoredText | None:
            asked.append(body)
            found = kept(body)
            if len(asked) == 2:  # the first was before the worker died
                with open_author(one.folder, CLAN, one.identity) as author, monkeypatch.context() as now:
                    now.setattr(page_texts, "_KEEP_UPDATES", 0)
                    assert Book(author, workshop).read(info).text == "first\n"
            return found

        def dies(*_: object, **__: object) -> str:
            monkeypatch.setattr(one.workshop, "open", opened)
            raise WorkerDied("the page worker died")

        opened = one.workshop.open
        monkeypatch.setattr(one.book.shelf, "kept", interrupted)
        monkeypatch.setattr(one.workshop, "open", dies)
        assert one.book.read(info).text == "first\n"
        assert len(asked) == 2
        monkeypatch.undo()
        assert one.book.shelf.kept(info.body) is not None
        assert agree(one, two) == {"p": "first\n"}


def test_what_ends_every_worker_stays_out_of_the_page_and_everything_else_goes_on(tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(textwrap.dedent(POISONED))
    with nodes(2, tmp_path / "homes") as (one, two):
        info, _ = one.editor.new("p", "the beginning\n")
        one.editor.new("other", "as it was\n")
        meet(one, two)
        one.editor.append(info, "before")
        two.editor.append(two.find("p"), "a {poison} word")
        meet(one, two)
        one.save("p", "after\n" + one.text("p"))  # but it stands before it, so it does not build on it
        with WorkerClient(command=[sys.executable, os.fspath(script)], seconds=300) as workshop:
            book = Book(one.author, workshop)
            for item in book.pages():
                book.shelf.reset(item.body)
            page = book.read(info)
            (trouble,) = page.troubles
            assert (trouble.sort, trouble.node) == ("quarantined", two.identity.public)
            assert "poison" not in page.text
            assert "the beginning\n" in page.text
            assert "before\n" in page.text
            assert "after\n" in page.text
            assert book.read(book.find("other")).text == "as it was\n"
            assert [finding.sort for finding in examine_pages(book)] == ["page incomplete here"]
            Editor(book).append(info, "and more")
            assert "and more\n" in book.read(info).text
            (tmp_path / "worker.py.cured").touch()
            assert book.shelf.forgive() == 1
            assert "a {poison} word\n" in book.read(info).text
            assert not book.read(info).troubles
        meet(one, two)
        assert set(agree(one, two)) == {"p", "other"}


def test_what_is_held_and_what_is_refused_is_told_with_its_author(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        info, _ = one.editor.new("p", "honest\n")
        hostile = CLAN.node(60)
        chain = Chain(CLAN, hostile)
        own = client_of(hostile.public, chain.feed.epoch)
        held = encode(Update(own, (InsertedText(0, Id(77, 3), None, "late"),), ()))
        chain.add(Page(info.body, chain.feed.epoch, [], held))
        chain.add(Page(info.body, chain.feed.epoch, [], b"garbage"))
        chain.add(
            Page(info.body, chain.feed.epoch, [], encode(Update(own + 1, (InsertedText(0, None, None, "x"),), ())))
        )
        one.author.merge_statements([CLAN.member(hostile, "mallory").encode()])
        one.author.merge_ranges([chain.encoded()])
        page = one.book.read(info)
        assert page.text == "honest\n"
        assert sorted(trouble.sort for trouble in page.troubles) == ["held", "refused", "refused"]
        assert {trouble.node for trouble in page.troubles} == {hostile.public}
        found = list(examine_pages(one.book))
        assert {finding.sort for finding in found} == {"page update held", "page update refused"}
        assert all("mallory" in finding.sentence for finding in found)
        meet(one, two)
        agree(one, two)


def test_a_revoked_author_takes_what_was_built_on_theirs_along(tmp_path: Path) -> None:
    """The same on every node; what is held is told, and the page can be written to."""
    with nodes(3, tmp_path) as (one, two, bad):
        one.editor.new("p", "the first line\n")
        meet(one, two, bad)
        bad.save("p", "the first line\nvile words here\n")
        meet(one, two, bad)
        two.save("p", "the first line\nvile honest words here\n")
        one.save("p", "the very first line\nvile words here\n")
        meet(one, two, bad)
        revoked = CLAN.revoke(bad.identity)
        one.author.merge_statements([revoked.encode()])
        meet(one, two)
        for node in (one, two):
            assert node.text("p") == "the very first line\n"
            assert [(item.sort, item.node) for item in node.read("p").troubles] == [("held", two.identity.public)]
            assert [item.sort for item in examine_pages(node.book)] == ["page update held"]
        two.editor.append(two.find("p"), "two goes on")
        one.editor.append(one.find("p"), "one goes on")
        meet(one, two)
        text = agree(one, two)["p"]
        assert "two goes on\n" in text
        assert "one goes on\n" in text
        assert "vile" not in text
        for node in (one, two):  # and what is held was not pushed out by what its author wrote since
            assert [item.sort for item in node.read("p").troubles] == ["held"]


def test_who_is_no_member_yet_edits_nothing(tmp_path: Path) -> None:
    """What it wrote would be in no text, so its second edit would take the place of the first one."""
    with nodes(1, tmp_path) as (one,):
        one.editor.new("p", "first\n")
        late = Node(5, tmp_path / "late")
        try:
            exchange(one, late)
            for write in (lambda: late.editor.append(late.find("p"), "mine"), lambda: late.editor.new("q", "mine")):
                with pytest.raises(UsageError, match="not a member yet"):
                    write()
            one.author.merge_statements([CLAN.member(late.identity, "late").encode()])
            exchange(one, late)
            late.editor.append(late.find("p"), "mine")
            late.editor.append(late.find("p"), "again")
            meet(one, late)
            assert agree(one, late) == {"p": "first\nmine\nagain\n"}
        finally:
            late.close()
