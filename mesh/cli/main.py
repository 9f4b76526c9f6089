"""A process that runs one command line: its streams, its exit code, and what is said when something fails."""

from __future__ import annotations

import gc
import os
import sys

import mesh.app.store_registry  # noqa: F401 (registers them)
from mesh.cli.client import COMPLETING, HOOK, command_of, given_home
from mesh.cli.output import flush
from mesh.cli.streams import OutputLost, open_streams
from mesh.cli.terminal import terminal
from mesh.core.errors import AmbiguousId, MeshError

_HELP = {"-h", "--help"}
_NEW_OBJECTS = 50_000  # more than an everyday command makes: it ends before it pays to look for rings among them

_WITHOUT_REMARKS = (
    "hook",
    "mcp",
    "up",
    "doctor",
    "setup",
    "trust-repo",
)  # programs read them, nobody does, or they say it themselves
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
        code = _complete() if COMPLETING in os.environ else run(sys.argv[1:])
    except SystemExit as end:  # of an editor that was told to stop
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


def _complete() -> int:
    from mesh.cli.completion import complete

    return complete(os.environ)


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
    name = command_of(argv)
    try:
        if name == HOOK and not _HELP & set(
            argv
        ):  # it reads its words itself: an agent waits, and must never be told of wrong usage
            from mesh.cli import hook

            at = argv.index(HOOK)
            return hook.main([*argv[at + 1 :], *argv[:at]])
        return _by_grammar(argv)
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


def _by_grammar(argv: list[str]) -> int:
    import click  # not for hooks, which every call of an agent's tools waits for

    from mesh.cli.command_groups import root
    from mesh.cli.wrong_usage import worded

    commands = root()
    try:
        with commands.make_context("mesh", argv) as context:
            return int(commands.invoke(context))
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as problem:
        complain(*worded(problem))
        return EXIT_USAGE


def _has_looked_around() -> bool:
    """Whether this process has looked at repositories for the command: for a client's, the client has."""
    return terminal().side is None and "clan_learnings.repository.detection" in sys.modules


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
