"""What the read side answers about logs, scopes, patterns and registers, and that no question goes through all records."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.search.keywords.search_table import WordSearch
from mesh.core.draft import Assignment, Increment, NewRecord, Removal
from mesh.core.operation import Add, Set
from mesh.store.author import Author
from mesh.store.database import open_reader
from mesh.store.reader import Reader
from tests.store.probes import frequent, written_repos
from tests.worlds import NOW_MS, Chain, Clan, open_author, open_store

CLAN = Clan()
OWN = CLAN.node(0)
API, WEB = "github.com/clan/api", "github.com/clan/web"


@pytest.fixture
def author(tmp_path: Path) -> Iterator[Author]:
    with open_author(tmp_path / "home", CLAN, OWN) as author:
        author.merge_statements([CLAN.admin(OWN).encode()])
        yield author


def write(author: Author, log: str, **record: Any) -> bytes:
    (tag,) = author.append([NewRecord(log, record)]).tags
    return tag


def reading(author: Author) -> Reader:
    return Reader(author.store.database.connection)


def tied(folder: Path, order: tuple[int, ...]) -> Reader:
    """Records of five nodes, all with the same stamp, that arrived in this order."""
    with open_store(folder, CLAN) as store:
        chains = [Chain(CLAN, CLAN.node(index)) for index in range(5)]
        store.merge_statements([CLAN.member(chain.author).encode() for chain in chains])
        for index in order:
            repo = (API, WEB)[index % 2]
            chains[index].add(Add(7, "notes", {"text": f"{index}", "repo": repo, "pattern": "p"}))
            store.merge(chains[index].encoded())
    return Reader(open_reader(str(folder / "mesh.db")))


def test_newest_gives_the_newest_of_the_repos_asked_for(author: Author) -> None:
    """Newest first, other repos and logs left out, the global ones only if they are asked for."""
    tags = [write(author, "notes", text=str(number), repo=("", API, WEB)[number % 3]) for number in range(12)]
    write(author, "others", text="x", repo=API)
    write(author, "notes", text="without a repo")
    reader = reading(author)

    def found(*args: Any) -> list[int]:
        return [tags.index(entry.tag) for entry in reader.newest("notes", *args)]

    assert found(3, [API]) == [10, 7, 4]
    assert found(5, ["", API]) == [10, 9, 7, 6, 4]
    assert found(100, [API, API, "unknown"]) == [10, 7, 4, 1]
    assert found(100, []) == []
    assert found(0, [API]) == []
    assert reader.newest("unknown", 5) == []
    assert [entry.record["text"] for entry in reader.newest("notes", 2)] == ["without a repo", "11"]


@pytest.mark.parametrize("repos", [None, [API, WEB]])
def test_pages_of_newest_are_the_whole_list(author: Author, repos: list[str] | None) -> None:
    """Going on from the last of a page leaves nothing out and repeats nothing."""
    for number in range(11):
        write(author, "notes", text=str(number), repo=(API, WEB)[number % 2])
    reader = reading(author)
    seen, before = [], None
    while page := reader.newest("notes", 3, repos, before):
        seen += [entry.record["text"] for entry in page]
        before = (page[-1].at, page[-1].tag)
    assert seen == [str(number) for number in reversed(range(11))]


@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_of_equal_stamps_the_tag_decides_in_whatever_order_they_came(tmp_path: Path, count: int) -> None:
    """Within a page and at its end, over one slice of the index and over several, and in `tail`."""
    answers = set()
    for number, order in enumerate([(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 4, 0, 3, 1)]):
        reader = tied(tmp_path / str(number), order)
        whole = [entry.tag for entry in reader.newest("notes", 5)]
        assert whole == sorted(whole, reverse=True)
        for repos in (None, [API, WEB]):
            pages: list[bytes] = []
            while page := reader.newest("notes", count, repos, (7, pages[-1]) if pages else None):
                pages += [entry.tag for entry in page]
            assert pages == whole
        assert [entry.tag for entry in reader.since("notes", 7, None, count)] == whole[:count]
        assert [entry.tag for entry in reader.newest_of("p", "notes", count)] == whole[:count]
        assert [entry.tag for entry in reader.tail(count)] == whole[:count][::-1]
        answers.add(tuple(whole))
    assert len(answers) == 1


def test_since_gives_what_is_not_older(author: Author) -> None:
    """With the stamp itself, newest first, at most so many."""
    for number in range(6):
        write(author, "notes", text=str(number), repo=(API, WEB)[number % 2])
    reader = reading(author)
    third = reader.newest("notes", 6)[3].at
    assert [entry.record["text"] for entry in reader.since("notes", third)] == ["5", "4", "3", "2"]
    assert [entry.record["text"] for entry in reader.since("notes", third, [API])] == ["4", "2"]
    assert [entry.record["text"] for entry in reader.since("notes", third, None, 2)] == ["5", "4"]


def test_patterns_are_found_by_whole_name_and_counted_by_session_in_each_log(author: Author) -> None:
    """Records of another log do not make a pattern more frequent; those without a session count for themselves."""
    for session in ("s:1", "s:1", "s:2", "s:3"):
        write(author, "corrections", pattern="pin", session=session, repo=API)
    write(author, "corrections", pattern="pin", repo=WEB)
    write(author, "corrections", pattern="pin-more", session="s:1", repo="")
    write(author, "patterns", pattern="pin", session="s:9", repo=API)
    reader = reading(author)
    assert [entry.record.get("session") for entry in reader.of_pattern("pin")] == [
        "s:1",
        "s:1",
        "s:2",
        "s:3",
        None,
        "s:9",
    ]
    assert [entry.log for entry in reader.newest_of("pin", "patterns", 9)] == ["patterns"]
    assert (frequent(reader, 1), frequent(reader, 4), frequent(reader, 5)) == (["pin", "pin-more"], ["pin"], [])
    assert (frequent(reader, 1, "patterns"), frequent(reader, 2, "patterns")) == (["pin"], [])
    tallies = [(one.slug, one.sessions, one.nodes, one.repos) for one in reader.tallies(1, "corrections")]
    assert tallies == [("pin", 4, 1, [API, WEB]), ("pin-more", 1, 1, [""])]
    tally = reader.tally("pin", "patterns")
    assert tally is not None
    assert (tally.sessions, tally.repos, tally.at) == (1, [API], reader.newest("patterns", 1)[0].at)
    assert reader.tally("pin", "unknown") is reader.tally("unknown", "patterns") is None


def test_a_move_by_register_does_not_change_what_was_written(author: Author) -> None:
    """Who wants edits looks at them with `assigned`."""
    tag = write(author, "corrections", pattern="one", session="s:1", repo=API)
    author.append([Assignment(tag, "pattern", "other"), Assignment(tag, "repo", WEB)])
    reader = reading(author)
    assert (frequent(reader, 1), written_repos(reader)) == (["one"], [API])
    assert {target: said.value for target, said in reader.assigned("pattern").items()} == {tag: "other"}


def test_registers_tell_value_stamp_and_author(tmp_path: Path) -> None:
    """A record's tag and a key of the same bytes are two targets; the greatest stamp holds."""
    with open_store(tmp_path, CLAN) as store:
        one, other = Chain(CLAN, CLAN.node(1)), Chain(CLAN, CLAN.node(2))
        one.add(Set(5, "pattern:a", "alias_of", "b"))
        one.add(Set(5, b"a" * 32, "alias_of", None))
        other.add(Set(6, "pattern:a", "alias_of", {"c": [1]}))
        other.add(Set(6, "pattern:a", "rule", "another field"))
        store.merge_statements([CLAN.member(chain.author).encode() for chain in (one, other)])
        store.merge_ranges([one.encoded(), other.encoded()])
        reader = Reader(store.database.connection)
        found = {target: (said.value, said.at, said.node) for target, said in reader.assigned("alias_of").items()}
        assert found == {
            "pattern:a": ({"c": [1]}, 6, other.author.public),
            b"a" * 32: (None, 5, one.author.public),
        }
        said = reader.register("pattern:a", "rule")
        assert said is not None
        assert (said.value, said.at, said.node) == ("another field", 6, other.author.public)
        assert reader.register("pattern:a", "unknown") is None
        assert reader.assigned("unknown") == {}


