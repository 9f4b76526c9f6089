"""Search on a real notebook: what is found, in which order, and why; with words alone and with a meaning beside them."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clan_learnings.records.memory import Memory
from clan_learnings.records.shared_settings import KEY
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.finder import KeywordFinder, are_crowded
from clan_learnings.search.keywords.search_table import WordSearch
from clan_learnings.search.record_search import SearchHit, search
from mesh.core.draft import NewRecord
from mesh.core.ids import text_id
from mesh.store.reader import Entry, Reader
from tests.clan_learnings.records.notebooks import OTHER, REPO, Notebook

WORDS = ("redis", "cache", "queue", "deploy", "token", "linter", "proxy", "staging")
FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"category": "build-errors"}, "a"),
    ({"tags": ["ci", "x"]}, "ab"),
    ({"agent": "codex"}, "b"),
    ({"category": "build-errors", "agent": "codex"}, ""),
    ({"logs": ("patterns",)}, "d"),
    ({"repo": OTHER}, "cd"),
    ({"author": bytes(32)}, ""),
    ({"until_ms": 0}, ""),
    ({"since_ms": 0}, "abcd"),
    ({"tier": "WARM"}, "abcd"),
    ({"tier": "ARCHIVE"}, ""),
]


class Meanings(KeywordFinder):
    """Words as ever, and a meaning that was given to some records by hand: the cosine of each with any question."""

    has_meaning = True

    def __init__(self, reader: Reader, given: dict[bytes, float]) -> None:
        super().__init__(reader)
        self._live, self._given = reader.live(given), given

    def by_meaning(
        self, text: str, within: SearchFilters, count: int, without: Collection[str] = ()
    ) -> list[tuple[Entry, float]]:
        """All that have one."""
        ranked = sorted(self._live, key=lambda tag: -self._given[tag])
        return [(self._live[tag], self._given[tag]) for tag in ranked[:count]]

    def cosines(self, text: str, tags: Iterable[bytes]) -> dict[bytes, float]:
        """As given."""
        return {tag: self._given[tag] for tag in tags if tag in self._given}


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    """An empty notebook."""
    return Notebook(tmp_path)


def found(book: Notebook, query: str, repo: str | None = REPO, limit: int = 10, **more: Any) -> list[SearchHit]:
    """Hits by words alone."""
    least, collapse = more.pop("least", 0.0), more.pop("collapse", True)
    return search(book.memory(), query, SearchFilters(repo, **more), limit, least=least, collapse=collapse)


def with_meaning(book: Notebook, given: dict[bytes, float]) -> Memory:
    """A memory that searches by both."""
    reader = Reader(book.author.store.database.connection)
    return Memory(reader, finder=Meanings(reader, given))


def tags_of(hits: list[SearchHit]) -> list[bytes]:
    """What was found, in its order."""
    return [hit.note.tag for hit in hits]


# What is found


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("HTTP_405", "git push gives HTTP 405 since the branch is protected"),
        ("get_user_by_id", "getUserById loads the whole row"),
        ("token.ts", "the session is read in src/auth/token.ts"),
        ("no-verify", "commits with --no-verify are refused"),
        ("econnrefused", "ECONNREFUSED 127.0.0.1:6379: start Redis"),
        ("caching of responses", "every response is cached at night"),
        ("terrafrom", "terraform plan needs credentials"),
        ("拼音排序", "中文姓名要按拼音排序"),
    ],
)
def test_identifiers_forms_slips_and_other_scripts_are_found(book: Notebook, query: str, text: str) -> None:
    """Among other records."""
    for other in ("the linter is strict", "deploys run at noon", "the proxy drops idle connections"):
        book.discover(other)
    tag = book.discover(text)
    assert tags_of(found(book, query))[:1] == [tag]


def test_a_hit_says_why_it_is_there(book: Notebook) -> None:
    """The words it has, rarest first, and what its score is made of."""
    book.discover("the queue is full")
    tag = book.discover("the queue of the gateway is REDIS_URL")
    [first, second] = found(book, "where is the gateway queue REDIS_URL")
    assert (first.note.tag, first.words[-1], second.words) == (tag, "queue", ["queue"])
    assert first.why.startswith("has ")
    assert first.parts == {"keyword": 1.0, "fused": 1.0, "recency": pytest.approx(1, abs=0.01)}
    assert first.score == pytest.approx(1, abs=0.01)
    assert 0 < second.relevance < 0.8 < first.relevance <= 1


def test_nothing_is_found_for_what_nobody_wrote(book: Notebook) -> None:
    """Nor for nothing."""
    book.discover("the queue is full")
    assert found(book, "kubernetes") == found(book, "") == found(book, "queue", limit=0) == []


@pytest.mark.parametrize(("filters", "wanted"), FILTERS, ids=str)
def test_filters_come_before_the_ranking(book: Notebook, filters: dict[str, Any], wanted: str) -> None:
    """Each of them, also where the index knows nothing of it."""
    tags = {
        "a": book.add("discoveries", text="redis one", repo=REPO, category="build-errors", tags=["ci"]),
        "b": book.add("discoveries", text="redis two", repo=REPO, tags=["ci", "db"], agent="codex"),
        "c": book.add("discoveries", text="redis three", repo=OTHER),
        "d": book.add("patterns", rule="redis four", pattern="d", repo=""),
    }
    hits = found(book, "redis", **{"repo": None} | filters)
    assert sorted(tags_of(hits)) == sorted(tags[name] for name in wanted)


def test_what_is_edited_muted_or_retracted_is_found_as_it_is_now(book: Notebook) -> None:
    """The repository it was moved to, its new words; or not at all."""
    moved = book.add("discoveries", text="redis here", repo=OTHER)
    book.set(moved, "repo", REPO)
    book.set(moved, "text", "memcached here")
    muted, gone = book.discover("memcached muted"), book.discover("memcached gone")
    book.muted.add(text_id(muted))
    book.retract(gone)
    assert tags_of(found(book, "memcached")) == [moved]
    assert found(book, "redis") == found(book, "memcached", OTHER) == []


def test_what_the_filters_leave_is_found_however_deep_it_lies(book: Notebook) -> None:
    """A hundred records that fit better are of another category."""
    tag = book.add("discoveries", text="one redis among very many other words", repo=REPO, category="domain-knowledge")
    others = {"repo": REPO, "category": "build-errors"}
    book.write(*(NewRecord("discoveries", {"text": f"redis redis {number}"} | others) for number in range(130)))
    assert tags_of(found(book, "redis", category="domain-knowledge")) == [tag]


# Order


def test_the_newer_of_two_that_fit_as_well_comes_first(book: Notebook) -> None:
    """And an old one that fits better is not lost for that."""
    old = book.discover("the redis of staging")
    better = book.discover("the redis cache of staging")
    book.wait(60)
    new = book.discover("the redis of testing")
    assert tags_of(found(book, "redis")) == [new, old, better]
    assert tags_of(found(book, "redis cache"))[0] == better


def test_patterns_and_what_is_hot_do_not_age(book: Notebook) -> None:
    """They hold until somebody says otherwise."""
    pattern = book.add("patterns", rule="use redis for the cache", pattern="redis", repo=REPO)
    hot = book.sessions("use-pnpm", 3)
    plain = book.discover("pnpm beside redis")
    book.wait(300)
    book.discover("something else")
    recency = {hit.note.tag: hit.parts["recency"] for hit in found(book, "redis pnpm", collapse=False)}
    assert recency[pattern] == recency[hot[0]] == 1.0
    assert recency[plain] < 0.01


def test_a_category_or_tags_change_the_formula(book: Notebook) -> None:
    """Then what is filed better may come before what fits a little better."""
    few = book.add("discoveries", text="redis redis queue", repo=REPO, tags=["db"], confidence=0.2)
    both = book.add(
        "discoveries", text="redis fills the whole long queue", repo=REPO, tags=["db", "ci"], confidence=0.9
    )
    assert tags_of(found(book, "redis queue")) == [few, both]
    hits = found(book, "redis queue", tags=["ci", "db"])
    assert tags_of(hits) == [both, few]
    assert [hit.parts["tags"] for hit in hits] == [1.0, 0.5]
    assert [hit.parts["quality"] for hit in hits] == [0.9, 0.2]


def test_a_least_relevance_leaves_out_the_rest(book: Notebook) -> None:
    """However good it is beside the others."""
    tag = book.discover("redis queue token linter")
    book.discover("the queue is full of other things")
    assert tags_of(found(book, "redis queue token linter", least=0.8)) == [tag]
    assert len(found(book, "redis queue token linter")) == 2
    assert found(book, "queue kubernetes grafana helm istio", least=0.8) == []


# Near-duplicates


def test_what_says_the_same_is_one_hit_that_knows_the_others(book: Notebook) -> None:
    """The best of them, with the rest behind it; and each by itself where that is wanted."""
    texts = ("the tests need redis", "The tests need Redis.", "tests need redis 7")
    tags = [book.add("discoveries", text=text, repo=REPO) for text in texts]
    hits = found(book, "redis tests")
    assert sorted([hit.note.tag, *(note.tag for note in hit.also)] for hit in hits) == sorted(
        [sorted([tags[0], tags[1]], key=tags_of(hits).count, reverse=True), [tags[2]]]
    )
    assert sorted(tags_of(found(book, "redis tests", collapse=False))) == sorted(tags)


def test_a_busy_pattern_leaves_room_for_others(book: Notebook) -> None:
    """A hundred corrections of one mistake are one line."""
    book.sessions("use-pnpm", 100)
    other = book.discover("an install takes long: pnpm downloads everything")
    hits = found(book, "pnpm install", limit=5)
    assert len(hits) == 2
    assert other in tags_of(hits)
    assert max(len(hit.also) + hit.more for hit in hits) == 99


@pytest.mark.parametrize(
    "filters", [{"since_ms": 1}, {"until_ms": 1 << 46}, {"author": True}, {"logs": ("corrections",)}]
)
def test_of_a_busy_pattern_no_more_are_promised_than_a_filter_lets_through(
    book: Notebook, filters: dict[str, Any]
) -> None:
    """How many more there are is known of the pattern, not of those that were asked for: so only those looked at are counted."""
    book.sessions("use-pnpm", 100)
    (any_hit,) = found(book, "pnpm install", limit=1)
    if "author" in filters:
        filters = {"author": any_hit.note.node}
    hits = found(book, "pnpm install", limit=5, **filters)
    assert [hit.more for hit in hits] == [0] * len(hits)
    assert hits


class Counting(KeywordFinder):
    """Words as ever, and how many records were handed out for one question."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self.given = 0

    def by_words(
        self,
        words: Mapping[str, float],
        within: SearchFilters,
        count: int,
        also: Iterable[bytes] = (),
        without: Collection[str] = (),
    ) -> list[tuple[Entry, float]]:
        """As ever."""
        found = super().by_words(words, within, count, also, without)
        self.given += len(found)
        return found

    def is_crowded(
        self, words: Mapping[str, float], within: SearchFilters, count: int, others: int, also: Iterable[bytes] = ()
    ) -> bool:
        """As ever; an index of its own needs to read nothing for this."""
        before = self.given
        try:
            return super().is_crowded(words, within, count, others, also)
        finally:
            self.given = before


