"""What stands in a person's place and no person typed: reminders, wrappers of commands, context of editors, instructions. Of all flavours.

Decides by form alone. What a record says about itself (isMeta, origin) is the flavour's business.
"""

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
    """What of a text a person typed; empty if nothing."""
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
