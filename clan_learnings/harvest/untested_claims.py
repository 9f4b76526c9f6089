"""Items from answers that say all tests pass, where no test was run in the whole session: a pitfall. Checks that only compile are no tests."""

import re

from clan_learnings.harvest.deeds import command, first_sentence
from clan_learnings.harvest.items import PITFALL, Item
from clan_learnings.sessions.attempts import Attempt, State, only_looks
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.command_lines import commands_in
from clan_learnings.sessions.course import Course
from clan_learnings.sessions.edits import is_edit
from clan_learnings.sessions.events import Kind

_CLAIM_TEXT, _CLAIM_QUOTE, _CHARS = 300, 300, 3_000
_CLAIM = re.compile(
    r"(?<!until )(?<!once )(?<!if )(?<!when )(?<!whether )(?<!that )(?<!ensure )(?<!sure )(?<!verify )(?<!confirm )(?<!check )\b(?:all )(?:of )?(?:the )?(?:\d+ )?(?:\w+ )?tests? (?:are |have )?(?:now )?(?:all )?(?:pass(?:ing|ed)?|green|succeed(?:ed|ing)?)\b",
    re.IGNORECASE,
)
_TESTED = re.compile(r"tests?(?![a-z])|spec|jest|mocha|bats|tox|nox|^ci$|verify|check-all", re.IGNORECASE)
_RESULTS = re.compile(
    r"\b\d+ (?:tests? )?(?:passed|passing|passes)\b|^ok\s+\S+\s+[\d.(]|\btests?:? +\d+|^PASS\b|\btest result: |^ok \d+ |^OK \(\d|^Ran \d+ tests?|\btests? (?:passed|succeeded)\b|\b100% tests",
    re.IGNORECASE | re.MULTILINE,
)


def untested_claims(course: Course) -> list[Item]:
    """The first one, if there is any."""
    if any(event.kind is Kind.SUMMARY for event in course.events):
        return []  # what was run before it is not told
    has_edited, last = False, None
    starts = {attempt.at: attempt for attempt in course.attempts}
    for at, event in enumerate(course.events):
        attempt = starts.get(at)
        if attempt is not None:
            if _is_test(attempt):
                return []
            has_edited = has_edited or is_edit(attempt.call)
            last = attempt if attempt.call.text and not only_looks(attempt.call.text) else last
        if event.kind is Kind.REPLY and has_edited and last is not None and _CLAIM.search(event.text[:_CHARS]):
            said = f"“{first_sentence(event.text)}” was said after {command(last.call)}, and no test was run at all; run them before claiming that they pass"
            return [
                Item(
                    PITFALL,
                    excerpt(said, _CLAIM_TEXT),
                    event.line,
                    0.6,
                    source="self",
                    quote=excerpt(event.text, _CLAIM_QUOTE),
                    at_ms=event.at_ms,
                )
            ]
    return []


def _is_test(attempt: Attempt) -> bool:
    """Whether a call may have run tests: by its words, by what it printed, or because nobody can tell what it does."""
    if not attempt.call.text:
        return not is_edit(attempt.call) and bool(
            re.search(r"task|agent|test|run|exec", attempt.call.tool, re.IGNORECASE)
        )
    if only_looks(attempt.call.text):
        return False
    if attempt.state is State.UNKNOWN or _RESULTS.search(attempt.output[-_CHARS:]):
        return True
    return any(
        _TESTED.search(word)
        for command_ in commands_in(attempt.call.text)
        if not only_looks(command_.program)
        for word in (command_.program, *command_.words[:8])
    )
