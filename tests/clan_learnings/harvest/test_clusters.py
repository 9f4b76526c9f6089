"""Detect: what several sessions say alike is one candidate, and the best founded stands first."""

import pytest

from clan_learnings.harvest.candidates import MERGED, NOTICED, REJECTED, HarvestCandidate, candidate_from, signal_from
from clan_learnings.harvest.clusters import CandidatesInMemory, add_signal, clustered, ranked, signals_of
from clan_learnings.harvest.items import FIX, PITFALL, HarvestItem
from tests.clan_learnings.harvest.signals import API, WEB, candidate, correction, fact, signal

WORDINGS = (
    ("ran npm install in the web repo", "use pnpm install in the web repo"),
    ("I used npm install", "pnpm install"),
    ("npm install was run again", "always run pnpm install instead of npm install"),
)


def test_one_mistake_in_three_wordings_is_one_candidate() -> None:
    """By the one likeness of the product, as corrections that are written live."""
    found = clustered(signal(correction(*words), f"codex:{number}") for number, words in enumerate(WORDINGS))
    assert [(each.sessions, each.frequency) for each in found] == [(3, 3)]


def test_other_flags_numbers_and_negations_are_other_candidates() -> None:
    """What excludes each other is never one, however many words are the same."""
    found = clustered(
        [
            signal(correction("pytest -n 4 in the api", "pytest -n 8 in the api"), "codex:1"),
            signal(correction("pytest -n 4 in the api", "pytest -n 2 in the api"), "codex:2"),
            signal(correction("pnpm install", "npm install"), "codex:3"),
            signal(correction("npm install", "pnpm install"), "codex:4"),
        ]
    )
    assert len(found) == 4


def test_a_session_says_a_thing_once_whatever_number_of_transcripts_tell_of_it() -> None:
    """The same session in two files, read twice, with other lines: one signal."""
    heap = CandidatesInMemory()
    add_signal(heap, signal(correction(line=7), "codex:1"))
    _, again = add_signal(heap, signal(correction(line=7), "codex:1"))
    _, copied = add_signal(heap, signal(correction(line=90), "codex:1"))
    (found,) = heap.all.values()
    assert not again
    assert not copied
    assert (found.sessions, found.frequency) == (1, 1)


def test_twice_in_one_session_are_two_signals_of_one_session() -> None:
    """Frequency counts them, sessions do not."""
    said = signals_of([correction(*WORDINGS[0]), correction(*WORDINGS[1]), fact()], signal)
    found = clustered(said)
    assert [(each.kind, each.frequency, each.sessions) for each in found] == [("correction", 2, 1), ("fact", 1, 1)]


def test_what_agents_of_several_sorts_came_upon_stands_first() -> None:
    """Cross-flavour before more sessions, more sessions before more cost."""
    found = clustered(
        [
            *(signal(fact("The linter of billing needs node 22."), f"codex:{number}") for number in range(5)),
            signal(correction(), "codex:1"),
            signal(correction(), "claude-code:1", WEB),
            signal(fact("The proxy of staging drops idle sockets."), "codex:1", dollars=0.5),
            signal(fact("The proxy of production drops big headers."), "codex:1", dollars=2.5),
        ]
    )
    first, second, third, last = found
    assert first.is_cross_flavour
    assert (first.kind, first.sessions, first.repos, first.flavours) == (
        "correction",
        2,
        [API, WEB],
        ["claude-code", "codex"],
    )
    assert (second.sessions, second.is_cross_flavour) == (5, False)
    assert (third.dollars, last.dollars) == (2.5, 0.5)


def test_rank_depends_on_no_order_of_arrival() -> None:
    """Ties are broken by the id."""
    said = [signal(fact(f"The service number{number} needs a token."), "codex:1") for number in range(9)]
    assert [each.id for each in clustered(said)] == [each.id for each in clustered(reversed(said))]


def test_two_about_the_same_thing_know_of_each_other() -> None:
    """Alike, but not the same: linked, both ways."""
    heap = CandidatesInMemory()
    one, _ = add_signal(heap, signal(fact("The staging database of billing is encrypted by the vault."), "codex:1"))
    other, _ = add_signal(
        heap, signal(fact("The staging database of billing is restored by the vault on Monday."), "codex:2")
    )
    assert other.linked == (one.id,)
    assert heap.all[one.id].linked == (other.id,)


