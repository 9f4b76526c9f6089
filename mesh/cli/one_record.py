"""One record: `mesh show`, `mesh why` (its history), `mesh edit` and `mesh retract`."""

from __future__ import annotations

from typing import Any

from mesh.app.checks.node_checks import request_sentence, request_step
from mesh.cli.main import EXIT_OK, EXIT_WAITING
from mesh.cli.options import CommandSyntax, Given, Option, WrongUsage, run
from mesh.cli.output import plain, print_json, put, say, tell, tell_proposed, tell_taken_out
from mesh.cli.record_options import application_of, missing_witnesses, occurrences
from mesh.core.display import number_of

SHOW_SYNTAX = CommandSyntax("show", "ID", (), "mesh show 7k3qmzpa", words=(1, 1))
_CHARS = 2000


def run_show(argv: list[str]) -> int:
    """Print it."""
    return run(argv, SHOW_SYNTAX, _show)


def _show(given: Given) -> int:
    answer = application_of(given).show(given.words[0])
    print_json(answer) if given.as_json else print_record(answer)
    return EXIT_OK


def print_record(answer: dict[str, Any]) -> None:
    """A record, one field a line."""
    put(f"{answer['id']}  {plain(answer['kind'], 64)}, {answer['tier']}")
    put(f"  by: {plain(answer['author'])} on {answer['at']}")
    if answer.get("own_words") is not None:
        put(f"  told as: {plain(answer['text'], _CHARS)}", "  what it says itself is not agreed:")
    for field, value in answer["record"].items():
        put(f"  {plain(field, 64)}: {_in_words(field, value)}")


def _in_words(field: str, value: Any) -> str:
    if isinstance(value, list):
        return plain(", ".join(plain(item) for item in value), _CHARS)
    return "every repo" if field == "repo" and value == "" else plain(value, _CHARS)


WHY_SYNTAX = CommandSyntax("why", "ID", (), "mesh why 7k3qmzpa", words=(1, 1))


def run_why(argv: list[str]) -> int:
    """Author, time, signature, place in the chain, what befell the record, and its tier."""
    return run(argv, WHY_SYNTAX, _why)


def _why(given: Given) -> int:
    story = application_of(given).why(given.words[0])
    print_json(story) if given.as_json else _print_history(story)
    return EXIT_OK


def _print_history(story: dict[str, Any]) -> None:
    put(f"{story['id']}  {story['kind']}, {story['state']}")
    if story["record"] is not None:
        put(f"  says      {plain(story['record'])}")
    if story["told_as"] is not None:
        put(f"  told as   {plain(story['told_as'])}; what the record says is not agreed")
    put(f"  author    {story['name']}  {story['author']}")
    put(f"  written   {story['written']}")
    if story["session"]:
        put(f"  session   {plain(story['session'], 200)}")
    if story["tier"] is not None:
        put(f"  tier      {story['tier']}")
    counted = story["counts_for"]
    if counted is not None:
        sure = f", sureness {counted['sureness']:.2f}" if counted["sureness"] is not None else ""
        put(f"  pattern   {plain(counted['pattern'], 100)}{sure}: {plain(counted['rule'])}")
        put(f"  so far    {occurrences(counted)}; logged {number_of(counted['logged'], 'time')}")
        if counted["approved"]:
            put("  approved  by an admin, in these words")
        if missing_witnesses(counted):
            say(f"  not HOT   {missing_witnesses(counted)}")
        if counted["superseded_by"]:
            put(f"  ended by  {plain(', '.join(counted['superseded_by']))}")
        if counted["archived"]:
            put(f"  archived  {plain(counted['archived'])}")
    put(f"  chain     operation {story['seq']} of {story['feed']}, hash {story['hash'][:16]}")
    put(f"  signature over operation {story['signed_at']}: {'holds' if story['signature_holds'] else 'DOES NOT HOLD'}")
    if story["copies"] > 1:
        put(f"  copies    {story['copies']}: written again after a feed was lost or forked")
    if story["replaced_by"]:
        put(f"  replaced  by {story['replaced_by']}: written again, because the clock had been ahead")
    if story["replaces"]:
        put(f"  replaces  {story['replaces']}, which was written while the clock was ahead")
    for event in story["events"]:
        put(f"  {event['what']:<9} {event['at']} by {event['name']}: {plain(event['detail'])}")
    if story["erase_requests"]:
        for request in story["erase_requests"]:
            say(f"  asked     {plain(request_sentence(request), 1000)}", f"            next: {request_step(request)}")


_TEXTS = ("text", "wrong", "right", "rule", "topic", "category", "severity", "evidence", "pattern")
EDIT_SYNTAX = CommandSyntax(
    "edit",
    "ID",
    (
        Option("--text", "TEXT", "of a discovery"),
        Option("--wrong", "TEXT", "of a correction or a pattern"),
        Option("--right", "TEXT", "of a correction"),
        Option("--rule", "TEXT", "of a pattern's record; mesh pattern edit changes it for all records"),
        Option("--topic", "WORD", "what it is about"),
        Option("--tags", "A,B", "all of its tags, with commas"),
        Option("--category", "NAME", "one of the mesh's categories"),
        Option("--severity", "LEVEL", "low, medium, high or critical"),
        Option("--confidence", "C", "how sure it is, from 0 to 1"),
        Option("--evidence", "TEXT", "where it can be seen"),
        Option("--minutes-lost", "N", "what it has cost"),
        Option("--repo", "REPO", "the repository it holds in; . is where we are"),
        Option("--global", "", "it holds in every repository"),
        Option("--pattern", "NAME", "the pattern a correction is counted under"),
    ),
    "mesh edit 7k3qmzpa --severity high --topic docker",
    words=(1, 1),
)


def run_edit(argv: list[str]) -> int:
    """Change it, and show it as it is now."""
    return run(argv, EDIT_SYNTAX, _edit)


def _edit(given: Given) -> int:
    # `--repo` says what the record is to say, not which of several teams' homes it is in.
    application = application_of(given, given.home_of(""))
    changes: dict[str, Any] = {name: given.text(name) for name in _TEXTS if given.has(name)}
    if given.has("tags"):
        changes["tags"] = given.words_of("tags")
    if given.has("confidence"):
        changes["confidence"] = given.fraction("confidence")
    if given.has("minutes_lost"):
        changes["minutes_lost"] = given.number("minutes_lost", None, 0, 100_000)
    if given.has("global"):
        if given.has("repo"):
            raise WrongUsage("--repo and --global exclude each other")
        changes["repo"] = ""
    elif given.has("repo"):
        changes["repo"] = application.caller.scope(given.text("repo"))
    answer = application.edit(given.words[0], changes)
    print_json(answer) if given.as_json else print_record(answer)
    tell_taken_out(answer["redacted"])
    return EXIT_WAITING if tell_proposed(answer) else EXIT_OK


RETRACT_SYNTAX = CommandSyntax(
    "retract",
    "ID --reason TEXT",
    (Option("--reason", "TEXT", "why; the reason stays, so without any secret in it"),),
    'mesh retract 7k3qmzpa --reason "it was the proxy after all"',
    words=(1, 1),
)


def run_retract(argv: list[str]) -> int:
    """Take it back, and say what that changes."""
    return run(argv, RETRACT_SYNTAX, _retract)


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
