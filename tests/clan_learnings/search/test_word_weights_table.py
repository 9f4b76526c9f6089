"""Keyword search: which records are found, in which scope, in which order; the same before and after the index is brought up to date."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clan_learnings.search.keywords import word_weights_table
from clan_learnings.search.keywords.search_table import WordSearch
from clan_learnings.search.keywords.word_table import BATCH, WordTableView
from mesh.core.draft import Assignment, NewRecord, Removal
from mesh.core.operation import Add
from mesh.store.author import Author
from mesh.store.database import open_reader
from mesh.store.reader import Reader
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
        WordTableView(author.store.database.connection).flush()


def reading(author: Author) -> Reader:
    return Reader(author.store.database.connection)


def found(author: Author, question: str, count: int = 100, **scope: Any) -> list[str]:
    hits = reading(author).part(WordSearch).weighed(dict.fromkeys(question.split(), 1.0), count, **scope)
    return [entry.record["text"] for entry, _ in hits]


def some_texts(rng: random.Random, count: int) -> list[str]:
    return [" ".join(rng.choices(VOCABULARY, k=rng.randint(1, 12))) + f" n{number}" for number in range(count)]


@pytest.mark.parametrize("flushed", [False, True])
def test_words_are_found_in_any_form_and_the_rarer_word_counts_more(author: Author, *, flushed: bool) -> None:
    """Also in records that the index has not taken in yet."""
    write(author, "the proxy was slow", "the proxies of the lockfile", "handshakes of the proxy fail", "nothing here")
    if flushed:
        flush(author)
    assert found(author, "proxy handshake")[0] == "handshakes of the proxy fail"
    assert len(found(author, "proxy handshake")) == 3
    assert found(author, "unheard") == found(author, "proxy", 0) == found(author, "-- :") == []


def test_a_word_may_count_less(author: Author) -> None:
    """What the asker gives it, times its rarity; a word that counts nothing finds nothing."""
    write(author, "a proxy", "a lock")
    weigh = reading(author).part(WordSearch).weighed
    first, second = weigh({"proxy": 0.5, "lock": 1.0}, 5)
    assert first[0].record["text"] == "a lock"
    assert first[1] == pytest.approx(2 * second[1], abs=1e-5)
    assert [entry.record["text"] for entry, _ in weigh({"proxy": 0.0, "lock": 1.0}, 5)] == ["a lock"]


def test_answers_and_weights_do_not_depend_on_how_far_the_index_is(author: Author) -> None:
    """None, some or all of the records in it: equal state gives equal answers."""
    rng = random.Random(3)
    write(author, *some_texts(rng, 300))
    reader = reading(author)
    questions = ("proxy", "proxy lockfile built", "cache proxy n7", "build lock caching n3")

    def answers() -> list[list[tuple[bytes, float]]]:
        return [
            [
                (entry.tag, weight)
                for entry, weight in reader.part(WordSearch).weighed(dict.fromkeys(ask.split(), 1.0), 50)
            ]
            for ask in questions
        ]

    noted = answers()
    assert all(noted)
    with author.store.database.writing(durable=False):
        author.store.database.run("CREATE TEMP TABLE half AS SELECT * FROM unindexed WHERE op%2")
        author.store.database.run("DELETE FROM unindexed WHERE op IN (SELECT op FROM half)")
        WordTableView(author.store.database.connection).flush()
        author.store.database.run("INSERT INTO unindexed SELECT * FROM half")
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
            answers |= {
                tuple(
                    (count, *(e.tag for e, _ in reader.part(WordSearch).weighed({"words": 1.0}, count)))
                    for count in range(1, 10)
                )
            }
    assert len(answers) == 1


def test_only_what_is_in_scope_is_found(author: Author, monkeypatch: pytest.MonkeyPatch) -> None:
    """By repo and by log, before the best are chosen: other repos' records cannot crowd out ours, in narrow scopes and in wide ones."""
    write(author, *["proxy proxy proxy"] * 50, repo=WEB)
    write(author, "a long text about many things and also about a proxy", repo=API)
    write(author, "proxy everywhere", repo="")
    write(author, "proxy in another log", log="others", repo=API)
    write(author, "proxy without a repo")
    for narrow in (word_weights_table.NARROW, 0):
        monkeypatch.setattr(word_weights_table, "NARROW", narrow)
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


