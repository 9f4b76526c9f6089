"""One measure of likeness, with and without vectors: its thresholds on the pairs, its vetoes, and who asks it."""

import os
from collections.abc import Collection, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.records.matching import (
    CONTRADICTION,
    ComparableCorrection,
    PatternCandidate,
    best_match,
    compare,
    slug_of,
)
from clan_learnings.records.notebook import draft_discovery, find_pattern
from clan_learnings.records.record import About
from clan_learnings.redaction.text_cleaner import TextCleaner
from clan_learnings.search.embedders.embedder import available, open_embedder
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.finder import KeywordFinder
from clan_learnings.search.likeness import LINK, MERGE, covering, judge, likeness, telling_words
from mesh.core.draft import NewRecord
from mesh.store.reader import Entry, Reader
from tests.clan_learnings.records import matching_pairs
from tests.clan_learnings.records.matching_pairs import Pair
from tests.clan_learnings.records.notebooks import OTHER, REPO, Notebook
from tests.clan_learnings.search import meaning_pairs, pair_cosines

PRECISION = 0.98  # of what is the same by words or meaning
HELD_OUT_PRECISION = 0.95
ABOUT_THE_SAME = 0.85  # of all pairs that say the same, and no contradiction: at least linked
UNRELATED = 0.02  # of any two corrections: at most linked

Case = tuple[ComparableCorrection, ComparableCorrection, float]


def cases(name: str) -> list[Case]:
    """The pairs of a block as they are compared, with their cosines."""
    source = matching_pairs if hasattr(matching_pairs, name) else meaning_pairs
    pairs: list[Pair] = getattr(source, name)
    cosines: list[float] = getattr(pair_cosines, name)
    return [
        (ComparableCorrection(*one), ComparableCorrection(*other), near)
        for (one, other), near in zip(pairs, cosines, strict=True)
    ]


SPLITS = {
    split: (cases(f"SAME_{split}") + cases(f"MEANT_{split}"), cases(f"ALIKE_{split}") + cases(f"NEAR_{split}"))
    for split in ("TUNED", "HELD_OUT")
}
ALL = [case for same, other in SPLITS.values() for case in same + other]


def is_pattern(one: ComparableCorrection, other: ComparableCorrection, cosine: float | None) -> bool:
    """Counted together."""
    return judge(one, other, cosine)[0] > 0


def is_merged(one: ComparableCorrection, other: ComparableCorrection, cosine: float | None) -> bool:
    """One of them is enough."""
    return likeness(one, other, cosine) >= MERGE


def is_linked(one: ComparableCorrection, other: ComparableCorrection, cosine: float | None) -> bool:
    """About the same thing, as the pairs that only look alike mostly are, too."""
    return likeness(one, other, cosine) >= LINK


def share(values: Iterable[bool]) -> float:
    """How many of them hold."""
    found = list(values)
    return sum(found) / len(found)


@pytest.mark.parametrize("meaning", [False, True])
def test_thresholds_hold_on_the_pairs_with_and_without_vectors(
    capsys: pytest.CaptureFixture[str],
    meaning: bool,  # noqa: FBT001
) -> None:
    """Precise where two are counted or kept as one; and most that say the same are at least linked. Prints the table of ADR 0044."""
    for split, (same, other) in SPLITS.items():
        told = {}
        for what, holds in (("pattern", is_pattern), ("merge", is_merged), ("link", is_linked)):
            right, wrong = (
                [holds(one, two, near if meaning else None) for one, two, near in kind] for kind in (same, other)
            )
            told[what] = sum(right) / (sum(right) + sum(wrong)), share(right)
        figures = ", ".join(f"{what} {precision:.3f} / {recall:.3f}" for what, (precision, recall) in told.items())
        with capsys.disabled():
            print(f"\nlikeness by words{' and vectors' * meaning}, {split}: precision / recall: {figures}", end="")
        assert min(told["pattern"][0], told["merge"][0]) >= (PRECISION if split == "TUNED" else HELD_OUT_PRECISION)


def test_vectors_only_add_to_what_words_find() -> None:
    """More is found, and nothing else is taken back."""
    for same, other in SPLITS.values():
        for one, two, near in same + other:
            by_words, by_both = judge(one, two), judge(one, two, near)
            assert by_both[0] == by_words[0] or (by_words[0] == 0 < by_both[0])
    tuned, _ = SPLITS["TUNED"]
    assert sum(judge(*case)[0] > 0 for case in tuned) > sum(judge(one, two)[0] > 0 for one, two, _ in tuned)


