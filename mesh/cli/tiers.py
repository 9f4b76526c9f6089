"""`mesh tiers`: how much is in each tier, and what is in the two that sessions are given."""

from __future__ import annotations

from typing import Any

from clan_learnings.records.memory import Memory
from clan_learnings.records.tiers import Census
from mesh.app import record_json
from mesh.cli import hot, search
from mesh.cli.grammar import ALL, REPO, Given, command
from mesh.cli.main import EXIT_OK
from mesh.cli.output import plain, print_json, put, say, tell
from mesh.cli.record_options import application_of, missing_witnesses, repo_name
from mesh.core.display import number_of

_SHOWN = 20  # lines of a tier


@command("mesh tiers", may_be_empty=True)
@REPO
@ALL
def main(given: Given) -> int:
    """Print them."""
    application = application_of(given)
    scope = None if given.has("all") else application.caller.scope(given.repo)
    answer = application.ask(lambda memory: _answer(memory, scope))
    if given.json:
        print_json(answer)
        return EXIT_OK
    least = "" if answer["whole"] else "at least "
    for tier, count in answer["counts"].items():
        put(f"{tier:<8} {least}{number_of(count, 'record')}")
    _print_lines("HOT", [hot.line(item) for item in answer["hot"][:_SHOWN]], len(answer["hot"]), "mesh hot")
    _print_lines("WARM", [search.line(note) for note in answer["warm"][:_SHOWN]], len(answer["warm"]), "mesh tail")
    lines = [f"{plain(one['pattern'], 100)}: {missing_witnesses(one)}" for one in answer["unwitnessed"]]
    if lines:
        put("", "not HOT, for want of another machine that says so")
    for line in lines[:_SHOWN]:
        say(f"  {line}")
    if scope is not None:
        tell(f"of {repo_name(scope)}" + (" and of every repo; all: mesh tiers --all" if scope else " alone"))
    return EXIT_OK


def _print_lines(tier: str, lines: list[str], count: int, command: str) -> None:
    if lines:
        put("", tier)
    for line in lines:
        put(f"  {line}")
    if count > len(lines):
        say(f"  and {count - len(lines)} more: {command}")


def _answer(memory: Memory, scope: str | None) -> dict[str, Any]:

    census = Census(memory, scope)
    return {
        "repo": scope,
        "hot_at": memory.settings.hot_at,
        "counts": census.counts,
        "whole": census.is_whole,
        "hot": [record_json.hot_item(memory, item) for item in memory.hot(scope)],
        "warm": [record_json.shown(memory, note) | {"tier": "WARM"} for note in memory.warm(scope)],
        "unwitnessed": [
            {"pattern": found.slug, "sessions": found.sessions} | record_json.lacking(memory, found.slug)
            for found in memory.unwitnessed(scope)
        ],
    }