def test_records_are_found_by_author_and_time(tmp_path: Path) -> None:
    """Also these are looked at before the best are chosen. `also` reaches beyond the repositories asked for."""
    with open_store(tmp_path, CLAN) as store:
        chains = [Chain(CLAN, CLAN.node(index)) for index in range(2)]
        store.merge_statements([CLAN.member(chain.author).encode() for chain in chains])
        for chain in chains:
            tags = [chain.add(Add(ms << 16, "notes", {"text": "proxy", "repo": WEB})) for ms in (1000, 2000, 3000)]
            store.merge(chain.encoded())
        reader = Reader(store.database.connection)

        def stamps(**scope: Any) -> list[int]:
            return [entry.at >> 16 for entry, _ in reader.part(WordSearch).weighed({"proxy": 1.0}, 9, **scope)]

        assert stamps(author=CLAN.node(0).public) == [3000, 2000, 1000]
        assert stamps(author=CLAN.node(5).public) == []
        assert stamps(since_ms=2000) == [3000, 3000, 2000, 2000]
        assert stamps(until_ms=2000) == [1000, 1000]
        assert stamps(since_ms=-5, until_ms=10**30) == [3000, 3000, 2000, 2000, 1000, 1000]
        assert stamps(repos=[API]) == []
        assert stamps(repos=[API], also=[tags[0]]) == [1000]
        assert stamps(newest=1, author=CLAN.node(1).public) == [3000]


def test_removed_and_erased_records_are_not_found(author: Author) -> None:
    """Neither from the index nor from the note; they do not count in the weights either."""
    first = write(author, "proxy one", "proxy two", "proxy three")
    flush(author)
    second = write(author, "proxy four", "proxy five", "proxy six")
    reader = reading(author)
    assert reader.part(WordSearch).documents("proxies") == reader.part(WordSearch).records() == 6
    author.append([Removal((first[0], second[0]), "wrong")])
    author.merge_statements([CLAN.erase(OWN, first[1], second[1]).encode()])
    assert sorted(found(author, "proxy")) == ["proxy six", "proxy three"]
    assert reader.part(WordSearch).documents("proxies") == reader.part(WordSearch).records() == 2
    assert set(reader.live([*first, *second])) == {first[2], second[2]}


def test_documents_counts_records_with_a_word_in_any_form(author: Author) -> None:
    """Of several words the rarest counts; a text without a word is in none."""
    write(author, *["locking the cache"] * (BATCH - 1), "locked")
    write(author, "locks and handshakes")
    reader = Reader(open_reader(author.store.database.path))
    terms = ("lock", "caches", "handshake", "lock handshake", "unheard", "--", "")
    assert [reader.part(WordSearch).documents(term) for term in terms] == [BATCH + 1, BATCH - 1, 1, 1, 0, 0, 0]
    assert reader.part(WordSearch).counts(terms[:3], 10) == {"lock": 10, "caches": 10, "handshake": 1}


def test_words_of_the_index_are_listed_by_their_beginning(author: Author) -> None:
    """In the form the index keeps, from the index and the note; `written` gives a word that has this form."""
    write(author, "a database and databases", "the data")
    flush(author)
    write(author, "dated")
    reader = reading(author)
    assert reader.part(WordSearch).terms("dat", 9) == ["data", "databas", "date"]
    assert reader.part(WordSearch).terms("dat", 2) == ["data", "databas"]
    assert reader.part(WordSearch).terms("unheard", 9) == []
    assert reader.part(WordSearch).stems("Databases, getUserById") == [
        "databas",
        "getuserbyid",
        "get",
        "user",
        "by",
        "id",
    ]
    assert found(author, reader.part(WordSearch).written("databas")) == ["a database and databases"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("answers HTTP_405 on push", "http405"),
        ("see src/auth/token.ts", "tokents"),
        ("call getUserById", "user"),
        ("call get_user_by_id", "getUserById"),
        ("never --no-verify", "noverify"),
        ("refused with ECONNREFUSED", "econnrefused"),
        ("容器启动失败", "启动"),
    ],
)
def test_identifiers_are_found_whole_and_in_parts(author: Author, text: str, question: str) -> None:
    """The record has the extra words; who asks adds those of the question."""
    write(author, text, "something else")
    assert found(author, question) == [text]


@pytest.mark.parametrize("flushed", [False, True])
def test_an_edited_record_is_found_by_its_new_words_and_not_by_its_old(author: Author, *, flushed: bool) -> None:
    """At once, however often; and by the former again if the edit is erased."""
    (tag,) = write(author, "the proxy is slow")
    reader = reading(author)
    edits: list[bytes] = []
    for words in ("the cache is slow", "the lock is slow"):
        if flushed:
            flush(author)
        assert reader.part(WordSearch).weighed({"slow": 1.0}, 5)
        edits += author.append([Assignment(tag, "text", words)]).tags
        assert [len(reader.part(WordSearch).weighed({word: 1.0}, 5)) for word in ("proxy", "cache", "lock")] == [
            0,
            words == "the cache is slow",
            words == "the lock is slow",
        ]
    author.append([Assignment(tag, "topic", "networking")])
    assert len(reader.part(WordSearch).weighed({"networking": 1.0}, 5)) == 1
    assert reader.edits([tag, bytes(32)]) == {tag: {"text": "the lock is slow", "topic": "networking"}}
    author.merge_statements([CLAN.erase(OWN, *edits).encode()])
    assert found(author, "proxy") == ["the proxy is slow"]
    assert found(author, "lock") == []


