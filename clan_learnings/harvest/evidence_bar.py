"""The evidence bar: how much evidence a candidate needs to be kept, and how much to leave the node. Each level is a few numbers that a mesh can agree on. Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from clan_learnings.harvest.candidates import APPROVED, NOTICED, PROVISIONAL, RECORDED, UNSEEN, HarvestCandidate
from clan_learnings.harvest.item_quality import is_rule, placeless
from clan_learnings.harvest.items import CORRECTION
from clan_learnings.records.shared_settings import KEY
from mesh.core.draft import Assignment, Draft
from mesh.core.errors import UsageError

KEEP_SIGNALS, SHARE_SESSIONS, SHARE_CONFIDENCE, HOT_A_RUN = (
    "harvest_keep_signals",
    "harvest_share_sessions",
    "harvest_share_confidence",
    "harvest_hot_a_run",
)
# As people name them, and the least they may be.
SETTINGS = {
    "keep-signals": (KEEP_SIGNALS, 1),
    "share-sessions": (SHARE_SESSIONS, 1),
    "share-confidence": (SHARE_CONFIDENCE, 0),
    "hot-a-run": (HOT_A_RUN, 0),
}
_MOST = 1000
_QUOTED = "\N{LEFT DOUBLE QUOTATION MARK}"


class EvidenceBar(NamedTuple):
    """How much evidence is enough."""

    keep_signals: int = 2  # lower: more to look through; or one explicit statement of a person
    share_sessions: int = 2  # lower: what one agent once thought reaches everybody; or a person's correction
    share_confidence: float = 0.7  # contexts show nothing below it either
    hot_a_run: int = 10  # patterns that one harvest may make HOT: each is in every context from then on


def bar_of(settings: Mapping[str, Any]) -> EvidenceBar:
    """The bar of a mesh: what it has set, where that can be."""
    usual = EvidenceBar()
    return EvidenceBar(
        _whole(settings.get(KEEP_SIGNALS), 1, usual.keep_signals),
        _whole(settings.get(SHARE_SESSIONS), 1, usual.share_sessions),
        _share(settings.get(SHARE_CONFIDENCE), usual.share_confidence),
        _whole(settings.get(HOT_A_RUN), 0, usual.hot_a_run),
    )


def draft_setting(name: str, text: str) -> list[Draft]:
    """The drafts that change one number of the bar in the whole mesh."""
    field, least = SETTINGS[name]
    try:
        value = float(text[:20]) if field == SHARE_CONFIDENCE else int(text[:20])
    except ValueError:
        value = -1
    most = 1 if field == SHARE_CONFIDENCE else _MOST
    if not least <= value <= most:
        usual = bar_of({})._asdict()[name.replace("-", "_")]
        raise UsageError(
            f"{text[:40]!r} cannot be {name}", f"from {least} to {most}, like: mesh settings {name} {usual}"
        )
    return [Assignment(KEY, field, value)]


def judged(candidate: HarvestCandidate, bar: EvidenceBar) -> HarvestCandidate:
    """The same candidate in the state that its evidence gives it. A person's word is not judged again."""
    if candidate.state not in (NOTICED, PROVISIONAL, APPROVED, RECORDED):
        return candidate
    if candidate.is_accepted or candidate.state == RECORDED:
        return candidate
    state, why = _level(candidate, bar)
    return candidate._replace(state=state, why=why)


def _level(candidate: HarvestCandidate, bar: EvidenceBar) -> tuple[str, str]:
    stated = any(signal.is_human for signal in candidate.signals)
    if candidate.is_imported and (candidate.frequency < bar.keep_signals or not candidate.sessions) and not stated:
        return PROVISIONAL, UNSEEN
    if candidate.frequency < bar.keep_signals and not stated:
        seen = _number(candidate.frequency, "time")
        return NOTICED, f"seen {seen}; {bar.keep_signals} signals, or a person's word, keep it"
    kept = "a person said it" if stated else _number(candidate.frequency, "signal")
    missing = lacks(candidate, bar)
    if missing:
        return PROVISIONAL, f"{kept}; but {missing[0]}"
    if candidate.sessions < bar.share_sessions:
        return APPROVED, "a person's correction" if candidate.kind == CORRECTION else "a person's rule"
    return APPROVED, _number(candidate.sessions, "session")


def lacks(candidate: HarvestCandidate, bar: EvidenceBar) -> list[str]:
    """What a candidate lacks to be shared, in words."""
    found = list(candidate.problems)
    if candidate.sessions < bar.share_sessions and not is_persons_rule(candidate):
        found.append(_too_few(candidate, bar))
    if candidate.confidence < bar.share_confidence:
        found.append(f"its confidence is {candidate.confidence:g}, below {bar.share_confidence:g}")
    if candidate.is_redacted:
        found.append("a secret stood in it")
    places = [placeless(candidate, signal) for signal in candidate.signals]
    if places and all(places):
        found.append(
            f"it speaks of one place ({places[0]}), and its sessions do not tell which:"
            f" mesh curate --accept {candidate.id} --repo REPO"
        )
    return found


def _too_few(candidate: HarvestCandidate, bar: EvidenceBar) -> str:
    if any(signal.is_human for signal in candidate.signals):
        return (
            "it is no rule as it was said (use ... instead of ..., never ..., ... must ...):"
            f" {bar.share_sessions} sessions, or somebody who puts it better, share it"
        )
    return f"it came in {candidate.sessions} of the {bar.share_sessions} sessions that it takes to share it"


def is_persons_rule(candidate: HarvestCandidate) -> bool:
    """Whether a person has stated it as a rule that others can follow: then one session is enough."""
    if not any(signal.is_human and signal.item.source == "human" for signal in candidate.signals):
        return False
    # Around a person's words in quotation marks stands what the model did; without them the sentence is the rule. An edited one is.
    is_plain = _QUOTED not in candidate.text
    return candidate.is_edited or is_rule(candidate.right) or (is_plain and is_rule(candidate.text))


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _whole(value: Any, least: int, usual: int) -> int:
    return value if type(value) is int and least <= value <= _MOST else usual


def _share(value: Any, usual: float) -> float:
    is_share = isinstance(value, int | float) and type(value) is not bool and 0 <= value <= 1
    return float(value) if is_share else usual
