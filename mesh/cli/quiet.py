"""`mesh quiet`: the hooks of this machine say nothing to agents for a while."""

from __future__ import annotations

import time
from typing import Any

from clan_learnings.agents.quiet import FOR_EVER, be_quiet, quiet_sentence, quiet_until, speak
from mesh.cli.grammar import Given, WrongUsage, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import print_json, put, tell, when
from mesh.core.time_expression import length
from mesh.store.home import open_home


@command(
    "mesh quiet --for 2h",
    more="Agents are told nothing by the hooks of this home: no context at a start, no remark in between. What hooks note for later\n"
    "they note all the same, and commands and MCP tools answer as always. Without an option: until `mesh quiet --off`.\n"
    "For the whole fleet: mesh settings quiet on",
)
@option("--for", "span", metavar="TIME", help="for so long: 30m, 2h, 1d")
@option("--off", help="speak again")
def main(given: Given) -> int:
    """Be quiet, or speak again."""
    if given.off and given.span:
        raise WrongUsage("--for and --off exclude each other")
    home, now_ms = open_home(given.home).path, int(time.time() * 1000)
    was = quiet_until(home, now_ms)
    if given.off:
        speak(home)
    else:
        be_quiet(home, now_ms + length(given.span) if given.span else FOR_EVER)
    until = quiet_until(home, now_ms)
    if given.json:
        print_json(_answer(until))
        return EXIT_OK
    if until is None:
        put("hooks speak again" if was is not None else "hooks were not quiet")
    else:
        put(quiet_sentence(until))
        tell("  next: to let them speak again: mesh quiet --off")
    return EXIT_OK


def _answer(until: int | None) -> dict[str, Any]:
    return {"quiet": until is not None, "until": when(until) if until else None}
