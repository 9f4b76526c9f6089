"""Items from what was left open: the last thing the model asked, if nobody answered. Little, and never sure."""

from clan_learnings.harvest.items import QUESTION, Item
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.course import Course
from clan_learnings.sessions.events import Kind

_TEXT = 300
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


def questions(course: Course) -> list[Item]:
    """At most one."""
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
    return [Item(QUESTION, f"Left open: {asked}", last.line, 0.3, source="agent", quote=asked, at_ms=last.at_ms)]
