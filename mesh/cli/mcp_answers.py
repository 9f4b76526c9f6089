"""What answers the messages that `mesh.cli.mcp_client` reads: in the node, for a client, or in the client's own process.

In the latter an agent waits for the first answers, so what only calls need is loaded with the first call.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from clan_learnings.repository.remote_name import named_repo
from mesh import __version__
from mesh.app.application import Application
from mesh.app.caller import HERE
from mesh.cli.mcp_client import ALL, Message, Options, simple_options
from mesh.core.errors import MeshError
from mesh.mcp.server import Server

if TYPE_CHECKING:
    from mesh.cli.command_server import ClientTerminal
    from mesh.mcp.tools import Tools

_LOG = "mcp.log"
_RETRY_SECONDS = 60  # a client that has heard nothing repeats the call: what says the same within a minute is one
_ONE = threading.Lock()  # calls that this process answers are answered one after the other


def answer_client(argv: list[str], here: ClientTerminal) -> None:
    """Answer a message for a client, in the node. One about a repository of another home is left to the client."""
    options = simple_options(argv)
    if options is None:
        here.require_own_process()
        return
    if here.is_gone():  # and has done it by itself, perhaps long ago
        return

    def application(repo: str | None = None) -> Application:
        if not options.home and repo and repo != HERE:
            here.require_own_process()
        return Application(
            here.home,
            here.environ,
            side=here.side,
            recall=here.recall,
            store=here.store,
            agent=options.agent,
            session=options.session,
            retry_seconds=_RETRY_SECONDS,
            bound=options.repo,
            notes_openings=not options.read_only,
        )

    here.out.write(_server(options, application).answer(here.event or b"").decode())


def answer_here(options: Options, message: Message) -> bytes:
    """Answer a message in the client's own process."""

    def application(repo: str | None = None) -> Application:
        return Application(
            _home(options, message, repo),
            os.environ,
            agent=options.agent,
            session=options.session,
            retry_seconds=_RETRY_SECONDS,
            bound=options.repo,
            notes_openings=not options.read_only,
            asks_node=True,
        )

    server = _server(options, application)
    if not message.needs_store:
        return server.answer(message.line)
    from mesh.store.interruption import give_up_when

    with _ONE, give_up_when(lambda: message.is_cancelled):
        _start_log(options, message)
        return b"" if message.is_cancelled else server.answer(message.line)


def _server(options: Options, application: Callable[..., Application]) -> Server:
    def tools() -> Tools:
        import mesh.app.store_registry  # noqa: F401 (registers them)
        from mesh.mcp.tools import Tools

        return Tools(application)

    return Server(
        tools,
        version=__version__,
        categories=lambda: _categories(application),
        read_only=options.read_only,
        is_bound=options.repo is not None,
        is_whole=options.tools == ALL,
    )


def _home(options: Options, message: Message, repo: str | None) -> str:
    """The home of a repository; what is bound has one home, whatever a call names."""
    is_here = options.repo is None and repo in (None, "", HERE)
    if message.home and (message.is_home_fixed or is_here):
        return message.home
    from mesh.cli.home_option import home_path

    return home_path(repo=options.repo if is_here else named_repo(str(repo)))


def _categories(application: Callable[[], Application]) -> Sequence[str]:
    """Those of this mesh and this repository; those of every mesh if its home cannot be read."""
    from clan_learnings.records.record import CATEGORIES
    from clan_learnings.records.shared_settings import KEY, SharedSettings
    from mesh.store.reader import open_reading, read_errors

    try:
        here = application()
        with read_errors(here.home):
            reader = open_reading(here.home)
            try:
                known = SharedSettings(reader.fields(KEY)).categories
            finally:
                reader.connection.close()
        return [*known, *(name for name in here.caller.categories if name not in known)]
    except MeshError:
        return CATEGORIES


def _start_log(options: Options, message: Message) -> None:
    """Into the home; where that cannot be, beside the markers; else nowhere. Never to stdout, which is the protocol's."""
    from mesh.node.log_lines import start_logs
    from mesh.store.feed_progress import state_folder

    if logging.getLogger().handlers:
        return None
    folders = [state_folder()]
    with suppress(OSError):
        os.makedirs(folders[0], mode=0o700, exist_ok=True)
    with suppress(MeshError):  # each tool will say it
        folders.insert(0, _home(options, message, options.repo))
    for folder in folders:
        try:
            return start_logs(os.path.join(folder, _LOG), logging.WARNING)
        except OSError:
            continue
    return logging.basicConfig(handlers=[logging.NullHandler()])
