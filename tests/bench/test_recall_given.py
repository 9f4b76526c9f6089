"""Sets from elsewhere: what of two JSONL files is understood, and what is said about the rest."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.recall_given import Given
from clan_learnings.records.record import TEXT_CHARS

DAY_MS = 86_400_000


def _given(folder: Path, items: list[Any], queries: list[Any]) -> Given:
    paths = []
    for name, rows in (("items", items), ("queries", queries)):
        path = folder / f"{name}.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        paths.append(str(path))
    return Given(*paths)


QUERY = {"query": "q", "relevant": ["1"]}


@pytest.mark.parametrize(
    ("ts", "at_ms"),
    [
        ("1970-01-03", 2 * DAY_MS),
        ("1970-01-03T00:00:00Z", 2 * DAY_MS),
        ("1970-01-03T01:00:00+01:00", 2 * DAY_MS),
        (1_700_000_000, 1_700_000_000_000),
        (1_700_000_000.5, 1_700_000_000_500),
        (1_700_000_000_000, 1_700_000_000_000),
        ("1700000000", 1_700_000_000_000),
        ("1700000000000", 1_700_000_000_000),
        ("20231114", 1_699_920_000_000),
        ("1:56 pm on 8 May, 2023", None),
        (None, None),
        (True, None),
        (1e400, None),
    ],
)
def test_times_are_dates_or_numbers(tmp_path: Path, ts: object, at_ms: int | None) -> None:
    """Seconds or milliseconds, a date, a date and time; what is neither is no time."""
    given = _given(tmp_path, [{"id": 1, "text": "t", "ts": ts}], [QUERY])
    assert given.items[0].at_ms == at_ms


def test_ids_are_texts_or_numbers(tmp_path: Path) -> None:
    """A number in one file is the same as its digits in the other."""
    given = _given(tmp_path, [{"id": 1, "text": "t"}], [QUERY, {"query": "r", "relevant": [1]}])
    assert [question.relevant for question in given.questions] == [("1",), ("1",)]


def test_relevance_may_be_graded(tmp_path: Path) -> None:
    """What is graded zero is not relevant."""
    given = _given(tmp_path, [{"id": 1, "text": "t"}], [{"query": "q", "relevant": {"1": 2, "2": 0}}])
    assert given.questions[0].relevant == ("1",)


def test_what_was_changed_or_left_out_is_said(tmp_path: Path) -> None:
    """Long texts, queries without answers, answers that are no items."""
    items = [{"id": "1", "text": "x" * (TEXT_CHARS + 1)}]
    given = _given(tmp_path, items, [QUERY, {"query": "q", "relevant": []}, {"query": "q", "relevant": ["2"]}])
    assert len(given.questions) == 2
    said = " ".join(given.notes)
    assert "1 texts were cut" in said
    assert "1 queries without relevant ids" in said
    assert "1 relevant ids are of no item" in said
    record = given.items[0].draft().record
    assert len(record["text"]) == TEXT_CHARS


@pytest.mark.parametrize(
    ("items", "queries", "says"),
    [
        ([], [QUERY], "no items"),
        ([{"id": "1"}], [QUERY], "items.jsonl:1: the item has no text"),
        ([{"id": None, "text": "t"}], [QUERY], "items.jsonl:1: an id must be"),
        ([{"id": 1, "text": "t"}, {"id": "1", "text": "u"}], [QUERY], "items.jsonl:2: the id 1 is there twice"),
        ([[1]], [QUERY], "items.jsonl:1: this is no object"),
        ([{"id": 1, "text": "t"}], [{"relevant": ["1"]}], "queries.jsonl:1: there is no query"),
        ([{"id": 1, "text": "t"}], [{"query": "q", "relevant": "1"}], "queries.jsonl:1: relevant must be a list"),
        ([{"id": 1, "text": "t"}], [{"query": "q", "relevant": []}], "no queries with relevant ids"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(
    tmp_path: Path, items: list[Any], queries: list[Any], says: str
) -> None:
    """File and line, and what is wrong there."""
    with pytest.raises(SystemExit, match=says):
        _given(tmp_path, items, queries)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With what the system says."""
    with pytest.raises(SystemExit, match=r"nowhere\.jsonl cannot be read"):
        Given(str(tmp_path / "nowhere.jsonl"), str(tmp_path / "nowhere.jsonl"))
