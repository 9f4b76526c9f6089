"""Installing and uninstalling, one agent after the other. What is done with one file is `part`'s affair."""

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from clan_learnings.agents import claude_code, codex, gemini, part
from clan_learnings.agents.part import Outcome, Part
from clan_learnings.agents.target import Target


class Agent(NamedTuple):
    """An agent that we know how to get into."""

    name: str
    folder: Callable[[Target], str]  # of its settings
    parts: Callable[[Target], list[Part]]  # the first is the file with the hooks
    has_bundle: Callable[[Target], bool] = lambda _: False  # whether we are in it already, as a plugin or an extension
    note: str = ""  # what a person still has to do, before it works


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(claude_code.NAME, claude_code.folder_of, claude_code.parts, claude_code.has_bundle),
        Agent(codex.NAME, codex.folder_of, codex.parts, note=codex.NOTE),
        Agent(gemini.NAME, gemini.folder_of, gemini.parts, gemini.has_bundle),
    )
}


def install(agents: Sequence[str], target: Target, *, dry_run: bool = False) -> list[Outcome]:
    """Put hooks, server and skill into each agent's files, and its permission rules if the target allows."""
    assert os.path.isabs(target.mesh)
    return [part.install(name, piece, dry_run=dry_run) for name in agents for piece in AGENTS[name].parts(target)]


def uninstall(agents: Sequence[str], target: Target, *, dry_run: bool = False) -> list[Outcome]:
    """Take all of it out again, whatever options it was installed with."""
    return [part.uninstall(name, piece, dry_run=dry_run) for name in agents for piece in AGENTS[name].parts(target)]
