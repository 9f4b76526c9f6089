"""The text that a person wrote in a prompt, without what benchmarks, issue solvers, channels and agents wrap around it."""

import re

_TAGS = ("issue_description", "pr_description", "problem_statement", "github_issue", "issue", "task")
_BETWEEN = (
    ("\nISSUE:\n", ("\nINSTRUCTIONS:",)),
    ("# Problem Statement\n", ("\nIMPORTANT:", "\n# ")),
    ("Please solve this issue: ", ("\n\nYou can execute bash commands", "\n\n## ")),
    ("Please solve the following issue:\n", ("\n\nYou can execute bash commands", "\n\n## ")),
)
_AFTERWARDS = ("\nINSTRUCTIONS:\n", "\n<instructions>", "\n# Task Instructions")


def assigned(text: str) -> str:
    """The task alone, without the wrapping of benchmarks and issue solvers; the whole text if none is recognised."""
    for tag in _TAGS:
        start = text.find(f"<{tag}>")
        end = text.find(f"</{tag}>", start)
        if 0 <= start < end:
            return text[start + len(tag) + 2 : end].strip()
    for before, after in _BETWEEN:
        start = text.find(before)
        if start >= 0:
            return _until(text[start + len(before) :], after)
    return _until(text, _AFTERWARDS)


def _until(text: str, ends: tuple[str, ...]) -> str:
    places = [at for end in ends if (at := text.find(end)) >= 0]
    return text[: min(places)].strip() if places else text.strip()


_CURRENT = "[Current message - respond to this]"
_HISTORY = (
    "[Thread history - for context]",
    "[Thread starter - for context]",
    "[Chat messages since your last reply - for context]",
)
_NOBODY = (  # text that a gateway sends itself, in the person's place
    "[cron:",
    "[Internal task completion event]",
    "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>",
    "OpenClaw runtime context (internal)",
    "A new session was started via /new or /reset",
    "Read HEARTBEAT.md",
    "Pre-compaction memory flush",
    "Continue the previous task.",
)
_METADATA = re.compile(r"^[A-Z][^\n:]{0,80}\(untrusted(?: metadata|, for context|)\):$")
_EVENT = re.compile(r"^System: \[[^\]\n]{1,80}\] ")
_HEADER = re.compile(
    r"^\[(?:(?:Slack|Telegram|WhatsApp|Discord|Signal|iMessage|BlueBubbles|Matrix|Teams|MSTeams|Microsoft Teams|Google Chat|WebChat"
    r"|Zalo|Feishu|Lark|LINE|Mattermost|Nostr|Twitch|IRC|SMS|Email)\b[^\[\]\n]{0,300}"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d[^\[\]\n]{0,40})\] ?"
)
_NUMBER = re.compile(r"^\[(?:[A-Za-z]{1,20} )?message[ _]id: [^\]\n]{0,200}\]$")
_NAME = re.compile(r"^\[[^\[\]\n]{1,64}\] (?=\S)")
_FENCE = "```"


def said_in_channel(text: str) -> str:
    """The person's words; empty if the gateway itself sent the text."""
    if _CURRENT in text:
        text = text.rpartition(_CURRENT)[2]
    lines = [line for line in text.strip().split("\n") if not _NUMBER.match(line.strip())]
    start = _after_blocks(lines)
    if start == 0 and lines[0].strip() in _HISTORY:
        start = _last_header(lines)
    said = _HEADER.sub("", "\n".join(lines[start:]).strip(), count=1).strip()
    return "" if said.startswith(_NOBODY) else said


def without_name(text: str) -> str:
    """Without the `[name] ` that group chats put before a line."""
    return _NAME.sub("", text, count=1)


