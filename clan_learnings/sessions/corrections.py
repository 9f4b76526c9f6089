"""Corrections by a person: a refusal with its reason, an interruption and what was said then, an objection. The words, and their line.

A subagent's prompt is its parent's, and nobody is corrected by a parent here. What a person typed after a plain refusal counts
only if it says what to do instead: `continue` does not, and neither does a plan that was taken.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from clan_learnings.sessions.edits import files_of, is_edit
from clan_learnings.sessions.injected_by_us import words_of
from clan_learnings.sessions.objections import (
    ObjectionSigns,
    concedes,
    contradicts,
    is_long,
    objection_signs,
    shows_failure,
    spoken,
)
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent


class CorrectionKind(StrEnum):
    """How a person objected."""

    REFUSED = "refused"
    STOPPED = "stopped"
    OBJECTED = "objected"


class Correction(NamedTuple):
    """A person's words against what was done."""

    line: int
    words: str
    manner: CorrectionKind
    sureness: float  # that it is one
    done: SessionEvent | None  # what the model was doing: a call, or what it said
    fix: SessionEvent | None  # the first call afterwards that acts on it
    at_ms: int | None = None


_CLARIFIES = re.compile(r"^\s*the user wants to clarify", re.IGNORECASE)
_PLAIN_QUESTION = re.compile(r"^\s*(?:what|how|where|who|which|when)\b", re.IGNORECASE)
_IS_IT = re.compile(r"^\s*(?:so |and |but )?(?:is|are|was|were|does|do|did|will|has|have)\b[^.!]*\?\s*$", re.IGNORECASE)
_PLAN = re.compile(r"^\s*implement the following plan", re.IGNORECASE)
_COMMAND = re.compile(r"^\s*[/!$#][\w-]+\s*$|^\s*(?:cd|ls|python3?|npm|git|conda|code) \S+\s*$")
_ASKED = re.compile(r"\?\W{0,3}$")
_NO = re.compile(r"^(?:no|nope|nah)\b")
_ANSWERS = re.compile(r"^(?:actually|it'?s|the)\b")
_OFFERS = re.compile(r"\b(?:want me|would you like|shall i|should i|do you want|ready to|let me know)\b", re.IGNORECASE)
_TAKES_AWAY = re.compile(r"^(?:please )?(?:remove|delete|close|open)\b", re.IGNORECASE)
_RETYPED = 0.6  # shared words of a prompt that was typed again
_LEAST = 2  # weight
_LATER_MS = 4 * 3600 * 1000
_SHORT = 8  # words that say something, of a remark for which one word is enough to be about the same
_AROUND = 12  # events before
_QUESTION = 300  # characters at the end of an answer that may be one
_STEM = 4  # letters by which two words are related
_FEW, _MANY = 3, 60  # words of a remark about what was just made
_BACK = 60  # events


def corrections_in(events: list[SessionEvent], session: Session) -> list[Correction]:
    """All corrections of a session, in order."""
    if session.is_subagent:
        return []
    main = [event for event in events if not event.is_sidechain]
    found: list[Correction] = []
    for at, event in enumerate(main):
        made = None
        if event.kind is Kind.REFUSAL:
            made = _refused(main, at)
        elif event.kind is Kind.PROMPT:
            made = _prompted(main, at)
        if made is not None and not (found and found[-1].words == made.words):
            found.append(made)
    return found


def _refused(events: list[SessionEvent], at: int) -> Correction | None:
    refusal = events[at]
    words = refusal.text.strip()
    if not words or _CLARIFIES.match(words) or _is_about_questions(refusal.tool):
        return None
    sound = objection_signs(words)
    if sound.asks and _PLAIN_QUESTION.match(words) and not sound.against + sound.complaint:
        return None
    if sound.asks and _IS_IT.match(words) and not sound.against:
        return None
    if sound.is_farewell or (sound.is_agreement and not sound.against and sound.size < 4):
        return None
    call = next(
        (event for event in reversed(events[:at]) if event.kind is Kind.CALL and event.call == refusal.call), None
    )
    return Correction(refusal.line, words, CorrectionKind.REFUSED, 0.9, call, _acted(events, at), refusal.at_ms)


