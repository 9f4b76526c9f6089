"""A learning document made without a model: from an error, the attempts that failed, what fixed it, and a person's words.

Invents nothing: every sentence is a rule's or a person's, every command and error is the session's. What is not known stays empty and
lowers the quality.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from clan_learnings.context.injected_mark import without_ours
from clan_learnings.documents.learning import TITLE_CHARS, Learning, one_line, tidy
from clan_learnings.documents.quality_gate import judge
from clan_learnings.harvest.items import CORRECTION, FACT, FIX, PATTERN, PITFALL, TOOL_QUIRK, HarvestItem
from clan_learnings.harvest.model_question import clean
from clan_learnings.records.record import category_of
from clan_learnings.sessions.digest import Digest, Failure
from clan_learnings.sessions.injected_by_us import words_of

WORKED = "What worked:"  # before the command that mended it
_THEN = "What then worked:"  # after a correction: alone it is no reason for a document
_ABOUT = (FIX, CORRECTION, PITFALL, TOOL_QUIRK)  # what a document can be about, the best first
_NEAR = 4  # lines within which two things belong together
_BESIDE = 60  # lines within which another item may be its reason, or how to prevent it
_SHARED = 2  # words of two things that are about the same
_ATTEMPTS = 5
_WORDS = 3  # of a person, at most so many sayings
_ERROR_CHARS = 1200
_COMMAND_CHARS = 600
_SAYING_CHARS = 400
_RELATED = 8
_NO_TASK_CHARS = 12  # `go on`, `/model`: says nothing of what was done
_QUOTE = "'"
_MANY = 3  # failed attempts from which on it was expensive


def assemble(digest: Digest, items: Sequence[HarvestItem], focus: HarvestItem | None = None) -> Learning | None:
    """The document that a session is good for; None if it is good for none.

    `items`: what rules (or a model) found in that session. `focus`: the one it is to be about; without it the surest, and of the
    others only those near it are told. The caller decides which candidates deserve a document, and whether it may be
    written: `drafts.draft_learning` makes the record, with `at_ms` of the learning for a backfill; `clan_learnings.documents.harvested_documents` does
    all of it. What comes back has passed `gate.judge`, is redacted, and holds nothing that was injected or came from us.
    """
    focus = focus or _focus(items)
    if focus is not None and focus.kind not in _ABOUT:
        return None
    failure = _failure(digest, focus)
    if focus is None and failure is None:
        return None
    items = [one for one in items if focus is None or _is_beside(one, focus, failure)]
    tries = _attempts(digest, failure)
    saying = _sayings(digest, focus, failure)
    made = Learning(
        title=_title(focus, failure),
        problem=_problem(digest, focus, failure, tries, saying),
        root_cause=_paragraphs(one.text for one in items if one.kind == FACT),
        solution=_solution(focus, failure, saying),
        example=_example(focus, failure),
        prevention=_paragraphs(one.text for one in items if one.kind in (PATTERN, PITFALL)),
        related=tuple(_named(digest.files, focus, failure))[:_RELATED],
        severity="high" if len(tries) >= _MANY else "medium",
        repo=digest.repo,
        session=digest.session,
        source=focus.source if focus is not None else "agent",
        evidence=_evidence(digest, focus, failure),
        confidence=focus.confidence if focus is not None else 0.5,
        at_ms=_when(digest, focus),
    ).tidy()
    error = f"{failure.command} {failure.error} {failure.fix}" if failure is not None else ""
    category = category_of(f"{made.title} {error} {' '.join(one.text for one in items)}")
    verdict = judge(made, (category,))
    if not verdict.passes:
        return None
    return replace(made, category=category, quality=verdict.quality)


def is_mended(failure: Failure) -> bool:
    """Whether a failure shows what to do instead: another command. A tool that is called again with other arguments does not."""
    words, instead = failure.command.split(), failure.fix.split()
    return len(words) > 1 and len(instead) > 1 and words != instead


def _is_beside(one: HarvestItem, focus: HarvestItem, failure: Failure | None) -> bool:
    """Whether an item tells more about what the focus tells: near it, of the same things, and not the same once more."""
    if one.text == focus.text or (one.kind, one.line) == (focus.kind, focus.line):
        return False
    said = f"{focus.text} {failure.command} {failure.error} {failure.fix}" if failure is not None else focus.text
    return abs(one.line - focus.line) <= _BESIDE and _shares(one.text, words_of(said))


def _focus(items: Sequence[HarvestItem]) -> HarvestItem | None:
    """What the document is about: what was put right, by the surest item."""
    about = [one for one in items if one.kind in _ABOUT]
    return min(about, key=lambda one: (-one.confidence, _ABOUT.index(one.kind), one.line), default=None)


def _failure(digest: Digest, focus: HarvestItem | None) -> Failure | None:
    """The failure that belongs to it: of the same error, else the nearest before it; without an item, the costliest that was mended."""
    if focus is None:
        mended = [one for one in digest.failures if is_mended(one)]
        return max(mended, key=lambda one: (digest.errors.get(one.signature, 0), -one.line), default=None)
    # What a person corrects, or what was given up, may be the very thing that worked: there only the same error belongs to it.
    is_open = focus.kind not in (CORRECTION, PITFALL)
    found = [
        one
        for one in digest.failures
        if (focus.signature and one.signature == focus.signature) or (is_open and _is_of(one, focus))
    ]
    found.sort(key=lambda one: abs(one.line - focus.line))
    return next((one for one in found if is_mended(one)), next(iter(found), None))


def _is_of(failure: Failure, focus: HarvestItem) -> bool:
    """Whether an item seems to tell of a failure: of the same place, or near it and in its words."""
    apart = abs(failure.line - focus.line)
    return apart <= 1 or (apart <= _NEAR and _shares(f"{failure.command} {failure.error}", words_of(focus.text)))


def _shares(text: str, words: frozenset[str]) -> bool:
    return len(words_of(text) & words) >= _SHARED


def _attempts(digest: Digest, failure: Failure | None) -> list[Failure]:
    """Everything that failed with the same error, in order; each command once."""
    if failure is None:
        return []
    found = [one for one in digest.failures if one.signature == failure.signature or one is failure]
    return list({one.command: one for one in reversed(found)}.values())[::-1][:_ATTEMPTS]


def _sayings(digest: Digest, focus: HarvestItem | None, failure: Failure | None) -> list[str]:
    """A person's words about it: said between what went wrong and what put it right."""
    lines = [one.line for one in (focus, failure) if one is not None]
    lines += [one.fix_line for one in (focus, failure) if one is not None and one.fix_line is not None]
    near = [text for at, text in digest.corrections if min(lines) - 1 <= at <= max(lines) + 1]
    if focus is None or focus.source != "human":  # a person may have spoken of something else meanwhile
        told_of = words_of(f"{focus.text if focus else ''} {failure.command} {failure.error}" if failure else "")
        near = [text for text in near if told_of & words_of(text)]
    if focus is not None and focus.source == "human" and focus.quote:
        near.insert(0, focus.quote)
    told: list[str] = []
    for text in near:
        line = one_line(_safe(text), _SAYING_CHARS)
        if line and not any(line in other or other in line for other in told):
            told.append(line)
    return told[:_WORDS]


