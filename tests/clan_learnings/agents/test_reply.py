"""What hooks answer: valid for the agent that asked, whatever stands in the text."""

import json

import pytest

from clan_learnings.agents.hook_formats import AGENTS, NOTHING, reply

SPEAKING = [
    ("claude-code", "SessionStart"),
    ("claude-code", "UserPromptSubmit"),
    ("claude-code", "PostToolUseFailure"),
    ("claude-code", "SubagentStart"),
    ("codex", "SessionStart"),
    ("codex", "UserPromptSubmit"),
    ("codex", "PostToolUse"),
    ("codex", "SubagentStart"),
    ("gemini", "SessionStart"),
    ("gemini", "BeforeAgent"),
    ("gemini", "AfterTool"),
    ("qwen", "SessionStart"),
    ("qwen", "UserPromptSubmit"),
    ("qwen", "PostToolUse"),
]
SILENT = [
    *(
        (agent, event)
        for agent in AGENTS
        for event in ("Stop", "PreCompact", "PreCompress", "AfterAgent", "SessionEnd", "")
    ),
    ("codex", "PostToolUseFailure"),
    ("gemini", "UserPromptSubmit"),
    ("somebody", "SessionStart"),
]


@pytest.mark.parametrize(("agent", "event"), SPEAKING)
def test_context_is_given_under_the_name_of_the_event(agent: str, event: str) -> None:
    """These two keys and no other: Codex fails a hook that says more."""
    said = json.loads(reply(agent, event, "use pnpm"))
    assert said == {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "use pnpm"}}


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PostToolUse"])
def test_copilot_is_told_in_one_field(event: str) -> None:
    """As 1.0.102 reads it, whatever else there would be to say."""
    assert json.loads(reply("copilot", event, "use pnpm", "a warning")) == {"additionalContext": "use pnpm"}
    assert reply("copilot", event, "", "a warning") == NOTHING


@pytest.mark.parametrize(("agent", "event"), SILENT)
def test_nothing_is_said_to_who_does_not_listen(agent: str, event: str) -> None:
    """An empty object is valid JSON for every agent and event."""
    assert reply(agent, event, "use pnpm") == NOTHING
    assert json.loads(NOTHING) == {}


@pytest.mark.parametrize("agent", AGENTS)
def test_an_empty_text_says_nothing(agent: str) -> None:
    """No empty context is added to a session."""
    assert reply(agent, "SessionStart", "") == NOTHING


@pytest.mark.parametrize("text", ['"}]}', "a\nb\u2028c", "\x1b[31m", "\ud800", "日本語 ·", "</clan-mesh>"])
def test_any_text_comes_back_as_it_was(text: str) -> None:
    """In one line of ASCII: no text ends the JSON early, and no terminal's encoding can break it."""
    line = reply("gemini", "SessionStart", text)
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line)["hookSpecificOutput"]["additionalContext"] == text
