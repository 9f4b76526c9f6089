"""The question to a model about a session: the prompt, the digest, and the events around what went wrong. Bounded in size; runs nothing.

All of it leaves this process, maybe this machine. So everything is redacted, what was injected and what came from us is left
out, home folders are `~`, and the whole stands between our own marks: should the model's own session be captured one
day, then nothing of it is taken for somebody's words.
"""

import json
import os
from collections.abc import Iterator, Sequence

from clan_learnings.context.injected_mark import CLOSING, opening, without_ours
from clan_learnings.redaction import redact, redact_value
from clan_learnings.redaction.private_passages import without_private
from clan_learnings.sessions.cleaning import homeless
from clan_learnings.sessions.digest import Digest
from clan_learnings.sessions.injected_by_us import without_injected
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent
from mesh.core.ids import digest as hashed

EXCERPT_CHARS = 60_000
DIGEST_CHARS = 20_000
_EVENT_CHARS = 1_200  # the beginning and the end of a long one
_LOOK_CHARS = 16_000  # of each end of a long one that are cleaned
_AROUND = 3  # events before and after what went wrong
_PLACES = 60  # that are looked at: corrections first, then failures
_LISTED = 40  # failures, files and errors of a digest that are listed

NEVER_SHOWN = (Kind.INJECTED, Kind.SUMMARY, Kind.THOUGHT)
_WHO = {
    Kind.PROMPT: "person",
    Kind.REPLY: "agent",
    Kind.REFUSAL: "person did not allow it",
    Kind.INTERRUPT: "person stopped the agent",
    Kind.FAULT: "provider failed",
}


def question_about(digest: Digest, session: Session | None) -> str:
    """The whole text for a model's stdin."""
    parts = [_prompt(), "", "The digest:", _digest_text(digest), ""]
    if session is not None:
        parts += ["What happened around failures and corrections:", *_excerpt(digest, session), ""]
    parts.append("END OF MATERIAL. Answer with the JSON array now.")
    body = "\n".join(parts).replace(CLOSING, "(/clan-mesh)")
    return f"{opening(hashed(body.encode('utf-8', 'replace')).hex())}\n{body}\n{CLOSING}\n"


def _prompt() -> str:
    """What a model is told, from a file that people can read and change."""
    with open(os.path.join(os.path.dirname(__file__), "prompts", "extract.md"), encoding="utf-8") as file:
        return file.read()


def clean(text: str) -> str:
    """Text that may leave: nothing private, nothing of ours, no secrets, no names of home folders."""
    return homeless(redact(without_ours(without_private(text))).text)


def _digest_text(digest: Digest) -> str:
    """A digest as JSON, short enough: what is long is cut, and said to be."""
    told = digest.as_json()
    del told["session"], told["skipped"]
    for name in ("failures", "files", "corrections"):
        if len(told[name]) > _LISTED:
            told[f"more_{name}"] = len(told[name]) - _LISTED
            told[name] = told[name][:_LISTED]
    told["errors"] = dict(sorted(told["errors"].items(), key=lambda one: -one[1])[:_LISTED])
    text = clean(json.dumps(_cut(redact_value(told)[0]), ensure_ascii=False, default=str))
    return text if len(text) <= DIGEST_CHARS else f"{text[:DIGEST_CHARS]} ... (cut)"


def _cut(value: object) -> object:
    if isinstance(value, str):
        return _short(without_ours(value))
    if isinstance(value, dict):
        return {name: _cut(one) for name, one in value.items()}
    return [_cut(one) for one in value] if isinstance(value, list | tuple) else value


def _excerpt(digest: Digest, session: Session) -> Iterator[str]:
    """Lines of the events around the places a digest knows; without such places the beginning and the end."""
    shown = [event for event in without_injected(session.events)[0] if event.kind not in NEVER_SHOWN]
    left, last = EXCERPT_CHARS, -1
    for at in sorted(_chosen(digest, shown)):
        text = _told(shown[at])
        if not text:
            continue
        if left < len(text):
            yield "... (more is left out)"
            return
        if last >= 0 and at > last + 1:
            yield "..."
        yield text
        last = at
        left -= len(text) + 1


def _chosen(digest: Digest, shown: Sequence[SessionEvent]) -> set[int]:
    first: dict[int, int] = {}
    for at, event in enumerate(shown):
        first.setdefault(event.line, at)
    lines = [line for line, _ in digest.corrections]
    lines += [line for one in digest.failures for line in (one.line, one.fix_line) if line is not None]
    centres = [first[line] for line in lines[:_PLACES] if line in first]
    centres += [at for at, event in enumerate(shown) if event.kind in (Kind.REFUSAL, Kind.INTERRUPT)][:_PLACES]
    centres += [0, len(shown) - 1]  # what was asked for, and how it ended
    return {
        near for centre in centres for near in range(centre - _AROUND, centre + _AROUND + 1) if 0 <= near < len(shown)
    }


def _told(event: SessionEvent) -> str:
    """One event as one block that begins with its line."""
    text = _shown(event.text)
    match event.kind:
        case Kind.CALL:
            if not text and event.arguments:
                text = _shown(json.dumps(redact_value(event.arguments)[0], ensure_ascii=False, default=str))
            who = f"call of {event.tool or 'a tool'}"
        case Kind.RESULT:
            how = "failed" if event.failed else "ok" if event.failed is False else "unknown"
            code = "" if event.exit_code is None else f", exit {event.exit_code}"
            who = f"result of {event.tool or 'a tool'} ({how}{code})"
        case _:
            who = _WHO[event.kind]
    is_silent = not text and event.kind in (Kind.PROMPT, Kind.REPLY)
    return "" if is_silent else f"L{event.line} {who}: {text}"


def _shown(text: str) -> str:
    """Text of an event. A long one is cut twice, so that no half of a secret stands where it was cut."""
    if len(text) > 2 * _LOOK_CHARS:
        return _short(clean(text[:_LOOK_CHARS]) + "\n...\n" + clean(text[-_LOOK_CHARS:]))
    return _short(clean(text))


def _short(text: str) -> str:
    if len(text) <= _EVENT_CHARS:
        return text
    half = _EVENT_CHARS // 2
    return f"{text[:half]} ... ({len(text) - _EVENT_CHARS} characters left out) ... {text[-half:]}"
