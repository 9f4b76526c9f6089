"""`mesh setup`: everything a person needs, in one command that can be repeated. Each step is the work of another command."""

import os
import sys
from collections.abc import Callable, Sequence
from shlex import quote
from typing import Any

from clan_learnings.agents.agent_files import InstallTarget
from clan_learnings.agents.installer import AGENTS, Installation, check, install
from mesh.app import home_choice
from mesh.app.client import ask
from mesh.app.status import node_status
from mesh.cli import doctor, init, joining, node_process, service
from mesh.cli.grammar import Given, argument, command, option
from mesh.cli.home_option import baked_home
from mesh.cli.install import program
from mesh.cli.main import EXIT_FAILED, EXIT_OK, complain, system_error
from mesh.cli.node_names import a_role
from mesh.cli.output import flush, hinted, json_answer, plain, print_json, put, question, say, tell
from mesh.core.errors import MeshError, NoHome, UsageError
from mesh.core.ids import display_name, text_id
from mesh.core.statement import MEMBER
from mesh.node.node_settings import advertised, settings
from mesh.node.service_files import NO_AUTOSTART, Service, is_ours
from mesh.node.service_manager import ServiceManager
from mesh.store.home import Home, node_process_id, open_home
from peers.trust.join_token import parse


class _Report:
    """What each step did, said as it happens."""

    def __init__(self, *, as_json: bool) -> None:
        self.steps: list[dict[str, Any]] = []
        self._as_json = as_json

    def say(self, step: str, text: str) -> None:
        """Something was done, or needed no doing."""
        self.steps.append({"step": step, "says": text, "failed": False, "next": None})
        if not self._as_json:
            for line in text.splitlines():
                say(f"{step}: {plain(line)}")
                flush()

    def fail(self, step: str, error: MeshError) -> None:
        """Something could not be done. The steps that do not need it go on."""
        self.steps.append({"step": step, "says": str(error), "failed": True, "next": hinted(error.next_step)})
        complain(MeshError(f"{step}: {error}", error.next_step))

    @property
    def failed(self) -> list[str]:
        """The steps that failed, each once."""
        return list(dict.fromkeys(step["step"] for step in self.steps if step["failed"]))


@command("mesh setup --name laptop")
@argument(
    "token",
    "[TOKEN]",
    "join the mesh of `mesh invite`, which printed it; without it a new mesh is made",
    required=False,
)
@option("--name", metavar="NAME", help="how people see this node (default: the machine's name)")
@option("--listen", metavar="HOST:PORT", multiple=True, help="where other nodes reach this one (repeat for several)")
@option("--yes", help="do not ask before agents' settings are changed")
@option("--no-service", help="run the sidecar in the background, not as a service")
@option("--no-agents", help="leave agents' settings alone")
def main(given: Given) -> int:
    """Make or join, install into agents, start and keep the sidecar, examine."""
    settings(given.listen, ())  # what is wrong with the options is said before anything is done
    if given.token is not None:
        parse(given.token)
    report = _Report(as_json=given.json)
    home = _node(given, report)
    found: list[Any] = []
    if home is not None:
        if given.no_agents:
            report.say("agents", "left alone, as asked")
        else:
            _guarded("agents", report, lambda: _agents(home, report, asks=not given.yes))
        _guarded("sidecar", report, lambda: _sidecar(home, given, report))
        _guarded("homes", report, lambda: _mapped(home, report))
        found = json_answer(doctor.main, ["--home", home.path])
    if given.json:
        print_json({"home": home and home.path, "steps": report.steps, "failed": report.failed, "doctor": found})
    elif home is not None:
        put("doctor:")
        flush()
        doctor.main.run(["--home", home.path])
    if report.failed:
        tell(
            f"mesh setup: not done: {', '.join(report.failed)}",
            "  next: mend that and repeat the command; what was done stays",
        )
    return EXIT_FAILED if report.failed else EXIT_OK


