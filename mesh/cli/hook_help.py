"""The help and the completion of `mesh hook`. A hook itself reads its words in `hook`, without click, and never finds them wrong."""

from __future__ import annotations

from mesh.cli import hook
from mesh.cli.grammar import Given, argument, command, option

_EVENTS = (
    "as the agent calls it: SessionStart, UserPromptSubmit, PostToolUse, PostToolUseFailure, SubagentStart, Stop, SubagentStop,"
    " PreCompact, SessionEnd, ...; of Gemini: BeforeAgent, AfterTool, AfterAgent, PreCompress"
)


@command(
    "mesh hook SessionStart --agent codex < event.json",
    more="The event is read as JSON from stdin. Installed by `mesh install`; a person needs it only to try it out. It never fails:\n"
    "it exits with 0, and what went wrong stands in hook.log in the home. The answer is JSON, with or without --json.",
)
@argument("event", "EVENT", _EVENTS)
@option(
    "--agent",
    metavar="AGENT",
    help="claude-code, codex, gemini, qwen or copilot (default: told by the event, else claude-code)",
)
@option(
    "--repo",
    metavar="REPO",
    help="bind it to one repository, like github.com/acme/api, whatever folder the event names: nothing of others is told, and"
    " what is learned from the session goes under it",
)
def main(given: Given) -> int:
    """Answer one event."""
    words = [word for name in ("agent", "repo") if given.has(name) for word in (f"--{name}", given.word(name))]
    home = ["--home", given.home_option] if given.home_option else []
    return hook.main([given.event, *words, *home])
