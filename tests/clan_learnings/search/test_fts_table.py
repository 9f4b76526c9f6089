"""The keyword index holds every live record as it reads now: as if it had been made from nothing, whatever came and went before."""

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clan_learnings.search.keywords import word_table
from clan_learnings.search.keywords.fts_table import FtsIndex
from clan_learnings.search.keywords.word_table import WordTableView, plain, reindex, searchable
from mesh.core.operation import Add, Remove, Set
from mesh.core.statement import Statement
from mesh.store.store import Store
from mesh.store.verification import verify_store
from tests.worlds import Chain, Clan, open_store

CLAN = Clan()
EXAMPLES = 2000 if settings.get_current_profile_name() == "soak" else 25
VOCABULARY = ("proxy", "caches", "get_user", "HTTP405", "the", "lock")


def content(store: Store) -> dict[str, object]:
    """Everything the index knows: words and how often, records and their lengths, the averages."""
    with store.database.writing(durable=False):
        WordTableView(store.database.connection).flush()
    run = store.database.run
    return {
        "words": run("SELECT term, doc, cnt FROM word_counts ORDER BY term").fetchall(),
        "lengths": run("SELECT id, sz FROM words_docsize ORDER BY id").fetchall(),
        "records": {
            word: run(f"SELECT rowid FROM words WHERE words MATCH '\"{word}\"' ORDER BY rowid").fetchall()
            for word in VOCABULARY
        },
        "averages": FtsIndex(store.database.connection, "words", "word_counts").size(),
    }


class History:
    """Records, edits and removals of a few nodes that know each other's, and statements: all that changes what a record reads."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.tags: list[bytes] = []
        self.chains = [Chain(CLAN, CLAN.node(index)) for index in range(3)]
        for _ in range(rng.randint(3, 30)):
            self._grow(rng.choice(self.chains))
        self.statements: list[Statement] = [CLAN.admin(CLAN.node(0))]
        self.statements += [CLAN.member(chain.author) for chain in self.chains[1:]]
        for _ in range(rng.randint(0, 3)):
            self.statements.append(CLAN.erase(CLAN.node(0), rng.choice(self.tags)))
        if rng.random() < 0.4:
            chain = rng.choice(self.chains[1:])
            seq = rng.randint(0, len(chain.links))
            heads = [(chain.feed.epoch, seq, chain.hash_at(seq))] if seq else []
            self.statements.append(CLAN.revoke(chain.author, heads))

    def _grow(self, chain: Chain) -> None:
        rng = self.rng
        text = " ".join(rng.choices(VOCABULARY, k=rng.randint(0, 4)))
        choice = rng.random()
        if choice < 0.4 or not self.tags:
            self.tags.append(chain.add(Add(chain.next_hlc(), "notes", {"text": text})))
        elif choice < 0.8:
            field, value = rng.choice((("text", text), ("topic", text), ("tags", [text]), ("number", 7)))
            self.tags.append(chain.add(Set(rng.randint(1, 5), rng.choice(self.tags), field, value)))
        elif choice < 0.9:
            chain.add(Remove([rng.choice(self.tags)], "because"))
        elif chain.links:
            link = rng.choice(chain.links)
            assert link.body is not None
            chain.add((link.kind, link.body))

    def deliver(self, store: Store) -> None:
        """In any order and in batches of any size; statements late, so that things count, count no more, and are gone."""
        rng = self.rng
        parcels: list[tuple[bool, bytes]] = [(True, item.encode()) for item in self.statements]
        for chain in self.chains:
            first = 1
            while first <= len(chain.links):
                last = rng.randint(first, len(chain.links))
                parcels.append((False, chain.encoded(first, last)))
                first = last + 1
        rng.shuffle(parcels)
        for is_statement, data in parcels:
            if is_statement:
                store.merge_statements([data])
            else:
                store.merge(data)


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 5, 512]))
@settings(max_examples=EXAMPLES, deadline=None)
def test_whatever_happened_the_index_is_that_of_the_records_as_they_are(number: int, batch: int) -> None:
    """Adds, edits before and after them, removals, erasures, revocations, repeats: equal to an index made from nothing."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_table, "BATCH", batch)
        with open_store(Path(folder), CLAN) as store:
            History(random.Random(number)).deliver(store)
            assert verify_store(store).problems == []
            kept = content(store)
            reindex(store.database)
            assert content(store) == kept
            assert verify_store(store).problems == []


def test_an_edit_that_came_before_its_record_is_in_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if so many records come at once that they are not noted first."""
    writer, editor = Chain(CLAN, CLAN.node(0)), Chain(CLAN, CLAN.node(1))
    tags = [writer.add(Add(writer.next_hlc(), "notes", {"text": f"proxy {number}"})) for number in range(4)]
    editor.add(Set(editor.next_hlc(), tags[1], "text", "cache"))
    monkeypatch.setattr(word_table, "BATCH", 2)
    with open_store(tmp_path, CLAN) as store:
        store.merge_statements([CLAN.member(chain.author).encode() for chain in (writer, editor)])
        store.merge(editor.encoded())
        store.merge(writer.encoded())
        assert store.database.run("SELECT count(*) FROM unindexed").get == 0
        counts = dict(store.database.run("SELECT term, doc FROM word_counts").fetchall())
        assert (counts["proxi"], counts["cach"]) == (3, 1)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM words WHERE rowid=(SELECT min(op) FROM elements)",
        "INSERT INTO words(rowid, text) VALUES(4711, 'nobody wrote this')",
        "INSERT INTO unindexed SELECT min(op), 0 FROM elements",
        "INSERT OR REPLACE INTO words(rowid, text) SELECT min(op), 'something else' FROM elements",
        "INSERT OR REPLACE INTO words(rowid, text) SELECT min(op), 'a longer text than it was' FROM elements",
    ],
)
def test_verify_tells_of_an_index_that_lies(tmp_path: Path, damage: str) -> None:
    """A record that is missing, one too many, one twice, one under other words."""
    chain = Chain(CLAN, CLAN.node(0))
    for number in range(3):
        chain.add(Add(chain.next_hlc(), "notes", {"text": f"proxy {number}"}))
    with open_store(tmp_path, CLAN) as store:
        store.merge_statements([CLAN.member(chain.author).encode()])
        store.merge(chain.encoded())
        content(store)
        assert verify_store(store).problems == []
        with store.database.writing(durable=False):
            store.database.run(damage)
        assert [problem[:13] for problem in verify_store(store).problems] == ["keyword index"]
        reindex(store.database)
        assert verify_store(store).problems == []


def test_what_filters_is_not_looked_for_by_words() -> None:
    """Every text of a record but those, at any depth, with the words of its identifiers behind."""
    record = {"text": "a fooBar", "repo": "github.com/x", "agent": "codex", "session": "s:1", "tags": ["x", ["y"], 5]}
    assert plain(record | {"more": {"repo": "z"}}) == "a fooBar\nx\ny\nz"
    assert searchable(record) == "a fooBar\nx\ny\nfoo bar"
    assert searchable({"text": ""}) == ""