def _guarded(step: str, report: _Report, work: Callable[[], None]) -> None:
    try:
        work()
    except MeshError as error:
        report.fail(step, error)
    except OSError as error:
        report.fail(step, system_error(error))


def _node(given: Given, report: _Report) -> Home | None:
    """The home, made or kept. Without one, or with one of another mesh than was asked for, there is nothing more to do."""
    made: list[Home] = []
    _guarded("node", report, lambda: made.append(_made_or_kept(given, report)))
    return made[0] if made else None


def _made_or_kept(given: Given, report: _Report) -> Home:
    words = ["--home", given.home, *(["--name", given.name] if given.name else [])]
    try:
        home = open_home(given.home)
    except NoHome:
        if given.token is None:
            done = json_answer(init.main, words)
            report.say("node", f"made {done['name']} with a new mesh, in {done['home']}")
        else:
            done = json_answer(joining.run_join, [given.token, *words])
            report.say("node", f"{done['name']} in {done['home']} has joined the mesh, {_others(done)}")
        return open_home(given.home)
    kept = f"kept {display_name(home.name, home.node)} in {home.path}"
    if given.token is None:
        report.say("node", f"{kept}, of the mesh {text_id(home.mesh)}")
        return home
    if parse(given.token).mesh != home.mesh:
        raise UsageError(
            f"the node in {home.path} belongs to another mesh than the token",
            "join with a home of its own: mesh setup TOKEN --home DIR; then: mesh homes add GLOB DIR",
        )
    if _is_member(home):
        report.say("node", f"{kept}; it is a member already, so the token was not used")
        return home
    if node_process_id(home) is not None:  # it has no links anyway, and joining wants the home for itself
        json_answer(node_process.run_down, ["--home", home.path])
    done = json_answer(joining.run_join, [given.token, *words])
    report.say("node", f"{kept}; it has joined the mesh, {_others(done)}")
    return home


def _others(joined: dict[str, Any]) -> str:
    """Who is there already, and as what this node came, if not as any other."""
    role = "" if joined["role"] == MEMBER else f", as {a_role(joined['role'])}"
    return f"with {joined['members'] - 1} others{role}"


def _is_member(home: Home) -> bool:
    store = home.store()
    try:
        status = node_status(home, store)
    finally:
        store.close()
    return bool(status["certified"] and status["can_link"])


def _agents(home: Home, report: _Report, *, asks: bool) -> None:
    target = InstallTarget(mesh=program(), environ=os.environ, home=baked_home(home.path))
    states = check(target)
    names = [state.agent for state in states if _may_install(state, home, report)]
    if not states:
        report.say("agents", "none was found; for agents without hooks: mesh install --text >> AGENTS.md")
    planned = [outcome for outcome in install(names, target, dry_run=True) if outcome.did != "same"]
    for name in names:
        if name not in {outcome.agent for outcome in planned}:
            report.say("agents", f"{name} is as it was")
    writable = [outcome for outcome in planned if outcome.did != "refused"]
    if writable:
        paths = [f"  {outcome.path}" for outcome in writable]
        if not asks or not (sys.stdin.isatty() and sys.stderr.isatty()):
            tell("these settings of agents are changed now, with a backup of those that exist:", *paths)
        elif not _agreed(
            "These settings of agents would be changed, with a backup of those that exist:", *paths, "Go on? [Y/n] "
        ):
            report.say("agents", "left alone, as you said; later: mesh install --all")
            return
    touched: dict[str, None] = {}
    for outcome in install([name for name in names if any(name == plan.agent for plan in planned)], target):
        if outcome.did == "refused":
            step = f"mend it, then: mesh install {outcome.agent}; it shows what to add by hand"
            report.fail("agents", MeshError(f"{outcome.path} was left alone: {outcome.note}", step))
        elif outcome.did != "same":
            touched[outcome.agent] = None
            report.say("agents", f"{outcome.did} {outcome.path}")
    for name in touched:
        if AGENTS[name].note:
            report.say("agents", AGENTS[name].note)
    if touched:
        report.say("agents", "they read their settings when they start: it works from the next session on")


