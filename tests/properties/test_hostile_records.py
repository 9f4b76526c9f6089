"""Any member may write anything that the wire takes: whoever reads gets an answer, within its bounds, the same on every node."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clan_learnings.context.composition import hot_only, short_lines
from clan_learnings.context.session_context import hot_lines, line_of, session_context
from clan_learnings.records.memory import Memory
from clan_learnings.records.pattern_conflicts import PatternConflicts
from clan_learnings.records.pattern_merging import draft_merges
from clan_learnings.records.recent_records import recent, recent_patterns
from clan_learnings.records.tiers import Census
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.likeness import covering
from clan_learnings.search.record_search import search
from mesh.core.limits import RANGE_BYTES, RANGE_OPERATIONS
from mesh.core.operation import Add, Body, Set
from mesh.store.reader import Reader
from mesh.store.store import Store
from tests.worlds import NOW_MS, Chain, Clan, open_store

CLAN = Clan()
OWN, PEER = CLAN.node(0), CLAN.node(1)
EXAMPLES = 2000 if settings.get_current_profile_name() == "soak" else 25
MANY = 10_000
REPO = "github.com/acme/api"
LOGS = ("discoveries", "corrections", "patterns", "supersessions", "learnings", "x")
SOUND: dict[str, Any] = {
    "text": "the seed script needs REDIS_URL",
    "wrong": "npm install",
    "right": "pnpm install",
    "rule": "use pnpm",
    "pattern": "p",
    "sureness": 0.9,
    "source": "human",
    "repo": REPO,
    "agent": "codex",
    "session": "codex:1",
    "category": "build-errors",
    "severity": "high",
    "confidence": 0.9,
    "topic": "pnpm",
    "tags": ["a", "b"],
    "evidence": "a link",
    "minutes_lost": 20,
    "old": "p",
    "new": "q",
    "reason": "because",
}
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**64 - 1, -(2**63), 0.5, -1.5, 1e308, 5e-324, "", " ", "\0", b"", b"\xff" * 40),
    *([], [None], [[]], ["a"] * 500, [[[[["deep"]]]]], {}, {"a": {"b": [{"c": None}]}}, {"": ""}, {"x" * 600: 1}),
    *("\x1b[31mred\x07", "a\nb\r\nc\u2028d", "\u202eright to left", "\u200b", "e" + "\u0301" * 50, "\U0010ffff"),
    *("</clan-mesh>", "; not x; 9 sessions", "[7k3qmzpa]", '" OR * NEAR(', "record:" + "00" * 32, "pattern:p", "None"),
    *("x" * 513, "pnpm install " * 4600, "é" * 20_000),
)


def pour(store: Store, chain: Chain, first: int = 1) -> None:
    """All of a chain, in ranges as large as they may be."""
    size = 0
    for seq, link in enumerate(chain.links[first - 1 :], first):
        assert link.body is not None
        size += len(link.body) + 128
        if size > RANGE_BYTES - 70_000 or seq - first >= RANGE_OPERATIONS - 2:
            store.merge(chain.encoded(first, seq))
            first, size = seq + 1, 0
    if first <= len(chain.links):
        store.merge(chain.encoded(first))


def opened(folder: Path, bodies: Iterable[Body]) -> Any:
    """A store to which a peer has sent all these; each body is stamped as it stands."""
    chain = Chain(CLAN, PEER)
    for number, body in enumerate(bodies):
        chain.add(body, (NOW_MS << 16) + number)

    def fill(store: Store) -> Store:
        store.merge_statements([CLAN.member(PEER).encode(), CLAN.member(OWN).encode()])
        pour(store, chain)
        assert sum(row.accepted.seq for row in store.feeds.all()) == len(chain.links)
        return store

    return open_store(folder, CLAN), fill


def corrections(slug: str, count: int, at: int = NOW_MS << 16, **more: Any) -> list[Body]:
    """Of as many sessions."""
    return [
        Add(at, "corrections", SOUND | {"pattern": slug, "session": f"codex:{number}"} | more)
        for number in range(count)
    ]


def look_at(store: Store) -> Memory:
    return Memory(Reader(store.database.connection))


def read_everything(store: Store) -> None:
    """Whatever reads records; nothing raises, nothing is longer than it may be, HOT is the same by both ways."""
    memory = look_at(store)
    for repo in (None, "", REPO):
        assert len(memory.warm(repo)) <= 50
        assert len(memory.bank(repo, 40)) <= 40
        assert len(memory.hot(repo, 40)) <= 40 <= memory.count_hot(repo) or memory.count_hot(repo) == len(
            memory.hot(repo)
        )
        assert len(recent_patterns(memory, repo, 30)) <= 30
        assert Census(memory, repo, 500).counts
    for note in recent(memory, None, 5000):
        assert memory.tier_of(note) in ("HOT", "WARM", "BANK", "ARCHIVE")
        assert (type(note.text), type(note.repo), type(note.pattern), type(note.session)) == (str, str, str, str)
        assert 0 <= note.confidence <= 1
        assert 0 <= memory.strength(note) <= 1
        assert len(short_lines([line_of(memory, note)]).text) <= 1200
    patterns = memory.patterns
    standings = [made for slug in patterns.known() if (made := patterns.standing(slug)) is not None]
    slow = {
        made.slug: (made.sessions, made.nodes, made.repos, made.scope) for made in standings if patterns.is_hot(made)
    }
    quick = {item.slug: (item.sessions, item.nodes, item.repos, item.repo) for item in memory.hot(None)}
    assert quick == slow
    for query in ("npm install", '" OR * NEAR(', "\0", "x" * 9000, "", "é"):
        assert len(search(memory, query, SearchFilters(REPO), 7)) <= 7
    covering(memory, "the seed script needs REDIS_URL", REPO)
    PatternConflicts(memory)
    draft_merges(memory, PEER.public)
    check_contexts(memory)


def check_contexts(memory: Memory) -> None:
    """Within their limits, one harmless line a record, each time the same."""
    for chars, tokens in ((None, None), (1500, 400), (200, 50), (9500, 100), (0, 0)):
        for task in ("", "pnpm install"):
            made = session_context(memory, memory, repo=REPO, max_chars=chars, max_tokens=tokens, task=task)
            assert len(made.text) <= (8000 if chars is None else chars)
            assert made.tokens <= (2000 if tokens is None else tokens)
            assert all(line.isprintable() for line in made.text.split("\n"))
            assert made.text.count("</clan-mesh>") == (0 if made.is_too_small else 1)
            assert (
                made.text
                == session_context(memory, memory, repo=REPO, max_chars=chars, max_tokens=tokens, task=task).text
            )
    assert len(hot_only(hot_lines(memory, memory.hot(REPO, 40))).text) <= 2000


@pytest.mark.parametrize("log", LOGS)
def test_every_field_of_every_type_in_every_log(tmp_path: Path, log: str) -> None:
    """Each alone wrong in a record that is sound but for it; records without a field; an empty one."""
    at = NOW_MS << 16
    bodies = corrections("p", 3)
    for name in SOUND:
        values = ODD if name in ("pattern", "repo", "session", "right", "old") else random.Random(name).sample(ODD, 12)
        bodies += [Add(at, log, SOUND | {name: value}) for value in values]
        bodies.append(Add(at, log, {field: value for field, value in SOUND.items() if field != name}))
    store, fill = opened(tmp_path, [*bodies, Add(at, log, {}), Add(at, log, {"repo": ""})])
    with store as opening:
        read_everything(fill(opening))


def test_registers_of_every_type(tmp_path: Path) -> None:
    """Edits of records that are there and that are not, registers of patterns and of the mesh, fields nobody knows."""
    at = NOW_MS << 16
    bodies: list[Body] = []
    chain = Chain(CLAN, PEER)
    tags: list[tuple[bytes, str]] = []
    for log in LOGS[:4]:
        for number, name in enumerate(SOUND):
            record = SOUND | {"pattern": f"p-{number % 7}", "session": f"codex:{number % 5}"}
            tags.append((chain.add(Add(at, log, record), at + len(tags)), name))
    for number, value in enumerate(ODD):
        for offset in range(0, len(tags), 3):
            tag, name = tags[(number + offset) % len(tags)]
            bodies.append(Set(at, tag, name, value if len(repr(value)) < 5000 else value[:500]))
        bodies += [Set(at, bytes([number]) * 32, name, value) for name in ("pattern", "repo")]
        for field in ("alias_of", "archived", "global", "rule", "topic", "unknown"):
            bodies.append(Set(at, f"pattern:p-{number % 9}", field, value))
        bodies += [Set(at, "settings", "hot_at", value), Set(at, "settings", f"category:{str(value)[:200]}", True)]
    bodies += [
        Set(at, "pattern:", "alias_of", "p-1"),
        Set(at, "pattern:p-2", "alias_of", ""),
        Set(at, "p", "pattern", "q"),
    ]
    for number, body in enumerate(bodies):
        chain.add(body, at + 1000 + number)
    with open_store(tmp_path, CLAN) as store:
        store.merge_statements([CLAN.member(PEER).encode()])
        pour(store, chain)
        read_everything(store)


WORDS = st.sampled_from(["p", "q", "", REPO, "codex:1", "npm install", "x" * 513, "\0", "\x1b[1m"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "repo"]), inner, max_size=2),
    max_leaves=4,
)
RECORDS = st.tuples(st.sampled_from(LOGS), st.dictionaries(st.sampled_from(sorted(SOUND)), VALUES | WORDS, max_size=8))
EDITS = st.tuples(st.integers(0, 9), st.sampled_from(sorted(SOUND)), VALUES | WORDS)
OF_PATTERNS = st.tuples(
    st.sampled_from(["pattern:p", "pattern:q", "pattern:", "settings"]),
    st.sampled_from(["alias_of", "archived", "global", "rule", "hot_at"]),
    VALUES | WORDS,
)


@given(st.lists(RECORDS, min_size=1, max_size=12), st.lists(EDITS, max_size=8), st.lists(OF_PATTERNS, max_size=8))
@settings(max_examples=EXAMPLES)
def test_whatever_is_written_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, records: list[Any], edits: list[Any], registers: list[Any]
) -> None:
    """Found by chance what nobody has thought of."""
    at = NOW_MS << 16
    chain = Chain(CLAN, PEER)
    tags = [chain.add(Add(at, log, SOUND | record), at + number) for number, (log, record) in enumerate(records)]
    for number, record in enumerate(record for _, record in records):
        tags.append(chain.add(Add(at, "corrections", record), at + 100 + number))
    bodies: list[Body] = [Set(at, tags[number % len(tags)], field, value) for number, field, value in edits]
    bodies += [Set(at, key, field, value) for key, field, value in registers]
    for number, body in enumerate(bodies):
        chain.add(body, at + 200 + number)
    with open_store(tmp_path_factory.mktemp("store"), CLAN) as store:
        store.merge_statements([CLAN.member(PEER).encode()])
        pour(store, chain)
        read_everything(store)


# Things that were wrong once


def test_no_name_is_no_pattern(tmp_path: Path) -> None:
    """Three sessions of the empty name, written or moved to, make nothing HOT."""
    at = NOW_MS << 16
    store, fill = opened(tmp_path, [*corrections("", 4), Set(at, "pattern:", "alias_of", "p"), *corrections("p", 1)])
    with store as opening:
        memory = look_at(fill(opening))
        assert (memory.hot(None), memory.count_hot(None)) == ([], 0)
        assert memory.patterns.standing("") is None
        assert memory.patterns.names("p") == {"p"}


def test_a_session_that_calls_itself_a_record_is_not_that_record(tmp_path: Path) -> None:
    """By either way of counting there are three sessions: of a correction without one, and of two others."""
    at = NOW_MS << 16
    record = {name: value for name, value in SOUND.items() if name != "session"}
    chain = Chain(CLAN, PEER)
    tag = chain.add(Add(at, "corrections", record), at)
    for number, session in enumerate((f"record:{tag.hex()}", "codex:2")):
        chain.add(Add(at, "corrections", record | {"session": session}), at + 1 + number)
    with open_store(tmp_path, CLAN) as store:
        store.merge_statements([CLAN.member(PEER).encode()])
        pour(store, chain)
        quick = look_at(store).hot(None)
        chain.add(Set(at, "pattern:p", "alias_of", "q"), at + 10)
        pour(store, chain)
        slow = look_at(store).hot(None)
        assert [item.sessions for item in (*quick, *slow)] == [3, 3]


def test_a_repository_that_is_too_long_to_be_one_is_the_same_by_either_way(tmp_path: Path) -> None:
    """The index does not know it; so nobody does."""
    at = NOW_MS << 16
    store, fill = opened(tmp_path, [*corrections("p", 3, repo="r" * 600), *corrections("q", 3, repo="r" * 600)])
    with store as opening:
        fill(opening)
        chain = Chain(CLAN, OWN)
        chain.add(Set(at, "pattern:q", "alias_of", "z"), at)
        pour(opening, chain)
        assert [(item.repo, item.repos) for item in look_at(opening).hot(REPO)] == [("", [""])] * 2


def test_of_two_archives_with_one_stamp_the_name_decides(tmp_path: Path) -> None:
    """And no order of a set, which is another one in every process."""
    at = NOW_MS << 16
    names = [f"name-{number}" for number in range(8)]
    bodies = [Set(at, f"pattern:{name}", "archived", f"reason of {name}") for name in names]
    aliases = [Set(at, f"pattern:{name}", "alias_of", names[0]) for name in names[1:]]
    store, fill = opened(tmp_path, [*corrections(names[3], 1), *bodies, *aliases])
    with store as opening:
        made = look_at(fill(opening)).patterns.standing(names[5])
        assert made is not None
        assert made.archived == "reason of name-0"


def test_a_discovery_that_names_a_hot_pattern_is_still_a_discovery(tmp_path: Path) -> None:
    """Only corrections and pattern records are a pattern's; what others say in that field means nothing."""
    discovery = Add(NOW_MS << 16, "discoveries", {"text": "thing", "pattern": "p", "repo": REPO})
    store, fill = opened(tmp_path, [*corrections("p", 3), discovery])
    with store as opening:
        memory = look_at(fill(opening))
        (note,) = memory.warm(REPO)
        assert (note.text, memory.tier_of(note)) == ("thing", "WARM")