def test_one_error_is_one_pitfall_however_it_is_told() -> None:
    """By the signature of the error; what mends it may be two different things."""
    told = ("The daemon refuses sockets under /run.", "Starting the worker before the broker ends in a refused socket.")
    pitfalls = [HarvestItem(PITFALL, text, 4, 0.5, signature="refused") for text in told]
    assert len(clustered(signal(item, f"codex:{number}") for number, item in enumerate(pitfalls))) == 1
    fixes = [HarvestItem(FIX, text, 4, 0.5, signature="refused") for text in told]
    found = clustered(signal(item, f"codex:{number}") for number, item in enumerate(fixes))
    assert len(found) == 2
    assert found[0].linked or found[1].linked


def test_it_is_told_in_the_words_of_the_best_signal() -> None:
    """A person's before an agent's, the surer before the less sure."""
    found = candidate(
        signal(
            correction(source="agent", confidence=0.95, text="Agent: use pnpm install, not npm install."), "codex:1"
        ),
        signal(correction(text="Use pnpm install."), "codex:2"),
    )
    assert found.text == "Use pnpm install."


@pytest.mark.parametrize("step", [1, 7, 11, 13])
def test_words_of_the_best_win_in_whatever_order_many_sessions_come(step: int) -> None:
    """The surest, then the shortest, then the oldest: also where each comes as one more of a hundred."""
    told = [
        signal(
            correction(text=f"Use pnpm install, not npm install{'!' * (number % 3)}", confidence=0.5 + number % 5 / 10),
            f"codex:{number}",
            at_ms=1000 - number,
        )
        for number in range(100)
    ]
    heap = CandidatesInMemory()
    for number in range(100):
        placed, _ = add_signal(heap, told[number * step % 100])
    best = max(told, key=lambda each: (each.item.confidence, -len(each.item.text), -each.at_ms))
    assert (placed.text, placed.sessions) == (best.item.text, 100)


def test_a_rejected_candidate_stays_rejected_when_the_same_comes_again() -> None:
    """What was said is counted; the answer stays."""
    heap = CandidatesInMemory()
    first, _ = add_signal(heap, signal(correction(*WORDINGS[0]), "codex:1"))
    heap.put(first._replace(state=REJECTED), [])
    again, is_new = add_signal(heap, signal(correction(*WORDINGS[1]), "codex:2"))
    assert is_new
    assert (again.id, again.state, again.sessions) == (first.id, REJECTED, 2)


def test_what_was_merged_gives_its_signals_to_the_other() -> None:
    """By hand, although the words differ; it holds for all that comes after."""
    heap = CandidatesInMemory()
    one, _ = add_signal(heap, signal(correction(), "codex:1"))
    other, _ = add_signal(heap, signal(correction("yarn add left-pad", "nothing of that sort"), "codex:2"))
    heap.put(other._replace(state=MERGED, into=one.id), [])
    found, _ = add_signal(heap, signal(correction("yarn add left-pad", "nothing of that sort"), "codex:3"))
    assert found.id == one.id
    assert found.sessions == 2


def test_words_that_say_nothing_are_one_only_if_they_are_the_same() -> None:
    """One word that counts in common is not enough."""
    found = clustered([signal(fact("It is slow."), "codex:1"), signal(fact("It was slow there."), "codex:2")])
    assert len(found) == 2


def test_more_sessions_make_it_surer_but_never_certain() -> None:
    """A little for each, up to a bound below a verified statement."""
    said = [signal(fact(confidence=0.6), f"codex:{number}") for number in range(9)]
    assert [candidate(*said[:count]).confidence for count in (1, 2, 4, 9)] == [0.6, 0.65, 0.75, 0.75]
    assert candidate(signal(fact(confidence=1.0), "codex:1"), signal(fact(), "codex:2")).confidence == 1.0


def test_a_candidate_comes_back_from_its_json() -> None:
    """All of it; and what is none is none."""
    found = candidate(signal(correction(), "codex:1", dollars=0.25, at_ms=5), signal(correction(), "gemini:1"))
    assert candidate_from(found.as_json()) == found
    for wrong in (None, 3, {}, {"state": "lost"}, found.as_json() | {"text": 5}):
        assert candidate_from(wrong) is None
    assert signal_from({"item": {}}) is None


@pytest.mark.parametrize("count", [400])
def test_many_candidates_are_not_all_compared(count: int) -> None:
    """Each that is looked at shares a word which counts."""
    heap = CandidatesInMemory()
    for number in range(count):
        add_signal(heap, signal(fact(f"The service srv{number} listens on port {number + 2000}."), "codex:1"))
    assert len(heap.all) == count
    assert all(each.state == NOTICED for each in ranked(heap.all.values()))


def test_what_is_kept_has_a_category_apart_from_its_kind() -> None:
    """One of the nine, by its words."""
    found = candidate(signal(fact("The pytest fixture of billing needs a database.")))
    assert isinstance(found, HarvestCandidate)
    assert (found.kind, found.category) == ("fact", "test-failures")
