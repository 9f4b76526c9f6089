"""The worker process as its node sees it: started with the node, told of news, asked about meaning, and replaced when it dies or hangs.

Whoever asks waits for a moment only, and nobody who writes waits for it at all. When the node ends, however it ends, so does
the worker: its end of the socket says so.
"""

import itertools
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import IO, Any, NamedTuple

from clan_learnings.search.indexes import BuildingReport
from clan_learnings.search.meaning import Near, NearRecord
from mesh.core.display import number_of
from mesh.core.draft import Draft
from mesh.core.errors import Malformed, MeshError
from mesh.store.background_thread import Background
from mesh.store.file_access import patience
from mesh.store.receipts import Receipt
from mesh.worker.busy_flag import BusyFlag, busy_file
from mesh.worker.frames import FrameLink, WorkerLinkEnded
from mesh.worker.handed_drafts import pack_error, pack_receipt, unpack_drafts

ANSWER_SECONDS = 0.15  # for what a question is near to; words alone answer after that
_SERVER_SECONDS = 3.5  # for a vector that a server of the user makes, which a question waits for with no snapshot
_SEND_SECONDS = 0.5
_STOP_SECONDS = 3.0
_END_SECONDS = 1.0
_SAID_BYTES = 2000
_HURRY_SECONDS = 0.1  # in which a reader of the worker has let go
_SOUND_SECONDS = 60.0  # who has lived so long is not ill
_WORKED_AGO_SECONDS = 3600.0  # so long an end is remembered

log = logging.getLogger("mesh.node")


class WorkerTimes(NamedTuple):
    """How patient the node is with its worker."""

    ping: float = 5.0
    hang: float = 20.0  # without a word from it
    first_pause: float = 0.5  # before it is started again; twice as long each time, while it ends soon
    longest_pause: float = 60.0


