"""Which openings count, and what they keep out of the archive."""

from pathlib import Path

import pytest

from clan_learnings.records.access_counts import accesses, key, lately, month_of
from mesh.core.draft import Increment
from mesh.core.ids import text_id
from tests.clan_learnings.records.notebooks import Notebook

DAY_MS = 86_400_000


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    """A notebook of one node."""
    return Notebook(tmp_path)


@pytest.mark.parametrize("days", range(0, 800, 7))
def test_the_months_are_all_that_the_last_ninety_days_lie_in(days: int) -> None:
    """No day of them is forgotten, and none before them brings a month along."""
    now = 1_800_000_000_000 + days * DAY_MS
    assert lately(now) == list(dict.fromkeys(month_of(now - ago * DAY_MS) for ago in range(90, -1, -1)))


def test_a_store_without_a_stamp_has_a_month_all_the_same() -> None:
    """Mesh time begins at nothing."""
    assert lately(0) == ["1970-01"]


def test_openings_on_all_nodes_and_of_the_last_months_are_summed(book: Notebook) -> None:
    """What is older than the ninety days, or of another record, is not among them."""
    tag = book.discover("the staging cluster sleeps at night")
    months = lately(book.now_ms)
    for month in ("2020-01", months[0], months[-1]):
        book.write(Increment(key(text_id(tag), month), 2))
    book.write(Increment(key(text_id(bytes(32)), months[-1]), 7))
    assert accesses(book.memory().reader, tag, months) == 4


def test_what_is_opened_comes_back_from_the_archive_and_goes_again(book: Notebook) -> None:
    """Two years leave 0.23 of 0.8; two openings lift that over 0.3, for as long as they are recent."""
    tag = book.discover("the staging cluster sleeps at night")
    book.wait(24 * 30 + 1)
    book.discover("mesh time goes on")
    assert book.tier(tag) == "ARCHIVE"
    book.write(Increment(key(text_id(tag), month_of(book.now_ms)), 2))
    assert book.tier(tag) != "ARCHIVE"
    book.wait(125)
    book.discover("mesh time goes on and on")
    assert book.tier(tag) == "ARCHIVE"
