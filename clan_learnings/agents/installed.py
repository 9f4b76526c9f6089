"""Which agents are on this machine, and how we stand in each: what `mesh doctor` and `mesh setup` ask. Changes nothing."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from clan_learnings.agents import settings_entries, settings_file
from clan_learnings.agents.file_part import standing
from clan_learnings.agents.install_target import Target
from clan_learnings.agents.installer import AGENTS, Agent

_PATIENCE_SECONDS = 600  # so long after an installation nobody needs to have started a session

Kind = Literal["installed", "absent", "outdated", "broken", "twice"]


class Complaint(NamedTuple):
    """What is not as it should be, and the command that mends it. `sort` is its name in the operations guide."""

    sort: str
    sentence: str
    next_step: str


@dataclass(frozen=True, slots=True)
class State:
    """How we stand in one agent."""

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
                sentence = f"{self.agent} has our plugin and our entries: each session is given its context twice"
                return Complaint(
                    "hooks twice", sentence, f"mesh uninstall {self.agent}, or switch off the plugin there"
                )
        is_new = self.since is not None and now - self.since < _PATIENCE_SECONDS
        if self.fired is None and not self.is_elsewhere and not is_new:
            note = (
                AGENTS[self.agent].note
                or f"start a session of {self.agent}; if it stays so, its hooks are switched off"
            )
            return Complaint("hooks never fired", f"the hooks in {self.agent} have never run", note)
        return None


def found(environ: Mapping[str, str]) -> list[str]:
    """The agents of this machine: those that have a folder of settings."""
    target = Target("mesh", environ)
    return [name for name, agent in AGENTS.items() if os.path.isdir(agent.folder(target))]


def check(target: Target, fired_folder: str = "") -> list[State]:
    """How we stand in each agent that was found. `fired_folder`: where hooks leave a file with the agent's name."""
    return [_state(AGENTS[name], target, fired_folder) for name in found(target.environ)]


def _state(agent: Agent, target: Target, fired_folder: str) -> State:
    bundle = agent.has_bundle(target)
    hooks = agent.parts(target)[0].path
    named = _home(hooks)
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
    return State(
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


def _home(path: str) -> str | None:
    try:
        return settings_entries.hook_home(settings_file.decoded(settings_file.read(path)))
    except (settings_entries.CannotEdit, settings_file.Unusable):
        return None


def _written(path: str) -> float | None:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None