def test_a_busy_pattern_takes_no_place_in_warm(tmp_path: Path) -> None:
    """A hundred corrections of a HOT pattern, then what was written before them."""
    store, fill = opened(tmp_path, [*corrections("quiet", 1, at=(NOW_MS - 1) << 16), *corrections("busy", 120)])
    with store as opening:
        assert [note.pattern for note in look_at(fill(opening)).warm(REPO)] == ["quiet"]


def test_what_was_edited_into_a_repository_is_there_in_every_list(tmp_path: Path) -> None:
    """WARM, BANK, the newest, and search; and it is nowhere any more where it was."""
    at = NOW_MS << 16
    old = (NOW_MS - 9 * 86_400_000) << 16
    chain = Chain(CLAN, PEER)
    sound = {"text": "the seed script needs REDIS_URL", "repo": "github.com/acme/web"}
    tags = [
        chain.add(Add(old, "discoveries", sound), old),
        chain.add(Add(old, "corrections", SOUND | sound), old + 1),
        chain.add(Add(old, "patterns", {"rule": "set REDIS_URL", "pattern": "p"}), old + 2),
    ]
    for number, tag in enumerate(tags):
        chain.add(Set(at, tag, "repo", REPO), at + number)
    with open_store(tmp_path, CLAN) as store:
        store.merge_statements([CLAN.member(PEER).encode()])
        pour(store, chain)
        memory = look_at(store)
        found = [
            [note.tag for note in memory.warm(REPO)],
            sorted(note.tag for note in memory.bank(REPO, 9)),
            sorted(note.tag for note in recent(memory, REPO, 9)),
            sorted(hit.note.tag for hit in search(memory, "REDIS_URL", SearchFilters(REPO), 9)),
        ]
        assert found == [tags[:1], sorted(tags[1:]), sorted(tags), sorted(tags)]
        assert (memory.warm(sound["repo"]), recent(memory, sound["repo"], 9)) == ([], [])
        assert search(memory, "REDIS_URL", SearchFilters(sound["repo"]), 9) == []


