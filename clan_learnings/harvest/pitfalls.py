"""Items from what went wrong and stayed wrong: a claim without its deed, what the place forbids, a way given up after
three failures, an error that comes back.
"""

import re

from clan_learnings.harvest.fixes import is_assertion
from clan_learnings.harvest.items import PITFALL, Item, command, deed, first_sentence
from clan_learnings.sessions.attempts import Attempt, State, only_looks
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.command_fixes import Way
from clan_learnings.sessions.command_lines import commands_in, last_of
from clan_learnings.sessions.course import Course
from clan_learnings.sessions.edits import is_edit
from clan_learnings.sessions.events import Kind
from clan_learnings.sessions.failures import Mended
from clan_learnings.sessions.session_outcome import unwritten_claim

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


_TEXT, _ERROR, _QUOTE = 300, 140, 300
_GIVEN_UP = 3  # failures
_NEAR = 12  # attempts among which they happen
_COMES_BACK = 2
_NOT_HERE = re.compile(
    r"operation not permitted|sandbox denied|denied by sandbox|read-only file system|\beperm\b|network access (?:is )?(?:disabled|denied)",
    re.IGNORECASE,
)
_NOT_THERE = re.compile(
    r"no such file|does not exist|not found in file|no pull requests|no upstream|bad object|could not get object",
    re.IGNORECASE,
)


def pitfalls(course: Course) -> list[Item]:
    """All sorts."""
    return [
        *_false_claims(course),
        *untested_claims(course),
        *_forbidden(course),
        *_given_up(course),
        *_coming_back(course),
    ]


def _false_claims(course: Course) -> list[Item]:
    found = unwritten_claim(course)
    if found is None:
        return []
    attempt, claim = found
    error = excerpt(attempt.output, _ERROR).rstrip(".") or "it was refused"
    said = f"The answer claims {deed(attempt.call)}, but nothing was written: “{error}”; look whether a write worked before claiming it"
    return [
        Item(
            PITFALL,
            excerpt(said, _TEXT),
            attempt.line,
            0.8,
            fix_line=None,
            source="self",
            quote=excerpt(claim.text, _QUOTE),
            at_ms=attempt.call.at_ms,
        )
    ]


def _forbidden(course: Course) -> list[Item]:
    """What the place does not let anybody do, however it is asked: a sandbox, a disk that cannot be written."""
    items = []
    for mended in course.failures:
        if (
            mended.way is Way.NOT
            and mended.attempt.state is State.FAILED
            and mended.attempt.call.text
            and _NOT_HERE.search(mended.error)
        ):
            said = f"{command(mended.attempt.call)} cannot work here: “{excerpt(mended.error, _ERROR)}”; nobody found a way around it"
            items.append(
                Item(
                    PITFALL,
                    excerpt(said, _TEXT),
                    mended.attempt.line,
                    0.5,
                    source="build",
                    signature=mended.signature,
                    quote=excerpt(mended.error, _QUOTE),
                    at_ms=mended.attempt.call.at_ms,
                )
            )
    return items


def _given_up(course: Course) -> list[Item]:
    """The same program or tool, failing three times in a row for any reason, and never again tried with success."""
    groups: dict[str, list[tuple[int, Mended]]] = {}
    places = {attempt.at: number for number, attempt in enumerate(course.attempts)}
    for mended in course.failures:
        if mended.way is Way.NOT and mended.attempt.state is State.FAILED and not _NOT_THERE.search(mended.error):
            groups.setdefault(_key(mended), []).append((places.get(mended.attempt.at, 0), mended))
    items = []
    for key, found in groups.items():
        times = sum(mended.times for _, mended in found)
        if times < _GIVEN_UP or found[-1][0] - found[0][0] > _NEAR * max(len(found), 1):
            continue
        last = found[-1][1]
        if last.attempt.call.text and is_assertion(last):
            continue
        what = command(last.attempt.call) if last.attempt.call.text else key
        said = f"{what} was given up after {times} failures, the last with “{excerpt(last.error, _ERROR)}”"
        items.append(
            Item(
                PITFALL,
                excerpt(said, _TEXT),
                last.attempt.line,
                0.5,
                source="self",
                signature=last.signature,
                quote=excerpt(last.error, _QUOTE),
                at_ms=last.attempt.call.at_ms,
            )
        )
    return items


def _coming_back(course: Course) -> list[Item]:
    """The same error of the same program at different times, with nothing that would have mended it."""
    groups: dict[tuple[str, str], list[Mended]] = {}
    for mended in course.failures:
        is_mended = mended.way not in (Way.NOT, Way.AGAIN)
        if (
            mended.attempt.state is State.FAILED
            and mended.signature
            and not is_mended
            and mended.attempt.call.text
            and not _NOT_THERE.search(mended.error)
        ):
            groups.setdefault((_key(mended), mended.signature), []).append(mended)
    items = []
    for (_, signature), found in groups.items():
        first = found[0]
        if len(found) < _COMES_BACK or all(mended.way is Way.NOT for mended in found) or is_assertion(first):
            continue
        said = f"{command(first.attempt.call)} fails again and again with “{excerpt(first.error, _ERROR)}”, {len(found)} times in one session"
        items.append(
            Item(
                PITFALL,
                excerpt(said, _TEXT),
                first.attempt.line,
                0.5,
                source="build",
                signature=signature,
                quote=excerpt(first.error, _QUOTE),
                at_ms=first.attempt.call.at_ms,
            )
        )
    return items


def _key(mended: Mended) -> str:
    last = last_of(mended.attempt.call.text) if mended.attempt.call.text else None
    if last is None:
        return mended.attempt.call.tool
    has_subcommand = bool(last.words) and not last.words[0].startswith("-") and "/" not in last.words[0]
    return f"{last.program} {last.words[0]}" if has_subcommand else last.program
