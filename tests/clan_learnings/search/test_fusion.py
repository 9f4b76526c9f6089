"""The arithmetic of a score: its bounds, what may change an order and what may not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.search.fusion import (
    FULL,
    HALF_LIFE_MS,
    SAME,
    UNRELATED,
    faded,
    filed,
    fuse,
    ideal_weight,
    keyword_part,
    likeness_of,
    recency,
    relevance_of,
    steady,
)

SHARES = st.floats(0, 1)
WEIGHTS = st.floats(0, 1e6)
COSINES = st.one_of(st.none(), st.floats(-1.01, 1.01))


def test_the_formula_is_that_of_the_design() -> None:
    """Seven parts meaning, three parts words, and a cosine below zero is none."""
    assert fuse(0.5, 0.8, 0.7) == pytest.approx(0.7 * 0.8 + 0.3 * 0.5)
    assert fuse(0.5, -0.4, 0.7) == pytest.approx(0.15)
    assert fuse(0.5, None, 0.7) == 0.5


def test_the_best_record_has_a_whole_keyword_part_only_if_it_has_most_of_the_question() -> None:
    """Else sharing one common word would count as much as sharing all."""
    assert keyword_part(8.0, 8.0, 10.0) == 1.0
    assert keyword_part(4.0, 8.0, 10.0) == 0.5
    assert keyword_part(3.0, 3.0, 10.0) == pytest.approx(0.3 / FULL)
    assert keyword_part(0.0, 0.0, 0.0) == 0.0


def test_a_long_text_asks_for_no_more_than_its_rarest_words() -> None:
    """A record need not have every word of a traceback."""
    assert ideal_weight([5.0] * 4) == 20.0
    assert ideal_weight([1.0] * 100 + [5.0] * 6) == 30.0


def test_age_takes_a_fifth_at_most() -> None:
    """Half of that in thirty days; what comes from the future is of today."""
    assert faded(1.0, recency(0)) == 1.0
    assert faded(1.0, recency(HALF_LIFE_MS)) == pytest.approx(0.9)
    assert faded(1.0, recency(1000 * HALF_LIFE_MS)) == pytest.approx(0.8)
    assert recency(-5) == 1.0


def test_a_category_and_tags_count_as_the_design_says() -> None:
    """Four tenths for the text, two each for category and tags, one each for recency and quality."""
    assert filed(1.0, 0.0, 0.0, 0.0, 0.0) == 0.4
    assert filed(0.0, 1.0, 0.5, 0.0, 0.0) == pytest.approx(0.3)
    assert filed(0.0, 0.0, 0.0, 1.0, 0.5) == pytest.approx(0.15)


def test_a_cosine_reads_as_a_person_would_put_it() -> None:
    """Texts that have nothing in common have a little; a rewording has not all of it."""
    assert (likeness_of(UNRELATED), likeness_of(SAME), likeness_of(1.0), likeness_of(-1.0)) == (0.0, 1.0, 1.0, 0.0)


@given(WEIGHTS, WEIGHTS, WEIGHTS, COSINES, SHARES, st.integers(-(10**15), 10**15), st.tuples(SHARES, SHARES, SHARES))
def test_every_score_is_between_nothing_and_one(
    weight: float, best: float, ideal: float, cosine: float | None, share: float, age_ms: int, others: tuple[float, ...]
) -> None:
    """Whatever is put in."""
    fused = fuse(keyword_part(weight, max(best, weight), ideal), cosine, share)
    fresh = recency(age_ms)
    assert 0 <= fused <= 1 + 1e-9
    for score in (
        faded(fused, fresh),
        filed(fused, others[0], others[1], fresh, others[2]),
        relevance_of(weight, ideal, cosine),
    ):
        assert -1e-9 <= score <= 1 + 1e-9
        assert 0 <= steady(score) <= 1


@given(WEIGHTS, WEIGHTS, WEIGHTS, st.floats(-1, 1), SHARES)
def test_more_weight_and_a_nearer_meaning_never_score_less(
    weight: float, more: float, ideal: float, cosine: float, share: float
) -> None:
    """Neither the score nor the relevance."""
    best = weight + more
    low, high = keyword_part(weight, best, ideal), keyword_part(best, best, ideal)
    assert fuse(low, cosine, share) <= fuse(high, cosine, share)
    assert fuse(low, -1.0, share) <= fuse(low, cosine, share)
    assert relevance_of(weight, ideal, cosine) <= relevance_of(best, ideal, cosine)
    assert relevance_of(weight, ideal, -1.0) <= relevance_of(weight, ideal, cosine)
