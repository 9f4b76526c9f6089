"""The dispatcher: finds a command's module and runs it. Imports nothing that an everyday command does not need."""

from __future__ import annotations

import gc
import os
import sys
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask
from typing import Any

import mesh.app.store_registry  # noqa: F401 (registers them)
from mesh.cli.client import given_home
from mesh.cli.output import flush
from mesh.cli.streams import OutputLost, open_streams
from mesh.cli.terminal import terminal
from mesh.core.errors import AmbiguousId, MeshError, UsageError

# name: module, and function if it is not `main`; one sentence. The order is that of the overview.
COMMANDS = {
    "demo": ("demo", "See it work: three nodes on this machine, in a temporary folder, for some seconds."),
    "setup": ("setup", "Make or join a mesh, get into the agents here, start the node and keep it running."),
    "init": ("init", "Make a node: a mesh of its own, or one that asks to belong to a mesh."),
    "up": ("node_process:run_up", "Run the node, in the foreground or in the background."),
    "down": ("node_process:run_down", "Stop the node's sidecar."),
    "invite": ("joining:run_invite", "Let another machine join: make a token."),
    "join": ("joining:run_join", "Become a member of a mesh with a token."),
    "leave": ("membership:run_leave", "Say goodbye to the mesh."),
    "peers": ("peers", "Say who is there, who is in step and who lacks what."),
    "status": ("status", "Say who this node is, what it holds and what waits."),
    "doctor": ("doctor", "Say what is not as it should be, and what to do about it."),
    "discover": ("discover", "Record something that was found out."),
    "correct": ("correct", "Record a mistake and the right way, and count it under its pattern."),
    "context": ("context", "Show what a session is given at its start."),
    "search": ("search", "Find records: by words, by names, and by meaning where there are vectors."),
    "tail": ("tail", "Show the newest records."),
    "hot": ("hot", "Show the mistakes that several sessions made: what every session is told."),
    "tiers": ("tiers", "Say what is HOT, WARM, in the BANK and in the ARCHIVE."),
    "show": ("one_record:run_show", "Show a record with all it says."),
    "why": ("one_record:run_why", "Say where a record comes from, what became of it and what it counts for."),
    "edit": ("one_record:run_edit", "Change what a record says."),
    "retract": ("one_record:run_retract", "Take a record back: it counts nowhere any more."),
    "pattern": ("pattern", "Work with patterns: add, list, show, edit, supersede, alias, unalias, archive."),
    "learnings": ("learnings", "Work with learning documents: add, edit, list, show, stats, export, import."),
    "page": ("page", "Work with pages: new, list, show, edit, append, rename, remove, history, links, watch and more."),
    "proposals": (
        "proposals",
        "Say what others want to change and what waits for somebody to agree; grant or dismiss it.",
    ),
    "mute": ("mute", "Hide a record, a node or a pattern, on this node only."),
    "capture": ("capture", "Take finished sessions of coding agents in, to learn from; they stay on this machine."),
    "sample": ("sample", "Say which sessions are worth harvesting first."),
    "index": ("index", "Say what search runs on, make its indexes anew, or choose a model for meanings."),
    "harvest": ("harvest", "Learn from finished sessions: capture, cluster, judge and record in one go."),
    "detect": ("detect", "Say what several sessions came upon, ranked."),
    "curate": ("curate", "Decide about what was harvested: accept, edit, reject, merge."),
    "share": ("share", "Say which repositories' harvest may leave this node."),
    "settings": ("settings", "Show or change what the whole mesh has agreed on."),
    "install": ("install:run_install", "Put hooks, tools and a skill of ours into coding agents."),
    "uninstall": ("install:run_uninstall", "Take them out of coding agents again."),
    "hook": ("hook", "Answer a coding agent's hook: what agents call, not people."),
    "mcp": ("mcp", "Serve coding agents over MCP, on stdin and stdout."),
    "render": ("render", "Write what is known as files, for people, grep and git."),
    "service": ("service", "Keep the node running by the system's own means."),
    "trust-repo": ("trust_repo", "Let the checkout in a folder name its repository itself, or take that back."),
    "homes": ("homes", "Say which repositories belong to which home, where several teams share a machine."),
    "admit": ("membership:run_admit", "Certify a node, where the root key is."),
    "admin": ("membership:run_admin", "Name an admin, where the root key is, or list the admins."),
    "quota": ("quota", "Say how much each member has written and may write, or let one write more."),
    "revoke": ("revoke", "End a node: what it writes from now on counts nowhere."),
    "recover": ("recover", "Put a new root key in the place of a lost or stolen one."),
    "erase": ("erase", "Take a record's text out of every node, for ever."),
    "export": ("bundles:run_export", "Write a bundle: everything, or what a vector lacks."),
    "import": ("bundles:run_import", "Merge bundles from other nodes."),
    "verify": ("integrity:run_verify", "Check every chain, signature and view from nothing."),
    "repair": ("integrity:run_repair", "Save what can be read of a damaged database into a new one."),
    "simulate": ("simulate", "Run many nodes under virtual time, with faults, and check what must hold."),
    "op": ("op", "Drive the replicated types by hand: add, remove, set, count, list, get, total."),
}

