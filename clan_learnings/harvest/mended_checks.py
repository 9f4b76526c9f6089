"""Items from checks that failed until files were changed: one for each run that showed an error for the last time. Which those are is `capture.checks`' business."""

from clan_learnings.harvest.deeds import base, command, swap
from clan_learnings.harvest.items import FIX, Item
from clan_learnings.sessions.attempts import State
from clan_learnings.sessions.checks import Gone, gone_in
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.course import Course
from clan_learnings.sessions.edits import files_of

_TEXT, _ERROR, _SIDE, _QUOTE = 300, 120, 200, 300


def mended_checks(course: Course) -> list[Item]:
    """In order. A slip alone teaches nothing."""
    return [_mended_item(gone) for gone in gone_in(course.attempts) if not gone.findings[0].is_slip]


def _mended_item(gone: Gone) -> Item:
    finding, call = gone.findings[0], gone.fix.call
    names, change = ", ".join(map(base, files_of(call)[:2])), swap(call)
    right = f"{names}: {change}" if change and names else names or command(call)
    what = command(gone.attempt.call)
    return Item(
        FIX,
        excerpt(f"{what} fails with “{excerpt(finding.message, _ERROR)}”; mended in {right}", _TEXT),
        gone.attempt.line,
        _mended_sureness(gone),
        fix_line=call.line,
        wrong=excerpt(what, _SIDE),
        right=excerpt(right, _SIDE),
        source="build",
        signature=finding.signature,
        quote=excerpt(finding.message, _QUOTE),
        at_ms=gone.attempt.call.at_ms,
    )


def _mended_sureness(gone: Gone) -> float:
    if gone.attempt.state is not State.FAILED:
        return 0.5  # only its output tells that it failed
    return 0.7 if gone.is_clean else 0.6
