"""The evidence bar: what is kept, and what may be shared."""

import pytest

from clan_learnings.harvest.candidates import APPROVED, NOTICED, PROVISIONAL, RECORDED, REJECTED, HarvestCandidate
from clan_learnings.harvest.evidence_bar import EvidenceBar, bar_of, draft_setting, judged
from clan_learnings.harvest.item_quality import problems
from mesh.core.draft import Assignment
from mesh.core.errors import UsageError
from tests.clan_learnings.harvest.signals import candidate, correction, fact, signal


def state(found: HarvestCandidate, bar: EvidenceBar = EvidenceBar()) -> str:  # noqa: B008 (a tuple, never changed)
    """What its evidence makes of it."""
    return judged(found._replace(problems=problems(found)), bar).state


def test_what_was_seen_once_is_only_noticed() -> None:
    """One signal of an agent."""
    assert state(candidate(signal(fact(confidence=0.95)))) == NOTICED


def test_two_signals_or_a_persons_statement_keep_it() -> None:
    """Also two of one session; also one that a person stated."""
    assert state(candidate(signal(fact(), times=2))) == PROVISIONAL
    assert state(candidate(signal(fact(is_stated=True)))) == PROVISIONAL


def test_two_sessions_or_a_persons_correction_share_it() -> None:
    """At a confidence of 0.7."""
    assert state(candidate(signal(fact(), "codex:1"), signal(fact(), "codex:2"))) == APPROVED
    assert state(candidate(signal(correction()))) == APPROVED
    assert state(candidate(signal(correction(source="agent")))) == NOTICED


def test_low_confidence_a_secret_or_a_problem_keeps_it_here() -> None:
    """Each alone is enough."""
    twice = (signal(fact(confidence=0.5), "codex:1"), signal(fact(confidence=0.5), "codex:2"))
    assert state(candidate(*twice)) == PROVISIONAL
    assert state(candidate(signal(correction(), is_redacted=True))) == PROVISIONAL
    assert state(candidate(signal(correction(text="no", line=0)))) == PROVISIONAL


def test_why_says_what_is_missing() -> None:
    """So that a person knows what would change it."""
    found = judged(candidate(signal(correction(confidence=0.4))), EvidenceBar())
    assert found.why == "a person said it; but its confidence is 0.4, below 0.7"


def test_the_bar_is_a_setting_and_nonsense_is_the_usual() -> None:
    """Values come from any member."""
    assert bar_of({}) == EvidenceBar(2, 2, 0.7, 10)
    mine = {
        "harvest_keep_signals": 3,
        "harvest_share_sessions": 1,
        "harvest_share_confidence": 0.5,
        "harvest_hot_a_run": 0,
    }
    assert bar_of(mine) == EvidenceBar(3, 1, 0.5, 0)
    assert (
        bar_of({"harvest_keep_signals": "many", "harvest_share_confidence": True, "harvest_share_sessions": 0})
        == EvidenceBar()
    )
    assert state(candidate(signal(fact(), times=2)), bar_of(mine)) == NOTICED


def test_a_setting_is_checked_before_it_is_written() -> None:
    """By name, with the range in the error."""
    assert draft_setting("share-confidence", "0.8") == [Assignment("settings", "harvest_share_confidence", 0.8)]
    assert draft_setting("keep-signals", "3") == [Assignment("settings", "harvest_keep_signals", 3)]
    for name, text in (
        ("keep-signals", "0"),
        ("share-confidence", "1.5"),
        ("hot-a-run", "many"),
        ("keep-signals", "2.5"),
    ):
        with pytest.raises(UsageError, match=name):
            draft_setting(name, text)


def test_a_persons_word_is_not_judged_again() -> None:
    """Rejected stays, recorded stays, accepted stays."""
    found = candidate(signal(fact(confidence=0.1)))
    for kept in (REJECTED, RECORDED):
        assert judged(found._replace(state=kept), EvidenceBar()).state == kept
    assert judged(found._replace(state=APPROVED, is_accepted=True), EvidenceBar()).state == APPROVED


def test_what_a_model_says_is_no_persons_word_and_makes_nothing_surer() -> None:
    """Whatever its item claims, alone and beside what rules found; its record says so."""
    claim = correction("a deploy", "Never deploy on Fridays", text="Never deploy on Fridays.", confidence=0.6)
    by_model = signal(claim, key="k#model")
    assert state(candidate(by_model)) == NOTICED
    many = candidate(*(signal(claim, f"codex:{number}", key=f"k{number}#model") for number in range(5)))
    assert (many.confidence, state(many)) == (0.6, PROVISIONAL)
    beside = candidate(
        signal(correction(source="build", confidence=0.7)), signal(correction(), "codex:2", key="k#model")
    )
    assert (beside.signals[1].is_human, beside.confidence) == (False, 0.9)
