"""A request is written once, whoever repeats it: its receipt is kept in the same transaction, for thirty days."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.core.draft import KEPT_SECONDS, Increment, NewRecord, Request
from mesh.core.errors import UsageError
from mesh.store.author import Author
from mesh.store.database_repair import repair
from mesh.store.feed_progress import FeedProgress
from mesh.store.home import Home, create_home
from mesh.store.reader import Reader
from mesh.store.receipts import Receipt
from mesh.store.verification import verify_store
from tests.worlds import NOW_MS, Clan, open_author, views

CLAN = Clan()
OWN = CLAN.node(0)
DAY_MS = 86_400_000
REQUEST = Request("request-1", b"what was asked")


@pytest.fixture
def author(tmp_path: Path) -> Iterator[Author]:
    with open_author(tmp_path / "home", CLAN, OWN) as made:
        made.merge_statements([CLAN.member(OWN).encode()])
        yield made


def note(text: str) -> NewRecord:
    return NewRecord("notes", {"text": text})


def said(author: Author) -> list[str]:
    return [entry.record["text"] for entry in Reader(author.store.database.connection).tail(2**31)]


def kept(author: Author) -> int:
    count: int = author.store.database.run("SELECT count(*) FROM requests").get
    return count


def later(author: Author, milliseconds: int) -> Author:
    """The same home at another time."""
    store, folder = author.store, os.path.dirname(author.store.database.path)
    store.clock = lambda: NOW_MS + milliseconds
    return Author(store, OWN, FeedProgress(OWN.public, folder))


def test_what_is_asked_for_again_is_answered_and_not_written(author: Author) -> None:
    """The receipt is that of the first time, and says that it is."""
    first = author.append([note("once"), Increment("hits")], REQUEST)
    assert not first.repeated
    before = views(author.store), author.store.root()
    assert author.append([note("once, drafted anew"), Increment("hits")], REQUEST) == first._replace(repeated=True)
    assert author.earlier(REQUEST) == first._replace(repeated=True)
    assert (views(author.store), author.store.root()) == before
    assert said(author) == ["once"]
    assert Reader(author.store.database.connection).total("hits") == 1
    assert verify_store(author.store).clean


def test_another_process_knows_it_too(author: Author, tmp_path: Path) -> None:
    """What was committed is there for whoever opens the home."""
    first = author.append([note("once")], REQUEST)
    with open_author(tmp_path / "home", CLAN, OWN) as other:
        assert other.append([note("once")], REQUEST) == first._replace(repeated=True)


def test_an_id_that_was_used_for_something_else_is_an_error_for_that_batch_alone(author: Author) -> None:
    """It says so and names what to do; others in the same transaction are written."""
    written = author.append([note("once")], REQUEST)
    other = REQUEST._replace(content=b"something else")
    with pytest.raises(UsageError, match="'request-1' was used before, for something else") as refused:
        author.earlier(other)
    assert "another id" in refused.value.next_step
    assert Reader(author.store.database.connection).short_id(written.tags[0]) in refused.value.next_step
    bad, good = author.append_each([[note("never")], [note("beside it")]], [other, Request("request-2", b"")])
    assert isinstance(bad, UsageError)
    assert isinstance(good, Receipt)
    assert said(author) == ["once", "beside it"]


def test_batches_of_one_request_in_one_transaction_are_one(author: Author) -> None:
    """The first is written; one that says something else under its id is refused; what has no id is none of this."""
    other = REQUEST._replace(content=b"something else")
    results = author.append_each([[note(str(n))] for n in range(5)], [REQUEST, None, REQUEST, other, None])
    first, _, again, refused, _ = results
    assert isinstance(first, Receipt)
    assert again == first._replace(repeated=True)
    assert isinstance(refused, UsageError)
    assert said(author) == ["0", "1", "4"]


def test_what_could_not_be_written_can_be_asked_for_again(author: Author) -> None:
    """No receipt is kept of a batch that was refused, and who shares its request is refused too."""
    bad, shared = author.append_each([[NewRecord("No Log!", {})], [note("shares")]], [REQUEST, REQUEST])
    assert isinstance(bad, UsageError)
    assert isinstance(shared, UsageError)
    assert kept(author) == 0
    assert not author.append([note("mended")], REQUEST).repeated
    assert said(author) == ["mended"]


def test_a_transaction_that_fails_leaves_no_receipt(author: Author, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write and receipt are there both or neither."""

    def fail(*_: object) -> None:
        raise OSError("pulled the plug")

    with monkeypatch.context() as broken:
        broken.setattr(author._receipts, "_drop", fail)
        with pytest.raises(OSError, match="plug"):
            author.append([note("never")], REQUEST)
    assert author.earlier(REQUEST) is None
    assert said(author) == []


