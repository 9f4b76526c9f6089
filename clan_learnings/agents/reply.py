"""What a hook answers: JSON as each agent documents it. What is said is decided elsewhere.

An empty object is valid for all three and says nothing: Gemini takes JSON only, and Codex no unknown key.
"""

from __future__ import annotations

from clan_learnings.agents.event import CLAUDE_CODE, CODEX, GEMINI
from clan_learnings.light_json import quoted

NOTHING = "{}"
# After which events an agent listens; anything said after another one would fail the hook, or be shown to a person.
_LISTENS = {
    CLAUDE_CODE: frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "SubagentStart"}),
    CODEX: frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "SubagentStart"}),
    GEMINI: frozenset({"SessionStart", "BeforeAgent", "AfterTool"}),
}


def reply(agent: str, event: str, text: str, warning: str = "") -> str:
    """One JSON object in ASCII, which every terminal and pipe can carry. `warning`: for the person, not for the model."""
    if not listens(agent, event):
        return NOTHING
    said = [f'"systemMessage": {quoted(warning)}'] if warning else []
    if text:
        said.append(f'"hookSpecificOutput": {{"hookEventName": {quoted(event)}, "additionalContext": {quoted(text)}}}')
    return f"{{{', '.join(said)}}}"


def listens(agent: str, event: str) -> bool:
    """Whether an agent takes in what is said after this event."""
    return event in _LISTENS.get(agent, ())
