"""`mesh correct`: record a mistake and the right way, and say what it was counted under."""

from __future__ import annotations

from typing import Any

from mesh.cli.grammar import Given, WrongUsage, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import plain, put, say
from mesh.cli.record_options import (
    ABOUT,
    PRIVATE,
    REQUEST_ID,
    application_of,
    from_stdin,
    missing_witnesses,
    occurrences,
    print_answer,
    record_facts,
    request_id,
)
from mesh.cli.terminal import terminal

_IN_WORDS = ((1.0, "certain"), (0.9, "very sure"), (0.75, "sure"), (0.0, "likely"))


@command(
    'mesh correct --wrong "npm install" --right "pnpm install" --source human',
    more="Or, to count a correction under another pattern: mesh correct --move ID --pattern NAME",
    may_be_empty=True,
    usage="--wrong W --right R",
)
@option("--wrong", metavar="TEXT", help="what was done or believed; - reads it from stdin")
@option("--right", metavar="TEXT", help="what is right; - reads it from stdin")
@option("--pattern", metavar="NAME", help="the pattern to count it under (default: the one its words belong to)")
@option("--source", metavar="WHO", help="who corrected: human, agent, build or self (default: agent)")
@ABOUT
@PRIVATE
@REQUEST_ID
@option("--move", metavar="ID", help="instead of recording: count the correction ID under --pattern")
def main(given: Given) -> int:
    """Record it, or move it."""
    if given.has("move"):
        return _move(given)
    for name in ("wrong", "right"):
        if not given.has(name):
            raise WrongUsage(f"--{name} is missing: both --wrong and --right are needed")
    about = record_facts(given)
    wrong, right = from_stdin(given.word("wrong"), given.word("right"))
    how = {
        "pattern": given.word("pattern"),
        "source": given.word("source") or "agent",
        "request_id": request_id(given),
    }
    answer = application_of(given).correct(wrong, right, private=given.has("private"), **how, **about)
    return print_answer(given, answer, _show)


def _move(given: Given) -> int:
    if not given.word("pattern"):
        raise WrongUsage("--move needs --pattern: the pattern to count it under")
    if given.has("wrong") or given.has("right"):
        raise WrongUsage("--move takes a correction that is there: leave --wrong and --right out")
    if given.has("request_id"):
        raise WrongUsage("--request-id is for new corrections: to move one twice is to move it once")
    return print_answer(given, application_of(given).move(given.word("move"), given.word("pattern")), _show) or EXIT_OK


def _show(answer: dict[str, Any]) -> None:
    pattern, identity = plain(answer["pattern"], 100), answer["id"]
    if not pattern:
        put(f"{identity}  was recorded before, and is erased")
        return
    where = "new pattern" if answer["founded"] else "counted under"
    if "from" in answer:
        where = f"moved from {plain(answer['from'], 100)} to {'the new pattern' if answer['founded'] else ''}".rstrip()
    put(f"{identity}  {where} {pattern}")
    put(f"  {in_words(answer['sureness'])} ({answer['sureness']:.2f}): {plain(answer['why'])}")
    if answer["sessions"] is not None:
        put(f"  {answer['says']}")
        put(f"  so far: {occurrences(answer)}; tier {answer['tier']}")
        # A person's to decide: an agent is told what is missing, and no command.
        if missing_witnesses(answer) and terminal().out.isatty():
            say(f"  {missing_witnesses(answer)}")
    if answer.get("similar"):
        names = ", ".join(plain(name, 100) for name in answer["similar"])
        put(f"  nothing was counted under that name before; did you mean {names}?")
    say(f"  belongs elsewhere? mesh correct --move {identity} --pattern NAME")


def in_words(sureness: float) -> str:
    """How sure a number means."""
    return next(words for least, words in _IN_WORDS if sureness >= least)
