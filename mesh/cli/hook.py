"""`mesh hook`: what coding agents call at their events. Whatever happens, it exits with success and prints valid JSON.

An agent waits for this, so it imports next to nothing. A hook that fails may keep a session from starting, and exit code 2
forbids what the person was about to do: so nothing here ends with anything but 0, and what went wrong stands in a log.
"""

import os
import sys
from collections.abc import Callable
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock

# What `signal` hands out, without its import of enum.
from signal import ITIMER_REAL, SIGALRM, setitimer, signal
from typing import TYPE_CHECKING

from clan_learnings.agents.codex_rollout import settle
from clan_learnings.agents.hook_events import Hook
from clan_learnings.agents.hook_formats import (
    AGENTS,
    CALL,
    NOTHING,
    OTHER,
    PAUSE,
    START,
    HookEvent,
    parse,
    reply,
)
from clan_learnings.agents.hook_log import log
from clan_learnings.agents.hook_side import HookSide
from clan_learnings.agents.record_call import RecordCall, program
from clan_learnings.agents.record_requests import has_failed_often
from clan_learnings.agents.session_notes import ancestors
from clan_learnings.records import spool
from clan_learnings.records.shown_to_session import ShownRecords
from clan_learnings.repository.remote_name import named_repo
from clan_learnings.sessions.session_folders import places
from mesh.app.application import Application
from mesh.app.caller import NOTES
from mesh.cli.client import EXTRACTING, read_event
from mesh.cli.home_option import home_path
from mesh.cli.output import tell
from mesh.cli.streams import OutputLost
from mesh.cli.terminal import terminal
from mesh.core.errors import MayNotWrite, NoHome, UsageError, WriteRefused
from mesh.node.service_files import start_words
from mesh.store.file_access import patience
from mesh.store.reader import refuse_newer_format

if TYPE_CHECKING:
    from mesh.cli.command_server import ClientTerminal

_ANSWER_SECONDS = 3.0  # then the session goes on without us
_AFTERWARDS_SECONDS = 1.5  # for what the answer does not need; together below what agents are told to wait
_TAKEN = 20  # queued writes that one hook takes in
_STARTING = "starting.lock"
_TODAY = b'{\n  "format": 1,'  # how home.json begins; if it does not, it is looked at more closely


class _TooSlow(BaseException):
    """Time is up. Not an Exception: nobody on the way may take it for a failure of their own."""


class _Given:
    """The command line."""

    def __init__(self, argv: list[str]) -> None:
        self.event = self.agent = self.home = self.problem = ""
        self.bound: str | None = None
        self.data: bytes | None = None
        rest = iter(argv)
        for word in rest:
            if word in ("--agent", "--home", "--repo"):
                value = next(rest, "")
                if not value:
                    self.problem = f"{word} needs a value"
                elif word == "--repo":
                    self._bind(value)
                elif word == "--home":
                    self.home = value
                elif value in AGENTS:
                    self.agent = value
                else:
                    self.problem = f"{value!r} is no agent that we know: {', '.join(AGENTS)}"
            elif word.startswith("{"):  # Codex, before it had hooks, called programs with the event as the last word
                self.data = os.fsencode(word)
            elif word.startswith("-") and word != "--json":
                self.problem = f"what is {word!r}?"
            elif word != "--json":
                self.event = self.event or word
        if not self.event:
            self.problem = self.problem or "which event?"

    def _bind(self, repo: str) -> None:

        try:
            self.bound = named_repo(repo)
        except UsageError as error:
            self.problem = str(error)  # then nothing is told at all


def take_in_queued(home: str, argv: list[str]) -> None:
    """After the node has answered an event: the writes that sandboxed shells could only queue, in folders that the caller knows."""
    given = _Given(argv)
    run = _HookRun(given)
    run.guarded(patience(_AFTERWARDS_SECONDS), lambda: run.take_in(home, ""))
    run.guarded(patience(_AFTERWARDS_SECONDS), run.log)


