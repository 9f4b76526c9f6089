"""Where links lead: to pages under any spelling, to records, or nowhere, which `doctor` says."""

from pathlib import Path

import pytest

from mesh.app.checks.page_checks import examine_pages
from mesh.core.draft import NewRecord
from mesh.core.ids import text_id
from mesh.pages.page_links import BROKEN, PAGE, RECORD, Links
from tests.interrupting import interrupted
from tests.pages.nodes import CLAN, meet, nodes
from tests.worlds import open_author


def test_links_lead_to_pages_records_or_nowhere(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        (record,) = one.author.append([NewRecord("discoveries", {"text": "something"})]).tags
        one.editor.new("Services/API", "the api\n")
        info, _ = one.editor.new(
            "index",
            f"---\nsee: '[[services/api]]'\n---\n[[services/API.md|the api]]\n[[{text_id(record)}]]\n"
            f"[[{text_id(record)[:8]}]]\n[[nothing]]\n`[[in code]]`\n[[aaaaaaaa]]\n",
        )
        meet(one, two)
        links = Links(two.book)
        assert [(link.target, link.line, link.sort) for link in links.out(two.find("index"))] == [
            ("services/api", 2, PAGE),
            ("services/API.md", 4, PAGE),
            (text_id(record), 5, RECORD),
            (text_id(record)[:8], 6, RECORD),
            ("nothing", 7, BROKEN),
            ("aaaaaaaa", 9, BROKEN),
        ]
        assert {link.source.id for link in links.into(two.find("Services/API"))} == {info.id}
        assert [link.target for link in links.broken()] == ["nothing", "aaaaaaaa"]
        assert links.out(two.find("Services/API")) == []
        found = list(examine_pages(two.book))
        assert [finding.sort for finding in found] == ["broken link", "broken link"]
        assert "line 7 of the page index links to 'nothing'" in found[0].sentence


def test_links_follow_edits_renames_and_removals(tmp_path: Path) -> None:
    with nodes(2, tmp_path) as (one, two):
        one.editor.new("a", "[[b]]\n")
        one.editor.new("b", "[[a]]\n")
        meet(one, two)
        assert Links(two.book).broken() == []
        one.editor.rename(one.find("b"), "c")
        meet(one, two)
        assert [link.target for link in Links(two.book).broken()] == ["b"]
        two.save("a", "[[c]] and [[c]]\n")
        meet(one, two)
        assert Links(one.book).broken() == []
        assert [link.line for link in Links(one.book).into(one.find("c"))] == [1, 1]
        one.editor.remove(one.find("a"), "no more")
        assert [(link.source.shown, link.target) for link in Links(one.book).broken()] == [("c", "a")]


def test_odd_targets_break_nothing(tmp_path: Path) -> None:
    odd = [
        "a" * 900,
        "0" * 60,
        "\u0000\u0001zzzzzzzz",
        "é" * 20,
        "%s%n%x'\"; --",
        "~~~~~~~~",
        "🙂🙂🙂🙂🙂🙂🙂🙂🙂",
        "I" * 52,
    ]
    with nodes(1, tmp_path) as (one,):
        one.editor.new("p", "".join(f"[[{target}]]\n" for target in odd))
        links = Links(one.book)
        assert {link.sort for link in links.out(one.find("p"))} == {BROKEN}
        assert len(links.broken()) == len(odd)
        assert len(list(examine_pages(one.book))) == len(odd)


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    with nodes(1, tmp_path) as (one,):
        one.author.store.database.run(
            "INSERT INTO page_folders(folder, prefix) VALUES(?, '')", (str(tmp_path / "gone"),)
        )
        (finding,) = examine_pages(one.book)
        assert finding.sort == "watched folder gone"
        assert str(tmp_path / "gone") in finding.sentence


def test_a_link_to_a_record_that_is_erased_just_then_leads_there_or_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a question to the database has found, another process may erase before the next one."""
    monkeypatch.setattr("mesh.store.store.scrub", lambda _: False)  # takes long, and is owed anyway
    sorts, questions = led_to(tmp_path / "first", "")
    assert sorts == [RECORD]
    assert len(questions) > 1
    for number, question in enumerate(questions):
        assert led_to(tmp_path / str(number), question)[0] == [BROKEN if number == 0 else RECORD]


def led_to(folder: Path, before: str) -> tuple[list[str], list[str]]:
    """Where a page's only link leads, if its record is erased before a question; and the questions."""
    with nodes(1, folder) as (node,):
        (record,) = node.author.append([NewRecord("discoveries", {"text": "something"})]).tags
        info, _ = node.editor.new("p", f"[[{text_id(record)}]]\n")
        links = Links(node.book)

        def erased() -> None:
            with open_author(node.folder, CLAN, node.identity) as author:
                author.merge_statements([CLAN.erase(node.identity, record).encode()])

        asked = interrupted(node.author.store.database.connection, before, erased)
        found = [link.sort for link in links.out(info)]
        node.author.store.database.connection.exec_trace = None
        return found, asked