def _may_install(state: Installation, home: Home, report: _Report) -> bool:
    """Whether an agent is ours to install into: hooks that serve another living home are not taken away from it."""
    if state.bundle:
        report.say("agents", f"{state.agent} has our plugin already")
        return False
    if not state.is_elsewhere:
        return True
    served = state.home or home_choice.default_home(os.environ)
    if not os.path.exists(os.path.join(served, "home.json")) or served in _listed():
        return True
    share = f"mesh homes add GLOB {quote(home.path)}"
    if not state.home:  # they go by the list
        report.say(
            "agents", f"the hooks in {state.agent} serve {served}, and this home once the list says where: {share}"
        )
        return False
    step = f"say which repositories are whose: {share}; mesh homes add GLOB {quote(served)}; then repeat the command"
    report.fail("agents", UsageError(f"the hooks in {state.agent} serve {served}, in every repository", step))
    return False


def _agreed(*lines: str) -> bool:
    said = question(*lines)
    return said.endswith("\n") and said.strip().lower() in ("", "y", "yes")


def _sidecar(home: Home, given: Given, report: _Report) -> None:
    kept = Service(home.path, os.environ)
    lack = "not kept by a service, as asked" if given.no_service else ServiceManager(kept).missing()
    if not lack:
        try:
            done = service.install(home, given.listen, ())
        except MeshError as error:
            report.fail("service", error)
            if is_ours(kept.path):  # it goes on trying: a second one would only be in its way
                return
            lack = "not kept by a service"
        else:
            report.say("service", "\n".join([done["says"], *done["hints"]]))
            return
    process = node_process_id(home)
    if process is not None and _listens_elsewhere(home, given.listen):
        json_answer(node_process.run_down, ["--home", home.path])
        report.say("sidecar", f"stopped process {process}, to listen on {', '.join(given.listen)}")
        process = None
    if process is None:
        words = [word for address in given.listen for word in ("--listen", address)]
        process = json_answer(node_process.run_up, ["--detach", "--home", home.path, *words])["pid"]
        report.say("sidecar", f"runs as process {process}, with its log in {home.file('sidecar.log')}")
    else:
        report.say("sidecar", f"runs already, as process {process}")
    report.say("sidecar", lack)
    if os.path.exists(home.file(NO_AUTOSTART)):
        report.say("sidecar", f"hooks do not start it either, because of {home.file(NO_AUTOSTART)}")
    elif given.listen:
        again = " ".join(f"--listen {address}" for address in given.listen)
        report.say(
            "sidecar", f"hooks start it if it does not run, but without addresses: for those, mesh up --detach {again}"
        )
    else:
        report.say("sidecar", "the hook at the start of an agent's session starts it if it does not run")


def _listens_elsewhere(home: Home, listen: Sequence[str]) -> bool:
    """Whether the running sidecar cannot be reached where it was asked to be."""
    wanted = settings(listen, ()).listen
    found = set(ask(home.path, "GET", "/peers")["addresses"])
    if any(port == 0 for _, port in wanted):
        return len(found) < len(wanted)
    return not set(advertised((), wanted)) <= found


def _mapped(home: Home, report: _Report) -> None:
    """With several homes on a machine, each needs its repositories."""
    default = home_choice.default_home(os.environ)
    is_alone = not home_choice.is_there(home_choice.config_path(os.environ)) and not os.path.exists(
        os.path.join(default, "home.json")
    )
    if home.path not in {default, *_listed()} and not is_alone:
        report.say(
            "homes", f"no repository uses this home yet; next: mesh homes add 'github.com/OWNER/*' {quote(home.path)}"
        )


def _listed() -> set[str]:
    """The homes that the user's list names."""
    path = home_choice.config_path(os.environ)
    return (
        {rule.home for rule in home_choice.parse(home_choice.read(path), os.environ)}
        if home_choice.is_there(path)
        else set()
    )
