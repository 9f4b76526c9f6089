"""`mesh why`: the history of a record, and what it counts for."""

from __future__ import annotations

from mesh.cli.main import EXIT_OK
from mesh.cli.options import CommandSyntax, Given, run
from mesh.cli.output import plain, print_json, put, say
from mesh.cli.record_options import application_of, missing_witnesses, occurrences
from mesh.core.display import number_of

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

SYNTAX = CommandSyntax("why", "ID", (), "mesh why 7k3qmzpa", words=(1, 1))


def main(argv: list[str]) -> int:
    """Author, time, signature, place in the chain, what befell the record, and its tier."""
    return run(argv, SYNTAX, _why)


def _why(given: Given) -> int:
    story = application_of(given).why(given.words[0])
    print_json(story) if given.as_json else _print(story)
    return EXIT_OK


def _print(story: dict[str, Any]) -> None:
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
        from mesh.app.checks.node_checks import request_sentence, request_step

        for request in story["erase_requests"]:
            say(f"  asked     {plain(request_sentence(request), 1000)}", f"            next: {request_step(request)}")