def main(argv: list[str]) -> int:
    """Answer one event."""
    given = _Given(argv)
    if given.problem:
        tell(f"mesh hook: {given.problem}", "  next: mesh hook --help")
    run = _HookRun(given)
    afterwards = patience(_AFTERWARDS_SECONDS)
    if not given.problem:  # a home that was not given is not guessed
        run.guarded(patience(_ANSWER_SECONDS), run.answer)
    run.guarded(afterwards, run.say)
    run.guarded(afterwards, run.afterwards)
    run.guarded(afterwards, run.log)
    return 0


def answer_client(argv: list[str], here: "ClientTerminal") -> None:
    """Answer one event for a client, in the node. What is not for the node is left to the client, before anything is done."""
    given = _Given(argv)
    if given.problem:
        here.require_own_process()
    run = _HookRun(given, here)
    run.without_limit(run.answer)
    run.without_limit(run.say)
    run.without_limit(run.log)


class _HookRun:
    """One event from stdin to the answer, and what is done after it."""

    def __init__(self, given: _Given, client: "ClientTerminal | None" = None) -> None:
        """`client`: for whom this runs, if this is the node."""
        self.problems = [given.problem] if given.problem else []
        self._given = given
        self._event: HookEvent | None = None
        self._home = given.home
        self._is_usable = False  # there is a home, and one that we know how to use
        self._answer = NOTHING
        self._client = client

    def without_limit(self, step: "Callable[[], None]") -> None:
        """Do something for a client, who waits as long as it likes."""
        try:
            step()
        except Exception as error:  # noqa: BLE001 (it is told in the log)
            self.problems.append(f"{type(error).__name__}: {error}")

    def guarded(self, seconds: float, step: "Callable[[], None]") -> None:
        """Do something within a time. Nothing gets out of here: not a failure, not an exit, not a signal to stop."""
        try:
            signal(SIGALRM, _give_up)
            setitimer(ITIMER_REAL, seconds)
            try:
                step()
            finally:
                setitimer(ITIMER_REAL, 0)
        except _TooSlow:
            self.problems.append(f"gave up after {seconds:g} s")
        except BaseException as error:  # noqa: BLE001 (it is told in the log, and an agent waits)
            self.problems.append(f"{type(error).__name__}: {error}")

    def answer(self) -> None:
        """Read the event and do what it asks for."""
        given = self._given
        read = terminal().event
        data = given.data if given.data is not None else read_event() if read is None else read
        if self._client is None and EXTRACTING in os.environ:
            return  # a model that `mesh harvest --extractor` asks: its session is none of the user's
        event = self._event = parse(given.event, given.agent, data)
        if event.is_broken:
            self.problems.append(f"the event is not the JSON it should be ({len(data)} bytes)")
        elif event.meaning == OTHER:
            return
        if event.printed:
            self._look_where_agents_keep_sessions(event)
            settle(event)
        if event.meaning == CALL and not event.is_failure and not self._was_awaited(event):
            return  # some agents tell of every call: one that went well costs as little as can be

        if self._client is not None:
            self._look_where_agents_keep_sessions(event)
            self._home = self._client.home
            side: HookSide = self._client.hook_side()
        else:
            self._home = os.path.abspath(given.home or home_path(os.environ, event.folder, given.bound))
            side = HookSide(os.environ, ancestors())
        _refuse(self._home)
        if event.is_broken and event.meaning != PAUSE:
            return  # of a pause the beginning may name the transcript; a question that is not understood has no answer
        self._is_usable = True
        hook = Hook(event, self._home, os.path.join(self._home, NOTES), side, given.bound, self._record_call(event))
        try:
            self._answer = reply(event.agent, event.name, hook.run(), hook.warning)
        finally:
            self.problems += hook.problems

    def _look_where_agents_keep_sessions(self, event: HookEvent) -> None:
        """The node looks at no other transcripts; a client's own process may look where it likes."""
        if self._client is not None and event.transcript:
            event.transcript = os.path.realpath(event.transcript)
            if not _is_of_agents(event.transcript):
                self._client.require_own_process()

    def _was_awaited(self, event: HookEvent) -> bool:
        """Whether a call that went well failed several times before."""
        if not event.session or not event.command:
            return False
        given, client = self._given, self._client
        home = (
            client.home if client else os.path.abspath(given.home or home_path(os.environ, event.folder, given.bound))
        )
        return has_failed_often(ShownRecords(home, event.session), event.command)

    def _record_call(self, event: HookEvent) -> RecordCall:
        """How the agent is told to record something, with the options that this hook was installed with."""
        options = [
            word
            for name, value in (("--home", self._given.home), ("--repo", self._given.bound))
            if value
            for word in (name, value)
        ]
        return RecordCall(event.agent, os.environ, program(sys.argv[0]), tuple(options))

    def say(self) -> None:
        """The answer, and nothing else, on stdout."""
        out = sys.stdout if self._client is None else self._client.out
        try:
            out.write(f"{self._answer}\n")
            out.flush()
        except OutputLost as lost:  # whoever asked does not wait any more
            lost.is_told = True
            raise

    def afterwards(self) -> None:
        """What the agent need not wait for, though it does."""
        if not self._is_usable or self._event is None:
            return
        if self._event.meaning == START:
            _start_sidecar(self._home)
        self.take_in(self._home, self._event.folder)

    def take_in(self, home: str, folder: str) -> None:
        """Writes that sandboxed shells could only queue. What cannot be a record is put aside, the rest waits for the next hook.

        What is refused for now, because this node has written as much as it may, stays queued; of a reader it is put aside.
        """
        if not spool.is_waiting(home):
            return

        application = Application(home, os.environ, folder)
        for write in spool.take(home, _TAKEN):
            arguments = write.arguments
            if self._given.bound not in (None, arguments.get("repo")):
                write.later()  # for a hook that may write there
                continue
            if not arguments.get("repo"):  # whoever queued it was in none; that this hook runs in one says nothing
                arguments["is_global"] = True
            try:
                application.discover(**arguments) if write.kind == "discover" else application.correct(**arguments)
            except UsageError as error:
                if isinstance(error, WriteRefused) and not isinstance(error, MayNotWrite):
                    later = f"queued writes wait: {error}"
                    self.problems += [] if later in self.problems else [later]
                    write.later()
                    continue
                self.problems.append(f"a queued write was rejected: {error}")
                write.reject()
            except BaseException:
                write.later()
                raise
            else:
                write.done()

    def log(self) -> None:
        """Why nothing was said, if there is a reason."""
        if self.problems:
            event = self._event
            name = f"{event.name} of {event.agent}" if event is not None else self._given.event or "hook"
            log(self._home if self._is_usable else "", name, self.problems)


