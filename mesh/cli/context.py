"""`mesh context`: what a session is given at its start."""

from __future__ import annotations

from mesh.cli.main import EXIT_FAILED, EXIT_OK
from mesh.cli.options import REPO, CommandSyntax, Given, Option, run
from mesh.cli.output import print_json, put_ours, tell
from mesh.cli.record_options import application_of

SYNTAX = CommandSyntax(
    "context",
    "",
    (
        REPO,
        Option("--task", "TEXT", "what is to be done: what fits it is preferred"),
        Option("--agent", "NAME", "stay below what this agent takes: claude-code, codex, gemini"),
        Option("--max-chars", "N", "at most so many characters (default: 8000)"),
        Option("--max-tokens", "N", "at most so many tokens, by an upper bound (default: 2000)"),
        Option("--min-confidence", "C", "only records believed more than this, from 0 to 1 (default: 0.7)"),
    ),
    'mesh context --task "fix the flaky upload test"',
)


def main(argv: list[str]) -> int:
    """Print it."""
    return run(argv, SYNTAX, _context)


def _context(given: Given) -> int:
    answer = application_of(given).context(
        repo=given.maybe("repo"),
        task=given.text("task"),
        agent=given.text("agent"),
        max_chars=given.number("max_chars", None, 0),
        max_tokens=given.number("max_tokens", None, 0),
        min_confidence=given.fraction("min_confidence"),
    )
    if given.as_json:
        print_json(answer)
    elif answer["text"]:
        put_ours(answer["text"] if answer["text"].endswith("\n") else answer["text"] + "\n")  # our own frame
    if answer["is_too_small"]:
        tell("mesh: there is no room for anything", "  next: give more: --max-chars 8000 --max-tokens 2000")
        return EXIT_FAILED
    return EXIT_OK
