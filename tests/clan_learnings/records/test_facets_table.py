"""The index over `repo`, `pattern` and `session` says what a plain look at the live records says, whatever happened before."""

import itertools
import random
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clan_learnings.records import facets_table
from mesh.core.draft import NewRecord, Removal
from mesh.core.ids import Feed, tag_of
from mesh.core.limits import TEXT_CHARS
from mesh.core.operation import Add, Remove, parse
from mesh.core.statement import Statement
from mesh.store.reader import Reader
from mesh.store.store import Store
from mesh.store.verification import verify_store
from tests.oracle import Oracle
from tests.store.probes import frequent, written_repos
from tests.store.test_erase import remains
from tests.worlds import Chain, Clan, open_author, open_store

CLAN = Clan()
OWN = CLAN.node(0)
EXAMPLES = 3000 if settings.get_current_profile_name() == "soak" else 40
REPOS = ("", "github.com/clan/api", "github.com/clan/web", 7, None, "r" * (TEXT_CHARS + 1))
SLUGS = ("pin-versions", "use-uv", "", 7, None, "p" * (TEXT_CHARS + 1))
SESSIONS = ("claude:1", "codex:2", "", 3, None)

Live = dict[bytes, tuple[int, str, dict[str, Any]]]


def some_record(rng: random.Random) -> dict[str, Any]:
    chosen = {"repo": rng.choice(REPOS), "pattern": rng.choice(SLUGS), "session": rng.choice(SESSIONS)}
    return {"text": str(rng.random())} | {name: value for name, value in chosen.items() if value is not None}


class World:
    """Chains with forks and repeats, and statements that take away: revocations, erasures."""

    def __init__(self, rng: random.Random) -> None:
        nodes = [CLAN.node(index) for index in range(rng.randint(1, 4))]
        self.chains = [Chain(CLAN, node) for node in nodes]
        tags: list[bytes] = []
        for chain in [*self.chains, *self.chains]:
            for _ in range(rng.randint(1, 8)):
                if tags and rng.random() < 0.2:
                    chain.add(Remove([rng.choice(tags)], "because"))
                elif chain.links and rng.random() < 0.1:
                    link = rng.choice(chain.links)
                    assert link.body is not None
                    chain.add((link.kind, link.body))
                else:
                    log = rng.choice(("corrections", "discoveries"))
                    tags.append(chain.add(Add(rng.randint(1, 4), log, some_record(rng))))
        if rng.random() < 0.3:
            side = rng.choice(self.chains).fork(1)
            side.add(Add(1, "corrections", some_record(rng)))
            self.chains.append(side)
        self.statements: list[Statement] = [CLAN.member(node) for node in nodes]
        for tag in rng.sample(tags, min(len(tags), rng.randint(0, 2))):
            self.statements.append(CLAN.erase(CLAN.root, tag))
        if rng.random() < 0.3:
            chain = rng.choice(self.chains)
            seq = rng.randint(0, len(chain.links))
            heads = [(chain.feed.epoch, seq, chain.hash_at(seq))] if seq else []
            self.statements.append(CLAN.revoke(chain.author, heads))

    def live(self) -> Live:
        """The live records, by the oracle."""
        oracle = Oracle(CLAN, self.chains, self.statements)
        elements = oracle.views()["elements"]
        assert isinstance(elements, dict)
        found: Live = {}
        for feed, links in oracle.accepted.items():
            for link in links:
                tag, body = tag_of(feed.node, link.body_hash), parse(link.kind, link.hlc, link.body or b"")
                if tag in elements and isinstance(body, Add):
                    found[tag] = (body.at, body.log, body.record)
        return found


def deliver(store: Store, world: World, rng: random.Random) -> None:
    """Everything in some order, in some pieces, some of it twice."""
    parcels: list[tuple[bool, bytes]] = [(True, statement.encode()) for statement in world.statements]
    for chain in world.chains:
        cuts = sorted({0, len(chain.links), *(rng.randint(0, len(chain.links)) for _ in range(3))})
        parcels += [(False, chain.encoded(one + 1, other)) for one, other in itertools.pairwise(cuts)]
    for is_statement, data in [*rng.sample(parcels, len(parcels)), *rng.sample(parcels, len(parcels))]:
        (store.merge_statements if is_statement else store.merge_ranges)([data])


