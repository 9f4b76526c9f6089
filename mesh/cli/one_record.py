"""One record: `mesh show`, `mesh why` (its history), `mesh edit` and `mesh retract`."""

from __future__ import annotations

from typing import Any

from mesh.app.checks.node_checks import request_sentence, request_step
from mesh.cli.grammar import CommaList, Fraction, Given, Whole, WrongUsage, argument, command, option
from mesh.cli.main import EXIT_OK, EXIT_WAITING
from mesh.cli.output import plain, print_json, put, say, tell, tell_proposed, tell_taken_out
from mesh.cli.record_options import application_of, missing_witnesses, occurrences
from mesh.core.display import number_of

_CHARS = 2000


@command("mesh show 7k3qmzpa", may_be_empty=True)
@argument("record", "ID")
def run_show(given: Given) -> int:
    """Print it."""
    answer = application_of(given).show(given.record)
    print_json(answer) if given.json else print_record(answer)
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


@command("mesh why 7k3qmzpa", may_be_empty=True)
@argument("record", "ID")
def run_why(given: Given) -> int:
    """Author, time, signature, place in the chain, what befell the record, and its tier."""
    story = application_of(given).why(given.record)
    print_json(story) if given.json else _print_history(story)
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


@command("mesh edit 7k3qmzpa --severity high --topic docker", may_be_empty=True)
@argument("record", "ID")
@option("--text", metavar="TEXT", help="of a discovery")
@option("--wrong", metavar="TEXT", help="of a correction or a pattern")
@option("--right", metavar="TEXT", help="of a correction")
@option("--rule", metavar="TEXT", help="of a pattern's record; mesh pattern edit changes it for all records")
@option("--topic", metavar="WORD", help="what it is about")
@option("--tags", metavar="A,B", type=CommaList(), default="", help="all of its tags, with commas")
@option("--category", metavar="NAME", help="one of the mesh's categories")
@option("--severity", metavar="LEVEL", help="low, medium, high or critical")
@option("--confidence", metavar="C", type=Fraction(), help="how sure it is, from 0 to 1")
@option("--evidence", metavar="TEXT", help="where it can be seen")
@option("--minutes-lost", metavar="N", type=Whole(0, 100_000), help="what it has cost")
@option("--repo", metavar="REPO", help="the repository it holds in; . is where we are")
@option("--global", help="it holds in every repository")
@option("--pattern", metavar="NAME", help="the pattern a correction is counted under")
def run_edit(given: Given) -> int:
    """Change it, and show it as it is now."""
    # `--repo` says what the record is to say, not which of several teams' homes it is in.
    application = application_of(given, given.home_of(""))
    changes: dict[str, Any] = {name: given.word(name) for name in _TEXTS if given.has(name)}
    if given.has("tags"):
        changes["tags"] = given.tags
    if given.has("confidence"):
        changes["confidence"] = given.confidence
    if given.has("minutes_lost"):
        changes["minutes_lost"] = given.minutes_lost
    if given.has("global"):
        if given.has("repo"):
            raise WrongUsage("--repo and --global exclude each other")
        changes["repo"] = ""
    elif given.has("repo"):
        changes["repo"] = application.caller.scope(given.word("repo"))
    answer = application.edit(given.record, changes)
    print_json(answer) if given.json else print_record(answer)
    tell_taken_out(answer["redacted"])
    return EXIT_WAITING if tell_proposed(answer) else EXIT_OK


@command('mesh retract 7k3qmzpa --reason "it was the proxy after all"', may_be_empty=True)
@argument("record", "ID")
@option("--reason", metavar="TEXT", help="why; the reason stays, so without any secret in it")
def run_retract(given: Given) -> int:
    """Take it back, and say what that changes."""
    if not given.has("reason"):
        raise WrongUsage("--reason is missing: say why it is taken back")
    answer = application_of(given).retract(given.record, given.word("reason"))
    if given.json:
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
