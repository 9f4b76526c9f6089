"""Items from where a person put the model right. Where that happened is `capture.corrections`' business; here it becomes a sentence."""

from clan_learnings.harvest.deeds import command, deed, swap
from clan_learnings.harvest.items import CORRECTION, Item
from clan_learnings.harvest.statements import is_statement
from clan_learnings.sessions.attempts import State
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.corrections import Correction, Manner, corrections_in
from clan_learnings.sessions.course import Course
from clan_learnings.sessions.events import Event, Kind
from clan_learnings.sessions.objections import spoken

_OBJECTION_TEXT, _WORDS, _WRONG, _QUOTE, _DONE = 300, 190, 200, 300, 300
_VERBS = {Manner.REFUSED: "A person refused", Manner.STOPPED: "A person stopped"}


def corrections(course: Course) -> list[Item]:
    """One item each."""
    worked = {attempt.call.line for attempt in course.attempts if attempt.state is State.WORKED}
    return [_item(found, worked) for found in corrections_in(course.events, course.session)]


def _item(found: Correction, worked: set[int]) -> Item:
    words = excerpt(spoken(found.words) or found.words, _WORDS)
    about = deed(found.done)
    verb = _VERBS.get(found.manner)
    sentence = f"{verb} {about} and said: “{words}”" if verb else f"After {about} a person objected: “{words}”"
    wrong = (
        f"{about}: {swap(found.done)}" if found.done and found.done.kind is Kind.CALL and swap(found.done) else about
    )
    return Item(
        CORRECTION,
        excerpt(sentence, _OBJECTION_TEXT),
        found.line,
        found.sureness,
        fix_line=found.fix.line if found.fix else None,
        wrong=excerpt(wrong, _WRONG),
        right=words,
        source="human",
        is_stated=found.manner is Manner.REFUSED or is_statement(found.words),
        quote=excerpt(found.words, _QUOTE),
        at_ms=found.at_ms,
        done=_done(found.fix) if found.fix and found.fix.line in worked else "",
    )


def _done(call: Event) -> str:
    """What a call did, whole enough to do it again."""
    return excerpt(command(call, _DONE) if call.text else f"{deed(call)}: {swap(call)}".removesuffix(": "), _DONE)
