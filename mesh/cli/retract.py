"""`mesh retract`: retract a record."""

from __future__ import annotations

from mesh.cli.main import EXIT_OK, EXIT_WAITING
from mesh.cli.options import CommandSyntax, Given, Option, WrongUsage, run
from mesh.cli.output import plain, print_json, put, tell, tell_proposed, tell_taken_out
from mesh.cli.record_options import application_of
from mesh.core.display import number_of

SYNTAX = CommandSyntax(
    "retract",
    "ID --reason TEXT",
    (Option("--reason", "TEXT", "why; the reason stays, so without any secret in it"),),
    'mesh retract 7k3qmzpa --reason "it was the proxy after all"',
    words=(1, 1),
)


def main(argv: list[str]) -> int:
    """Take it back, and say what that changes."""
    return run(argv, SYNTAX, _retract)


def _retract(given: Given) -> int:
    if not given.has("reason"):
        raise WrongUsage("--reason is missing: say why it is taken back")
    answer = application_of(given).retract(given.words[0], given.text("reason"))
    if given.as_json:
        print_json(answer)
    else:
        done = "asked to retract" if answer.get("proposed") else "retracted"
        put(f"{answer['id']}  {done}: {plain(answer['text'])}")
        if answer["pattern"]:
            ended = "; not HOT any more" if answer["was_hot"] and not answer["is_hot"] else ""
            put(f"  {plain(answer['pattern'], 100)}: {number_of(answer['sessions'], 'session')} left{ended}")
    for name in answer["documents"]:
        tell(
            f"mesh: {name} is a learning that was made beside it, and still says so",
            f"  next: mesh retract {name} --reason REASON, or mesh erase {name} --reason REASON",
        )
    tell_taken_out(answer["redacted"])
    return EXIT_WAITING if tell_proposed(answer) else EXIT_OK