_NEW_OBJECTS = 50_000  # more than an everyday command makes: it ends before it pays to look for rings among them

_WITHOUT_REMARKS = (
    "hook",
    "mcp",
    "up",
    "doctor",
    "setup",
    "trust-repo",
)  # programs read them, nobody does, or they say it themselves
_BEFORE = ("--home", "--help", "--version")  # what may stand in the place of a command, or before it
_ELSEWHERE = "send the output elsewhere and repeat the command; what it had done by then is kept"

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_WAITING, EXIT_REFUSED = 0, 1, 2, 3, 4


def main(request_id: str = "", event: bytes | None = None) -> None:
    """Run this process's command line, and end. `request_id`: what a client has called this write already.

    `event`: what it has read from stdin for a hook.
    """
    if sys.getfilesystemencoding() != "utf-8":  # records are: what was typed would be read as something else
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 (ourselves once more)
    stdout = open_streams()
    terminal().request_id, terminal().event = request_id, event
    gc.set_threshold(_NEW_OBJECTS)
    code = EXIT_OK
    try:
        code = run(sys.argv[1:])
    except SystemExit as end:  # of argparse
        code = end.code if isinstance(end.code, int) else EXIT_FAILED
    except KeyboardInterrupt:
        code = 130
    except OutputLost:
        pass  # said below
    flush()
    if stdout.lost is not None and not stdout.lost.is_told:
        complain(MeshError(f"the output cannot be written: {stdout.lost}", _ELSEWHERE))
        code = EXIT_FAILED
    sys.exit(code)


def run(argv: list[str]) -> int:
    """Run one command line; returns the exit code."""
    terminal().worked_on = given_home(argv)
    if _has_looked_around():  # a process may run several: each speaks of what it has read itself
        from clan_learnings.repository.detection import UNCONFIRMED
        from clan_learnings.repository.repository_settings import NOTICED

        NOTICED.clear()
        UNCONFIRMED.clear()
    try:
        return _run(argv)
    finally:
        terminal().worked_on = ""


def remark() -> None:
    """Name what is unknown in the files of repositories that the command has read, and what was ignored there."""
    from clan_learnings.repository.detection import UNCONFIRMED
    from clan_learnings.repository.repository_settings import NOTICED

    while UNCONFIRMED:
        from mesh.cli.output import plain, tell

        root, found = UNCONFIRMED.popitem()
        tell(f"mesh: {plain(found.warning, 1000)}", f"  next: {trust_step(root)}")
    while NOTICED:
        from mesh.cli.output import plain, tell

        path, file = NOTICED.popitem()
        tell(f"mesh: {plain(path)}: {file.remark}", "  next: mend it there, or leave it to a newer clan-mesh")


def trust_step(root: str) -> str:
    """What a person does about a checkout that names a repository which git does not."""
    from mesh.cli.home_option import quoted

    return f"if you know that it belongs there: mesh trust-repo {quoted(root)}"


