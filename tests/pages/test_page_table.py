"""The shelf: what has come to count on a text, what was worked out from it, and writing where nobody wrote in between."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.core.draft import Assignment, Draft, NewRecord, PageEdit, Removal, Republished
from mesh.core.errors import PageMoved, UsageError
from mesh.core.ids import digest
from mesh.core.operation import PAGE, Add, Page, Set
from mesh.core.strict_msgpack import pack
from mesh.pages.edit_table import take_earlier
from mesh.pages.page_table import PageField, PageTable, StoredText, TextState, Trouble
from mesh.store.author import Author
from mesh.store.receipts import Receipt
from mesh.store.verification import verify_store
from tests.worlds import Chain, Clan, open_author

CLAN = Clan()
OWN, OTHER = CLAN.node(0), CLAN.node(1)
BODY, BESIDE = digest(b"a body"), digest(b"another")
UPDATE = b"what an update says is of no concern here"


@pytest.fixture
def author(tmp_path: Path) -> Iterator[Author]:
    with open_author(tmp_path / "home", CLAN, OWN) as author:
        author.merge_statements([CLAN.admin(OWN).encode(), CLAN.member(OTHER).encode()])
        yield author


@pytest.fixture
def shelf(author: Author) -> PageTable:
    return PageTable(author.store.database)


def edit(author: Author, body: bytes = BODY, update: bytes = UPDATE, after: int | None = None) -> PageEdit:
    feed, seq = author.place()
    return PageEdit(body, feed.epoch, seq if after is None else after, (), update)


KEPT = StoredText(b"ledger", b"state")


def worked(number: int, made: int = 1, text: str = "text") -> TextState:
    return TextState(made, number, text)


# Where the next operation would stand


def test_a_place_is_where_the_next_operation_will_stand(author: Author) -> None:
    feed, seq = author.place()
    assert seq == 0
    assert author.place() == (feed, 0)  # what was promised stays promised
    receipt = author.append([NewRecord("notes", {}), edit(author)])
    assert (receipt.feed, receipt.first) == (feed, 1)
    assert author.place() == (feed, 2)


def test_an_edit_is_refused_if_we_wrote_to_the_page_in_between(author: Author, shelf: PageTable) -> None:
    built = edit(author)
    author.append([edit(author, update=b"faster")])
    with pytest.raises(PageMoved):
        author.append([built])
    assert [row.page.update for row in shelf.rows(BODY)] == [b"faster"]
    author.append([edit(author, update=b"built again")])
    assert [row.page.update for row in shelf.rows(BODY)] == [b"faster", b"built again"]


def test_other_writes_in_between_do_not_matter(author: Author, shelf: PageTable) -> None:
    built = edit(author)
    author.append([NewRecord("notes", {"text": "something else"})])
    author.append([edit(author, BESIDE)])
    chain = Chain(CLAN, OTHER)
    chain.add(Page(BODY, 7, [], b"of somebody else"))
    author.merge_ranges([chain.encoded()])
    author.append([built])
    assert {row.page.update for row in shelf.rows(BODY)} == {UPDATE, b"of somebody else"}


def test_an_edit_is_refused_in_another_epoch(author: Author) -> None:
    author.append([NewRecord("notes", {})])
    built = edit(author)
    author.store.database.run("DELETE FROM meta WHERE key='epoch'")
    with pytest.raises(PageMoved):
        author.append([built])
    again = edit(author)
    assert again.epoch != built.epoch
    assert author.append([again]).feed.epoch == again.epoch


def test_of_two_processes_that_were_promised_a_new_feed_one_opens_it(tmp_path: Path, author: Author) -> None:
    with open_author(tmp_path / "home", CLAN, OWN) as another:
        mine, other = edit(author), edit(another)
        assert mine.epoch != other.epoch
        author.append([mine])
        with pytest.raises(PageMoved):
            another.append([other])
        assert another.append([edit(another)]).feed == author.place()[0]


def test_all_edits_of_one_batch_belong_together(author: Author, shelf: PageTable) -> None:
    feed, seq = author.place()
    drafts: list[Draft] = [PageEdit(BODY, feed.epoch, seq, (), b"part %d" % number) for number in range(3)]
    assert len(author.append([NewRecord("pages", {"name": "p"}), *drafts]).tags) == 4
    assert [row.page.update for row in shelf.rows(BODY)] == [b"part 0", b"part 1", b"part 2"]


def test_of_two_batches_in_one_transaction_the_second_on_a_page_is_refused(author: Author, shelf: PageTable) -> None:
    """Each was built without the other; what is on other pages goes through."""
    first, second, beside = edit(author), edit(author, update=b"second"), edit(author, BESIDE)
    results = author.append_each([[first], [NewRecord("notes", {}), second], [beside]])
    assert isinstance(results[0], Receipt)
    assert isinstance(results[1], PageMoved)
    assert isinstance(results[2], Receipt)
    assert [row.page.update for row in shelf.rows(BODY)] == [UPDATE]
    assert len(shelf.rows(BESIDE)) == 1
    assert author.place()[1] == 2  # nothing of the refused batch was written


def test_what_is_too_large_is_refused_with_the_whole_batch(author: Author, shelf: PageTable) -> None:
    with pytest.raises(UsageError, match="one operation holds at most"):
        author.append([edit(author), edit(author, update=bytes(70_000))])
    assert shelf.rows(BODY) == []


# News


def test_what_comes_to_count_is_news_until_it_is_in_the_state(author: Author, shelf: PageTable) -> None:
    author.append([edit(author, update=b"one"), edit(author, BESIDE)])
    author.append([edit(author, update=b"two")])
    news = shelf.news(BODY)
    assert [item.row.page.update for item in news] == [b"one", b"two"]
    assert [item.row.node for item in news] == [OWN.public] * 2
    assert shelf.text(BODY) is None
    last = shelf.last_number(BODY)
    assert shelf.news(BODY, news[0].number) == news[1:]
    assert shelf.keep(BODY, None, worked(last), [])
    assert shelf.text(BODY) == "text"
    assert shelf.news(BODY) == news  # only the text was kept
    assert shelf.kept(BODY) is None
    assert shelf.keep(BODY, worked(last), worked(last, made=2), [], KEPT)
    assert shelf.kept(BODY) == KEPT
    assert shelf.news(BODY) == []
    assert shelf.behind(BODY) == (0, 0)
    assert shelf.text(BODY) == "text"
    author.append([edit(author, update=b"three")])
    assert shelf.text(BODY) is None
    assert [item.row.page.update for item in shelf.news(BODY)] == [b"three"]
    assert shelf.last_number(BODY) > last
    assert shelf.behind(BODY)[0] == 1
    assert len(shelf.news(BESIDE)) == 1
    assert [row.page.update for row in shelf.rows(BODY)] == [b"one", b"two", b"three"]


def test_who_was_slower_keeps_nothing(author: Author, shelf: PageTable) -> None:
    author.append([edit(author)])
    last = shelf.last_number(BODY)
    assert shelf.keep(BODY, None, worked(last, text="first"), [])
    assert not shelf.keep(BODY, None, worked(last, text="second"), [])
    assert not shelf.keep(BODY, worked(last, made=9), worked(last, made=9, text="second"), [])
    assert not shelf.keep(BODY, worked(last - 1), worked(last, text="second"), [])
    shelf.reset(BODY)
    assert not shelf.keep(BODY, worked(last), worked(last, text="second"), [])
    assert not shelf.keep(BODY, None, worked(last - 1, text="second"), [])  # there is more by now
    assert shelf.text(BODY) is None


@pytest.mark.parametrize(("count", "erased"), [(1, 0), (3, 0), (3, 1), (3, 2)])
def test_a_text_that_was_worked_out_while_a_part_of_it_was_erased_is_not_kept(
    author: Author, shelf: PageTable, count: int, erased: int
) -> None:
    """Also the first text of a page, before which there was none to compare with."""
    tags = [author.append([edit(author, update=b"%d" % number)]).tags[0] for number in range(count)]
    last = shelf.last_number(BODY)
    author.merge_statements([CLAN.erase(OWN, tags[erased]).encode()])
    assert not shelf.keep(BODY, None, worked(last, text="with what was erased"), [])
    assert shelf.text(BODY) is None
    left = [b"%d" % number for number in range(count) if number != erased]
    assert [item.row.page.update for item in shelf.news(BODY)] == left
    assert shelf.keep(BODY, None, worked(shelf.last_number(BODY)), [])


def test_resetting_makes_everything_that_counts_news(author: Author, shelf: PageTable) -> None:
    author.append([edit(author, update=b"one")])
    author.append([edit(author, update=b"two")])
    news = shelf.news(BODY)
    shelf.keep(BODY, None, worked(news[-1].number), [Trouble("held", b"", news[0].row.op, "")], KEPT)
    assert shelf.news(BODY) == news[:1]  # what is held is in no state
    assert [trouble.sort for trouble in shelf.troubles()[BODY]] == ["held"]
    for _ in range(2):
        shelf.reset(BODY)
        assert [item.row for item in shelf.news(BODY)] == [item.row for item in news]
        assert shelf.worked(BODY) is None
        assert shelf.kept(BODY) is None
        assert shelf.troubles() == {}
    assert shelf.news(BODY)[0].number > news[-1].number  # so that nobody takes old for new


@pytest.mark.parametrize("is_kept", [False, True])
def test_what_counts_no_more_is_no_news(author: Author, shelf: PageTable, *, is_kept: bool) -> None:
    """Erased, and clipped by a revocation: what was worked out with it is gone."""
    chain = Chain(CLAN, OTHER)
    chain.add(Page(BODY, 7, [], b"of somebody who is revoked"))
    author.merge_ranges([chain.encoded()])
    tags = author.append([edit(author, update=b"erased"), edit(author, update=b"stays")]).tags
    number = shelf.last_number(BODY)
    troubles = [Trouble("quarantined", b"", item.row.op, "kills") for item in shelf.news(BODY)]
    if is_kept:
        shelf.keep(BODY, None, worked(number), troubles, KEPT)
    author.merge_statements([CLAN.erase(OWN, tags[0]).encode()])
    assert shelf.text(BODY) is None
    assert [item.row.page.update for item in shelf.news(BODY)] == [b"of somebody who is revoked", b"stays"]
    author.merge_statements([CLAN.revoke(OTHER).encode()])
    assert [item.row.page.update for item in shelf.news(BODY)] == [b"stays"]
    assert [row.page.update for row in shelf.rows(BODY)] == [b"stays"]
    assert len(shelf.troubles().get(BODY, [])) == int(is_kept)  # what kills and is still there stays out
    assert shelf.forgive() == int(is_kept)
    assert shelf.troubles() == {}
    assert [item.row.page.update for item in shelf.news(BODY)] == [b"stays"]


def test_an_extent_changes_with_every_operation_that_comes_or_goes(author: Author, shelf: PageTable) -> None:
    seen = [shelf.extent(BODY)]
    (tag,) = author.append([edit(author)]).tags
    seen.append(shelf.extent(BODY))
    author.merge_statements([CLAN.erase(OWN, tag).encode()])
    seen.append(shelf.extent(BODY))
    author.append([edit(author)])
    seen.append(shelf.extent(BODY))
    assert seen[0] == seen[2] == (0, 0)
    assert len(set(seen)) == 3


def test_the_version_is_another_after_each_commit_of_anybody(tmp_path: Path, author: Author, shelf: PageTable) -> None:
    before = shelf.version()
    assert shelf.version() == before
    author.append([edit(author)])
    mine = shelf.version()
    assert mine != before
    with open_author(tmp_path / "home", CLAN, OWN) as another:
        another.append([edit(another)])
    assert shelf.version() != mine


# Pages and their registers


def test_pages_are_those_of_their_log_that_were_not_removed(author: Author, shelf: PageTable) -> None:
    tag, *_ = author.append([NewRecord("pages", {"name": "p"}), NewRecord("notes", {"name": "q"})]).tags
    (gone,) = author.append([NewRecord("pages", {"name": "gone"})]).tags
    author.append([Removal((gone,), "no more")])
    (element,) = shelf.elements()
    assert (element.tag, element.node, element.record) == (tag, OWN.public, {"name": "p"})
    assert [item.tag for item in shelf.removed()] == [gone]
    assert [item.record["name"] for item in shelf.elements(gone)] == ["gone"]
    assert shelf.elements(digest(b"nothing")) == []
    author.merge_statements([CLAN.erase(OWN, gone).encode()])
    assert shelf.elements(gone) == []
    assert shelf.removed() == []


def test_registers_and_who_set_them(author: Author, shelf: PageTable) -> None:
    (page,) = author.append([NewRecord("pages", {"name": "p"})]).tags
    author.append([Assignment(page, "name", "first"), Assignment(page, "front.a", None)])
    chain = Chain(CLAN, OTHER)
    late = chain.next_hlc() + 99
    chain.add(Set(late, page, "name", "last"), late)
    chain.add(Set(1, page, "other", {"odd": [1]}))
    chain.add(Set(1, "not a page", "name", "x"))
    chain.add(Add(1, "pages", {"name": 7}))
    author.merge_ranges([chain.encoded()])
    fields = shelf.fields(page)
    assert {name: field.value for name, field in fields.items()} == {
        "name": "last",
        "front.a": None,
        "other": {"odd": [1]},
    }
    assert shelf.assigned("name") == {page: PageField("last", late)}
    assert [(node, field.value) for _, node, field in shelf.sets(page, "name")] == [
        (OWN.public, "first"),
        (OTHER.public, "last"),
    ]
    authored = {name: (node, field.value) for _, node, name, field in shelf.authored(page)}
    assert authored["name"] == (OTHER.public, "last")
    assert authored["front.a"] == (OWN.public, None)
    assert {element.record["name"] for element in shelf.elements()} == {"p", 7}


# Links, and what was carried over


def test_links_are_looked_for_once_a_text(author: Author, shelf: PageTable) -> None:
    looked = []

    def find() -> list[tuple[str, int]]:
        looked.append(1)
        return [("b", 2), ("a", 1)]

    for text in (b"one", b"one", b"two"):
        assert shelf.link(BODY, digest(text), find, shelf.version_of_others())
    assert len(looked) == 2
    assert list(shelf.links()) == [(BODY, "a", 1), (BODY, "b", 2)]
    shelf.unlink(BODY)
    assert list(shelf.links()) == []
    assert shelf.link(BODY, digest(b"two"), find, shelf.version_of_others())
    assert len(list(shelf.links())) == 2
    author.append([edit(author)])
    shelf.reset(BODY)  # some text was taken back: it may have been a link
    assert list(shelf.links()) == []


def test_what_was_carried_is_remembered(shelf: PageTable) -> None:
    shelf.carry([3, 1])
    shelf.carry([1])
    assert shelf.carried() == {1, 3}


def test_what_an_earlier_version_could_not_read_is_taken_when_a_home_is_upgraded(
    author: Author, shelf: PageTable
) -> None:
    """It had four fields where two were known: kept and passed on, ignored, and under no key."""
    author.append([edit(author, update=b"one"), edit(author, BESIDE, b"two")])
    database = author.store.database
    author.append([Republished(PAGE, encode_salted([BODY, b"an update of that time"]), 0)])
    for (op,) in database.run("SELECT op FROM ops WHERE kind=?", (PAGE,)).fetchall()[:2]:
        database.run("INSERT INTO ignored VALUES(?,'a page has two fields')", (op,))
    database.run("DELETE FROM ignored WHERE reason='a page has four fields'")
    database.run("UPDATE ops SET key=7 WHERE kind=?", (PAGE,))
    database.run("DELETE FROM page_news")
    take_earlier(database.connection)
    assert [item.row.page.update for item in shelf.news(BODY)] == [b"one"]
    assert [item.row.page.update for item in shelf.news(BESIDE)] == [b"two"]
    assert database.run("SELECT reason FROM ignored").fetchall() == [("a page has four fields",)]
    assert verify_store(author.store).clean


def encode_salted(fields: list[object]) -> bytes:
    return bytes(16) + pack(fields)