def test_a_receipt_is_kept_for_thirty_days(author: Author) -> None:
    """Until then a repetition is one; afterwards it is a new request, and the next write drops what is past its time."""
    first = author.append([note("once")], REQUEST)
    almost = later(author, 30 * DAY_MS - 1)
    assert almost.append([note("again")], REQUEST) == first._replace(repeated=True)
    after = later(author, 30 * DAY_MS)
    assert after.earlier(REQUEST) is None
    after.append([note("another")], Request("request-2", b""))
    assert kept(after) == 1
    assert not after.append([note("a month later")], REQUEST).repeated
    assert said(author) == ["once", "another", "a month later"]


def test_a_request_may_be_one_for_a_shorter_time(author: Author) -> None:
    """Also if the clock is set back meanwhile, by more than that time."""
    brief = REQUEST._replace(seconds=60)
    author.append([note("once")], brief)
    assert later(author, 59_999).append([note("again")], brief).repeated
    assert later(author, -59_999).append([note("again")], brief).repeated
    assert later(author, 60_000).earlier(brief) is None
    assert later(author, -60_001).earlier(brief) is None
    assert said(author) == ["once"]


def test_old_receipts_are_dropped_a_thousand_at_a_time(author: Author) -> None:
    """However many there are, a write does not take long."""
    author.append_each([[note(str(n))] for n in range(1500)], [Request(f"request-{n}", b"") for n in range(1500)])
    after = later(author, 1000 * KEPT_SECONDS)
    after.append([note("next")], Request("the-next-1", b""))
    assert kept(after) == 501
    after.append([note("and the next")], Request("the-next-2", b""))
    assert kept(after) == 2
    plan = str(
        author.store.database.run(
            "EXPLAIN QUERY PLAN SELECT id FROM requests WHERE until_ms<=1 ORDER BY until_ms LIMIT 9"
        ).fetchall()
    )
    assert "requests_by_end" in plan


def test_receipts_hold_no_words(author: Author) -> None:
    """Neither the id that somebody chose nor what was asked can be read in the table."""
    author.append([note("the sentence")], Request("chosen-by-hand", b"the content"))
    stored = repr(author.store.database.run("SELECT * FROM requests").fetchall())
    for words in ("sentence", "chosen", "content"):
        assert words not in stored


def test_receipts_are_of_this_node_alone(author: Author, tmp_path: Path) -> None:
    """The root is the same with and without them: nobody else is told."""
    author.append([note("once")], REQUEST)
    root = author.store.root()
    author.store.database.run("DELETE FROM requests")
    assert author.store.root() == root


# Homes


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return create_home(os.fspath(tmp_path / "node"), "node")


@pytest.mark.parametrize("private", [False, True])
def test_a_repair_keeps_the_receipts(home: Home, *, private: bool) -> None:
    """What was written before the damage is not written again after it, shared or private."""
    author = home.author(private=private)
    first = author.append([note("once")], REQUEST)
    author.store.close()
    repair(home, private=private)
    author = home.author(private=private)
    assert author.append([note("once")], REQUEST) == first._replace(repeated=True)
    assert said(author) == ["once"]
    author.store.close()


def test_a_receipt_that_a_damage_has_altered_is_none(author: Author) -> None:
    """It keeps nobody from writing."""
    author.append([note("once")], REQUEST)
    author.store.database.run("UPDATE requests SET receipt=x'93'")
    assert author.earlier(REQUEST) is None
    assert not author.append([note("twice")], REQUEST).repeated


def test_private_and_shared_records_have_receipts_of_their_own(home: Home) -> None:
    """Each database knows what was written to it."""
    for private in (False, True):
        author = home.author(private=private)
        assert not author.append([note("once")], REQUEST).repeated
        assert author.append([note("once")], REQUEST).repeated
        author.store.close()
