"""The texts that Claude Code itself writes into results, errors and attachments, and what they mean. `claude_code` makes events of them."""

import re
from collections.abc import Iterator
from typing import Any

from clan_learnings.sessions.json_values import object_of, text_of
from clan_learnings.sessions.prompt_text import typed

_REFUSED = "The user doesn't want to proceed with this tool use."
_DENIED = "Permission for this tool use was denied."  # to a subagent, by a person or by a rule
_SAID = re.compile(r"(?:[Tt]he user said:\n|The user provided the following reason for the rejection:)")
_OPENING = 500  # in which all of this stands
_NOTE = "\n\nNote: The user's next message may contain a correction"
_WANTS_TO_CLARIFY = "The user wants to clarify these questions"
_REFUSED_OTHERWISE = (
    "Permission prompt was aborted",
    "The agent proposed a plan that was rejected by the user",
    "User rejected",
    "The user rejected",
)
_COLLATERAL = (
    "The user doesn't want to take this action right now.",
    "<tool_use_error>Sibling tool call errored",
    "<tool_use_error>Cancelled: parallel tool call",
    "Sibling tool call errored",
    "Cancelled: parallel tool call",
    "[Request interrupted",
    "<error>Command was aborted before completion",
)
_EXIT_CODE = re.compile(r"\s{0,9}(?:Error: )?Exit code (-?\d{1,9})\b")
_TEXTS = (
    "content",
    "stdout",
    "snippet",
    "text",
    "message",
    "blockingError",
    "systemMessage",
    "prompt",
    "banner",
    "file",
)
_DEPTH = 5


def refusal(text: str, denial: str, detail: Any) -> str | None:
    """What a person gave as the reason, empty if none; None if no person refused."""
    text = text.lstrip()
    if denial and denial != "user-rejected":
        return None
    said = _SAID.search(text[:_OPENING])
    if text.startswith(_REFUSED) or (text.startswith(_DENIED) and said):
        reason = text[said.end() :].partition(_NOTE)[0].strip() if said else ""
        return "" if reason.startswith(_WANTS_TO_CLARIFY) else typed(reason)
    if denial or text.startswith(_REFUSED_OTHERWISE) or detail == "User rejected tool use":
        return ""
    return None


def is_collateral(text: str) -> bool:
    """Whether a call fell only with another one, or because somebody stopped all."""
    return text.startswith(_COLLATERAL)


def exit_code(text: str) -> int | None:
    """What a failed command ended with, where the result begins with it."""
    code = _EXIT_CODE.match(text)
    return int(code[1]) if code else None


def fault(error: Any) -> str:
    """What the provider said when it could not answer."""
    if isinstance(error, str):
        return error
    error = object_of(error)
    inner = object_of(error.get("error"))
    return text_of(error.get("message")) or text_of(object_of(inner.get("error")).get("message"))


def attached(attachment: dict[str, Any]) -> str:
    """All text of an attachment: every sort of them has it elsewhere."""
    return "\n".join(filter(None, _texts(attachment, 0)))


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < _DEPTH:
        for item in value:
            yield from _texts(item, depth + 1)
    elif isinstance(value, dict) and depth < _DEPTH:
        for name in _TEXTS:
            if name in value:
                yield from _texts(value[name], depth + 1)