def written(record: dict[str, Any], field: str) -> str | None:
    value = record.get(field)
    return value if isinstance(value, str) and len(value) <= TEXT_CHARS else None


def said(store: Store) -> dict[str, object]:
    """What the index answers."""
    reader = Reader(store.database.connection)
    logs = ("corrections", "discoveries")
    repos = [repo for repo in REPOS if isinstance(repo, str)]
    slugs = [slug for slug in SLUGS if isinstance(slug, str)]
    tallies = {(log, tally.slug): tally for log in logs for tally in reader.tallies(1, log)}
    return {
        "newest": {
            (log, repo): [entry.tag for entry in reader.newest(log, 100, [repo])] for log in logs for repo in repos
        },
        "repos": written_repos(reader),
        "patterns": {slug: [entry.tag for entry in reader.of_pattern(slug)] for slug in slugs},
        "tallies": {key: (one.sessions, one.nodes, one.repos, one.at) for key, one in tallies.items()},
        "frequent": {least: frequent(reader, least) for least in (1, 2, 3)},
    }


def recomputed(live: Live, authors: dict[bytes, bytes]) -> dict[str, object]:
    """The same, the slow and obvious way."""
    order = sorted(live, key=lambda tag: (live[tag][0], tag))
    groups: dict[tuple[str, str], list[bytes]] = defaultdict(list)
    for tag in order:
        slug = written(live[tag][2], "pattern")
        if slug is not None:
            groups[live[tag][1], slug].append(tag)

    def sessions(tags: list[bytes]) -> int:
        named = [live[tag][2].get("session") for tag in tags]
        return len({name if isinstance(name, str) and name else tag for name, tag in zip(named, tags, strict=True)})

    return {
        "newest": {
            (log, repo): [
                tag for tag in reversed(order) if live[tag][1] == log and written(live[tag][2], "repo") == repo
            ]
            for log in ("corrections", "discoveries")
            for repo in REPOS
            if isinstance(repo, str)
        },
        "repos": sorted({repo for _, _, record in live.values() if (repo := written(record, "repo")) is not None}),
        "patterns": {
            slug: [tag for tag in order if written(live[tag][2], "pattern") == slug]
            for slug in SLUGS
            if isinstance(slug, str)
        },
        "tallies": {
            key: (
                sessions(tags),
                len({authors[tag] for tag in tags}),
                sorted({written(live[tag][2], "repo") or "" for tag in tags}),
                max(live[tag][0] for tag in tags),
            )
            for key, tags in groups.items()
        },
        "frequent": {
            least: sorted({slug for (_, slug), tags in groups.items() if sessions(tags) >= least})
            for least in (1, 2, 3)
        },
    }


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**32))
def test_whatever_arrives_and_goes_the_index_is_that_of_the_live_records(seed: int) -> None:
    """Removals, forks, repeats, erasures, revocations, in any order, on two stores: equal to a plain recomputation."""
    rng = random.Random(seed)
    world = World(rng)
    authors = {
        tag_of(chain.author.public, link.body_hash): chain.author.public
        for chain in world.chains
        for link in chain.links
    }
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for name in ("one", "other"):
            store = stack.enter_context(open_store(Path(folder) / name, CLAN))
            deliver(store, world, rng)
            assert said(store) == recomputed(world.live(), authors)
            assert verify_store(store).problems == []