def _title(focus: HarvestItem | None, failure: Failure | None) -> str:
    if focus is not None:
        return one_line(_safe(focus.text), TITLE_CHARS)
    assert failure is not None
    return one_line(f"{_safe(failure.command)[:80]} fails: {_first(_safe(failure.error))}", TITLE_CHARS)


def _problem(
    digest: Digest, focus: HarvestItem | None, failure: Failure | None, tries: list[Failure], saying: list[str]
) -> str:
    parts = []
    if failure is not None:
        parts += [_what_failed(failure), _fenced(failure.error, _ERROR_CHARS)]
    elif focus is not None and focus.wrong:
        parts.append(f"What was done: {one_line(_safe(focus.wrong), _SAYING_CHARS)}")
    others = [one for one in tries if one is not failure]
    if others:
        parts.append(f"{len(tries)} attempts ended with this error; among them:")
        parts.append("\n".join(f"- `{one_line(_safe(one.command), 200).replace('`', _QUOTE)}`" for one in others))
    if failure is not None and digest.errors.get(failure.signature, 0) > max(1, len(tries)):
        parts.append(f"The error came {digest.errors[failure.signature]} times in the session.")
    if saying:
        parts.append("\n".join(f"> {line}" for line in saying))
    if parts and len(digest.task) > _NO_TASK_CHARS:
        parts.append(f"It came up while working on: {one_line(_safe(digest.task), 200)}")
    return "\n\n".join(parts)


