"""Items from what a person states for ever: remember, always, never, from now on. What objects is a correction, not this."""

import re

from clan_learnings.harvest.items import FACT, Item
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.course import Course
from clan_learnings.sessions.events import Kind
from clan_learnings.sessions.objections import spoken

_TEXT = 300
_STATED = re.compile(
    r"\b(?:(?:please )?remember (?:that|to|this|:|we|the|it)|from now on|in (?:the )?future,|going forward|(?:^|[,;:.!] ?|\b(?:please|you|should|must|and|but|to|we|it) )(?:always (?!seems?\b|been\b|has\b|had\b|was\b|the\b)|never (?!mind\b|seen\b|had\b|been\b|heard\b|used\b|did\b|was\b|the\b|get\b|got\b))\w+|"
    r"don'?t ever|do not ever|every time you|whenever you|make sure (?:you |to )(?:always|never)|keep in mind|note for (?:the )?future|as a rule|by convention|our convention)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LEAST, _MOST = 4, 60  # words of a sentence that says something by itself


def statements(course: Course) -> list[Item]:
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
                and _LEAST <= len(sentence.split()) <= _MOST
                and not sentence.rstrip().endswith("?")
            ):
                said = excerpt(sentence, _TEXT - 24)
                found.append(
                    Item(
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