class WorkerProcess(Background):
    """The worker of one home, while inside the block. It is an `IndexBuilder` for the node's indexes."""

    def __init__(
        self,
        home: str,
        append: Callable[[Sequence[Draft], bool], Receipt],
        *,
        times: WorkerTimes | None = None,
        command: Sequence[str] | None = None,
    ) -> None:
        """`append`: writes drafts of the worker; the second says whether they are of a bulk. `command`: is started instead of ours."""
        self._home = home
        self._append = append
        self._times = times or WorkerTimes(hang=patience(WorkerTimes().hang))
        self._command = command or _COMMAND
        self._link: FrameLink | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._busy_file = busy_file()
        self._busy = BusyFlag(self._busy_file)
        self._numbers = itertools.count(1)
        self._asked: dict[int, Future[Any]] = {}
        self._is_doubted = False  # it did not answer in time, and has said nothing since
        self._is_owed_news = False
        self._takes_news = False
        self._report: BuildingReport | None = None
        self._server = False
        self._started = 0.0
        self._ends: list[float] = []  # when it ended by itself, or was ended because it hung
        self._says = "it is being started"
        self.reported: Callable[[], object] = lambda: None  # called now and then, while it is well
        super().__init__("worker", _STOP_SECONDS)

    # What the node tells it

    def tell_news(self) -> None:
        """Somebody has written. Costs nothing while the worker has not taken the news before."""
        self._busy.set()
        self._is_owed_news = True
        self._pass_news()

    def busy(self) -> None:
        """Somebody waits for an answer of the node."""
        self._busy.set()

    def let_go(self) -> None:
        """An erase waits for readers of older states: ours begin again. For who can wait for a moment."""
        if self._tell("hurry"):
            time.sleep(_HURRY_SECONDS)

    def forget_words(self) -> None:
        """The index of words is broken: it has to be made anew."""
        self._tell("forget words")

    # What the node asks it

    @property
    def meaning(self) -> "WorkerMeaning | None":
        """Vectors, if there are any to be asked."""
        report = self._report
        return WorkerMeaning(self, report.embedder) if report is not None and report.embedder and report.made else None

    def report(self) -> BuildingReport:
        """How it stands, as it said last."""
        report = self._report
        if report is None:
            return BuildingReport([self._trouble()] if self._recent_ends() else [], vectors_say=self._waits())
        return report._replace(trouble=[*report.trouble, self._trouble()]) if self._recent_ends() > 1 else report

    def prepare(self, question: str) -> None:
        """Have a server make the vector of a question, which may take seconds."""
        if self._server and self.meaning is not None:
            self.ask("question", question, seconds=_SERVER_SECONDS).result()

    def ask(self, kind: str, *about: Any, seconds: float = ANSWER_SECONDS) -> "_Answer":
        """Ask something. The answer is None where there is none in time."""
        number = next(self._numbers)
        answer = _Answer(self, number, patience(seconds))
        self._asked[number] = answer
        if self._is_doubted or not self._tell("ask", number, kind, *about):
            self.give_up(number)
        return answer

    def give_up(self, number: int, *, in_vain: bool = False) -> None:
        """Nobody waits for an answer any more. `in_vain`: they waited too long; who comes next need not, until it is heard of again."""
        answer = self._asked.pop(number, None)
        self._is_doubted = self._is_doubted or in_vain
        if answer is not None and answer.set_running_or_notify_cancel():
            answer.set_result(None)

    def state(self) -> dict[str, Any]:
        """For `mesh status` and `mesh doctor`."""
        process = self._process
        return {
            "pid": process.pid if process is not None and self._link is not None else None,
            "up_seconds": round(time.monotonic() - self._started, 1) if self._link is not None else None,
            "ended": self._recent_ends(),
            "says": self._says,
        }

    # The thread

    def stop(self) -> None:
        """To end soon, and the worker with us."""
        super().stop()
        self._hang_up()

    def _work(self) -> None:
        pause = self._times.first_pause
        try:
            while not self._stop.is_set():
                began = time.monotonic()
                try:
                    self._run()
                except (OSError, WorkerLinkEnded) as error:
                    self._says = self._end(str(error))
                if self._stop.is_set():
                    break
                self._ends = [*self._ends[-99:], time.monotonic()]
                log.warning("the worker process %s; it is started again in %.1f s", self._says, pause)
                is_sound = time.monotonic() - began > _SOUND_SECONDS
                pause = self._times.first_pause if is_sound else pause
                if self._stop.wait(pause):
                    break
                pause = min(2 * pause, self._times.longest_pause)
        finally:
            self._end("")
            os.close(self._busy_file)

    def _run(self) -> None:
        """One process, from its start to its end."""
        ours, theirs = socket.socketpair()
        with tempfile.TemporaryFile() as said:
            self._said = said
            try:
                self._process = subprocess.Popen(  # noqa: S603 (our own command)
                    [*self._command, str(theirs.fileno()), str(self._busy_file), self._home],
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    env=_environment(),
                    pass_fds=(theirs.fileno(), self._busy_file),
                    start_new_session=True,  # Ctrl-C in a terminal is for the node alone
                )
            finally:
                theirs.close()
            link = FrameLink(ours, _SEND_SECONDS)
            self._started, self._is_doubted, self._takes_news, self._is_owed_news = time.monotonic(), False, False, True
            self._link = link
            if self._stop.is_set():
                raise WorkerLinkEnded
            try:
                self._listen(link)
            except WorkerLinkEnded as error:
                self._says = self._end(str(error))

    def _listen(self, link: FrameLink) -> None:
        heard = time.monotonic()
        while True:
            frame = link.receive(self._times.ping)
            now = time.monotonic()
            if frame is not None:
                heard, self._is_doubted = now, False
                try:
                    self._take(link, frame)
                except (ValueError, TypeError, Malformed) as error:
                    raise WorkerLinkEnded("said something that makes no sense") from error
            elif now > heard + self._times.hang:
                raise WorkerLinkEnded(f"said nothing for {now - heard:.0f} s and was ended")
            elif self._process is not None and self._process.poll() is not None:
                raise WorkerLinkEnded("ended")
            else:
                link.send("ping")
                self._pass_news()

    def _take(self, link: FrameLink, frame: list[Any]) -> None:
        """What it said."""
        match frame:
            case ["answer", int(number), value]:
                answer = self._asked.pop(number, None)
                if answer is not None and answer.set_running_or_notify_cancel():
                    answer.set_result(value)
            case ["news taken"]:
                self._takes_news = True
                if self._is_owed_news:
                    self._pass_news()
            case ["alive"]:
                self._pass_news()
                self.reported()
            case ["report", list(trouble), str(embedder), int(made), str(says), bool(is_server)]:
                self._says = "it runs"
                self._server = is_server
                self._report = BuildingReport([str(text) for text in trouble], embedder, made, says)
                self.reported()
            case ["append", int(number), drafts, bool(is_bulk)]:
                link.send("appended", number, *self._appended(drafts, is_bulk=is_bulk))
            case ["log", int(level), str(text)]:
                log.log(level, "%s", text)
            case _:
                raise Malformed("no word that a worker says")

    def _appended(self, drafts: object, *, is_bulk: bool) -> list[Any]:
        try:
            receipt = self._append(unpack_drafts(drafts), is_bulk)
        except MeshError as error:
            return [None, pack_error(error)]
        except Exception as error:  # noqa: BLE001 (whatever it is, the worker waits for an answer)
            return [None, pack_error(MeshError(f"{type(error).__name__}: {error}", "mesh doctor"))]
        return [pack_receipt(receipt), None]

    def _pass_news(self) -> None:
        """At most one word of news is on its way: whoever has not taken it will see all that was written by then."""
        if self._takes_news and self._is_owed_news and self._link is not None:
            self._takes_news = self._is_owed_news = False
            if not self._tell_at_once("news"):
                self._takes_news = self._is_owed_news = True

    def _tell(self, *words: Any) -> bool:
        link = self._link
        with suppress(WorkerLinkEnded):
            if link is not None:
                link.send(*words)
                return True
        return False

    def _tell_at_once(self, *words: Any) -> bool:
        link = self._link
        with suppress(WorkerLinkEnded):
            return link is not None and link.send_at_once(*words)
        return True  # it is gone, and its successor sees everything

    def _hang_up(self) -> None:
        link = self._link
        if link is not None:
            link.close()

    def _end(self, how: str) -> str:
        """End it, and whoever waits for an answer. Returns what became of it."""
        link, self._link, self._report = self._link, None, None
        if link is not None:
            link.close()
        for number in list(self._asked):
            self.give_up(number)
        process, self._process = self._process, None
        if process is None:
            return how
        if self._stop.is_set() or how.startswith("it ended"):
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)
        is_ours = process.poll() is None
        process.kill()
        process.wait()
        if is_ours or process.returncode is None:
            return how
        return " ".join(filter(None, [_ending(process.returncode), _last_line(self._said)]))

    # What is said of it

    def _recent_ends(self) -> int:
        after = time.monotonic() - _WORKED_AGO_SECONDS
        return sum(at > after for at in self._ends)

    def _trouble(self) -> str:
        times = number_of(self._recent_ends(), "time")
        return (
            f"the worker process has ended {times} in the last hour, and was started again: indexes and files are late"
        )

    def _waits(self) -> str:
        return "the worker process is being started" if self._says == "it runs" else f"the worker process: {self._says}"


