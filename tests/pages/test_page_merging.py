"""Pages made twice become one, and no edit stays behind in a text that nobody sees."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesh.core.draft import Assignment, NewRecord
from mesh.core.errors import QuotaReached
from mesh.core.ids import text_id
from mesh.core.statement import READER
from mesh.pages.folder_sync import open_workspace
from tests.pages.nodes import CLAN, Node, agree, exchange, meet, nodes
from tests.roles import admitted, founder
from tests.worlds import open_author


def test_twins_are_joined_and_later_edits_of_both_are_kept(tmp_path: Path) -> None:
    with nodes(3, tmp_path) as everybody:
        one, two, three = everybody
        for node in (one, two):
            node.editor.new("runbook", "---\nowner: us\n---\n# Deploy\n\nstep\n")
        one.save("runbook", "---\nowner: us\n---\n# Deploy\n\nstep one\n")
        two.save("runbook", "---\nowner: two\nstate: good\n---\n# Deploy now\n\nstep\n")
        exchange(one, three)
        exchange(two, three)
        assert len(three.book.pages()) == 2
        younger = next(info for info in three.book.pages() if info.shown != "runbook")
        three.editor.append(younger, "written to the younger one")
        assert three.joiner.join_twins() == []  # neither is its own
        meet(*everybody)
        text = agree(*everybody)["runbook"]
        assert set(agree(*everybody)) == {"runbook"}
        for piece in ("# Deploy now\n", "step one\n", "written to the younger one\n", "state: good\n"):
            assert text.count(piece) == 1, text
        two.editor.append(two.find("runbook"), "and on")
        meet(*everybody)
        assert agree(*everybody)["runbook"].endswith("and on\n")


def hear(node: Node, of: Node) -> None:
    """As another process of the same home would."""
    with open_author(node.folder, CLAN, node.identity) as author:
        author.merge_ranges(of.ranges())


@pytest.mark.parametrize("moment", range(1, 13))
def test_what_comes_in_while_edits_are_carried_waits_for_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """Between any two questions another process may write that a page has ended in another."""
    with nodes(2, tmp_path) as (one, two):
        one.editor.new("p", "same\n")
        two.editor.new("other", "")  # so that what follows is younger
        two.editor.new("p", "same\n")
        exchange(one, two)
        exchange(two, one)
        younger = next(info for info in one.book.pages() if info.shown.startswith("p~"))
        one.editor.append(younger, "to the younger one")
        assert len(two.joiner.join_twins()) == 1
        shelf, asked = one.book.shelf, list[str]()

        def interrupted(name: str, answer: Callable[..., Any]) -> Callable[..., Any]:
            def ask(*args: Any) -> Any:
                asked.append(name)
                if len(asked) == moment:
                    hear(one, two)
                return answer(*args)

            return ask

        for name in ("assigned", "elements"):
            monkeypatch.setattr(shelf, name, interrupted(name, getattr(shelf, name)))
        one.joiner.carry()
        assert len(asked) >= moment
        monkeypatch.undo()
        meet(one, two)
        assert agree(one, two)["p"] == "same\nto the younger one\n"


def test_three_twins_that_hear_of_each_other_one_by_one(tmp_path: Path) -> None:
    """The youngest is joined into the one in the middle, and that one into the oldest: all edits end in the oldest."""
    with nodes(3, tmp_path) as everybody:
        for number, node in enumerate(everybody):
            for _ in range(number):  # so that each is younger than the last
                node.editor.new("other", "")
                node.editor.remove(node.find("other"), "only to pass the time")
            node.editor.new("p", "same\n")
        oldest, middle, youngest = everybody
        exchange(middle, youngest)
        ((kept, _),) = youngest.joiner.join_twins()
        assert kept.node == middle.identity.public
        exchange(oldest, middle)
        ((kept, _),) = middle.joiner.join_twins()
        assert kept.node == oldest.identity.public
        ended = next(item for item in youngest.book.shelf.elements() if item.node == youngest.identity.public)
        info = youngest.find("p")._replace(id=ended.tag, body=youngest.book.bodies(ended.tag)[0])
        youngest.editor.append(info, "to the youngest")  # by a process that did not know yet
        exchange(oldest, youngest)
        exchange(middle, youngest)
        meet(*everybody)
        assert agree(*everybody) == {"p": "same\nto the youngest\n"}


def test_pages_with_other_first_texts_or_front_matter_are_not_joined_by_themselves(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        one.editor.new("p", "mine\n")
        two.editor.new("p", "not mine\n")
        one.editor.new("q", "---\nof: one\n---\nsame\n")
        two.editor.new("q", "---\nof: two\n---\nsame\n")
        meet(one, two)
        pages = agree(one, two)
        assert len(pages) == 4
        assert {"p", "q"} < set(pages)
        assert {text for name, text in pages.items() if name.startswith("p")} == {"mine\n", "not mine\n"}


def test_empty_twins_are_joined(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        for node in (one, two):
            node.editor.new("todo")
            node.editor.append(node.find("todo"), f"of {node.identity.public.hex()}")
        meet(one, two)
        pages = agree(one, two)
        assert set(pages) == {"todo"}
        for node in (one, two):
            assert f"of {node.identity.public.hex()}\n" in pages["todo"]


def test_twins_are_not_joined_before_all_of_their_first_text_is_here(tmp_path: Path) -> None:
    large = "a line of text that is long enough\n" * 4000
    with nodes(2, tmp_path) as (one, two):
        for node in (one, two):
            node.editor.new("p", large)
        (whole,) = one.collect()
        assert one.find("p").at
        two.author.merge_ranges([whole])
        info = one.find("p")
        rows = two.book.shelf.rows(info.body)
        assert len(rows) > 2  # one operation would not have held it
        meet(one, two)
        assert agree(one, two) == {"p": large}


def test_merging_brings_both_texts_together_and_late_edits_follow(tmp_path: Path) -> None:
    with nodes(3, tmp_path) as everybody:
        one, two, three = everybody
        one.editor.new("deploy", "---\nowner: one\n---\n# Deploy\nonly in one\nthe same line\n")
        two.editor.new("deploy", "---\nowner: two\nstate: new\n---\n# Deploy\nthe same line\nonly in two\n")
        meet(*everybody)
        (other,) = [info for info in one.book.pages() if info.shown != "deploy"]
        kept = one.find("deploy")
        assert other.shown == f"deploy~{text_id(other.id)[:5]}"
        three.editor.append(other, "three was late")
        page = three.book.read(other)
        three.editor.save(other, page.text, page.text.replace("---\n", "---\nlate: yes\n", 1))
        one.editor.merge(kept, other)
        meet(*everybody)
        pages = agree(*everybody)
        assert set(pages) == {"deploy"}
        for piece in ("# Deploy\n", "only in one\n", "the same line\n", "only in two\n", "three was late\n"):
            assert pages["deploy"].count(piece) == 1, pages
        assert f"owner: {'one' if kept.node == one.identity.public else 'two'}\n" in pages["deploy"]
        assert "state: new\n" in pages["deploy"]
        assert "late: yes\n" in pages["deploy"]


def test_pages_that_were_merged_into_each_other_at_once_both_stay(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        a, _ = one.editor.new("a", "alpha\n")
        b, _ = one.editor.new("b", "beta\n")
        meet(one, two)
        one.editor.merge(a, b)
        two.editor.merge(b, a)
        meet(one, two)
        pages = agree(one, two)
        assert set(pages) == {"a", "b"}
        for text in pages.values():
            assert "alpha\n" in text
            assert "beta\n" in text


def test_what_was_carried_over_is_not_carried_again(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        one.editor.new("a", "text of a\n")
        one.editor.new("b", "text of b\n")
        meet(one, two)
        two.editor.append(two.find("b"), "late")
        one.editor.merge(one.find("a"), one.find("b"))
        meet(one, two)
        text = agree(one, two)["a"]
        assert text.count("late\n") == 1
        two.save("a", text.replace("late\n", ""))  # and somebody takes it out
        for node in (one, two):
            node.restart()
        meet(one, two)
        assert "late" not in agree(one, two)["a"]


def test_what_was_merged_into_a_page_is_removed_with_it(tmp_path: Path) -> None:
    """Whoever removes the page has read there what the other one said. Restoring it brings both texts back."""
    with nodes(1, tmp_path) as (one,):
        one.editor.new("a", "text of a\n")
        one.editor.new("b", "text of b\n")
        one.editor.merge(one.find("a"), one.find("b"))
        assert set(one.shown()) == {"a"}
        one.editor.remove(one.find("a"), "wrong")
        assert one.shown() == {}
        one.editor.restore(one.book.removed("a"))
        assert sorted(one.shown()["a"].splitlines()) == ["text of a", "text of b"]


def test_a_text_that_a_page_shows_has_not_ended_whatever_others_say(tmp_path: Path) -> None:
    """Otherwise a page that claims the text of another could have its writers copy it anywhere."""
    with nodes(2, tmp_path) as (one, two):
        a, _ = one.editor.new("a", "alpha\n")
        b, _ = one.editor.new("b", "beta\n")
        meet(one, two)
        (claim,) = two.author.append([NewRecord("pages", {"name": "c", "body": text_id(a.body)})]).tags
        two.author.append([Assignment(claim, "into", {"page": text_id(b.id), "body": text_id(a.body), "seen": []})])
        meet(one, two)
        assert agree(one, two) == {"a": "alpha\n", "b": "beta\n"}


def test_what_was_joined_into_a_page_is_removed_with_it(tmp_path: Path) -> None:
    """Also where three were joined in a row, and what was made under the name afterwards is another page."""
    with nodes(3, tmp_path) as everybody:
        for node in everybody:
            node.editor.new("p", "same\n")
        meet(*everybody)
        assert agree(*everybody) == {"p": "same\n"}
        everybody[1].editor.append(everybody[1].find("p"), "later")
        meet(*everybody)
        everybody[2].editor.remove(everybody[2].find("p"), "no more")
        meet(*everybody)
        assert agree(*everybody) == {}
        assert everybody[0].book.read(everybody[0].book.removed("p")).text == "same\nlater\n"
        everybody[0].editor.restore(everybody[0].book.removed("p"))
        meet(*everybody)
        assert agree(*everybody) == {"p": "same\nlater\n"}


def test_a_reader_joins_and_carries_nothing(tmp_path: Path) -> None:
    """What it had written before it was admitted is in nobody's text; and the sidecar has nothing to complain about."""
    home = admitted(tmp_path, founder(tmp_path), READER)
    with open_workspace(home) as workspace:
        assert len(workspace.mirrors()) == 2
        workspace._unite = fail  # type: ignore[method-assign]
        workspace.tend()


def test_what_follows_from_new_pages_is_tried_seldom_beyond_the_quota(tmp_path: Path) -> None:
    """It is said, by whoever asks for it, and what need not be written goes on."""
    tries = []

    def refused() -> None:
        tries.append(1)
        raise QuotaReached("this node has written as much as it may by now")

    with open_workspace(founder(tmp_path)) as workspace:
        workspace._unite = refused  # type: ignore[method-assign]
        with pytest.raises(QuotaReached):
            workspace.tend()
        for _ in range(3):
            workspace.tend()
    assert len(tries) == 1


def fail() -> None:
    raise AssertionError("a reader has nothing to write")
