"""What has changed since a remembered state: exactly the records that operations in between name, or "cannot be said"."""

from pathlib import Path
from typing import Any

import pytest

from mesh.core.draft import Assignment, NewRecord, Removal
from mesh.core.operation import Add
from mesh.store import record_changes
from mesh.store.author import Author
from mesh.store.record_changes import ChangeCollector
from tests.worlds import Chain, Clan, open_author, open_store

CLAN = Clan(41)
OWN, OTHER = CLAN.node(0), CLAN.node(1)


def started(author: Author) -> ChangeCollector:
    author.merge_statements([CLAN.admin(OWN).encode(), CLAN.member(OTHER).encode()])
    return ChangeCollector(author.store.database.connection)


def test_added_edited_and_removed_records_are_named(tmp_path: Path) -> None:
    """With what they were written as; keys that were set are told apart; counts and other feeds' past are not."""
    with open_author(tmp_path, CLAN, OWN) as author:
        touches = started(author)
        first, second = (author.append([NewRecord("log", {"pattern": "p", "n": n})]).tags[0] for n in range(2))
        before = touches.progress()
        assert not touches.since(before)
        author.append([Assignment(first, "text", "x"), Assignment("key", "field", 7)])
        author.append([Removal((second, bytes(32)), "because")])
        third = author.append([NewRecord("other", {"pattern": 8})]).tags[0]
        found = touches.since(before)
        assert found is not None
        assert {tag: (was.log, was.pattern, was.node) for tag, was in found.records.items()} == {
            first: ("log", "p", OWN.public),
            second: ("log", "p", OWN.public),
            third: ("other", "", OWN.public),
        }
        assert found.keys == [("key", "field", 7)]


def test_what_is_clipped_is_named_as_what_comes(tmp_path: Path) -> None:
    """The accepted end of a feed moves backwards: what lay between is gone."""
    with open_author(tmp_path, CLAN, OWN) as author:
        touches = started(author)
        chain = Chain(CLAN, OTHER)
        tags = [chain.add(Add(chain.next_hlc(), "log", {"n": number})) for number in range(4)]
        author.merge_ranges([chain.encoded()])
        before = touches.progress()
        author.merge_statements([CLAN.revoke(OTHER, [(chain.feed.epoch, 2, chain.hash_at(2))]).encode()])
        found = touches.since(before)
        assert found is not None
        assert set(found.records) == set(tags[2:])


def test_erased_records_are_named_by_their_tags(tmp_path: Path) -> None:
    """Of an erased edit it cannot be said whose it was."""
    with open_author(tmp_path, CLAN, OWN) as author:
        touches = started(author)
        tag = author.append([NewRecord("log", {"text": "secret"})]).tags[0]
        edit = author.append([Assignment(tag, "text", "another")]).tags[0]
        before = touches.progress()
        author.merge_statements([CLAN.erase(OWN, tag).encode()])
        found = touches.since(before)
        assert found is not None
        assert (found.erased, set(found.records)) == ({tag}, set())
        author.merge_statements([CLAN.erase(OWN, edit).encode()])
        assert touches.since(before) is None


def test_an_erasure_more_is_another_state_also_where_not_all_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who wipes what was erased since must not take it for the same."""
    monkeypatch.setattr(record_changes, "_ERASED", 2)
    with open_author(tmp_path, CLAN, OWN) as author:
        touches = started(author)
        tags = author.append([NewRecord("log", {"text": str(number)}) for number in range(4)]).tags
        author.merge_statements([CLAN.erase(OWN, tag).encode() for tag in tags[:3]])
        before = touches.progress()
        author.merge_statements([CLAN.erase(OWN, tags[3]).encode()])
        assert touches.progress()["erased"] == before["erased"]
        assert touches.progress() != before
        assert touches.since(before) is None


@pytest.mark.parametrize(
    "before", [{}, {"feeds": 1, "erased": []}, {"feeds": {"zz": [1, "x"]}, "erased": []}, {"feeds": {}}]
)
def test_what_was_not_remembered_right_says_nothing(tmp_path: Path, before: dict[str, Any]) -> None:
    """A damaged value is no state."""
    with open_store(tmp_path, CLAN) as store:
        assert ChangeCollector(store.database.connection).since(before) is None


def test_another_history_is_noticed(tmp_path: Path) -> None:
    """The same feed of a restored home has another operation in the same place; a feed may be missing."""
    states = []
    for name in ("one", "two"):
        with open_store(tmp_path / name, CLAN) as store:
            store.merge_statements([CLAN.member(OTHER).encode()])
            chain = Chain(CLAN, OTHER)
            chain.add(Add(chain.next_hlc(), "log", {"text": name}))
            store.merge(chain.encoded())
            states.append(ChangeCollector(store.database.connection).progress())
            if name == "two":
                assert ChangeCollector(store.database.connection).since(states[0]) is None
                assert ChangeCollector(store.database.connection).since(states[1]) is not None
    with open_store(tmp_path / "three", CLAN) as store:
        assert ChangeCollector(store.database.connection).since(states[0]) is None


def test_too_much_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has missed that much goes through everything."""
    monkeypatch.setattr(record_changes, "MOST", 2)
    with open_author(tmp_path, CLAN, OWN) as author:
        touches = started(author)
        before = touches.progress()
        author.append([NewRecord("log", {"n": 1}), NewRecord("log", {"n": 2})])
        assert touches.since(before) is not None
        author.append([NewRecord("log", {"n": 3})])
        assert touches.since(before) is None


def test_records_of_one_stamp_are_in_the_order_of_their_tags(tmp_path: Path) -> None:
    """As everywhere: equal roots give equal orders."""
    with open_author(tmp_path, CLAN, OWN) as author:
        touches = started(author)
        chain = Chain(CLAN, OTHER)
        stamp = chain.next_hlc()
        tags = [chain.add(Add(stamp, "log", {"n": number}), stamp + number) for number in range(9)]
        author.merge_ranges([chain.encoded()])
        assert [entry.tag for entry in touches.oldest_first("log")] == sorted(tags)
        assert touches.count("log") == 9
        assert touches.count("nothing") == 0