def test_mesh_time_is_the_greatest_accepted_stamp_in_whole_hours(tmp_path: Path) -> None:
    """What waits for its certificate does not move it."""
    with open_store(tmp_path, CLAN) as store:
        reader = Reader(store.database.connection)
        assert reader.mesh_ms() == 0
        chain = Chain(CLAN, OWN)
        chain.add(Add(1, "notes", {"text": "x"}))
        store.merge(chain.encoded())
        assert reader.mesh_ms() == 0
        store.merge_statements([CLAN.member(OWN).encode()])
        assert reader.mesh_ms() == NOW_MS // 3_600_000 * 3_600_000


def test_the_fingerprint_changes_with_every_change_and_with_nothing_else(author: Author) -> None:
    """Seen from another connection, as another process has one."""
    reader = Reader(open_reader(author.store.database.path))
    seen = [reader.fingerprint()]
    tag = write(author, "notes", text="secret")
    steps = (
        lambda: author.append([Assignment(tag, "text", "edited")]),
        lambda: author.append([Increment("key", 1)]),
        lambda: author.append([Removal((tag,), "wrong")]),
        lambda: author.merge_statements([CLAN.erase(OWN, tag).encode()]),
        lambda: author.merge_statements([CLAN.member(CLAN.node(1)).encode()]),
        lambda: author.merge_statements([CLAN.revoke(CLAN.node(1)).encode()]),
    )
    seen.append(reader.fingerprint())
    for step in steps:
        step()
        seen.append(reader.fingerprint())
        author.store.sync()
        assert reader.fingerprint() == seen[-1]
    assert len(set(seen)) == len(seen)