@pytest.mark.parametrize("has_ended", [False, True])
def test_who_asks_about_a_busy_pattern_does_not_read_all_of_it(book: Notebook, has_ended: bool) -> None:  # noqa: FBT001
    """As many as are shown are enough to show one line, also of a pattern of which nothing is shown."""
    book.sessions("use-pnpm", 200)
    if has_ended:
        book.archive("use-pnpm")
    others = [book.discover(f"a long install of many pnpm packages: number {number}") for number in range(12)]
    finder = Counting(book.memory().reader)
    hits = search(book.memory_with(finder), "pnpm install", SearchFilters(REPO, archived=False), 10)
    assert len(hits) == 10
    assert len({hit.note.tag for hit in hits} & set(others)) == 10 - (not has_ended)
    assert finder.given <= 30
    assert [len(hit.also) + hit.more for hit in hits if hit.note.log == "corrections"] == [199] * (not has_ended)


def test_a_busy_pattern_is_shown_though_its_first_records_are_muted(book: Notebook) -> None:
    """They are hidden one by one, so they stand for none of the others."""
    old = book.sessions("use-pnpm", 40)
    new = book.sessions("use-pnpm", 40, first=41)
    book.muted |= {text_id(tag) for tag in new}
    (hit,) = found(book, "pnpm install")
    assert hit.note.tag in old
    assert {note.tag for note in hit.also}.isdisjoint(new)


