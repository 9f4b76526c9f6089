"""When an agent is asked to record what it is learning at this moment, and the line that asks it. It has the whole context, and so the best words.

Asked is seldom: a request that comes to nothing costs the agent's attention. What was asked is noted before it is said.
"""

from __future__ import annotations

from hashlib import blake2b

from clan_learnings.agents.prompt_signs import PromptSign, is_typed, sign_of
from clan_learnings.agents.record_call import RecordCall
from clan_learnings.context.injected_mark import LINE
from clan_learnings.records.shown_to_session import FAILURE, FIRST_PROMPT, REQUEST, ShownRecords

REQUESTS = 3  # of one session at most
_OF_SUCCESSES = 1  # of these: a test that fails until the work is done is everyday life
SEVERAL = 2  # attempts that failed before the one that did not
_FAILURES = 200  # noted of one session
_CORRECTION, _DISCOVERY = "correction", "discovery"
_HASH_BYTES = 8
_CHAINED = (" 2>&1", " | tail", " | head")  # what is put behind a command to see less of what it prints


def about_prompt(seen: ShownRecords, prompt: str, call: RecordCall, now_ms: int) -> str:
    """The line for a prompt that may correct the agent or set a rule; empty for the first one, for one known, for what no person typed."""
    if not is_typed(prompt):
        return ""
    key = _hash(seen, prompt.strip())
    first = seen.noted(FIRST_PROMPT)
    if not first:  # the task itself: there is nothing yet that it could correct
        seen.note(now_ms, FIRST_PROMPT, "-", key)
        return ""
    sign = sign_of(prompt)
    if sign == PromptSign.NONE or key in first or not _may_ask(seen, _CORRECTION, key):
        return ""
    seen.note(now_ms, REQUEST, _CORRECTION, key)
    if sign == PromptSign.RULE:
        said = call.correction("what breaks the rule", "the rule", "human")
        return f"{LINE}If the user sets a rule here that holds beyond this task, record it before you reply, in words that say all to somebody else: {said}"
    said = call.correction("what you did or assumed", "what is right, and where", "human")
    return f"{LINE}If the user corrects you here, record it before you reply, in words that say all to somebody else; if not, go on: {said}"


def about_success(seen: ShownRecords, command: str, call: RecordCall, now_ms: int) -> str:
    """The line for a command that went well after several attempts that did not."""
    key = _hash(seen, _plain(command))
    failures = len(seen.noted(FAILURE, key))
    if (
        failures < SEVERAL
        or len(seen.noted(REQUEST, _DISCOVERY)) >= _OF_SUCCESSES
        or not _may_ask(seen, _DISCOVERY, key)
    ):
        return ""
    seen.note(now_ms, REQUEST, _DISCOVERY, key)
    said = call.discovery("what made the difference, and when it matters")
    return f"{LINE}This went well after {failures} attempts that failed. If the reason is written nowhere, record it now: {said}"


def has_failed_often(seen: ShownRecords, command: str) -> bool:
    """Whether a command failed so often in this session that its success says something."""
    return len(seen.noted(FAILURE, _hash(seen, _plain(command)))) >= SEVERAL


def note_failure(seen: ShownRecords, command: str, now_ms: int) -> None:
    """Remember that a command failed."""
    failures = len(seen.noted(FAILURE))
    if command.strip() and failures < _FAILURES:
        seen.note(now_ms, FAILURE, _hash(seen, _plain(command)), f"{now_ms}-{failures}")


def _may_ask(seen: ShownRecords, what: str, key: str) -> bool:
    return len(seen.noted(REQUEST)) < REQUESTS and key not in seen.noted(REQUEST, what)


def _plain(command: str) -> str:
    """A command without what changes nothing of what it does."""
    plain = " ".join(command.split())
    for word in _CHAINED:
        plain = plain.partition(word)[0]
    return plain


def _hash(seen: ShownRecords, text: str) -> str:
    """A name for a text from which it cannot be looked up in another session."""
    key = blake2b(seen.session.encode("utf-8", "replace"), digest_size=32).digest()
    return blake2b(text.encode("utf-8", "replace"), digest_size=_HASH_BYTES, key=key).hexdigest()
