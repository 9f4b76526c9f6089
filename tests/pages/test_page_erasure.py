"""Erasing a piece of text out of a page: gone from what it says and from every file, with nothing else lost."""

import os
from pathlib import Path

import pytest

from mesh.app.checks.page_checks import examine_pages
from mesh.core.draft import Assignment
from mesh.core.errors import UnknownId, UsageError
from mesh.pages.book import PageInfo, PageText
from mesh.pages.editor import Saved
from mesh.pages.page_erasure import LEFT, Cleaned, erase_text
from mesh.pages.page_links import Links
from tests.pages.nodes import CLAN, Node, agree, exchange, meet, nodes, remains
from tests.worlds import open_author

SECRET = "hunter2-Zq8vLx"


def erase(node: Node, name: str, secret: str = SECRET) -> Cleaned:
    return erase_text(node.home, node.editor, node.find(name), secret, "a secret")


def nowhere(folder: Path, everybody: list[Node], secret: str = SECRET) -> None:
    """No byte of it in any file of any home, once what is owed was done."""
    for node in everybody:
        assert node.author.store.scrub()
    assert remains(folder, secret) == []


def test_a_secret_that_was_typed_in_pieces_is_gone_and_the_rest_stays(tmp_path: Path) -> None:
    with nodes(3, tmp_path, admins=[0]) as everybody:
        one, two, three = everybody
        one.editor.new("p", "the thing is \nkeep this line\n")
        meet(*everybody)
        for end in (4, 5, 9, len(SECRET)):
            two.save("p", f"the thing is {SECRET[:end]}\nkeep this line\n")
        meet(*everybody)
        three.save("p", three.text("p").replace("keep", "do keep"))
        meet(*everybody)
        assert remains(tmp_path, SECRET)
        done = erase(one, "p")
        assert not done.is_new
        assert done.erased.left == 0
        assert one.text("p") == f"the thing is {LEFT}\ndo keep this line\n"
        meet(*everybody)
        assert agree(*everybody) == {"p": f"the thing is {LEFT}\ndo keep this line\n"}
        nowhere(tmp_path, everybody)
        three.editor.append(three.find("p"), "and on")
        meet(*everybody)
        assert agree(*everybody)["p"].endswith("and on\n")


def test_a_secret_that_was_taken_out_by_hand_long_ago_is_in_the_history_still(tmp_path: Path) -> None:
    with nodes(1, tmp_path, admins=[0]) as (one,):
        one.editor.new("p", "start\n")
        one.save("p", f"start {SECRET}\n")
        one.save("p", "start\n")
        erase(one, "p")
        assert one.text("p") == "start\n"
        nowhere(tmp_path, [one])
        with pytest.raises(UsageError, match="or never did"):
            erase(one, "p")
        with pytest.raises(UsageError, match="at least 4"):
            erase(one, "p", "sta")


def test_a_secret_in_front_matter(tmp_path: Path) -> None:
    with nodes(2, tmp_path, admins=[0]) as everybody:
        one, two = everybody
        one.editor.new("p", "---\nowner: me\n---\ntext\n")
        meet(*everybody)
        two.save("p", f"---\nowner: me\ntoken: x-{SECRET}\n{SECRET}: yes\n---\ntext\n")
        meet(*everybody)
        erase(one, "p")
        meet(*everybody)
        assert agree(*everybody) == {"p": f"---\nowner: me\nerased: yes\ntoken: x-{LEFT}\n---\ntext\n"}
        nowhere(tmp_path, everybody)


def test_a_secret_in_a_link(tmp_path: Path) -> None:
    """What a page links to is kept in an index of its own."""
    with nodes(2, tmp_path, admins=[0]) as everybody:
        one, two = everybody
        one.editor.new("p", "text\n")
        one.save("p", f"see [[{SECRET}]]\n")
        meet(*everybody)
        for node in everybody:
            node.look_at_everything()
        erase(one, "p")
        meet(*everybody)
        nowhere(tmp_path, everybody)
        assert [target for _, target, _ in two.book.shelf.links()] == []
        assert agree(*everybody) == {"p": f"see [[{LEFT}]]\n"}


@pytest.mark.parametrize("is_first", [True, False])
def test_a_secret_in_a_link_of_the_front_matter(tmp_path: Path, *, is_first: bool) -> None:
    """The index of links is rid of it with the erase, also where that was only heard of; whether the page was made with it or not."""
    with nodes(2, tmp_path, admins=[0]) as everybody:
        one, two = everybody
        secret = f"---\nowner: '[[x-{SECRET}]]'\n---\ntext\n"
        two.editor.new("p", secret if is_first else "---\nowner: me\n---\ntext\n")
        two.save("p", secret)
        meet(*everybody)
        for node in everybody:
            assert [link.target for link in Links(node.book).broken()] == [f"x-{SECRET}"]
        assert erase(one, "p").is_new == is_first
        exchange(one, two)
        for node in everybody:
            assert list(node.book.shelf.links()) == []
        nowhere(tmp_path, everybody)