def _is_of_agents(real: str) -> bool:
    """Whether a transcript's real path is where some agent of this user keeps its sessions."""
    return any(
        real.startswith(os.path.realpath(place.folder) + os.sep)
        for place in places(os.environ)
        if not place.is_database
    )


def _refuse(home: str) -> None:
    """A home that is not there, or that a newer version made, is not touched."""
    if not os.path.isfile(os.path.join(home, "mesh.db")):
        raise NoHome(f"there is no clan-mesh node in {home}")
    with open(os.path.join(home, "home.json"), "rb") as file:
        if file.read(len(_TODAY)) == _TODAY:
            return

    refuse_newer_format(home)


def _start_sidecar(home: str) -> None:
    """Start the home's sidecar if none runs, without waiting for it. Of many hooks at once one does it."""
    from clan_learnings.agents.hook_log import NAME as LOG

    if os.environ.get("MESH_NO_AUTOSTART"):
        return
    program = os.path.abspath(sys.argv[0])
    words = start_words(home, program, os.environ)
    if not words:
        return
    if words[0] == program and not os.access(program, os.X_OK):  # python -m mesh
        words = [sys.executable, "-m", "mesh", *words[1:]]
    running = os.open(os.path.join(home, "sidecar.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    starting = os.open(os.path.join(home, _STARTING), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        flock(starting, LOCK_EX | LOCK_NB)
        flock(running, LOCK_SH | LOCK_NB)
    except BlockingIOError:
        return  # one runs, or is being started
    finally:
        os.close(running)
    import subprocess

    said = os.open(os.path.join(home, LOG), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    # The lock goes with the command that starts it, and is free when that has ended: the sidecar is ready then, or is not to be.
    subprocess.Popen(  # noqa: S603 (our own command, our own arguments)
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=said,
        start_new_session=True,
        cwd="/",
        pass_fds=(starting,),
    )


def _give_up(_number: int, _frame: object) -> None:
    raise _TooSlow