def _after_blocks(lines: list[str]) -> int:
    """The line after the last block that a gateway wrote: events, and fenced metadata. 0 if there is no such block."""
    after, at = 0, 0
    in_history = lines[0].strip() in _HISTORY
    while at < len(lines):
        line = lines[at].strip()
        if _METADATA.match(line) and at + 1 < len(lines) and lines[at + 1].strip().startswith(_FENCE):
            at = next((i for i in range(at + 2, len(lines)) if lines[i].strip() == _FENCE), len(lines) - 1)
            after = at + 1
        elif _EVENT.match(line):
            after = at + 1
        elif line and not in_history:
            break  # the person's words have begun: what looks alike in them is theirs
        at += 1
    return after


def _last_header(lines: list[str]) -> int:
    """The last message of a history that has no other end: the one to be answered."""
    return max((i for i, line in enumerate(lines) if _HEADER.match(line.strip())), default=len(lines))


# Text around a person's words, or beside them: taken out wherever it stands.
_ASIDES = (
    "system-reminder",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "ide_visible_files",
    "new-diagnostics",
    "user-prompt-submit-hook",
    "session-start-hook",
    "pre-tool-use-hook",
    "post-tool-use-hook",
    "stop-hook",
    "hook_prompt",
    "hook_context",
    "environment_context",
    "environment_details",
    "user_instructions",
    "recommended_plugins",
    "collaboration_mode",
    "session_context",
    "state_snapshot",
)

# A text that begins with one of these is the agent's as a whole.
_WHOLE = (
    "<command-name",
    "<command-message",
    "<command-args",
    "<command-contents",
    "<local-command-",
    "<bash-input",
    "<bash-stdout",
    "<bash-stderr",
    "<task-notification",
    "<turn_aborted",
    "<user_shell_command",
    "<subagent_notification",
    "<teammate-message",
    "<user_action",
    "<model_switch",
    "<skill>",
    "<INSTRUCTIONS",
    "<permissions instructions",
    "[Request interrupted",
    "[Operation Cancelled]",
    "Stop hook feedback:",
    "Base directory for this skill:",
    "Caveat: The messages below were generated",
    "Operation stopped by hook",
    "This session is being continued from a previous conversation",
    "# AGENTS.md instructions",
    "This is the Gemini CLI. We are setting up the context",
    "Here is the user's editor context",
    "Here is a summary of changes in the user's editor context",
    "Please continue the conversation from where we left",
)

_NOTE_OPENS, _NOTE_ENDS = "<user-memory-input>", "</user-memory-input>"  # a note that a person dictates to the agent
_EDITOR = "# Context from my IDE setup:"
_REQUEST = "## My request for Codex:"
_FILES = "--- Content from referenced files ---"
_PLAN = "Implement the following plan:"
_PLAN_TITLE = 200


def typed(text: str) -> str:
    """The part of a text that a person typed; empty if nothing was."""
    text = _without_asides(text).strip()
    if text.startswith(_WHOLE):
        return ""
    if text.startswith(_NOTE_OPENS):
        text, _, _ = text[len(_NOTE_OPENS) :].partition(_NOTE_ENDS)
    if text.startswith(_EDITOR):
        _, _, text = text.partition(_REQUEST)
    if _FILES in text:
        text, _, _ = text.partition(_FILES)
    if text.startswith(_PLAN):  # put there when a plan is taken: the plan is the model's, only its name stays
        lines = [line.strip(" #") for line in text[len(_PLAN) :][: 2 * _PLAN_TITLE].splitlines()]
        return f"{_PLAN} {next(filter(None, lines), '')[:_PLAN_TITLE]}".strip()
    return text.strip()


def _without_asides(text: str) -> str:
    if "<" not in text:
        return text
    for tag in _ASIDES:
        if f"<{tag}" in text:
            text = _without(text, f"<{tag}", f"</{tag}>")
    return text


def _without(text: str, opening: str, closing: str) -> str:
    kept, at = [], 0
    while (start := text.find(opening, at)) >= 0:
        kept.append(text[at:start])
        end = text.find(closing, start)
        if end < 0:  # never closed: the rest is part of it
            return "".join(kept)
        at = end + len(closing)
    kept.append(text[at:])
    return "".join(kept)
