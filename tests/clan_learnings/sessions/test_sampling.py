"""Sampling: the score of a session, which is the first of its repository, and the order."""

import itertools

import pytest

from clan_learnings.sessions.sampling import SampleCandidate, best, score_all

DAY = 86_400_000
NOW = 1000 * DAY


def candidate(
    key: str = "a", *, days: int = 100, messages: int = 1, calls: int = 0, outcome: str = "unknown", repo: str = ""
) -> SampleCandidate:
    at = NOW - days * DAY
    return SampleCandidate(f"/t/{key}", key, key, "codex", messages, calls, outcome, repo, at, at)


@pytest.mark.parametrize(
    ("one", "part", "points"),
    [
        (candidate(days=7), "recency", 3),
        (candidate(days=8), "recency", 2),
        (candidate(days=30), "recency", 2),
        (candidate(days=31), "recency", 1),
        (candidate(messages=51), "length", 3),
        (candidate(messages=50), "length", 2),
        (candidate(messages=21), "length", 2),
        (candidate(messages=20), "length", 1),
        (candidate(repo="github.com/a/b"), "repo", 5),
        (candidate(repo=""), "repo", 1),
        (candidate(outcome="failure"), "outcome", 3),
        (candidate(outcome="success"), "outcome", 2),
        (candidate(outcome="unknown"), "outcome", 1),
        (candidate(calls=11), "calls", 2),
        (candidate(calls=10), "calls", 0),
    ],
)
def test_each_part_of_the_score(one: SampleCandidate, part: str, points: int) -> None:
    """On both sides of every bound."""
    (scored,) = score_all([one], NOW)
    assert scored.parts[part] == points
    assert scored.score == sum(scored.parts.values())


def test_the_first_session_of_a_repository_is_the_one_that_began_first() -> None:
    """Whatever the order in which files are found."""
    sessions = [candidate("b", days=5, repo="r"), candidate("a", days=9, repo="r"), candidate("c", days=9, repo="r")]
    for order in itertools.permutations(sessions):
        firsts = [each.candidate.key for each in score_all(order, NOW) if each.parts["repo"] == 5]
        assert firsts == ["a"]


def test_a_subagent_is_no_first_session() -> None:
    """It began in another."""
    sessions = [candidate("a", days=9, repo="r")._replace(is_subagent=True), candidate("b", days=5, repo="r")]
    assert [each.candidate.key for each in score_all(sessions, NOW) if each.parts["repo"] == 5] == ["b"]


def test_copies_are_one_session() -> None:
    """The file that tells most of it, else the first by name."""
    one = candidate("a", messages=5)
    copies = [one._replace(path="/t/2"), one._replace(path="/t/1"), one._replace(path="/t/0", messages=4)]
    for order in itertools.permutations(copies):
        assert [each.candidate.path for each in score_all(order, NOW)] == ["/t/1"]


def test_equal_scores_stand_newest_first_then_by_name() -> None:
    """So the order does not depend on the disk."""
    sessions = [candidate("c", days=41), candidate("b", days=40), candidate("a", days=40)]
    for order in itertools.permutations(sessions):
        assert [each.candidate.key for each in score_all(order, NOW)] == ["a", "b", "c"]


def test_what_is_asked_for_is_chosen_after_everything_was_scored() -> None:
    """A filter makes no other session the first of its repository."""
    sessions = [candidate("old", days=90, repo="github.com/a/b"), candidate("new", days=1, repo="github.com/a/b")]
    scored = score_all(sessions, NOW)
    (found,) = best(scored, count=10, since_ms=NOW - 5 * DAY)
    assert (found.candidate.key, found.parts["repo"]) == ("new", 1)
    assert [each.candidate.key for each in best(scored, count=10, repo="A/B")] == ["old", "new"]
    assert best(scored, count=10, repo="x/b") == []
    assert len(best(scored, count=1)) == 1
    assert best(scored, count=10, min_score=99) == []


@pytest.mark.parametrize(("percent", "number"), [(1, 1), (10, 1), (50, 5), (100, 10)])
def test_a_share_takes_the_place_of_a_count(percent: float, number: int) -> None:
    """At least one, if there is any."""
    scored = score_all([candidate(str(n)) for n in range(10)], NOW)
    assert len(best(scored, count=3, top_percent=percent)) == number