def _prompted(events: list[SessionEvent], at: int) -> Correction | None:
    prompt = events[at]
    before = _turn_before(events, at)
    if not any(event.kind in (Kind.REPLY, Kind.CALL) for event in before):
        return None
    text = prompt.text.strip()
    if _PLAN.match(text) or _COMMAND.match(text):
        return None
    sound, is_stopped = objection_signs(text), _is_stopped(before)
    if sound.is_farewell or sound.size == 0:
        return None
    done = _doing(before)
    if is_stopped:
        return _stopped(events, at, sound, done)
    weight = _weighed(events, at, sound, before)
    if weight < _LEAST:
        return None
    if sound.is_agreement and not sound.against + sound.complaint and not _is_conceded(events, at):
        return None
    sureness = 0.6 if weight == _LEAST else 0.8 if sound.against and weight >= 2 * _LEAST else 0.7
    return Correction(prompt.line, text, CorrectionKind.OBJECTED, sureness, done, _acted(events, at), prompt.at_ms)


def _stopped(
    events: list[SessionEvent], at: int, sound: ObjectionSigns, done: SessionEvent | None
) -> Correction | None:
    """The first words after an interruption: against what was stopped, unless they are about something else."""
    prompt = events[at]
    weight = sound.against + sound.complaint + sound.weak
    if (sound.is_agreement and weight < _LEAST) or (sound.confirms and not sound.against):
        return None
    earlier = next((event for event in reversed(events[:at]) if event.kind is Kind.PROMPT), None)
    if earlier is not None and _is_retyped(earlier.text, prompt.text):
        return None
    if (weight == 0 and sound.is_question) or (weight < _LEAST and _TAKES_AWAY.match(prompt.text)):
        return None
    if _is_much_later(events, at):
        return None
    if weight < _LEAST and not _is_related(prompt.text, events, at):
        return None
    sureness = 0.8 if weight >= _LEAST else 0.7
    return Correction(
        prompt.line, prompt.text.strip(), CorrectionKind.STOPPED, sureness, done, _acted(events, at), prompt.at_ms
    )


def _is_much_later(events: list[SessionEvent], at: int) -> bool:
    """Whether somebody came back to it another time: what is said then need not be about what was stopped."""
    before = next((event.at_ms for event in reversed(events[max(0, at - _BACK) : at]) if event.at_ms is not None), None)
    now = events[at].at_ms
    return before is not None and now is not None and now - before > _LATER_MS


def _weighed(events: list[SessionEvent], at: int, sound: ObjectionSigns, before: list[SessionEvent]) -> int:
    """How much speaks for an objection, the turn before and the answer considered."""
    said = spoken(events[at].text).lower()
    last = next((event for event in reversed(before) if event.kind is Kind.REPLY), None)
    if last is not None and _is_answer(said, last.text.rstrip()[-_QUESTION:]) and not sound.complaint:
        return 0
    if (sound.is_agreement and sound.asks) or (sound.confirms and not sound.against):
        return 0  # asks whether both mean the same
    if _is_shown_failing(events, at):
        return _LEAST
    weight = sound.against
    if not sound.is_new:
        has_just_changed = any(is_edit(event) for event in before)
        has_changed = has_just_changed or any(is_edit(event) for event in _turn_before(events, at, 2))
        weight += sound.weak if sound.against or has_just_changed else 0
        weight += has_just_changed and not sound.asks and not sound.is_agreement and _FEW <= sound.size <= _MANY
        weight += sound.complaint if sound.against or has_changed else 0
    if last is not None and not sound.asks and contradicts(said, last.text):
        weight += _LEAST
    if _is_conceded(events, at) and sound.size > 2 and (weight or not sound.is_new):
        weight += _LEAST
    if sound.against < 2 * _LEAST:
        weight -= sound.is_question + 2 * sound.is_new
    return weight - 2 * is_long(sound)