@pytest.mark.parametrize(
    ("damage", "view"),
    [
        ("UPDATE tallies SET sessions=sessions+1", "tallies"),
        ("UPDATE tallies SET at=at+1", "tallies"),
        ("DELETE FROM tallies", "tallies"),
        ("DELETE FROM occurrences", "occurrences"),
        ("UPDATE spread SET scope=scope+1", "spread"),
        ("DELETE FROM spread", "spread"),
        ("UPDATE elements SET scope=NULL", "elements"),
        ("UPDATE scopes SET name=name||'x'", "elements"),
        ("UPDATE elements SET pattern=NULL", "elements"),
        ("UPDATE patterns SET name=name||'x'", "elements"),
        ("UPDATE elements SET session=session+1", "elements"),
    ],
)
def test_verify_finds_what_was_put_into_the_index_by_hand(tmp_path: Path, damage: str, view: str) -> None:
    """Each column is compared with a second fold, names as names."""
    with open_author(tmp_path, CLAN, OWN) as author:
        author.merge_statements([CLAN.member(OWN).encode()])
        author.append([NewRecord("corrections", {"repo": "a/b", "pattern": "p", "session": "s:1"})])
        assert verify_store(author.store).clean
        author.store.database.run(damage)
        assert any(f"view {view}" in problem for problem in verify_store(author.store).problems)


def test_a_repo_and_a_pattern_named_by_a_secret_are_forgotten_with_their_record(tmp_path: Path) -> None:
    """Also these names are text that someone wrote; names that others use stay."""
    secrets = {"repo": "hunter2hunter2hunter2", "pattern": "correcthorsebattery", "session": "swordfishswordfish"}
    with open_author(tmp_path / "home", CLAN, OWN) as author:
        author.merge_statements([CLAN.admin(OWN).encode()])
        author.append([NewRecord("corrections", {"repo": "a/b", "pattern": "p", "session": "s:1"})])
        (tag,) = author.append([NewRecord("corrections", dict(secrets))]).tags
        assert all(remains(tmp_path / "home", secret) for secret in secrets.values())
        author.merge_statements([CLAN.erase(OWN, tag).encode()])
        assert [secret for secret in secrets.values() if remains(tmp_path / "home", secret)] == []
        reader = Reader(author.store.database.connection)
        assert written_repos(reader) == ["a/b"]
        assert frequent(reader, 1) == ["p"]
        assert verify_store(author.store).clean


def test_a_repo_whose_records_are_all_removed_is_not_listed(tmp_path: Path) -> None:
    """Its name may still be known; no live record has it. The next record brings it back."""
    with open_author(tmp_path, CLAN, OWN) as author:
        author.merge_statements([CLAN.member(OWN).encode()])
        record = {"repo": "a/b", "pattern": "p", "session": "s:1"}
        tags = author.append([NewRecord("corrections", record)]).tags
        author.append([Removal(tags, "wrong")])
        reader = Reader(author.store.database.connection)
        assert (written_repos(reader), frequent(reader, 1), reader.of_pattern("p")) == ([], [], [])
        author.append([NewRecord("corrections", record)])
        assert (written_repos(reader), frequent(reader, 1), len(reader.of_pattern("p"))) == (["a/b"], ["p"], 1)


def test_a_session_is_no_other_text_with_the_same_beginning() -> None:
    """Eight bytes of a hash; a record without a session counts for itself."""
    tag = bytes(range(32))
    keys = {facets_table.session_key(session, tag) for session in ("claude:1", "claude:10", "codex:1", "", None, 7)}
    assert len(keys) == 4
    assert (
        facets_table.session_key("", tag)
        == facets_table.session_key(None, tag)
        != facets_table.session_key(None, tag[::-1])
    )


def test_feeds_of_two_epochs_of_one_node_are_one_node(tmp_path: Path) -> None:
    """Nodes are counted, not feeds."""
    with open_store(tmp_path, CLAN) as store:
        store.merge_statements([CLAN.member(OWN).encode()])
        for epoch in (1, 2):
            chain = Chain(CLAN, OWN, epoch)
            chain.add(Add(epoch, "corrections", {"pattern": "p", "session": f"s:{epoch}"}))
            store.merge(chain.encoded())
        assert {row.feed for row in store.feeds.all()} == {Feed(OWN.public, 1), Feed(OWN.public, 2)}
        tally = Reader(store.database.connection).tally("p", "corrections")
        assert tally is not None
        assert (tally.sessions, tally.nodes, tally.repos) == (2, 1, [""])
