"""`mesh mcp`: the MCP server on stdin and stdout, for coding agents. It ends with its client."""

import logging
import os
import re
import select
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from clan_learnings.records.record import CATEGORIES
from clan_learnings.repository.remote_name import named_repo
from mesh import __version__
from mesh.app.application import Application
from mesh.app.caller import HERE
from mesh.cli.grammar import Given, command, option
from mesh.cli.home_option import home_path
from mesh.cli.output import tell
from mesh.cli.streams import OutputLost
from mesh.core.errors import MeshError
from mesh.node.log_lines import start_logs
from mesh.store.feed_progress import state_folder

_LOG = "mcp.log"
_RETRY_SECONDS = 60  # a client that has heard nothing repeats the call: what says the same within a minute is one
# A pair, or half of one, or any other.
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


@command("mesh mcp --agent codex")
@option(
    "--agent",
    metavar="NAME",
    may_be_empty=True,
    default="",
    help="the agent that calls (default: found from the surroundings)",
)
@option(
    "--session",
    metavar="ID",
    may_be_empty=True,
    default="",
    help="its session (default: MESH_SESSION, else found from the surroundings)",
)
@option(
    "--repo",
    metavar="REPO",
    help="bind it to one repository, like github.com/acme/api: nothing of others is told, and records go under it",
)
@option("--read-only", help="offer no tool that writes")
def main(given: Given) -> int:
    """Serve until nobody is there any more. A missing home is no reason not to start: the tools say so."""
    # None: found anew for each call, as a call may be about another team's repository.
    bound = None if given.repo is None else named_repo(given.repo)
    if sys.stdin.isatty():
        tell("mesh mcp: waiting for a coding agent on stdin; to make agents start this by themselves: mesh install")
    _serve(given.home_option or None, given.agent, given.session, bound, read_only=given.read_only)
    return 0


def _serve(home: str | None, agent: str, session: str, bound: str | None, *, read_only: bool) -> None:
    # The reader of stdin sits in a thread that nothing but a line or the end wakes: a graceful stop would wait for it.
    # Writes are transactions, so dying at once does no harm.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _start_log(home, bound)  # before the SDK, which would log to stderr
    _mend_input()

    import anyio

    from mesh.mcp.server import Server
    from mesh.mcp.tools import Tools

    def application(repo: str | None = None) -> Application:
        return Application(
            _home(home, repo if bound is None else bound),  # what is bound has one home, whatever a call names
            os.environ,
            agent=agent,
            session=session,
            retry_seconds=_RETRY_SECONDS,
            bound=bound,
            notes_openings=not read_only,
            asks_node=True,
        )

    tools = Tools(application)
    server = Server(
        tools,
        version=__version__,
        categories=lambda: _categories(application),
        read_only=read_only,
        is_bound=bound is not None,
    )
    threading.Thread(target=_end_unread, args=(os.dup(1), tools.at_work), daemon=True).start()
    try:
        anyio.run(server.run_stdio_async)
    except* (BrokenPipeError, OutputLost, anyio.BrokenResourceError):
        pass  # the client is gone, and nobody is left to answer


def _mend_input() -> None:
    """What is left of a cut emoji is half a pair of escapes, which the SDK's parser refuses: whoever sent it would wait in vain.

    So the SDK reads from a pipe of ours.
    """
    source, (reading, writing) = os.dup(0), os.pipe()
    os.dup2(reading, 0)
    os.close(reading)

    def pass_on() -> None:
        with suppress(BrokenPipeError), open(source, "rb") as lines, open(writing, "wb") as pipe:
            for line in lines:
                pipe.write(mended(line))
                pipe.flush()

    threading.Thread(target=pass_on, daemon=True).start()


def mended(line: bytes) -> bytes:
    """A line of JSON, with a replacement character for every escape that is half a pair."""
    return _ESCAPES.sub(lambda found: b"\\ufffd" if found[1] else found[0], line) if b"\\u" in line else line


def _end_unread(wire: int, at_work: threading.Lock) -> None:
    """End the process once nobody can read its answers any more, though its input stays open; what is being written is finished."""
    poll = select.poll()
    poll.register(wire, 0)  # errors and hang-ups are always told
    poll.poll()
    with at_work:
        os._exit(0)


def _home(given: str | None, repo: str | None) -> str:
    if given or not repo or repo == HERE:
        return given or home_path()

    return home_path(repo=named_repo(repo))


def _categories(application: "Callable[[], Application]") -> Sequence[str]:
    """Those of this mesh and this repository; those of every mesh if its home cannot be read."""
    try:
        here = application()
        known = here.ask(lambda memory: {"categories": memory.settings.categories})["categories"]
        return [*known, *(name for name in here.caller.categories if name not in known)]
    except MeshError:
        return CATEGORIES


def _start_log(home: str | None, bound: str | None) -> None:
    """Into the home; where that cannot be, beside the markers; else nowhere. Never to stdout, which is the protocol's."""
    folders = [state_folder()]
    with suppress(OSError):
        os.makedirs(folders[0], mode=0o700, exist_ok=True)
    with suppress(MeshError):  # each tool will say it
        folders.insert(0, _home(home, bound))
    for folder in folders:
        try:
            return start_logs(os.path.join(folder, _LOG), logging.WARNING)
        except OSError:
            continue
    return logging.basicConfig(handlers=[logging.NullHandler()])
