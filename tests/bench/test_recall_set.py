"""The judged set of `bench recall` holds together: what it names is there, and no answer is one that nobody should get."""

import re
from collections import Counter
from datetime import date
from typing import Any

from bench.recall_judged import SPLITS, groups, items, rows, supersessions
from clan_learnings.records.record import CATEGORIES

ITEMS = rows("items")
BY_ID = {row["id"]: row for row in ITEMS}
OVER = {row["id"] for row in ITEMS if "superseded_by" in row or row["tier"] == "archived"}
ASKED = [(name, row) for name in ("queries", "prompts", "failures") for row in rows(name)]


def _text(row: dict[str, Any]) -> str:
    return str(row.get("query") or row.get("prompt") or row.get("error"))


def test_the_set_is_large_enough() -> None:
    """As many learnings and queries as the benchmark promises, of eleven kinds, half of them held back."""
    queries = rows("queries")
    assert len(ITEMS) >= 300
    assert len(queries) >= 150
    kinds = Counter(row["kind"] for row in queries)
    assert len(kinds) == 11
    assert min(kinds.values()) >= 12
    assert {row["split"] for _, row in ASKED} == set(SPLITS)


def test_ids_and_texts_are_there_once() -> None:
    """Nothing is judged against a double."""
    assert len(BY_ID) == len(ITEMS) == len({row["text"] for row in ITEMS})
    asked = Counter((name, _text(row), row.get("input"), row.get("repo")) for name, row in ASKED)
    assert asked.most_common(1)[0][1] == 1


def test_a_learning_has_what_a_record_needs() -> None:
    """Fields of the right values; the newer advice is newer, of the same repository, and not over itself."""
    for row in ITEMS:
        assert row["category"] in CATEGORIES, row
        assert row["kind"] in {"discovery", "correction", "pattern", "learning"}, row
        assert row["tier"] in {"hot", "warm", "bank", "archived"}, row
        assert 10 < len(row["text"]) < 400, row
        assert row["text"] == row["text"].strip(), row
        date.fromisoformat(row["ts"])
        if "superseded_by" in row:
            newer = BY_ID[row["superseded_by"]]
            assert newer["ts"] > row["ts"], row
            assert newer["repo"] == row["repo"], row
            assert newer["id"] not in OVER, row


def test_every_right_answer_is_one_that_may_be_found() -> None:
    """It exists, is in scope, and is neither superseded nor in the archive."""
    for name, row in ASKED:
        assert len(set(row["relevant"])) == len(row["relevant"]), row
        for answer in row["relevant"]:
            assert answer in BY_ID, row
            assert answer not in OVER, row
            if row.get("repo") or name != "queries":
                assert BY_ID[answer]["repo"] in {"", row["repo"]}, row


def test_a_query_is_no_copy_of_its_answer() -> None:
    """Only an exact identifier stands in a learning as it is asked for."""
    texts = " \n ".join(re.sub(r"\s+", " ", row["text"].lower()) for row in ITEMS)
    for row in rows("queries"):
        text = re.sub(r"\s+", " ", row["query"].lower())
        if row["kind"] == "exact-identifier":
            assert any(text in BY_ID[answer]["text"].lower() for answer in row["relevant"]), row
        else:
            assert len(text.split()) < 6 or text not in texts, row


def test_silence_is_asked_for_often_enough() -> None:
    """Most prompts, and half of the failures, must be told nothing."""
    silent = Counter(name for name, row in ASKED if not row["relevant"])
    assert silent["prompts"] >= 90
    assert silent["failures"] >= 40
    assert "queries" not in silent


def test_near_duplicates_come_in_groups() -> None:
    """Ten at least, of two or more; where one of a group answers a query, each one in scope does."""
    sizes = Counter(groups().values())
    assert len(sizes) >= 10
    assert min(sizes.values()) >= 2
    for row in rows("queries"):
        scope = ("", row["repo"]) if row.get("repo") else {other["repo"] for other in ITEMS}
        for group in {groups()[answer] for answer in row["relevant"] if answer in groups()}:
            members = {one for one, name in groups().items() if name == group and BY_ID[one]["repo"] in scope}
            assert members - OVER <= set(row["relevant"]), row


def test_the_set_becomes_records() -> None:
    """Every learning a record of a log, and an end to the patterns that have a successor."""
    made = items()
    assert [item.id for item in made] == [row["id"] for row in ITEMS]
    assert {item.log for item in made} == {"discoveries", "corrections", "patterns"}
    assert len(supersessions()) >= 10
