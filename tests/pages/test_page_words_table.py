"""Pages by their words: as their texts were last worked out, and nothing of a text that is gone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.core.ids import digest
from mesh.pages.page_table import PageTable, TextState
from mesh.pages.page_words_table import best_pages
from mesh.store.author import Author
from tests.store.test_erase import remains
from tests.worlds import Clan, open_author

CLAN = Clan()
OWN = CLAN.node(0)
FIRST, SECOND = digest(b"first"), digest(b"second")


@pytest.fixture
def author(tmp_path: Path) -> Iterator[Author]:
    with open_author(tmp_path / "home", CLAN, OWN) as author:
        author.merge_statements([CLAN.admin(OWN).encode()])
        yield author


def found(author: Author, *words: str, count: int = 9) -> list[bytes]:
    pages = best_pages(author.store.database.connection, dict.fromkeys(words, 1.0), count)
    return [body for body, _, _ in pages]


def keep(author: Author, body: bytes, text: str) -> None:
    """As if the text had been worked out."""
    shelf = PageTable(author.store.database)
    before = shelf.worked(body)
    assert shelf.keep(body, before, TextState(1, 0 if before is None else before.text_number + 1, text), [])


def test_pages_are_found_by_the_words_of_their_texts(author: Author) -> None:
    """The rarer word counts more, the more often it stands there; the text comes with its weight."""
    assert found(author, "proxy") == []
    keep(author, FIRST, "The proxy, and the proxies behind it.\n")
    keep(author, SECOND, "A proxy and a handshake.\n")
    assert found(author, "proxy") == [FIRST, SECOND]
    assert found(author, "handshakes", "proxy") == [SECOND, FIRST]
    assert found(author, "proxy", count=1) == [FIRST]
    assert found(author, "unheard", '"', "", "a OR (") == [SECOND]
    ((body, text, weight),) = best_pages(author.store.database.connection, {"handshake": 1.0}, 9)
    assert (body, text) == (SECOND, "A proxy and a handshake.\n")
    assert weight > 0


def test_a_page_is_found_by_its_text_as_it_is_now(author: Author) -> None:
    """Not by what stood there before; a text that is dropped is found no more, and comes back."""
    keep(author, FIRST, "proxy")
    keep(author, FIRST, "cache")
    assert (found(author, "proxy"), found(author, "cache")) == ([], [FIRST])
    PageTable(author.store.database).reset(FIRST)
    assert found(author, "cache") == []
    assert author.store.database.run("SELECT count(*) FROM page_words_docsize").get == 0
    keep(author, FIRST, "lock")
    assert found(author, "lock") == [FIRST]


def test_pages_keep_their_words_when_the_file_is_written_anew(author: Author) -> None:
    """SQLite may number the rows of a table anew then; the index has numbers of its own."""
    for number in range(5):
        keep(author, digest(b"%d" % number), f"page{number}")
    PageTable(author.store.database).reset(digest(b"0"))
    author.store.database.run("VACUUM")
    assert [found(author, f"page{number}") for number in range(5)] == [
        [],
        *([digest(b"%d" % number)] for number in range(1, 5)),
    ]


def test_no_byte_of_a_text_that_is_gone_is_left_after_a_scrub(author: Author, tmp_path: Path) -> None:
    """Neither of one that was edited nor of one that was dropped."""
    keep(author, FIRST, "hunter2hunter2 was the password")
    keep(author, SECOND, "swordfish47swordfish47")
    keep(author, FIRST, "there is no password here")
    PageTable(author.store.database).reset(SECOND)
    with author.store.database.writing(durable=True):
        author.store.database.run("INSERT OR REPLACE INTO meta VALUES('scrub', random())")
    assert author.store.scrub()
    assert remains(tmp_path, "hunter2hunter2") == remains(tmp_path, "swordfish47swordfish47") == []
    assert found(author, "password") == [FIRST]