class _Answer(Future[Any]):
    """An answer that is waited for until its time is over, whoever asks for it and when."""

    def __init__(self, process: WorkerProcess, number: int, seconds: float) -> None:
        super().__init__()
        self._process = process
        self._number = number
        self._deadline = time.monotonic() + seconds

    def result(self, timeout: float | None = None) -> Any:  # noqa: ARG002 (it has its own)
        try:
            return super().result(max(0.0, self._deadline - time.monotonic()))
        except TimeoutError:
            self._process.give_up(self._number, in_vain=True)
            return None


class _NearAnswer(Future[Near]):
    """The same, read as records that are near."""

    def __init__(self, answer: _Answer) -> None:
        super().__init__()
        self._answer = answer

    def result(self, timeout: float | None = None) -> Near:  # noqa: ARG002
        return _near(self._answer.result())


class WorkerMeaning:
    """Vectors that the worker keeps; a `Meaning`. Without an answer in time, there is no vector of the question."""

    def __init__(self, process: WorkerProcess, name: str) -> None:
        self.name = name
        self._process = process

    def begin(self, text: str, count: int, scopes: Collection[int] | None) -> Future[Near]:
        """As in the protocol."""
        return _NearAnswer(self._process.ask("near", text, count, None if scopes is None else sorted(scopes)))

    def nearest(self, text: str, count: int, scopes: Collection[int] | None) -> Near:
        """As in the protocol."""
        return self.begin(text, count, scopes).result()

    def cosines(self, text: str, tags: Sequence[bytes]) -> Near:
        """As in the protocol."""
        return _near(self._process.ask("cosines", text, list(tags)).result())


def _near(rows: object) -> Near:
    """Rows of an answer. What makes no sense is none."""
    if not isinstance(rows, list):
        return None
    found = []
    for row in rows:
        match row:
            case [bytes(tag), bytes(version), float(cosine)]:
                found.append(NearRecord(tag, version, cosine))
            case _:
                return None
    return found


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _last_line(said: IO[bytes]) -> str:
    """The last thing that it said where nobody listens, as an error of Python's."""
    with suppress(OSError, ValueError):
        size = os.fstat(said.fileno()).st_size
        text = os.pread(said.fileno(), _SAID_BYTES, max(0, size - _SAID_BYTES)).decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f"({lines[-1]})" if lines else ""
    return ""


def _environment() -> dict[str, str]:
    """What we have, and the way to the packages: whatever we could import, the worker can."""
    folders = [folder for folder in sys.path if os.path.isabs(folder)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}


_COMMAND = (sys.executable, "-P", "-X", "utf8", "-m", "mesh.worker.worker")