def _is_shown_failing(events: list[SessionEvent], at: int) -> bool:
    """Whether a person shows that a check fails with a file that was just changed."""
    text = events[at].text
    if not shows_failure(text):
        return False
    changed = [name for event in _turn_before(events, at, 2) if is_edit(event) for name in files_of(event)]
    return any(name.replace("\\", "/").rsplit("/", 1)[-1] in text for name in changed)


def _is_answer(said: str, question: str) -> bool:
    """Whether words begin as an answer to what the model asked last: no to an offer, or what it is to a question."""
    if not _ASKED.search(question):
        return False
    return bool(_NO.match(said)) or (bool(_ANSWERS.match(said)) and not _OFFERS.search(question))


def _turn_before(events: list[SessionEvent], at: int, turns: int = 1) -> list[SessionEvent]:
    """What happened since the prompt before, or one more before that, at most the last `_BACK` events of each."""
    start = at
    while start > 0 and at - start < turns * _BACK:
        if events[start - 1].kind is Kind.PROMPT:
            turns -= 1
            if not turns:
                break
        start -= 1
    return events[start:at]


def _is_stopped(before: list[SessionEvent]) -> bool:
    """Whether the turn ended by an interruption, or by a refusal without words."""
    for event in reversed(before):
        if event.kind in (Kind.INTERRUPT, Kind.REFUSAL):
            return not (event.kind is Kind.REFUSAL and (event.text.strip() or _is_about_questions(event.tool)))
        if event.kind in (Kind.REPLY, Kind.CALL):
            return False
    return False


def _doing(before: list[SessionEvent]) -> SessionEvent | None:
    """What a person objects to: the call that was stopped, else the last edit, else what was said."""
    last: SessionEvent | None = next(
        (event for event in reversed(before) if event.kind in (Kind.CALL, Kind.REPLY)), None
    )
    if last is not None and last.kind is Kind.CALL:
        return last
    edit: SessionEvent | None = next((event for event in reversed(before) if is_edit(event)), None)
    return edit or last


def _acted(events: list[SessionEvent], at: int) -> SessionEvent | None:
    """The first edit before the next prompt, else the first call, else the answer."""
    first: SessionEvent | None = None
    answer: SessionEvent | None = None
    for event in events[at + 1 :]:
        if event.kind is Kind.PROMPT:
            break
        if is_edit(event):
            return event
        if event.kind is Kind.CALL and first is None:
            first = event
        if event.kind is Kind.REPLY and answer is None:
            answer = event
    return first or answer


def _is_conceded(events: list[SessionEvent], at: int) -> bool:
    """Whether the answer to a prompt begins by admitting something."""
    answer = _answer(events, at)
    return answer is not None and concedes(answer.text)


def _answer(events: list[SessionEvent], at: int) -> SessionEvent | None:
    for event in events[at + 1 : at + 12]:
        if event.kind is Kind.REPLY:
            return event
        if event.kind in (Kind.PROMPT, Kind.RESULT):
            return None
    return None


def _is_about_questions(tool: str) -> bool:
    return "question" in tool.lower()


def _is_retyped(one: str, other: str) -> bool:
    left, right = words_of(one[:2000]), words_of(other[:2000])
    return bool(left and right) and len(left & right) >= _RETYPED * len(left | right)


def _is_related(text: str, events: list[SessionEvent], at: int) -> bool:
    """Whether a prompt shares a word with what was stopped and what had been asked."""
    words = {word[:_STEM] for word in words_of(text[:2000])}
    turn = _turn_before(events, at)
    earlier = next((event for event in reversed(events[:at]) if event.kind is Kind.PROMPT), None)
    around = " ".join(
        f"{event.text[:2000]} {_argument_text(event)}"
        for event in (*(turn[-_AROUND:]), *([earlier] if earlier else []))
        if event.kind is not Kind.RESULT
    )
    shared = words & {word[:_STEM] for word in words_of(around)}
    return len(shared) >= (1 if len(words) <= _SHORT else 2)


def _argument_text(event: SessionEvent) -> str:
    return " ".join(value[:2000] for value in event.arguments.values() if isinstance(value, str))