def test_links_of_a_text_that_was_erased_while_they_were_looked_for_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may erase between the reading of a page and the writing down of its links."""
    with nodes(1, tmp_path, admins=[0]) as (one,):
        one.editor.new("p", "text\n")
        one.save("p", f"see [[{SECRET}]] and [[this]]\n")
        read = one.book.read

        def interrupted(info: PageInfo) -> PageText:
            found = read(info)
            monkeypatch.undo()
            other = Node(0, one.folder)
            erase(other, "p")
            other.close()
            return found

        monkeypatch.setattr(one.book, "read", interrupted)
        assert [link.target for link in Links(one.book).broken()] == [LEFT.strip("[]"), "this"]
        nowhere(tmp_path, [one])


def test_a_secret_in_the_name_takes_a_new_page(tmp_path: Path) -> None:
    """Who was offline and edited the old one has the edit in the new one; a page that had ended in the old one stays away."""
    with nodes(3, tmp_path, admins=[0]) as everybody:
        one, two, three = everybody
        one.editor.new(f"keys/{SECRET}", "---\nstate: old\n---\nabout it\n")
        two.editor.new("beside", "more about it\n")
        meet(*everybody)
        two.editor.merge(two.find(f"keys/{SECRET}"), two.find("beside"))
        meet(*everybody)
        text = three.text(f"keys/{SECRET}")
        three.save(f"keys/{SECRET}", text.replace("state: old", "state: new") + "typed offline\n")
        done = erase(one, f"keys/{SECRET}")
        assert done.is_new
        meet(*everybody)
        pages = agree(*everybody)
        assert set(pages) == {"keys/erased"}
        for piece in ("state: new", "about it\n", "more about it\n", "typed offline\n"):
            assert pages["keys/erased"].count(piece) >= 1
        nowhere(tmp_path, everybody)


def test_a_secret_in_a_name_that_was_given_later(tmp_path: Path) -> None:
    with nodes(2, tmp_path, admins=[0]) as everybody:
        one, two = everybody
        info, _ = one.editor.new("p", "text\n")
        meet(*everybody)
        two.editor.rename(info, SECRET)
        meet(*everybody)
        assert not erase(one, SECRET).is_new
        meet(*everybody)
        assert agree(*everybody) == {"p": "text\n"}
        nowhere(tmp_path, everybody)


def test_a_secret_in_the_first_text(tmp_path: Path) -> None:
    with nodes(2, tmp_path, admins=[0]) as everybody:
        one, two = everybody
        two.editor.new("p", f"a\n{SECRET} and {SECRET}\nb\n")
        meet(*everybody)
        assert not erase(one, "p").is_new
        meet(*everybody)
        assert agree(*everybody) == {"p": f"a\n{LEFT} and {LEFT}\nb\n"}
        nowhere(tmp_path, everybody)


def test_what_somebody_wrote_offline_to_the_old_text_is_carried_over(tmp_path: Path) -> None:
    """Beside what is gone, and right within it: the one fits in its place, the other comes behind."""
    with nodes(3, tmp_path, admins=[0]) as everybody:
        one, two, three = everybody
        one.editor.new("p", f"first line\nthe key {SECRET} here\nlast line\n")
        meet(*everybody)
        two.save("p", two.text("p").replace("first line", "first good line"))
        meet(*everybody)
        two.save("p", two.text("p").replace("last line", "last line, said two"))
        three.save("p", three.text("p").replace(SECRET, SECRET[:6] + " threeword " + SECRET[6:]))
        erase(one, "p")
        one.editor.append(one.find("p"), "one went on")
        meet(*everybody)
        text = agree(*everybody)["p"]
        for piece in ("first good line\n", "said two", "threeword", "one went on\n", LEFT):
            assert text.count(piece) == 1, (piece, text)
        nowhere(tmp_path, everybody)
        before = text
        for node in everybody:
            node.restart()
        meet(*everybody)
        assert agree(*everybody)["p"] == before


def test_what_a_node_without_the_right_to_it_cannot_erase_is_counted(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as everybody:
        one, two = everybody
        one.editor.new("p", "text\n")
        one.save("p", f"text {SECRET}\n")
        meet(*everybody)
        done = erase(two, "p")
        assert (done.erased.mine, done.erased.left) == ([], 1)
        assert two.text("p") == f"text {LEFT}\n"


def test_two_erasures_at_once(tmp_path: Path) -> None:
    """Both texts go on in one. What the other erasure did not know of may be back: `doctor` says so, until it is repeated."""
    other = "correct-horse-99"
    with nodes(3, tmp_path, admins=[0, 1]) as everybody:
        one, two, three = everybody
        one.editor.new("p", "line\n")
        one.save("p", f"line\n{SECRET}\nmiddle\n{other}\nend\n")
        meet(*everybody)
        erase(one, "p", SECRET)
        one.editor.append(one.find("p"), "one went on")
        erase(two, "p", other)
        two.editor.append(two.find("p"), "two went on")
        three.editor.append(three.find("p"), "three went on")
        meet(*everybody)
        pages = agree(*everybody)
        for piece in ("line\n", "middle\n", "end\n", "one went on\n", "two went on\n", "three went on\n"):
            assert pages["p"].count(piece) == 1, pages
        for node in everybody:
            assert [item.sort for item in examine_pages(node.book)] == ["page erased twice at once"]
        for secret in (SECRET, other):
            if remains(tmp_path, secret):
                erase(one, "p", secret)
        meet(*everybody)
        for node in everybody:
            assert list(examine_pages(node.book)) == []
        pages = agree(*everybody)
        for piece in ("line\n", "middle\n", "end\n", "one went on\n", "two went on\n", "three went on\n"):
            assert pages["p"].count(piece) == 1, pages
        for secret in (SECRET, other):
            nowhere(tmp_path, everybody, secret)


def test_twins_that_were_joined_are_cleaned_too(tmp_path: Path) -> None:
    with nodes(2, tmp_path, admins=[0]) as everybody:
        one, two = everybody
        one.editor.new("p", f"the same {SECRET}\n")
        two.editor.new("p", f"the same {SECRET}\n")
        meet(*everybody)
        assert agree(*everybody) == {"p": f"the same {SECRET}\n"}
        erase(one, "p")
        meet(*everybody)
        assert agree(*everybody) == {"p": f"the same {LEFT}\n"}
        nowhere(tmp_path, everybody)


def test_a_twin_whose_end_is_written_over_meanwhile_is_cleaned_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the page is made anew another process may hear that the twin ends in something that is no page."""
    with nodes(2, tmp_path, admins=[0]) as everybody:
        one, two = everybody
        for node in everybody:
            node.editor.new(f"p {SECRET}", "the same\n")  # in what it was made with, so it has to be made anew
        meet(*everybody)
        ((ended, _),) = one.book.ended().items()
        two.author.append([Assignment(ended, "into", 5)])
        parcels, made = two.ranges(), one.editor.new

        def interrupted(name: str, text: str) -> tuple[PageInfo, Saved]:
            with open_author(one.folder, CLAN, one.identity) as author:
                author.merge_ranges(parcels)
            return made(name, text)

        monkeypatch.setattr(one.editor, "new", interrupted)
        assert erase(one, f"p {SECRET}").is_new
        monkeypatch.undo()
        meet(*everybody)
        assert agree(*everybody) == {"p erased": "the same\n"}
        nowhere(tmp_path, everybody)


