"""The agents we know: installing into them, uninstalling, and how far each installation is in order, for `mesh doctor` and `mesh setup`.

What is done with a single file is in `agent_files`.
"""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from clan_learnings.agents import (
    agent_files,
    claude_code_settings,
    codex_settings,
    copilot_settings,
    gemini_settings,
    mcp_only_settings,
    qwen_settings,
    settings_entries,
)
from clan_learnings.agents.agent_files import FilePart, InstallTarget, PartChange, standing


class Agent(NamedTuple):
    """An agent that we can install into."""

    name: str
    folder: Callable[[InstallTarget], str]  # of its settings
    parts: Callable[[InstallTarget], list[FilePart]]  # the first is the file with the hooks
    # whether we are in it already, as a plugin or an extension
    has_bundle: Callable[[InstallTarget], bool] = lambda _: False
    note: str = ""  # what a person still has to do, before it works
    has_hooks: bool = True
    home: Callable[[str], str | None] = settings_entries.hook_home  # that its first file names


_NO_HOOKS = (
    "{} has our tools and the skill, and no hooks: for what is known at the start, mesh install --text >> AGENTS.md"
)
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
        Agent(qwen_settings.NAME, qwen_settings.folder_of, qwen_settings.parts),
        Agent(copilot_settings.NAME, copilot_settings.folder_of, copilot_settings.parts),
        Agent(
            mcp_only_settings.OPENCODE,
            mcp_only_settings.opencode_folder,
            mcp_only_settings.opencode_parts,
            note=_NO_HOOKS.format("OpenCode"),
            has_hooks=False,
            home=mcp_only_settings.home_of,
        ),
        Agent(
            mcp_only_settings.CURSOR,
            mcp_only_settings.cursor_folder,
            mcp_only_settings.cursor_parts,
            note=_NO_HOOKS.format("Cursor"),
            has_hooks=False,
            home=mcp_only_settings.home_of,
        ),
    )
}


def install(agents: Sequence[str], target: InstallTarget, *, dry_run: bool = False) -> list[PartChange]:
    """Put hooks, server and skill into each agent's files, and its permission rules if the target allows."""
    assert os.path.isabs(target.mesh)
    return [
        agent_files.install(name, piece, dry_run=dry_run) for name in agents for piece in AGENTS[name].parts(target)
    ]


def uninstall(agents: Sequence[str], target: InstallTarget, *, dry_run: bool = False) -> list[PartChange]:
    """Remove all of it, whatever options it was installed with."""
    return [
        agent_files.uninstall(name, piece, dry_run=dry_run) for name in agents for piece in AGENTS[name].parts(target)
    ]


_PATIENCE_SECONDS = 600  # after an installation: until then no session need have started

Kind = Literal["installed", "absent", "outdated", "broken", "twice"]


class Complaint(NamedTuple):
    """A problem, and the command that fixes it. `sort` is its name in the operations guide."""

    sort: str
    sentence: str
    next_step: str


@dataclass(frozen=True, slots=True)
class Installation:
    """The state of our part in one agent."""

    agent: str
    kind: Kind
    home: str  # the home that its hooks name; empty: the default one, or none
    is_elsewhere: bool = False  # they are there for another home than the one that asks
    files: tuple[str, ...] = ()  # those that are outdated, lack our part, or are broken
    why: str = ""  # what is wrong with a broken file
    bundle: bool = False  # our plugin or extension is there
    since: float | None = None  # when the file with the hooks was last written
    fired: float | None = None  # when a hook last ran; None: never

    def complaint(self, now: float) -> Complaint | None:
        """What a person should do about it, if anything."""
        home = f" --home {shlex.quote(self.home)}" if self.home else ""
        again = f"mesh install {self.agent}{home}"
        match self.kind:
            case "absent":
                return Complaint("hooks not installed", f"{self.agent} is here and knows nothing of the mesh", again)
            case "outdated":
                return Complaint(
                    "hooks outdated",
                    f"{self.agent} lacks entries of ours, or has older ones: {', '.join(self.files)}",
                    again,
                )
            case "broken":
                sentence = f"{self.files[0]} cannot be used: {self.why}"
                return Complaint("settings broken", sentence, f"mend it, then: {again}")
            case "twice":
                sentence = f"{self.agent} has our plugin and our entries: the plugin's hooks keep silent, its tools are there twice"
                return Complaint(
                    "hooks twice", sentence, f"mesh uninstall {self.agent}, or switch off the plugin there"
                )
        is_new = self.since is not None and now - self.since < _PATIENCE_SECONDS
        if self.fired is None and AGENTS[self.agent].has_hooks and not self.is_elsewhere and not is_new:
            note = (
                AGENTS[self.agent].note
                or f"start a session of {self.agent}; if it stays so, its hooks are switched off"
            )
            return Complaint("hooks never fired", f"the hooks in {self.agent} have never run", note)
        return None


def found(environ: Mapping[str, str]) -> list[str]:
    """The agents of this machine: those that have a folder of settings."""
    target = InstallTarget("mesh", environ)
    return [name for name, agent in AGENTS.items() if os.path.isdir(agent.folder(target))]


def check(target: InstallTarget, fired_folder: str = "") -> list[Installation]:
    """The state of our part in each agent that was found. `fired_folder`: where hooks leave a file with the agent's name."""
    return [_state(AGENTS[name], target, fired_folder) for name in found(target.environ)]


def _state(agent: Agent, target: InstallTarget, fired_folder: str) -> Installation:
    bundle = agent.has_bundle(target)
    hooks = agent.parts(target)[0].path
    named = _home(agent, hooks)
    is_elsewhere = named not in (None, target.home)
    if is_elsewhere:  # of several homes each may have an agent; what is right for one is not outdated for the others
        target = replace(target, home=named or "")
    standings = [(part.path, *standing(part)) for part in agent.parts(target)]
    wrong = [(path, why) for path, how, why in standings if how == "broken"]
    kinds = {how for _, how, _ in standings}
    kind: Kind = "outdated"
    if wrong:
        kind = "broken"
    elif kinds == {"absent"}:
        kind = "installed" if bundle else "absent"
    elif bundle:
        kind = "twice"
    elif kinds == {"whole"}:
        kind = "installed"
    files = [path for path, _ in wrong] or [path for path, how, _ in standings if how != "whole"]
    return Installation(
        agent=agent.name,
        kind=kind,
        home=target.home,
        is_elsewhere=is_elsewhere,
        files=() if kind in ("installed", "twice") else tuple(files),
        why=wrong[0][1] if wrong else "",
        bundle=bundle,
        since=_written(hooks) if named is not None else None,
        fired=_written(os.path.join(fired_folder, agent.name)) if fired_folder else None,
    )


def _home(agent: Agent, path: str) -> str | None:
    try:
        return agent.home(agent_files.decoded(agent_files.read(path)))
    except (settings_entries.CannotEdit, agent_files.Unusable):
        return None


def _written(path: str) -> float | None:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None
