"""`mesh proposals`: what others want to change, and does not count until somebody agrees."""

from __future__ import annotations

from typing import Any

import click

from clan_learnings.records.memory import Memory
from mesh.app.checks.node_checks import request_sentence, request_step
from mesh.app.proposals import draft_dismissal, draft_grant, named, proposals, resolved, told
from mesh.app.status import erase_requests
from mesh.cli.grammar import Given, WrongUsage, argument, command
from mesh.cli.main import EXIT_OK
from mesh.cli.output import plain, print_json, put, say, tell
from mesh.cli.record_options import application_of, print_answer
from mesh.core.display import number_of
from mesh.core.draft import Draft
from mesh.core.errors import UsageError
from mesh.core.ids import text_id
from mesh.store.erase_requests import LOG
from mesh.store.home import open_home


@command(
    "mesh proposals grant 7k3qmzpa",
    more="Without words it lists them, and what members asked to erase that can be erased from here.\n"
    "grant ID: say the same, so that it counts. dismiss ID: say no; for every node, if this one may decide alone (an admin,\n"
    "or whoever wrote what is to be changed), else for this one.",
    may_be_empty=True,
    usage="[grant ID | dismiss ID]",
)
@argument("verb", "grant|dismiss", type=click.Choice(("grant", "dismiss")), required=False)
@argument("proposal", "ID", required=False)
def main(given: Given) -> int:
    """List them, or decide about one."""
    verb, text = given.verb, given.proposal
    if not verb:
        return _list(given)
    if not text:
        raise WrongUsage(f"{verb} needs the id of a proposal: mesh proposals lists them")
    return _grant(given, text) if verb == "grant" else _dismiss(given, text)


def _list(given: Given) -> int:

    home = open_home(given.home)
    answer = application_of(given).ask(
        lambda memory: {
            "moderation": "guarded" if memory.settings.is_guarded else "open",
            "proposals": [told(memory, home.node, item) for item in proposals(memory, home.node)],
        }
    )
    store = home.store()
    try:
        with store.database.savepoint():
            answer["erase_requests"] = erase_requests(home, store)
    finally:
        store.close()
    if given.json:
        print_json(answer)
        return EXIT_OK
    _print(answer)
    return EXIT_OK


def _print(answer: dict[str, Any]) -> None:

    for item in answer["proposals"]:
        whose = " (yours)" if item["is_own"] else ""
        put(f"{item['id'][:8]}  {item['at'][:10]}  {plain(item['name'])}{whose}  {plain(item['change'], 500)}")
        put(f"  {plain(item['about'], 100)}: {plain(item['text'])}")
    for request in answer["erase_requests"]:
        put(f"{request['request'][:8]}  {request['at'][:10]}  {plain(request_sentence(request), 1000)}")
        say(f"  next: {request_step(request)}")
    if answer["proposals"]:
        tell("to have one count: mesh proposals grant ID; to say no: mesh proposals dismiss ID")
    elif not answer["erase_requests"]:
        why = "" if answer["moderation"] == "guarded" else "; this mesh is open, so what anybody says counts at once"
        tell(f"nothing waits for somebody to agree{why}")


def _grant(given: Given, text: str) -> int:

    node = open_home(given.home).node

    def write(memory: Memory, *_: object) -> tuple[list[Draft], dict[str, Any]]:

        entry = memory.reader.entry(resolved(memory, text))
        if entry is not None and entry.log == LOG:
            raise UsageError(
                "that is a request to erase",
                f"erase it: mesh erase {plain(entry.record.get('record'))} --reason REASON",
            )
        drafts, found = draft_grant(memory, node, text)
        return drafts, {"granted": [item.about for item in found], "change": found[0].change}

    return print_answer(given, application_of(given).write(write, is_change=True), _print_granted)


def _print_granted(answer: dict[str, Any]) -> None:
    done = "noted, and it still waits" if "proposed" in answer else "granted"
    put(f"{answer['id']}  {done}: {plain(answer['change'], 500)} ({plain(', '.join(answer['granted']), 500)})")


def _dismiss(given: Given, text: str) -> int:

    home = open_home(given.home)
    store = home.store()
    try:
        asked = {request["request"] for request in erase_requests(home, store)}
    finally:
        store.close()

    def write(memory: Memory, *_: object) -> tuple[list[Draft], dict[str, Any]]:

        tag = resolved(memory, text)
        if text_id(tag) in asked:
            return draft_dismissal(tag), {"dismissed": text_id(tag), "for_all": True, "count": 1}
        found = named(memory, home.node, text)
        for_all = home.node in found[0].sure
        return draft_dismissal(tag), {"dismissed": text_id(tag), "for_all": for_all, "count": len(found)}

    return print_answer(given, application_of(given).write(write, is_change=True), _print_dismissed)


def _print_dismissed(answer: dict[str, Any]) -> None:
    where = "for every node" if answer["for_all"] else "on this node; others may still grant it"
    put(f"{answer['dismissed'][:8]}  {number_of(answer['count'], 'proposal')} dismissed, {where}")
