"""Keyword search: what matches, in which scope, in which order; the same before and after the index is brought up to date."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mesh.core.draft import NewRecord, Removal
from mesh.core.errors import UsageError
from mesh.core.operation import Add
from mesh.store import matches
from mesh.store.author import Author
from mesh.store.database import open_reader
from mesh.store.reading import Reader, quoted
from mesh.store.words import BATCH, Words
from tests.worlds import Chain, Clan, open_author, open_store

CLAN = Clan()
OWN = CLAN.node(0)
VOCABULARY = [
    f"{start}{end}" for start in ("proxy", "lock", "cache", "build") for end in ("", "s", "ing", "ed", "file")
]
API, WEB = "github.com/clan/api", "github.com/clan/web"


@pytest.fixture
def author(tmp_path: Path) -> Iterator[Author]:
    with open_author(tmp_path / "home", CLAN, OWN) as author:
        author.merge_statements([CLAN.admin(OWN).encode()])
        yield author


def write(author: Author, *texts: str, log: str = "notes", **more: Any) -> tuple[bytes, ...]:
    return author.append([NewRecord(log, {"text": text, **more}) for text in texts]).tags


def flush(author: Author) -> None:
    with author.store.database.writing(durable=False):
        Words(author.store.database.connection).flush()


def found(author: Author, expression: str, count: int = 100, **scope: Any) -> list[str]:
    reader = Reader(author.store.database.connection)
    return [entry.record["text"] for entry, _ in reader.matching(expression, count, **scope)]


def some_texts(rng: random.Random, count: int) -> list[str]:
    return [" ".join(rng.choices(VOCABULARY, k=rng.randint(1, 12))) + f" n{number}" for number in range(count)]


@pytest.mark.parametrize("flushed", [False, True])
def test_words_are_found_in_any_form_and_the_rarer_word_counts_more(author: Author, *, flushed: bool) -> None:
    """Also in records that the index has not taken in yet."""
    write(author, "the proxy was slow", "the proxies of the lockfile", "handshakes of the proxy fail", "nothing here")
    if flushed:
        flush(author)
    assert found(author, "proxy OR handshake")[0] == "handshakes of the proxy fail"
    assert len(found(author, "proxy OR handshake")) == 3
    assert found(author, "proxy AND handshake") == ["handshakes of the proxy fail"]
    assert found(author, "proxy NOT handshake NOT lockfile") == ["the proxy was slow"]
    assert found(author, '"was slow"') == ["the proxy was slow"]
    assert found(author, "hand*") == ["handshakes of the proxy fail"]
    assert found(author, "unheard") == found(author, "proxy", 0) == []


def test_answers_and_weights_do_not_depend_on_how_far_the_index_is(author: Author) -> None:
    """None, some or all of the records in it: equal state gives equal answers."""
    rng = random.Random(3)
    write(author, *some_texts(rng, 300))
    reader = Reader(author.store.database.connection)
    questions = ("proxy", "proxy OR lockfile OR built", '"cache proxy" OR n7', "(build AND lock) OR caching NOT n3")

    def answers() -> list[list[tuple[bytes, float]]]:
        return [[(entry.tag, weight) for entry, weight in reader.matching(ask, 50)] for ask in questions]

    noted = answers()
    assert all(noted)
    with author.store.database.writing(durable=False):
        author.store.database.run("CREATE TEMP TABLE half AS SELECT op FROM unindexed WHERE op%2")
        author.store.database.run("DELETE FROM unindexed WHERE op IN (SELECT op FROM half)")
        Words(author.store.database.connection).flush()
        author.store.database.run("INSERT INTO unindexed SELECT op FROM half")
    half = answers()
    flush(author)
    assert noted == half == answers()


def test_answers_do_not_depend_on_the_order_of_arrival(tmp_path: Path) -> None:
    """Of equal weights the newer comes first, of equal stamps the lesser tag."""
    answers = set()
    for number, order in enumerate([(0, 1, 2), (2, 1, 0), (1, 2, 0)]):
        with open_store(tmp_path / str(number), CLAN) as store:
            chains = [Chain(CLAN, CLAN.node(index)) for index in range(3)]
            store.merge_statements([CLAN.member(chain.author).encode() for chain in chains])
            for index in order:
                for at in (5, 5, 6):
                    chains[index].add(Add(at, "notes", {"text": "the same words"}))
                store.merge(chains[index].encoded())
            reader = Reader(store.database.connection)
            answers |= {tuple((count, *(e.tag for e, _ in reader.matching("words", count))) for count in range(1, 10))}
    assert len(answers) == 1


def test_only_what_is_in_scope_is_found(author: Author) -> None:
    """By repo and by log, before the best are chosen: other repos' records cannot crowd out ours."""
    write(author, *["proxy proxy proxy"] * 50, repo=WEB)
    write(author, "a long text about many things and also about a proxy", repo=API)
    write(author, "proxy everywhere", repo="")
    write(author, "proxy in another log", log="others", repo=API)
    write(author, "proxy without a repo")
    for _ in range(2):
        assert len(found(author, "proxy", 10)) == 10
        assert found(author, "proxy", 2, repos=[API], logs=["notes"]) == [
            "a long text about many things and also about a proxy"
        ]
        assert set(found(author, "proxy", 3, repos=["", API])) == {
            "proxy everywhere",
            "proxy in another log",
            "a long text about many things and also about a proxy",
        }
        assert found(author, "proxy", 3, repos=[]) == found(author, "proxy", 3, logs=["unknown"]) == []
        flush(author)


