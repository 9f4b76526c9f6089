"""What happens on each event of an agent: what the session is told, and what is noted for later calls and for the harvester.

Reads the store and writes only small files of its own. A failing step does not stop the others: it is noted in `problems`, and the
session goes on. Starting the node and taking in queued writes is left to the command.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from clan_learnings.agents import record_requests, session_notes
from clan_learnings.agents.hook_context import HookContext, SessionMemory
from clan_learnings.agents.hook_formats import CALL, CLAUDE_CODE, GEMINI, PAUSE, PROMPT, START, SUBAGENT, HookEvent
from clan_learnings.agents.hook_side import HookSide
from clan_learnings.agents.quiet import quiet_until
from clan_learnings.agents.record_call import RecordCall
from clan_learnings.agents.session_notes import bind
from clan_learnings.context.harmless_lines import harmless
from clan_learnings.records import spool
from clan_learnings.records.mute_list import read_muted
from clan_learnings.records.shown_to_session import REMARK, ShownRecords, sweep
from mesh.store.reader import open_reading, read_errors

FIRED = "hooks"  # in the home: a file an agent, last written when a session of it last started
_ONLY_NEWS = frozenset({"resume", "fork"})
_WARNING_CHARS = 600
_REMARKS = 6  # answers in between that tell a session something
_BUSY_MS = 200  # readers need no lock but after a crash, when one of them puts the log in order


class Hook:
    """One event of one session, for one home."""

    def __init__(
        self,
        event: HookEvent,
        home: str,
        notes: str,
        side: HookSide,
        bound: str | None = None,
        call: RecordCall | None = None,
    ) -> None:
        """`notes`: the folder in which later calls look for their session. `bound`: the only repository that it is told of and learns for.
        `call`: how the agent is told to record something.
        """
        self.event = event
        self.home = home
        self.problems: list[str] = []
        self._notes = notes
        self._side = side
        self._now_ms = int(time.time() * 1000)
        place = side.place(event.folder, event.agent)
        self._folder = place.folder
        self._repository = place.repository
        self._tree = place.tree
        self._bound = bound
        self._is_quiet = quiet_until(home, self._now_ms) is not None
        self._call = call or RecordCall(event.agent, {})
        self._session = event.session or place.session
        if place.problem and not event.session:
            self.problems.append(place.problem)

    @property
    def warning(self) -> str:
        """What the person should know when a session starts. It is shown in the terminal and not sent to the model."""
        if self._is_quiet or self.event.meaning != START or self._bound is not None or not self._repository.unconfirmed:
            return ""

        return f"clan-mesh: {harmless(self._repository.warning, _WARNING_CHARS)}. If you know that it belongs there: mesh trust-repo"

    def run(self) -> str:
        """Do what the event asks for; returns what the agent is to be told."""
        event = self.event
        if event.meaning in (START, PAUSE):
            self._try("the binding", self._bind)
        if event.meaning == PAUSE or event.is_failure:
            self._try("the pointer", self._point)
        if event.meaning == START:
            return self._try("the context", self._start)
        if event.meaning == SUBAGENT:
            return self._try(
                "the context", lambda: self._ask(ShownRecords(self.home, ""), lambda teller: teller.to_subagent())
            )
        if event.meaning == PROMPT and event.prompt:
            return self._try("the prompt", self._prompt)
        if event.meaning == CALL and event.is_failure:
            return self._try("the failed call", self._failed_call)
        if event.meaning == CALL and event.command:
            return self._try("the call", self._call_after_failures)
        return ""

    # The start of a session

    def _start(self) -> str:
        seen = ShownRecords(self.home, self._session)
        if self.event.source == "fork" and self._session and not seen.is_known:
            self._try("the fork", lambda: self._inherit(seen))
        self._try("the session", lambda: self._leave(seen.copied_from or self._session))
        self._try("the sign of life", self._fire)
        # Gemini CLI leaves the first prompt, and what came with it, out of a session that it resumes.
        if self.event.source in _ONLY_NEWS and seen.is_known and self.event.agent != GEMINI:
            return self._ask(seen, lambda teller: teller.news(self.event.agent))
        self._try("old sessions", lambda: sweep(self.home, self._now_ms / 1000))
        return self._ask(seen, self._everything)

    def _inherit(self, seen: ShownRecords) -> None:
        """A fork has seen what its origin has, if the agent tells which that is, or if it is the session before it."""
        origin = self.event.origin or session_notes.find(self._notes, self._place, self._tree)
        if origin.startswith(f"{self.event.agent}:") and origin != self._session:  # not of an agent that runs this one
            before = ShownRecords(self.home, origin)
            if before.is_known:
                seen.add(self._now_ms, origin=before)

    def _leave(self, session: str) -> None:
        """For commands that the agent will run: a note for its process, and for Claude Code a variable in their shells."""
        if session:
            if self.event.agent == CLAUDE_CODE:
                self._try("CLAUDE_ENV_FILE", lambda: self._side.export(session))
            session_notes.leave(self._notes, session, self._place, self._tree)

    def _fire(self) -> None:
        folder = os.path.join(self.home, FIRED)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, self.event.agent)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        os.utime(path)

    # In between

    def _prompt(self) -> str:
        seen, prompt = ShownRecords(self.home, self._session), self.event.prompt

        def told(teller: HookContext) -> str:
            request = record_requests.about_prompt(seen, prompt, self._call, self._now_ms)
            return "\n".join(filter(None, (teller.about_prompt(prompt), request)))

        return self._remark(seen, told)

    def _failed_call(self) -> str:
        event, seen = self.event, ShownRecords(self.home, self._session)
        self._try("the failure", lambda: record_requests.note_failure(seen, event.command, self._now_ms))
        if not event.error:
            return ""
        return self._remark(seen, lambda teller: teller.about_failure(f"{event.command}\n{event.error}"))

    def _call_after_failures(self) -> str:
        seen = ShownRecords(self.home, self._session)
        return self._remark(
            seen, lambda _: record_requests.about_success(seen, self.event.command, self._call, self._now_ms)
        )

    def _remark(self, seen: ShownRecords, ask: Callable[[HookContext], str]) -> str:
        """What a session is told in between. A session without a name is told nothing, as it would be told the same every time."""
        if seen.is_full or not self._session or len(seen.noted(REMARK)) >= _REMARKS:
            return ""
        text = self._ask(seen, ask)
        if text:
            seen.note(self._now_ms, REMARK, "-", f"{self._now_ms}-{os.getpid()}")
        return text

    # Beneath

    def _ask(self, seen: ShownRecords, ask: Callable[[HookContext], str]) -> str:
        """Ask within one snapshot of the store. Nothing, if nothing is to be said here, or by what the mesh has agreed on."""
        if self._is_quiet:
            return ""
        with read_errors(self.home):
            memory = _opened(self.home, self._bound)
            repo = self._repository.identity if self._bound is None else self._bound
            try:
                if memory.settings.is_quiet:
                    self._is_quiet = True
                    return ""
                return ask(HookContext(memory, seen, repo, self._now_ms, self._complain))
            finally:
                memory.reader.connection.close()

    def _everything(self, teller: HookContext) -> str:
        """The whole context. If private records cannot be read, the shared ones are still shown."""
        private = None
        if os.path.exists(os.path.join(self.home, "private.db")):
            try:
                private = _opened(self.home, self._bound, private=True)
            except Exception as error:  # noqa: BLE001 (see `_try`)
                self._complain("private records", error)
        try:
            return teller.everything(self.event.agent, private, self._call.program)
        finally:
            if private is not None:
                private.reader.connection.close()

    def _bind(self) -> None:
        """Bind the session: all that is learned from it later counts for this repository, wherever it works."""
        if self._bound is not None and self._session:
            bind(self.home, self._session, self._bound)

    def _point(self) -> None:
        """Where the transcript is and how far it goes, for the harvester."""
        event = self.event
        if not event.transcript and not self._session:
            return
        try:
            offset = os.stat(event.transcript).st_size if event.transcript else 0
        except OSError:  # not written yet, or gone already
            offset = 0
        pointer: dict[str, str | int] = {
            "path": event.transcript,
            "offset": offset,
            "session": self._session,
            "agent": event.agent,
            "cwd": event.folder,
            "event": event.name,
            "at": self._now_ms,
        }
        if not spool.point(self.home, pointer):
            self.problems.append(f"the spool has its {spool.POINTERS_BYTES} bytes: a pointer was dropped")

    @property
    def _place(self) -> str:
        return self._repository.root or self._folder

    def _try(self, what: str, step: Callable[[], str | None]) -> str:
        try:
            return step() or ""
        except Exception as error:  # noqa: BLE001 (whatever it is, the session goes on; it is told in the log)
            self._complain(what, error)
        return ""

    def _complain(self, what: str, error: Exception) -> None:
        self.problems.append(f"{what}: {type(error).__name__}: {error}")


def _opened(home: str, bound: str | None, *, private: bool = False) -> SessionMemory:
    """One snapshot of a home's records, to be closed as soon as the answer is known. It waits only briefly for locks."""
    reader = open_reading(home, private=private)
    reader.connection.set_busy_timeout(_BUSY_MS)
    reader.connection.execute("BEGIN")
    return SessionMemory(reader, muted=read_muted(home), bound=bound)
