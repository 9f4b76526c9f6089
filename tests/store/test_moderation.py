"""Who may change what, in one store: small cases of what the random worlds do, and what lies beside the fold."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clan_learnings.search.keywords.search_table import WordSearch
from mesh.core.identity import Identity
from mesh.core.operation import Add, Body, Remove, Set
from mesh.core.statement import EPHEMERAL, MEMBER, Member, Statement, sign
from mesh.store.reader import Reader
from mesh.store.record_changes import ChangeCollector
from mesh.store.store import Store
from mesh.store.verification import verify_store
from tests.worlds import Chain, Clan, open_store

CLAN = Clan()
CHIEF, OTHER_CHIEF, AUTHOR, ONE, TWO, JOB = map(CLAN.node, range(6))
MEMBERS: list[Statement] = [
    CLAN.admin(CHIEF),
    CLAN.admin(OTHER_CHIEF),
    *(CLAN.member(node) for node in (AUTHOR, ONE, TWO)),
    CLAN.member(JOB, "job", EPHEMERAL),
]


class World:
    """A chain of each node, merged as far as it goes whenever something was said."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.reader = Reader(store.database.connection)
        self.chains = {node.public: Chain(CLAN, node) for node in (CHIEF, OTHER_CHIEF, AUTHOR, ONE, TWO, JOB)}
        self.now = 10
        store.merge_statements([item.encode() for item in MEMBERS])

    def says(self, node: Identity, body: Body) -> bytes:
        chain = self.chains[node.public]
        tag = chain.add(body)
        self.store.merge(chain.encoded())
        return tag

    def sets(self, node: Identity, target: bytes | str, field: str, value: object) -> bytes:
        self.now += 1
        return self.says(node, Set(self.now, target, field, value))

    def guard(self, rule: str = "guarded") -> None:
        self.sets(CHIEF, "settings", "moderation", rule)

    def value(self, target: bytes | str, field: str) -> object:
        found = self.reader.register(target, field)
        return None if found is None else found.value


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with open_store(tmp_path / "home", CLAN) as store:
        yield World(store)
        assert verify_store(store).problems == []


def test_of_settings_the_latest_of_an_admin_counts(world: World) -> None:
    """Whatever others say later; with its admin a setting goes, and comes with another."""
    world.sets(ONE, "settings", "hot_at", 2)
    assert world.value("settings", "hot_at") is None
    world.sets(CHIEF, "settings", "hot_at", 4)
    world.sets(OTHER_CHIEF, "settings", "hot_at", 5)
    world.sets(TWO, "settings", "hot_at", 99)
    assert world.value("settings", "hot_at") == 5
    chain = world.chains[OTHER_CHIEF.public]
    heads = [(chain.feed.epoch, len(chain.links), chain.head)]  # everything it wrote still counts as written
    world.store.merge_statements([CLAN.revoke(OTHER_CHIEF, heads).encode()])
    assert world.value("settings", "hot_at") == 4
    world.store.merge_statements([CLAN.admin(TWO).encode()])
    assert world.value("settings", "hot_at") == 99


def test_only_an_admin_guards_a_mesh(world: World) -> None:
    """And with the admin that did it, it is open again."""
    tag = world.says(AUTHOR, Add(1, "notes", {"text": "a"}))
    world.sets(ONE, "settings", "moderation", "guarded")
    world.says(TWO, Remove([tag], "no"))
    assert world.reader.entry(tag) is None
    world.guard()
    assert world.reader.entry(tag) is not None
    world.store.merge_statements([CLAN.revoke(CHIEF).encode()])
    assert world.reader.entry(tag) is None


def test_throw_away_nodes_are_nobodys_second(world: World) -> None:
    """Until they are members like others."""
    world.guard()
    tag = world.says(AUTHOR, Add(1, "notes", {"text": "a"}))
    for node in (ONE, JOB):
        world.says(node, Remove([tag], "no"))
        world.sets(node, tag, "text", "b")
    assert world.reader.entry(tag) is not None
    assert world.value(tag, "text") is None
    world.store.merge_statements(
        [sign(CLAN.mesh, CHIEF, Member(CHIEF.public, 2, JOB.public, "for longer", MEMBER)).encode()]
    )
    assert world.reader.entry(tag) is None
    assert world.value(tag, "text") == "b"


def test_an_edit_that_comes_before_its_record_is_judged_with_it(world: World) -> None:
    """As long as nobody knows whose it is, it changes nothing that is shown."""
    world.guard()
    hidden = Chain(CLAN, AUTHOR, epoch=9)
    tag = hidden.add(Add(1, "notes", {"text": "mine"}))
    world.sets(ONE, tag, "text", "evil")
    world.says(ONE, Remove([tag], "evil"))
    world.store.merge(hidden.encoded())
    assert world.value(tag, "text") is None
    assert world.reader.entry(tag) is not None
    assert [entry.tag for entry, _ in world.reader.part(WordSearch).weighed({"mine": 1.0}, 5)] == [tag]
    assert world.reader.part(WordSearch).weighed({"evil": 1.0}, 5) == []
    world.store.merge_statements([CLAN.erase(AUTHOR, tag).encode()])


def test_pages_are_not_moderated(world: World) -> None:
    """Anybody names, changes and removes one."""
    world.guard()
    tag = world.says(AUTHOR, Add(1, "pages", {"name": "plan"}))
    world.sets(ONE, tag, "name", "other")
    assert world.value(tag, "name") == "other"
    world.says(ONE, Remove([tag], "over"))
    assert world.reader.entry(tag) is None


def test_the_keyword_index_follows_the_rule(world: World) -> None:
    """Found by the words that count, before and after each change of it."""
    tag = world.says(AUTHOR, Add(1, "notes", {"text": "honest"}))
    world.sets(ONE, tag, "text", "evil")

    def found(word: str) -> bool:
        return bool(world.reader.part(WordSearch).weighed({word: 1.0}, 5))

    for rule, honest in (("guarded", True), ("open", False), ("guarded", True)):
        world.guard(rule)
        assert (found("honest"), found("evil")) == (honest, not honest)
    world.sets(TWO, tag, "text", "evil")
    assert (found("honest"), found("evil")) == (False, True)


def test_who_follows_the_records_hears_that_the_rule_is_another(world: World) -> None:
    """No operation names what counts otherwise then, so everything is looked at."""
    touches = ChangeCollector(world.store.database.connection)
    world.says(AUTHOR, Add(1, "notes", {"text": "a"}))
    before = touches.progress()
    world.store.merge_statements([CLAN.admin(ONE).encode()])
    assert touches.since(before) is not None  # nothing depended on it
    assert touches.since({name: value for name, value in before.items() if name != "judged"}) is not None
    world.guard()
    guarded = touches.progress()
    assert touches.since(before) is None
    world.store.merge_statements([CLAN.revoke(OTHER_CHIEF).encode()])
    assert touches.since(guarded) is None