def test_no_question_goes_through_all_records(author: Author) -> None:
    """Every statement the read side sends is answered from an index, or from a table that is small."""
    tag = write(author, "notes", text="x", repo=API, pattern="p", session="s:1")
    author.append([Assignment(tag, "text", "edited")])
    connection = author.store.database.connection
    sent: list[tuple[str, Any]] = []

    def note(_cursor: object, sql: str, bindings: Any) -> bool:
        sent.append((sql, bindings))
        return True

    connection.exec_trace = note
    reader = Reader(connection)
    (entry,) = reader.newest("notes", 1, [API], (2**62, b""))
    assert entry.tag == tag
    assert [len(found) for found in (reader.newest("notes", 1), reader.since("notes", 1, [API]), reader.tail(1))] == [
        1
    ] * 3
    assert len(reader.of_pattern("p")) == len(reader.newest_of("p", "notes", 1)) == 1
    assert len(reader.tallies(1, "notes")) == len(reader.assigned("text")) == reader.sessions("p", "notes") == 1
    assert reader.names_like("p", 1) == ["p"]
    assert reader.register(tag, "text") is not None
    assert (
        len(reader.part(WordSearch).weighed({"edited": 1.0}, 1, repos=[API], logs=["notes"]))
        == reader.part(WordSearch).documents("edited")
        == 1
    )
    assert reader.tally("p", "notes") is not None
    connection.exec_trace = None
    plans = [
        detail
        for sql, bindings in sent
        if sql.startswith("SELECT")
        for _, _, _, detail in connection.execute("EXPLAIN QUERY PLAN " + sql, bindings)
    ]
    assert any("elements_by_scope" in step for step in plans)
    assert any("elements_by_pattern" in step for step in plans)
    assert any("registers_by_field" in step for step in plans)
    assert not any("ops_by_seq" in step for step in plans), "from feeds to all their operations"
    large = ("elements", "ops", "patterns", "tallies", "registers", "removals", "counters")
    assert [step for step in plans for table in large if step.split()[:2] == ["SCAN", table]] == []