def _what_failed(failure: Failure) -> str:
    command = one_line(_safe(failure.command), 200).replace("`", _QUOTE)
    if command:
        return f"`{command}` fails:"
    return f"{one_line(failure.tool, 60) or 'A tool'} fails:"


def _solution(focus: HarvestItem | None, failure: Failure | None, saying: list[str]) -> str:
    parts = []
    if focus is not None:
        parts.append(one_line(_safe(focus.text), 600))
        right = one_line(_safe(focus.right), _COMMAND_CHARS)
        if right and right not in parts[0]:
            parts.append(f"What is right: {right}")
    if failure is not None and is_mended(failure) and (focus is None or focus.kind not in (CORRECTION, PITFALL)):
        changed = _changed_file(failure.fix, focus)
        parts += [f"{WORKED} a change of `{changed}`."] if changed else [WORKED, _fenced(failure.fix, _COMMAND_CHARS)]
    elif saying and focus is not None and focus.kind == CORRECTION:
        parts.append(f"In the words of the person who corrected it: {saying[0]}")
    if focus is not None and focus.kind == CORRECTION and focus.done:
        parts += _done(focus)
    return "\n\n".join(parts)


def _done(focus: HarvestItem) -> list[str]:
    """What the agent did after a correction. That it is what was asked for is said only where it speaks of the same."""
    is_asked = bool(words_of(focus.done) & words_of(f"{focus.right} {focus.quote}"))
    said = _THEN if is_asked else "What was done next:"
    if focus.done.startswith("`") and focus.done.endswith("`"):
        return [said, _fenced(focus.done[1:-1], _COMMAND_CHARS)]
    return [f"{said} {one_line(_safe(focus.done), _COMMAND_CHARS)}"]


def _example(focus: HarvestItem | None, failure: Failure | None) -> str:
    wrong, right = (focus.wrong.strip("` "), focus.right.strip("` ")) if focus is not None else ("", "")
    is_open = focus is None or focus.kind not in (CORRECTION, PITFALL)
    if failure is not None and is_open and is_mended(failure) and not _changed_file(failure.fix, focus):
        wrong, right = failure.command, failure.fix  # all of both
    if not wrong or not right:
        return ""
    parts = ["Not:", _fenced(wrong, _COMMAND_CHARS), "But:", _fenced(right, _COMMAND_CHARS)]
    return "\n\n".join(parts)


def _named(files: Iterable[str], focus: HarvestItem | None, failure: Failure | None) -> Iterator[str]:
    """The files of a session that are spoken of: most of what a session changes has to do with something else."""
    spoken = " ".join((focus.text, focus.wrong, focus.right) if focus is not None else ())
    spoken += f" {failure.command} {failure.error} {failure.fix}" if failure is not None else ""
    return (_safe(path) for path in files if (name := path.rsplit("/", 1)[-1]) and name in spoken)


def _changed_file(fix: str, focus: HarvestItem | None) -> str:
    """The file whose change put something right, if the item says so; empty if a command did."""
    words = fix.split()
    name = words[1].rsplit("/", 1)[-1] if len(words) == 2 else ""
    is_changed = focus is not None and (focus.right.startswith(f"{name}:") or f"in {name}" in focus.text)
    return one_line(_safe(name), 100) if name and is_changed else ""


def _evidence(digest: Digest, focus: HarvestItem | None, failure: Failure | None) -> str:
    line = focus.line if focus is not None else failure.line if failure is not None else 0
    return f"{digest.session}, line {line}"


def _when(digest: Digest, focus: HarvestItem | None) -> int | None:
    at = focus.at_ms if focus is not None else None
    return at if at is not None else digest.ended_ms if digest.ended_ms is not None else digest.started_ms


def _paragraphs(texts: Iterable[str]) -> str:
    return "\n\n".join(dict.fromkeys(line for text in texts if (line := one_line(_safe(text), 600))))


def _fenced(text: str, limit: int) -> str:
    """A block that holds whatever is in it: its fence is longer than any inside."""
    body = tidy(_safe(text))
    if len(body) > limit:
        body = f"{body[: limit // 2].rstrip()}\n...\n{body[-limit // 2 :].lstrip()}"
    fence = "```"
    while fence in body:
        fence += "`"
    return f"{fence}\n{body}\n{fence}"


def _safe(text: str) -> str:
    return clean(without_ours(text))


def _first(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")