def _run(argv: list[str]) -> int:
    home: list[str] = []
    if argv and argv[0].startswith("--home="):
        home, argv = argv[:1], argv[1:]
    if argv and argv[0] == "--home":
        home, argv = argv[:2], argv[2:]
        if len(home) < 2:
            complain(UsageError("--home needs a folder", "mesh --home DIR status"))
            return EXIT_USAGE
    if argv[:1] == ["help"]:
        first = next((at for at, word in enumerate(argv) if word.startswith("-")), len(argv))
        return _help(argv[1:first])
    if not argv or argv[0] in ("-h", "--help"):
        return _help([])
    if argv[0] in ("-V", "--version", "version"):
        from mesh import __version__
        from mesh.cli.output import put

        put(f"clan-mesh {__version__}")
        return EXIT_OK
    name, rest = argv[0], argv[1:]
    if name not in COMMANDS:
        return _unknown(name)
    end = rest.index("--") if "--" in rest else len(rest)  # behind it there are no options
    try:
        return int(_command(name)[1](rest[:end] + home + rest[end:]))
    except MeshError as error:
        complain(error)
    except OutputLost:
        raise
    except Exception as error:  # a damaged database can make any line of ours fail
        if terminal().environ.get("MESH_DEBUG") and terminal().side is None:
            flush()
            raise
        complain(_unexpected(error))
    finally:
        if _has_looked_around() and name not in _WITHOUT_REMARKS:
            remark()
    return EXIT_FAILED


def _has_looked_around() -> bool:
    """Whether this process has looked at repositories for the command: for a client's, the client has."""
    return terminal().side is None and "clan_learnings.repository.detection" in sys.modules


def overview() -> str:
    """What `mesh --help` shows."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {sentence}" for name, (_, sentence) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: mesh COMMAND [options]",
            "",
            "The memory a fleet of coding agents shares.",
            "",
            *lines,
            "",
            "Every command takes --home DIR (or MESH_HOME) and --json; `mesh help COMMAND` has an example.",
            "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 something waits, 4 something was refused.",
        ]
    )


def complain(error: MeshError, who: str = "mesh") -> None:
    """An error as a person reads it: what happened, then the next step. Names in it may come from anyone.

    A value that is refused is repeated in the sentence, and stderr is part of an agent's transcript: so no secret in it.
    """
    from clan_learnings.redaction import redact
    from mesh.cli.output import tell

    lines = [f"{who}: {error}"]
    if isinstance(error, AmbiguousId):
        lines += [f"  {match}" for match in error.matches]
    if error.next_step:
        lines.append(f"  next: {error.next_step}")
    tell(*(redact(line).text for line in lines))


def system_error(error: OSError) -> MeshError:
    """What the system says, as a sentence."""
    from mesh.store.file_access import refusal

    return refusal(error) or MeshError(f"the system says: {error}", "mend that and repeat the command")


def _unexpected(error: Exception) -> MeshError:
    if type(error).__module__ == "apsw":
        from mesh.store.database import sentence

        return sentence("the database", error)  # type: ignore[arg-type]
    if isinstance(error, OSError):
        return system_error(error)
    return MeshError(
        f"something that should not happen: {type(error).__name__}: {error}",
        "see whether the home is whole: mesh verify; for a report, repeat the command with MESH_DEBUG=1",
    )


def _help(words: list[str]) -> int:
    """The overview, or the help of a command, or of a member of one: what `--help` behind them prints."""
    if not words:
        from mesh.cli.output import put

        put(*overview().split("\n"))
        return EXIT_OK
    if words[0] not in COMMANDS:
        return _unknown(words[0])
    module, command = _command(words[0])
    return int(command([*(words[1:2] if hasattr(module, "MEMBERS") else ()), "--help"]))


def _command(name: str) -> tuple[Any, Any]:
    """The module of a command, and the function that runs it.

    Not interrupted while it is loaded: a library that is half initialised may crash instead of ending.
    """
    module, _, function = COMMANDS[name][0].partition(":")
    before = pthread_sigmask(SIG_BLOCK, (SIGINT,))
    try:
        loaded = __import__(f"mesh.cli.{module}", fromlist=["main"])
    finally:
        pthread_sigmask(SIG_SETMASK, before)
    return loaded, getattr(loaded, function or "main")


def _unknown(name: str) -> int:
    from mesh.cli.subcommands import nearest, no_option

    if name.startswith("-"):
        wrong = f"{no_option(name, _BEFORE)}; options of a command stand behind it"
        complain(UsageError(wrong, "mesh --help"))
    else:
        near = nearest(name, COMMANDS)
        complain(UsageError(f"there is no command {name!r}", f"mesh {near} --help" if near else "mesh --help"))
    return EXIT_USAGE
