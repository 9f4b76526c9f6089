"""`mesh context`: what a session is given at its start."""

from __future__ import annotations

from mesh.cli.grammar import REPO, Fraction, Given, Whole, command, option
from mesh.cli.main import EXIT_FAILED, EXIT_OK
from mesh.cli.output import print_json, put_ours, tell
from mesh.cli.record_options import application_of


@command('mesh context --task "fix the flaky upload test"', may_be_empty=True)
@REPO
@option("--task", metavar="TEXT", help="what is to be done: what fits it is preferred")
@option("--agent", metavar="NAME", help="stay below what this agent takes: claude-code, codex, gemini")
@option("--max-chars", metavar="N", type=Whole(0), help="at most so many characters (default: 8000)")
@option("--max-tokens", metavar="N", type=Whole(0), help="at most so many tokens, by an upper bound (default: 2000)")
@option(
    "--min-confidence",
    metavar="C",
    type=Fraction(),
    help="only records believed more than this, from 0 to 1 (default: 0.7)",
)
def main(given: Given) -> int:
    """Print it."""
    answer = application_of(given).context(
        repo=given.repo,
        task=given.word("task"),
        agent=given.word("agent"),
        max_chars=given.max_chars,
        max_tokens=given.max_tokens,
        min_confidence=given.min_confidence,
    )
    if given.json:
        print_json(answer)
    elif answer["text"]:
        put_ours(answer["text"] if answer["text"].endswith("\n") else answer["text"] + "\n")  # our own frame
    if answer["is_too_small"]:
        tell("mesh: there is no room for anything", "  next: give more: --max-chars 8000 --max-tokens 2000")
        return EXIT_FAILED
    return EXIT_OK