@pytest.mark.parametrize(
    ("patterns", "others", "are"),
    [
        (["a"] * 9 + ["b"], 2, True),
        (["a"] * 8 + ["b"] * 2, 2, False),
        (["b", "a", "a", "a"], 2, True),
        ([""] * 10, 2, False),
        ([0] * 10, 2, False),
        ([5] * 10, 1, True),
        ([], 2, False),
    ],
)
def test_nearly_all_of_one_pattern_is_a_crowd(patterns: list[object], others: int, are: bool) -> None:  # noqa: FBT001
    """Fewer than so many are not of it; no pattern is none."""
    assert are_crowded(patterns, others) is are


def test_a_few_more_of_the_same_are_asked_for_once(book: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the database has found for one question is not looked for again, and not handed out for another."""
    for number in range(40):
        book.discover(f"redis number {number}")
    reader = book.memory().reader
    finder, within = KeywordFinder(reader), SearchFilters()
    first, more = finder.by_words({"redis": 1.0}, within, 5), finder.by_words({"redis": 1.0}, within, 35)
    assert [entry.tag for entry, _ in more][:5] == [entry.tag for entry, _ in first]
    assert len(more) == 35
    assert [entry.record["text"] for entry, _ in finder.by_words({"17": 1.0}, within, 5)] == ["redis number 17"]
    assert len(finder.by_words({"redis": 1.0}, SearchFilters(OTHER), 5)) == 0
    asked: list[int] = []

    def nothing(*_args: object, **_more: object) -> list[tuple[Entry, float]]:
        asked.append(1)
        return []

    monkeypatch.setattr(reader.part(WordSearch), "weighed", nothing)
    assert finder.by_words({"redis": 1.0}, within, 5) == finder.by_words({"redis": 1.0}, within, 7) == []
    assert asked == [1]


# Meaning


def test_a_paraphrase_is_found_by_what_it_means(book: Notebook) -> None:
    """Though it shares one word at most, and another record shares that, too."""
    meant = book.discover("the gateway host is edge-7")
    other = book.discover("which machine compiles is in the inventory")
    memory = with_meaning(book, {meant: 0.62, other: 0.31})
    hits = search(memory, "which machine runs the proxy", SearchFilters(REPO), 10)
    assert hits[0].note.tag == meant
    assert (hits[0].why, hits[0].parts["meaning"]) == ("near in meaning (0.62)", 0.62)


def test_what_has_nothing_to_do_with_the_question_is_not_found(book: Notebook) -> None:
    """Every text has some cosine with every other."""
    near, far = book.discover("the gateway host is edge-7"), book.discover("lunch is at noon")
    memory = with_meaning(book, {near: 0.5, far: 0.12})
    assert tags_of(search(memory, "which machine runs the proxy", SearchFilters(REPO), 10)) == [near]


def test_an_exact_identifier_wins_over_a_meaning(book: Notebook) -> None:
    """What is looked for letter by letter is there letter by letter."""
    exact, near = book.discover("ERR_REQUIRE_ESM: use import"), book.discover("modules of the other sort fail")
    memory = with_meaning(book, {exact: 0.4, near: 0.6})
    assert tags_of(search(memory, "ERR_REQUIRE_ESM", SearchFilters(REPO), 10)) == [exact, near]


def test_a_record_without_a_vector_yet_loses_nothing(book: Notebook) -> None:
    """It was written a moment ago, and is what is looked for."""
    others = [book.discover(f"the {word} is slow") for word in WORDS]
    fresh = book.discover("ECONNRESET comes from the proxy")
    memory = with_meaning(book, dict(zip(others, (0.1, 0.3, 0.2, 0.4, 0.1, 0.2, 0.3, 0.2), strict=True)))
    hits = search(memory, "ECONNRESET proxy", SearchFilters(REPO), 10)
    assert hits[0].note.tag == fresh
    assert "meaning" not in hits[0].parts


def test_the_mesh_sets_what_meaning_counts(book: Notebook) -> None:
    """None of it: the order of the words."""
    worded, meant = book.discover("redis queue"), book.discover("something else")
    given = {worded: 0.3, meant: 0.9}
    assert tags_of(search(with_meaning(book, given), "redis", SearchFilters(REPO), 10)) == [meant, worded]
    book.set(KEY, "recall_weight", 0)
    assert tags_of(search(with_meaning(book, given), "redis", SearchFilters(REPO), 10)) == [worded, meant]
    for odd in ("x", True, -1, 7, None):
        book.set(KEY, "recall_weight", odd)
        assert book.memory().settings.recall_weight == 0.7


def test_filters_hold_for_what_meaning_finds(book: Notebook) -> None:
    """An index of vectors knows nothing of repositories."""
    here, there = book.discover("a"), book.discover("b", OTHER)
    assert tags_of(search(with_meaning(book, {here: 0.5, there: 0.9}), "question", SearchFilters(REPO), 10)) == [here]


# Properties


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Notebook:
    """Records of equal length and age, each with some of the words; for reading only."""
    made = Notebook(Path(tmp_path_factory.mktemp("shelf")))
    subsets = [[WORDS[place] for place in range(8) if number >> place & 1] for number in range(1, 120)]
    texts = [" ".join((words + ["filler"] * 8)[:8]) for words in subsets]
    made.write(*(NewRecord("discoveries", {"text": text, "repo": REPO}) for text in texts))
    return made


QUESTIONS = st.lists(st.sampled_from([*WORDS, "the", "nobody", "linterr", '"', "🔥"]), max_size=7).map(" ".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(query=QUESTIONS, limit=st.integers(0, 30))
def test_same_state_same_answer_and_every_score_is_between_nothing_and_one(
    shelf: Notebook, query: str, limit: int
) -> None:
    """A longer answer begins like a shorter one, without what would be said twice."""
    hits = found(shelf, query, limit=limit)
    assert [(hit.note.tag, hit.score, hit.why) for hit in hits] == [
        (hit.note.tag, hit.score, hit.why) for hit in found(shelf, query, limit=limit)
    ]
    assert len(hits) <= limit
    for hit in hits:
        assert 0 <= hit.score <= 1
        assert 0 <= hit.relevance <= 1
        assert all(0 <= part <= 1 for part in hit.parts.values())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5, unique=True))
def test_more_of_the_words_never_score_less_than_a_subset(shelf: Notebook, query: list[str]) -> None:
    """Of records that are equally long and equally old."""
    hits = found(shelf, " ".join(query), limit=200, collapse=False)
    scores = {hit.note.tag: (frozenset(hit.note.text.split()) & set(query), hit.score) for hit in hits}
    for mine, score in scores.values():
        assert all(other <= score + 1e-4 for theirs, other in scores.values() if theirs <= mine)