def test_what_says_the_same_is_linked_and_what_has_nothing_in_common_is_not() -> None:
    """Of pairs that say the same nearly all; of two corrections that were drawn from different pairs nearly none."""
    same = [case for split in SPLITS.values() for case in split[0] if compare(case[0], case[1])[0] >= 0]
    assert share(likeness(*case) >= LINK for case in same) >= ABOUT_THE_SAME
    ones = [one for one, _, _ in same]
    drawn = list(zip(ones, ones[7:] + ones[:7], strict=True))
    assert share(likeness(one, two) >= LINK for one, two in drawn) <= UNRELATED


def test_a_contradiction_is_never_alike_however_near_the_vectors_are() -> None:
    """Other numbers, flags, identifiers or a negation."""
    for one, two, _ in ALL:
        if compare(one, two)[0] == CONTRADICTION:
            assert judge(one, two, 0.9)[0] == CONTRADICTION
            assert likeness(one, two, 0.9) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("wrote the list by hand", "generate tables with make_tables"), ("typed rows manually", "use build_rows")),
        (("the worker died", "stream in chunks of 64"), ("the process was killed", "read it piece by piece")),
        (("the worker died", "stream it --slowly"), ("the process was killed", "read it piece by piece")),
        (("used npm", "use pnpm"), ("used npm", "use yarn")),
    ],
)
def test_meaning_never_bridges_identifiers_numbers_flags_or_a_single_name(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    """They stand for themselves, and one word in the place of another is mostly another thing."""
    assert judge(ComparableCorrection(*one), ComparableCorrection(*other), 0.9)[0] <= 0


WORDS = "use not npm pnpm never run tests -x 404 getUserById the file"
SENTENCES = st.lists(st.sampled_from(WORDS.split()), max_size=9).map(" ".join)


@given(SENTENCES, SENTENCES, st.one_of(st.none(), st.floats(-1, 1)))
def test_likeness_is_symmetric_and_on_its_scale(one: str, other: str, cosine: float | None) -> None:
    """Whatever is compared; what is the same is always enough for a link, and what is not never for one record in two's place."""
    a, b = ComparableCorrection("", one), ComparableCorrection("", other)
    found = likeness(a, b, cosine)
    assert found == likeness(b, a, cosine)
    assert 0 <= found <= 1
    if judge(a, b, cosine)[0] > 0:
        assert found >= LINK
    else:
        assert found < MERGE


class Meaning(KeywordFinder):
    """The keyword index, and cosines that were given: for texts by what they are looked for with."""

    has_meaning = True

    def __init__(self, reader: Reader, near: dict[bytes, float], embedder: str = "minilm-l6-int8") -> None:
        super().__init__(reader)
        self.embedder = embedder
        self._near = near
        self._live = reader

    def by_meaning(
        self, text: str, within: SearchFilters, count: int, without: Collection[str] = ()
    ) -> list[tuple[Entry, float]]:
        """All of them that are live."""
        assert text
        live = self._live.live(self._near)
        found = [(live[tag], near) for tag, near in self._near.items() if tag in live and live[tag].log in within.logs]
        return sorted(found, key=lambda each: -each[1])[:count]

    def cosines(self, text: str, tags: Iterable[bytes]) -> dict[bytes, float]:
        """Those that were given."""
        assert text
        return {tag: self._near[tag] for tag in tags if tag in self._near}


ONE: tuple[str, str] = ("the worker died when memory ran out", "stream the file in chunks")
OTHER_WORDS: tuple[str, str] = ("read a huge file at once and was killed", "process it piece by piece")


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    """An empty notebook."""
    return Notebook(tmp_path)


def test_a_correction_in_other_words_is_counted_together_where_there_are_vectors(book: Notebook) -> None:
    """And without them it founds a pattern of its own. Either is written into the record: no fold has to know how it was found."""
    slug = book.correct(*ONE)
    (tag,) = [entry.tag for entry in book.memory().reader.tail(1, "corrections")]
    memory = book.memory()
    alone = find_pattern(memory, *OTHER_WORDS, REPO)
    assert (alone.slug, alone.founded) == (slug_of(*OTHER_WORDS), True)
    near = book.memory_with(Meaning(memory.reader, {tag: 0.699}))
    found = find_pattern(near, *OTHER_WORDS, REPO)
    assert (found.slug, found.founded) == (slug, False)
    assert found.why == "means the same, in other words (0.70)"
    assert MERGE <= found.sureness < 1


def test_the_rule_of_a_pattern_is_found_by_its_meaning_too(book: Notebook) -> None:
    """A pattern that was written by hand has no corrections yet."""
    tag = book.add("patterns", rule=f"{ONE[1]}, the worker died when memory ran out", pattern="chunks", repo=REPO)
    near = book.memory_with(Meaning(book.memory().reader, {tag: 0.7}))
    assert find_pattern(near, *OTHER_WORDS, REPO).slug == "chunks"


def test_what_most_of_a_pattern_contradicts_is_not_counted_under_it(book: Notebook) -> None:
    """Also if they said it in the same words: three that are for pnpm outweigh one that is for npm."""
    for session in range(3):
        book.correction("p", f"codex:{session}", wrong="used npm again", right="use pnpm")
    book.correction("p", "codex:9", wrong="used pnpm somewhere", right="use npm")
    assert find_pattern(book.memory(), "used pnpm", "use npm", REPO).founded


def test_vectors_of_a_model_whose_cosines_were_not_measured_are_not_asked(book: Notebook) -> None:
    """In some of them any two texts are nearer than 0.7."""
    book.correct(*ONE)
    (tag,) = [entry.tag for entry in book.memory().reader.tail(1, "corrections")]
    other = book.memory_with(Meaning(book.memory().reader, {tag: 0.699}, "https://host/v1 some-model"))
    assert find_pattern(other, *OTHER_WORDS, REPO).founded


def test_the_same_normalised_text_has_one_slug_whatever_is_installed(book: Notebook) -> None:
    """Vectors are not even asked."""
    slug = book.correct("used npm", "use pnpm")
    tag = book.add("corrections", wrong=ONE[0], right=ONE[1], pattern="other", repo=REPO, session="codex:2")
    near = book.memory_with(Meaning(book.memory().reader, {tag: 0.94}))
    for memory in (book.memory(), near):
        assert find_pattern(memory, "npm was used", "Use pnpm!", REPO).slug == slug == slug_of("used npm", "use pnpm")


def test_a_discovery_in_other_words_is_covered_where_there_are_vectors(book: Notebook) -> None:
    """The same measure as for patterns; of another repository nothing covers it."""
    tag = book.discover("the worker died when memory ran out: stream the file in chunks")
    text = "read a huge file at once and was killed: process it piece by piece"
    assert covering(book.memory(), text, REPO) is None
    near = book.memory_with(Meaning(book.memory().reader, {tag: 0.7}))
    cover = covering(near, text, REPO)
    assert cover is not None
    assert (cover.note.tag, cover.score >= MERGE) == (tag, True)
    assert covering(near, text, OTHER) is None
    assert covering(near, text + " with --chunk-size 64", REPO) is None


def test_of_several_that_cover_a_discovery_the_most_alike_then_the_oldest_is_named(book: Notebook) -> None:
    """So every node names the same one."""
    text = "HTTP 405 on push means branch protection"
    first = book.discover(text)
    book.write(NewRecord("discoveries", {"text": text, "repo": REPO}))
    _, cover = draft_discovery(
        book.memory(), "http 405 on push means branch protection!", About(repo=REPO), TextCleaner()
    )
    assert cover is not None
    assert (cover.note.tag, cover.score, cover.why) == (first, 1.0, "the same words")


def test_a_text_is_looked_for_by_its_rarest_names(book: Notebook) -> None:
    """At most a few; by common words only if there is nothing else; by pairs of characters where no blanks divide words."""
    for number in range(3):
        book.discover(f"docker needs flag{number}x to start the file")
    book.discover("取引先の一覧")
    memory = book.memory()
    assert list(telling_words(memory, "docker said flag1x and unheardof"))[:2] == ["flag1x", "docker"]
    assert set(telling_words(memory, "the file")) == {"file"}
    assert "取引" in telling_words(memory, "取引先のCSV")
    assert telling_words(memory, "") == telling_words(memory, "?!") == {}


def test_best_match_asks_for_the_cosine_of_the_very_text() -> None:
    """Of a pattern with several texts."""
    pattern = PatternCandidate("chunks", [ONE, ("used npm", "use pnpm")], cosines={ONE: 0.699})
    match = best_match(*OTHER_WORDS, [pattern], judge)
    assert match is not None
    assert match.slug == "chunks"
    assert best_match(*OTHER_WORDS, [pattern]) is None


@pytest.mark.skipif(not available("minilm")[0], reason="the weights of the small model are not installed")
def test_the_cosines_of_the_pairs_are_those_of_the_model(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A few of them: what the thresholds were chosen on is what a node has."""
    embedder = open_embedder("minilm", str(tmp_path_factory.getbasetemp() / "graph"), os.environ)
    assert embedder.name.startswith("minilm-l6-")
    pairs = [*meaning_pairs.MEANT_TUNED[:4], *meaning_pairs.NEAR_TUNED[:4]]
    rows = embedder.embed([f"{each.right} (not: {each.wrong})" for pair in pairs for each in pair])
    found = [float(rows[at] @ rows[at + 1]) for at in range(0, len(rows), 2)]
    assert found == pytest.approx(pair_cosines.MEANT_TUNED[:4] + pair_cosines.NEAR_TUNED[:4], abs=0.02)