def test_removed_and_erased_records_are_not_found(author: Author) -> None:
    """Neither from the index nor from the note; they do not count in the weights either."""
    first = write(author, "proxy one", "proxy two", "proxy three")
    flush(author)
    second = write(author, "proxy four", "proxy five", "proxy six")
    reader = Reader(author.store.database.connection)
    assert reader.documents("proxies") == 6
    author.append([Removal((first[0], second[0]), "wrong")])
    author.merge_statements([CLAN.erase(OWN, first[1], second[1]).encode()])
    assert sorted(found(author, "proxy")) == ["proxy six", "proxy three"]
    assert reader.documents("proxies") == 2


def test_documents_counts_records_with_a_word_in_any_form(author: Author) -> None:
    """Of several words the rarest counts; a text without a word is in none."""
    write(author, *["locking the cache"] * (BATCH - 1), "locked")
    write(author, "locks and handshakes")
    reader = Reader(open_reader(author.store.database.path))
    assert [
        reader.documents(term) for term in ("lock", "caches", "handshake", "lock handshake", "unheard", "--", "")
    ] == [
        BATCH + 1,
        BATCH - 1,
        1,
        1,
        0,
        0,
        0,
    ]


@pytest.mark.parametrize("broken", ["", "a OR", '"open', "(a", "a)", "nocolumn: a", "AND", "*"])
def test_a_broken_expression_is_a_mistake_of_who_asks(author: Author, broken: str) -> None:
    """With a sentence and a way out, on an empty notebook as on a full one."""
    for _ in range(2):
        with pytest.raises(UsageError, match="not a search"):
            found(author, broken)
        write(author, "a note")


@pytest.mark.parametrize("word", ['say "hi" (now)', "a AND OR NOT", "text: x", "it's", "x*y^z", "nul\0here", "--"])
def test_a_quoted_word_is_looked_for_as_it_is(author: Author, word: str) -> None:
    """Whatever signs are in it; one of signs alone is found nowhere."""
    write(author, f"before {word.replace(chr(0), ' ')} after", "something else")
    assert len(found(author, quoted(word))) == (0 if word == "--" else 1)


def test_of_very_many_matches_those_that_came_last_are_looked_at(
    author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word that every record has costs no more than so many steps."""
    monkeypatch.setattr(matches, "LOOKED_AT", 20)
    monkeypatch.setattr(matches, "WEIGHED", 10)
    write(author, *(f"proxy {number}" for number in range(50)))
    flush(author)
    assert sorted(found(author, "proxy")) == [f"proxy {number}" for number in range(40, 50)]


def test_a_reader_sees_what_another_process_wrote_meanwhile(author: Author) -> None:
    """What it holds in memory of the note is not of yesterday."""
    reader = Reader(open_reader(author.store.database.path))
    assert reader.matching("proxy", 5) == []
    for number in range(1, 4):
        write(author, f"proxy {number}")
        assert len(reader.matching("proxy", 5)) == reader.documents("proxy") == number
    flush(author)
    write(author, "proxy 4")
    assert len(reader.matching("proxy", 5)) == reader.documents("proxy") == 4
