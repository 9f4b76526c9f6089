"""Installing and uninstalling, one agent after the other. What is done with one file is `part`'s affair."""

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from clan_learnings.agents import claude_code_settings, codex_settings, file_part, gemini_settings
from clan_learnings.agents.file_part import Outcome, Part
from clan_learnings.agents.install_target import Target


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
        Agent(
            claude_code_settings.NAME,
            claude_code_settings.folder_of,
            claude_code_settings.parts,
            claude_code_settings.has_bundle,
        ),
        Agent(codex_settings.NAME, codex_settings.folder_of, codex_settings.parts, note=codex_settings.NOTE),
        Agent(gemini_settings.NAME, gemini_settings.folder_of, gemini_settings.parts, gemini_settings.has_bundle),
    )
}


def install(agents: Sequence[str], target: Target, *, dry_run: bool = False) -> list[Outcome]:
    """Put hooks, server and skill into each agent's files, and its permission rules if the target allows."""
    assert os.path.isabs(target.mesh)
    return [file_part.install(name, piece, dry_run=dry_run) for name in agents for piece in AGENTS[name].parts(target)]


def uninstall(agents: Sequence[str], target: Target, *, dry_run: bool = False) -> list[Outcome]:
    """Take all of it out again, whatever options it was installed with."""
    return [
        file_part.uninstall(name, piece, dry_run=dry_run) for name in agents for piece in AGENTS[name].parts(target)
    ]