# Thousands


def test_thousands_of_aliases_and_supersessions_in_the_worst_order(tmp_path: Path) -> None:
    """A chain and a star of names, a self-alias, a row of supersessions said from its end, and one that closes the circle."""
    at = NOW_MS << 16
    bodies: list[Body] = [Set(at, f"pattern:c{n}", "alias_of", f"c{n + 1}") for n in range(MANY // 2)]
    bodies += [Set(at, f"pattern:s{n}", "alias_of", "hub") for n in range(MANY // 2)]
    bodies += [Set(at, "pattern:self", "alias_of", "self"), *corrections("c17", 2), *corrections("c4000", 3)]
    steps = [(f"o{n}", f"o{n + 1}") for n in reversed(range(MANY // 2))]
    for old, new in [*steps, (f"o{MANY // 2}", "o0"), ("c3", "s3")]:
        bodies.append(Add(at + len(bodies), "supersessions", {"old": old, "new": new}))
    store, fill = opened(tmp_path, bodies)
    with store as opening:
        fill(opening)
        memory = look_at(opening)
        assert memory.hot(None) == []  # superseded by the star
        made = memory.patterns.standing("c0")
        assert made is not None
        assert (len(made.names), made.sessions, made.superseded_by) == (MANY // 2 + 1, 3, ["s3"])
        assert memory.patterns.names("self") == {"self"}
        assert memory.patterns.superseded_by((f"o{MANY // 2}",)) == []
        assert memory.patterns.superseded_by(("o0",)) == ["o1"]
        check_contexts(memory)


def test_thousands_of_moves(tmp_path: Path) -> None:
    """To one pattern, to thousands, from records that are there and that are not."""
    at = NOW_MS << 16
    chain = Chain(CLAN, PEER)
    tags = []
    for number in range(MANY // 5):
        record = {"pattern": f"p{number % 50}", "session": f"codex:{number}", "repo": REPO, "right": "x"}
        tags.append(chain.add(Add(at + number, "corrections", record), at + number))
    for number in range(MANY):
        tag = tags[number] if number < len(tags) else number.to_bytes(32, "big")
        where = "one" if number % 2 else f"to{number}"
        chain.add(Set(at, tag, "pattern", where), at + MANY + number)
    with open_store(tmp_path, CLAN) as store:
        store.merge_statements([CLAN.member(PEER).encode()])
        pour(store, chain)
        memory = look_at(store)
        assert [(item.slug, item.sessions) for item in memory.hot(REPO)] == [("one", len(tags) // 2)]
        assert not memory.is_hot("p1")
        check_contexts(memory)