def test_any_text_may_be_asked_for(author: Author) -> None:
    """Quotes, operators, signs, NUL, emoji: found or not, but no error."""
    write(author, "before say hi now a and or not text x y z nul here after", "😀 容器启动失败")
    flush(author)
    write(author, "naïve: “signs”")
    reader = reading(author)

    @given(st.dictionaries(st.text(max_size=30), st.floats(0, 2), max_size=5))
    @settings(max_examples=100, deadline=None)
    def ask(words: dict[str, float]) -> None:
        assert all(weight >= 0 for _, weight in reader.part(WordSearch).weighed(words, 3))
        for word in words:
            reader.part(WordSearch).stems(word)
            reader.part(WordSearch).terms(word, 3)
            assert 0 <= reader.part(WordSearch).documents(word) <= 3

    ask()


@pytest.mark.parametrize(
    "word", ['say "hi" (now)', "a AND OR NOT", "text: x", "x*y^z", "nul\0here", "\udce4\udcff", '"']
)
def test_signs_and_operators_are_no_more_than_blanks(author: Author, word: str) -> None:
    """Each word of such a key is looked for; one of signs alone is found nowhere."""
    write(author, "before say hi now a and or not text x y z nul here after", "something else")
    assert len(reading(author).part(WordSearch).weighed({word: 1.0}, 5)) == (0 if word in ('"', "\udce4\udcff") else 1)
    assert len(reading(author).part(WordSearch).weighed({f"{word} {'y' * 10_000} after": 1.0}, 5)) == 1


def test_a_long_question_is_asked_by_its_rarest_words(author: Author) -> None:
    """However long it is, only so many words are looked for."""
    write(author, *(f"common word{number}" for number in range(100)), "common and rare")
    question = {f"word{number}": 1.0 for number in range(100)} | {"common": 1.0, "rare": 1.0}
    assert len(reading(author).part(WordSearch).weighed(question, 200)) >= word_weights_table.WORDS - 1
    assert (
        len(reading(author).part(WordSearch).weighed({f"x{number}": 1.0 for number in range(5000)} | {"rare": 1.0}, 5))
        == 1
    )


def test_of_very_many_records_those_with_the_rarest_words_are_read(
    author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word that every record has costs no more than so many steps, and still weighs."""
    monkeypatch.setattr(word_weights_table, "LISTED", 20)
    monkeypatch.setattr(word_weights_table, "MEASURED", 10)
    monkeypatch.setattr(word_weights_table, "READ", 5)
    write(author, *(f"proxy {number}" for number in range(50)), "handshake twice", "handshake proxy")
    flush(author)
    assert found(author, "proxy handshake", 2) == ["handshake proxy", "handshake twice"]
    assert len(found(author, "proxy", 2)) == 2
    assert len(found(author, "proxy handshake", 30)) == 30, "if too few are found by rare words, by the others too"


def test_of_very_many_that_weigh_the_same_the_newest_are_found(author: Author) -> None:
    """Those that are only noted for the index are the newest of all."""
    write(author, *["proxy of a kind"] * 2 * word_weights_table.MEASURED)
    flush(author)
    tags = write(author, *["proxy of a kind"] * 3)
    found_tags = [entry.tag for entry, _ in reading(author).part(WordSearch).weighed({"proxy": 1.0, "kind": 1.0}, 3)]
    assert found_tags == list(reversed(tags))


def test_a_long_record_that_repeats_a_word_is_not_overlooked(author: Author) -> None:
    """Before it is read only its length is known, which counts against it."""
    long = "handshake " * 12 + "filling " * 24
    write(
        author,
        long,
        *["a handshake and other words"] * (word_weights_table.READ + 100),
        *["nothing of the kind"] * 1000,
    )
    flush(author)
    assert found(author, "handshake", 1) == [long]


def test_a_reader_sees_what_another_process_wrote_meanwhile(author: Author) -> None:
    """What it holds in memory of the note is not of yesterday."""
    reader = Reader(open_reader(author.store.database.path))
    assert reader.part(WordSearch).weighed({"proxy": 1.0}, 5) == []
    tags: list[bytes] = []
    for number in range(1, 4):
        tags += write(author, f"proxy {number}")
        assert (
            len(reader.part(WordSearch).weighed({"proxy": 1.0}, 5))
            == reader.part(WordSearch).documents("proxy")
            == number
        )
    author.append([Assignment(tags[0], "text", "lock")])
    assert len(reader.part(WordSearch).weighed({"proxy": 1.0}, 5)) == reader.part(WordSearch).documents("proxy") == 2
    flush(author)
    write(author, "proxy 4")
    assert len(reader.part(WordSearch).weighed({"proxy": 1.0}, 5)) == reader.part(WordSearch).documents("proxy") == 3


def test_what_was_taken_back_is_not_found(author: Author) -> None:
    """A transaction that failed leaves nothing in the memory of a reader on its connection."""
    write(author, "lock")
    reader = reading(author)
    author.store.database.run("BEGIN")
    author.store.database.run("DELETE FROM unindexed")
    assert reader.part(WordSearch).documents("lock") == 0
    author.store.database.run("ROLLBACK")
    assert reader.part(WordSearch).documents("lock") == 1
