"""What one session teaches, found by rules without any model. Also here: the rules about what a person said. The others are in `fixes` and `model_mistakes`.

Each item is given once, and nothing that the mesh itself told the session. No session raises: a rule that fails costs its own items only.
"""

import re
from collections.abc import Callable

from clan_learnings.harvest.fixes import fixes, quirks
from clan_learnings.harvest.items import CORRECTION, FACT, QUESTION, HarvestItem, command, deed, swap
from clan_learnings.harvest.model_mistakes import diagnoses, pitfalls
from clan_learnings.sessions.attempts import AttemptState
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.corrections import Correction, CorrectionKind, corrections_in
from clan_learnings.sessions.failures import SessionCourse
from clan_learnings.sessions.objections import spoken
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent

_TEXT = 300
_STATED = re.compile(
    r"\b(?:(?:please )?remember (?:that|to|this|:|we|the|it)|from now on|in (?:the )?future,|going forward|(?:^|[,;:.!] ?|\b(?:please|you|should|must|and|but|to|we|it) )(?:always (?!seems?\b|been\b|has\b|had\b|was\b|the\b)|never (?!mind\b|seen\b|had\b|been\b|heard\b|used\b|did\b|was\b|the\b|get\b|got\b))\w+|"
    r"don'?t ever|do not ever|every time you|whenever you|make sure (?:you |to )(?:always|never)|keep in mind|note for (?:the )?future|as a rule|by convention|our convention)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LEAST, _STATEMENTS = 4, 60  # words of a sentence that says something by itself


def statements(course: SessionCourse) -> list[HarvestItem]:
    """One item a sentence that holds for more than this session."""
    if course.session.is_subagent:
        return []
    found = []
    for event in course.events:
        if event.kind is not Kind.PROMPT or event.is_sidechain:
            continue
        for sentence in _SENTENCE.split(spoken(event.text)):
            if (
                is_statement(sentence)
                and _LEAST <= len(sentence.split()) <= _STATEMENTS
                and not sentence.rstrip().endswith("?")
            ):
                said = excerpt(sentence, _TEXT - 24)
                found.append(
                    HarvestItem(
                        FACT,
                        f"A person said: “{said}”",
                        event.line,
                        0.8,
                        source="human",
                        is_stated=True,
                        right=said,
                        quote=said,
                        at_ms=event.at_ms,
                    )
                )
    return found


def is_statement(text: str) -> bool:
    """Whether words say that something always holds."""
    return bool(_STATED.search(spoken(text)))


_OBJECTION_TEXT, _WORDS, _WRONG, _QUOTE, _DONE = 300, 190, 200, 300, 300
_VERBS = {CorrectionKind.REFUSED: "A person refused", CorrectionKind.STOPPED: "A person stopped"}


def corrections(course: SessionCourse) -> list[HarvestItem]:
    """One item a correction by a person."""
    worked = {attempt.call.line for attempt in course.attempts if attempt.state is AttemptState.WORKED}
    return [_item(found, worked) for found in corrections_in(course.events, course.session)]


def _item(found: Correction, worked: set[int]) -> HarvestItem:
    words = excerpt(spoken(found.words) or found.words, _WORDS)
    about = deed(found.done)
    verb = _VERBS.get(found.manner)
    sentence = f"{verb} {about} and said: “{words}”" if verb else f"After {about} a person objected: “{words}”"
    wrong = (
        f"{about}: {swap(found.done)}" if found.done and found.done.kind is Kind.CALL and swap(found.done) else about
    )
    return HarvestItem(
        CORRECTION,
        excerpt(sentence, _OBJECTION_TEXT),
        found.line,
        found.sureness,
        fix_line=found.fix.line if found.fix else None,
        wrong=excerpt(wrong, _WRONG),
        right=words,
        source="human",
        is_stated=found.manner is CorrectionKind.REFUSED or is_statement(found.words),
        quote=excerpt(found.words, _QUOTE),
        at_ms=found.at_ms,
        done=_done(found.fix) if found.fix and found.fix.line in worked else "",
    )


def _done(call: SessionEvent) -> str:
    """What a call did, whole enough to do it again."""
    return excerpt(command(call, _DONE) if call.text else f"{deed(call)}: {swap(call)}".removesuffix(": "), _DONE)


_LEAST_QUESTION = 20  # characters of a question that says what it is about
_OFFERS = (
    "want me to",
    "would you like",
    "shall i",
    "should i",
    "do you want",
    "let me know",
    "anything else",
    "can i help",
    "ready to",
)


def questions(course: SessionCourse) -> list[HarvestItem]:
    """The question that the session ended with, at most one."""
    if course.session.is_subagent:
        return []
    last = next(
        (event for event in reversed(course.events) if event.kind in (Kind.PROMPT, Kind.REPLY, Kind.CALL)), None
    )
    if last is None or last.kind is not Kind.REPLY or last.is_sidechain:
        return []
    line = last.text.strip().rpartition("\n")[2].strip(" *_")
    if not line.endswith("?") or len(line) < _LEAST_QUESTION or any(offer in line.lower() for offer in _OFFERS):
        return []
    asked = excerpt(line, _TEXT - 20)
    return [HarvestItem(QUESTION, f"Left open: {asked}", last.line, 0.3, source="agent", quote=asked, at_ms=last.at_ms)]


RULES: tuple[Callable[[SessionCourse], list[HarvestItem]], ...] = (
    corrections,
    fixes,
    quirks,
    pitfalls,
    diagnoses,
    statements,
    questions,
)
_MOST = 200  # items of one session
_NEAR = 3  # lines within which two items of one kind are one


def items_of_session(session: Session, course: SessionCourse | None = None) -> list[HarvestItem]:
    """The items of a session, in order of their lines. `course`: if it is known already."""
    course = course or SessionCourse.of(session)
    found: list[HarvestItem] = []
    for rule in RULES:
        try:
            found += rule(course)
        except (
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            RecursionError,
        ):  # strangers' values: see the docstring
            continue
    theirs = [item for item in found if item.source == "human" or not course.ours.has(item.right or item.text)]
    return _each_once(sorted(theirs, key=lambda item: (item.line, item.kind)))


def _each_once(items: list[HarvestItem]) -> list[HarvestItem]:
    """Without what another item says already: the same error, the same line, a statement that is a correction."""
    kept: list[HarvestItem] = []
    signatures: set[tuple[str, str]] = set()
    corrected = {item.line for item in items if item.kind == CORRECTION}
    for item in items:
        if len(kept) == _MOST:
            break
        if item.kind == FACT and item.line in corrected:
            continue
        if item.signature and (item.kind, item.signature) in signatures:
            continue
        if any(
            other.kind == item.kind and abs(other.line - item.line) <= _NEAR and _is_less(item, other) for other in kept
        ):
            continue
        signatures.add((item.kind, item.signature))
        kept.append(item)
    return kept


def _is_less(item: HarvestItem, other: HarvestItem) -> bool:
    """Whether an item near another one of its kind says nothing of its own."""
    return item.text == other.text or (
        item.fix_line is not None and item.fix_line == other.fix_line and item.kind != CORRECTION
    )