def test_every_nodes_latest_word_is_kept_beside_the_one_that_counts(author: Author) -> None:
    """Of each node one value, also if somebody else said something later; an erased word makes place for the one before."""
    tag = write(author, "notes", text="a")
    other = Chain(CLAN, CLAN.node(1))
    other.add(Set(5, "key", "colour", "early"))
    gone = other.add(Set(6, "key", "colour", "late"))
    other.add(Set(7, tag, "colour", "theirs"))
    author.merge_statements([CLAN.member(CLAN.node(1)).encode()])
    author.merge_ranges([other.encoded()])
    author.append([Assignment("key", "colour", "red"), Assignment("key", "colour", "blue"), Assignment(tag, "size", 1)])
    reader = reading(author)

    def said(target: bytes | str) -> dict[bytes, Any]:
        assert reader.said("colour")[target] != []
        found = reader.said_of(target, "colour")
        assert [(one.node, one.value) for one in found] == [(o.node, o.value) for o in reader.said("colour")[target]]
        return {one.node: one.value for one in found}

    theirs = CLAN.node(1).public
    assert said("key") == {OWN.public: "blue", theirs: "late"}
    assert said(tag) == {theirs: "theirs"}
    assert set(reader.said("colour")) == {"key", tag}
    assert reader.said_of("key", "size") == []
    author.merge_statements([CLAN.erase(CLAN.root, gone).encode()])
    assert said("key") == {OWN.public: "blue", theirs: "early"}
    author.merge_statements([CLAN.revoke(CLAN.node(1)).encode()])
    assert said("key") == {OWN.public: "blue"}
    assert tag not in reader.said("colour")


def test_who_wrote_what_is_told_without_a_look_at_records(tmp_path: Path) -> None:
    """Authors with stamps, those of a pattern, and the newest of all but some."""
    reader = tied(tmp_path, (3, 1, 4, 0, 2))
    nodes = [CLAN.node(index).public for index in range(5)]
    assert reader.has_several_authors()
    assert reader.authors("notes", 9) == sorted(((7, node) for node in nodes), reverse=True)
    assert {node for _, node in reader.authors("notes", 9, [API])} == {nodes[0], nodes[2], nodes[4]}
    tally = reader.tally("p", "notes")
    assert tally is not None
    assert (tally.authors, tally.nodes) == (frozenset(nodes), 5)
    found = reader.newest("notes", 9, without=nodes[1:3])
    assert {entry.node for entry in found} == {nodes[0], nodes[3], nodes[4]}
    first = reader.eldest("p", "notes")
    assert first is not None
    assert first.tag == min(entry.tag for entry in reader.of_pattern("p"))
    assert reader.eldest("q", "notes") is None


def test_of_each_node_the_oldest_words_of_a_pattern_are_read(author: Author) -> None:
    """So many in each log."""
    tags = [write(author, log, pattern="p", text=str(n)) for n in range(4) for log in ("notes", "rules")]
    assert {entry.tag for entry in reading(author).words_of_pattern("p", 2)} == {*tags[:4]}


def test_the_words_of_every_node_about_some_records_are_read_in_one_look(author: Author) -> None:
    """Of the fields that were asked for, and of nothing else."""
    one, two = (write(author, "notes", text=text) for text in ("one", "two"))
    assert reading(author).said_in([one], ("text",)) == {}
    for target in (one, two, "key"):
        author.append([Assignment(target, field, "new") for field in ("text", "topic")])
    found = reading(author).said_in([one], ("text",))
    assert {key: [(said.value, said.node) for said in words] for key, words in found.items()} == {
        (one, "text"): [("new", OWN.public)]
    }