def test_erasing_holds_on_a_node_that_hears_of_it_before_the_text(tmp_path: Path) -> None:
    with nodes(2, tmp_path, admins=[0]) as everybody:
        one, two = everybody
        one.editor.new("p", f"text {os.urandom(4).hex()} {SECRET}\n")
        before = one.collect()
        erase(one, "p")
        two.author.merge_statements(one.statements())
        two.author.merge_ranges(before)
        exchange(one, two)
        meet(*everybody)
        agree(*everybody)
        nowhere(tmp_path, everybody)


def test_who_has_looked_after_two_erasures_at_once_says_so(tmp_path: Path) -> None:
    """Both erased the same: nothing is back, and there is nothing to erase again."""
    with nodes(2, tmp_path, admins=[0, 1]) as (one, two):
        one.editor.new("p", "line\n")
        one.save("p", f"line\n{SECRET}\nend\n")
        meet(one, two)
        erase(one, "p", SECRET)
        erase(two, "p", SECRET)
        meet(one, two)
        assert [item.sort for item in examine_pages(one.book)] == ["page erased twice at once"]
        one.editor.settle(one.find("p"))
        meet(one, two)
        text = agree(one, two)["p"]
        assert text.startswith("line\n[erased]\n")
        for node in (one, two):
            assert list(examine_pages(node.book)) == []


def test_a_removed_page_is_reached_and_so_is_one_that_was_restored_from_it(tmp_path: Path) -> None:
    """What people do first is to remove the page, and to restore it when they are told to."""
    with nodes(2, tmp_path) as (one, two):
        one.editor.new("p", f"keep {SECRET} x\n")
        one.editor.remove(one.find("p"), "a password")
        meet(one, two)
        with pytest.raises(UnknownId, match="was removed"):
            one.find("p")
        one.editor.restore(one.book.find_past("p"))
        meet(one, two)
        erase(one, "p", SECRET)
        meet(one, two)
        assert agree(one, two) == {"p": "keep [erased] x\n"}
        nowhere(tmp_path, [one, two])
        one.editor.new("q", "never mind\n")
        one.editor.append(one.find("q"), f"{SECRET} again")
        one.editor.remove(one.find("q"), "again")
        meet(one, two)
        cleaned = erase_text(one.home, one.editor, one.book.find_past("q"), SECRET, "leaked")
        assert len(cleaned.erased.mine) == 1
        meet(one, two)
        nowhere(tmp_path, [one, two])
        assert one.book.read(one.book.find_past("q")).text == "never mind\n"


def test_a_reason_that_repeats_the_secret_is_refused(tmp_path: Path) -> None:
    with nodes(1, tmp_path) as (one,):
        one.editor.new("p", f"keep {SECRET} x\n")
        with pytest.raises(UsageError, match="the reason holds the text itself"):
            erase_text(one.home, one.editor, one.find("p"), SECRET, f"{SECRET} leaked")
        assert one.text("p") == f"keep {SECRET} x\n"
