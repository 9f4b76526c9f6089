"""`mesh install` and `mesh uninstall`: our hooks, tools and skill in the settings of coding agents."""

import os
import shlex
import shutil
import sys

from clan_learnings.agents.agent_files import InstallTarget, PartChange
from clan_learnings.agents.installer import AGENTS, found, install, uninstall
from clan_learnings.agents.skill_text import agents_text
from clan_learnings.repository.detection import find
from mesh.cli.grammar import Given, WrongUsage, argument, command, option, options
from mesh.cli.home_option import home_path
from mesh.cli.main import EXIT_OK, EXIT_REFUSED
from mesh.cli.output import print_json, put, put_ours, tell
from mesh.core.errors import UsageError

_WOULD = {"created": "create", "changed": "change", "removed": "remove", "restored": "restore"}


AGENT_CHOICE = options(
    argument("agents", "[AGENT]...", ", ".join(AGENTS), nargs=-1),
    option("--all", help="all of them; to install: those that are on this machine"),
    option("--user", help="in the user's own settings (default)"),
    option("--project", help="in the settings of the repository we are in"),
    option("--dry-run", help="only say what would be done"),
)


@command("mesh install claude-code")
@AGENT_CHOICE
@option("--allow", help="also let the agent call mesh without asking, by its own permission rules")
@option("--text", help="print what AGENTS.md should say for an agent without hooks, and do nothing")
def run_install(given: Given) -> int:
    """Install, and say what a person still has to do."""
    if given.text:
        print_json({"text": agents_text()}) if given.json else put_ours(agents_text())
        return EXIT_OK
    agents = [name for name in chosen(given) if name in given.agents or name in found(os.environ)]
    if not agents:
        raise UsageError("no agent that we know was found on this machine", f"name one: {', '.join(AGENTS)}")
    done = install(agents, target(given.home, project=given.project, allow=given.allow), dry_run=given.dry_run)
    if not os.path.exists(os.path.join(given.home, "home.json")):
        tell("there is no node here yet, so agents would be given nothing", "  next: mesh setup")
    notes = [AGENTS[name].note for name in agents if AGENTS[name].note]
    return report(
        done, given, ["Agents read their settings when they start: it works from the next session on.", *notes]
    )


def chosen(given: Given) -> list[str]:
    """The agents' names, each once."""
    if given.user and given.project:
        raise WrongUsage("--user and --project exclude each other")
    if given.all == bool(given.agents):
        raise WrongUsage(f"name agents ({', '.join(AGENTS)}), or give --all")
    for name in given.agents:
        if name not in AGENTS:
            raise WrongUsage(
                f"{name!r} is not one of {', '.join(AGENTS)}; for other agents: mesh install --text >> AGENTS.md"
            )
    return list(AGENTS) if given.all else list(dict.fromkeys(given.agents))


def target(home: str, *, project: bool = False, allow: bool = False) -> InstallTarget:
    """Where to install, and what. A home that a hook finds by itself is not named in its command line.

    So hooks follow the list of homes, whichever repository they were installed from. They do not know our `MESH_HOME`.
    """
    here = os.getcwd()
    alone = {name: value for name, value in os.environ.items() if name != "MESH_HOME"}
    known = {os.path.expanduser("~/.clan-mesh"), os.path.abspath(home_path(alone))}
    home = os.path.abspath(home)
    return InstallTarget(
        mesh=program(),
        environ=os.environ,
        project=(find(here, os.environ).root or here) if project else "",
        home="" if home in known else home,
        allow=allow,
    )


def program() -> str:
    """The absolute path of the `mesh` script, as it will still be called after an upgrade: links are not followed."""
    on_path = shutil.which("mesh")
    beside = os.path.join(os.path.dirname(sys.executable), "mesh")
    called = sys.argv[0] if os.path.basename(sys.argv[0]) == "mesh" else beside
    if not os.path.isfile(called):
        if on_path is None:
            raise UsageError("the mesh script cannot be found", "install clan-mesh so that `mesh` is on the PATH")
        return os.path.abspath(on_path)
    if on_path is not None and os.path.samefile(on_path, called):
        return os.path.abspath(on_path)  # often a link that outlives the environment it leads to
    return os.path.abspath(called)


def typed_program() -> str:
    """The same as a person types it: `mesh` where the PATH leads there."""
    path, on_path = program(), shutil.which("mesh")
    return "mesh" if on_path is not None and os.path.samefile(on_path, path) else shlex.quote(path)


def report(done: list[PartChange], given: Given, notes: list[str]) -> int:
    """Say what came of each file."""
    refused = [outcome for outcome in done if outcome.did == "refused"]
    if given.json:
        files = [
            {key: getattr(outcome, key) for key in ("agent", "path", "did", "note", "by_hand", "diff")}
            for outcome in done
        ]
        print_json({"dry_run": given.dry_run, "files": files, "notes": notes})
    else:
        for outcome in done:
            if outcome.did != "refused":
                put(*_lines(outcome, dry_run=given.dry_run))
    for outcome in refused:
        tell(f"mesh: {outcome.path} was left alone: {outcome.note}")
        if outcome.by_hand:
            first = "  next: mend it and repeat the command, or add this by hand:"
            tell(first, "", *outcome.by_hand.split("\n"))
        else:
            tell("  next: mend it and repeat the command, or take the entries of mesh out by hand")
    if not given.json:
        for note in notes:
            put(note)
    return EXIT_REFUSED if refused else EXIT_OK


def _lines(outcome: PartChange, *, dry_run: bool) -> list[str]:
    if outcome.did == "same":
        return [f"as it was  {outcome.path}"]
    if dry_run:
        return [f"would {_WOULD[outcome.did]} {outcome.path}", *outcome.diff.rstrip().splitlines()]
    return [f"{outcome.did:<9}  {outcome.path}" + (f"  ({outcome.note})" if outcome.note else "")]


@command("mesh uninstall claude-code")
@AGENT_CHOICE
def run_uninstall(given: Given) -> int:
    """Take out what `mesh install` put in, and nothing else."""
    agents = chosen(given)
    return report(uninstall(agents, target(given.home, project=given.project), dry_run=given.dry_run), given, notes=[])
