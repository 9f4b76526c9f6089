"""`mesh mute`: hide a record, a node or a pattern on this node. Other nodes see no change."""

from __future__ import annotations

from typing import Any

from clan_learnings.records.mute_list import change_muted
from mesh.app.mute import all_hidden, find_hidden, find_to_hide
from mesh.cli.grammar import Given, WrongUsage, argument, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import plain, print_json, put, tell


@command(
    "mesh mute builder·jzcjr",
    more="ID is a record's id, NODE a node's name or id, PATTERN a pattern's name.",
    may_be_empty=True,
)
@argument("name", "[ID|NODE|PATTERN]", required=False)
@option("--undo", help="show it again")
@option("--list", help="list what is hidden here")
def main(given: Given) -> int:
    """Hide it, show it again, or list what is hidden."""
    if given.has("list") == given.has("name") or (given.has("list") and given.has("undo")):
        raise WrongUsage("give one of ID, NODE, PATTERN, or --list")
    home = given.home
    if given.has("list"):
        return _list(given, home)

    found = find_hidden(home, given.name) if given.has("undo") else find_to_hide(home, given.name)
    if given.has("undo"):
        changed = change_muted(home, remove=found["id"])
        said = "shown again" if changed else "was not hidden"
    else:
        changed = change_muted(home, add=found["id"])
        said = "hidden here from now on" if changed else "was hidden already"
    if given.json:
        print_json(found | {"muted": not given.has("undo"), "changed": changed})
        return EXIT_OK
    put(f"{_line(found)}: {said}")
    if not given.has("undo"):
        tell(
            "what others see, and what counts, stays as it is",
            f"  next: to see it again: mesh mute {_short(found)} --undo",
        )
    return EXIT_OK


def _list(given: Given, home: str) -> int:

    found = all_hidden(home)
    if given.json:
        print_json({"muted": found})
        return EXIT_OK
    for item in found:
        put(_line(item))
    if not found:
        tell("nothing is hidden here")
    return EXIT_OK


def _line(item: dict[str, Any]) -> str:
    return f"{plain(_short(item), 100)}  {item['kind']}  {plain(item['text'], 120)}".rstrip()


def _short(item: dict[str, Any]) -> str:
    whole: str = item["id"]
    return whole if item["kind"] == "pattern" else whole[:8]
