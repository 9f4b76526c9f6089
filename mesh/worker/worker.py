"""The worker process: `python -m mesh.worker.worker SOCKET BUSY HOME`, started by a node and by nobody else.

It reads the store and never writes to it: what is to be recorded, it hands to the node. Each job is a thread that sleeps until
there is news. It may be killed at any moment, and ends at once when its node does.
"""

import ctypes
import itertools
import logging
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from typing import Any

import mesh.app.store_registry  # noqa: F401 (registers what subjects keep)
from clan_learnings.search.index_building import IndexBuilding
from clan_learnings.search.index_thread import PAUSE_SECONDS
from clan_learnings.search.indexes import BuildingReport
from clan_learnings.sessions.capture_thread import CaptureThread
from mesh.core.draft import Draft
from mesh.core.errors import Malformed, MeshError
from mesh.store.background_thread import Background
from mesh.store.file_access import FileLock
from mesh.store.handing_author import HandingAuthor
from mesh.store.home import Home, open_home
from mesh.store.receipts import Receipt
from mesh.worker.busy_flag import BusyFlag
from mesh.worker.frames import FrameLink, WorkerLinkEnded
from mesh.worker.handed_drafts import pack_drafts, unpack_error, unpack_receipt
from mesh.worker.render_thread import RenderThread

LOCK = "worker.lock"  # in the home: two that build the same files would be in each other's way
_LOCK_SECONDS = 15.0
_NICENESS = 10
_QUESTION_THREADS = 2
_IDLE_SECONDS = 5.0  # without news, a job looks all the same: somebody may have deleted its files
_GATHER_SECONDS = 0.05  # after news: more is coming
_REPORT_SECONDS, _SETTLED_SECONDS = 0.5, 15.0  # while something changes, and when nothing does any more
_WARM_SECONDS = 5.0  # so long after a question another one may come
_DIE_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG


class NodeLink:
    """The node, as the jobs see it."""

    def __init__(self, link: FrameLink, busy: BusyFlag) -> None:
        self._link = link
        self._busy = busy
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[Any]] = {}

    def append(self, drafts: Sequence[Draft], is_bulk: bool = False) -> Receipt:  # noqa: FBT001, FBT002
        """Have drafts written: all of them or none, on disk when this returns. Errors are the node's."""
        number, answer = next(self._numbers), Future[Any]()
        self._waiting[number] = answer
        self._link.send("append", number, pack_drafts(drafts), is_bulk)
        done, error = answer.result()
        receipt = unpack_receipt(done)
        if receipt is None:
            raise unpack_error(error)
        return receipt

    def author(self, home: Home) -> HandingAuthor:
        """Who reads the store of a home, and has the node write."""
        return HandingAuthor(home, self.append)

    def appended(self, number: int, done: object, error: object) -> None:
        """The node has answered."""
        answer = self._waiting.pop(number, None)
        if answer is not None:
            answer.set_result((done, error))

    def pause_seconds(self) -> float:
        """How long a job rests between two moments of work: for as long as the node is busy, if it is."""
        return max(PAUSE_SECONDS, self._busy.seconds())


class Worker:
    """One run, until the node ends it."""

    def __init__(self, link: FrameLink, busy: BusyFlag, home: Home) -> None:
        self._link = link
        self._node = NodeLink(link, busy)
        self._hurry = threading.Event()
        self._indexes = IndexBuilding(home.path, idle_seconds=_IDLE_SECONDS, pause_seconds=self._node.pause_seconds)
        self._jobs: list[Background] = [
            RenderThread(home, self._hurry, self._node.append),
            CaptureThread(home, author_of=self._node.author, pause_seconds=self._node.pause_seconds),
        ]
        self._questions: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
        self._asked_at = 0.0
        self._is_warm = False  # what questions looked at is still mapped
        self._told: BuildingReport | None = None
        self._changed_at = time.monotonic()
        self._ready_at: float | None = self._changed_at  # for further news

    def run(self) -> None:
        """Until the node is gone."""
        for _ in range(_QUESTION_THREADS):  # before we step back: of what runs here, somebody waits for these alone
            threading.Thread(target=self._answer_questions, name="mesh-question", daemon=True).start()
        os.nice(_NICENESS)  # on Linux of this thread and those that it starts
        with ExitStack() as stack:
            stack.enter_context(self._indexes)
            for job in self._jobs:
                stack.enter_context(job)
            while True:
                frame = self._link.receive(self._wait_seconds())
                if frame is not None:
                    self._take(frame)
                if self._ready_at is not None and time.monotonic() >= self._ready_at:
                    self._ready_at = None
                    self._link.send("news taken")
                self._tell_report()

    def _wait_seconds(self) -> float | None:
        now = time.monotonic()
        if self._ready_at is not None:
            return max(0.0, self._ready_at - now)
        return None if now > self._changed_at + _SETTLED_SECONDS else _REPORT_SECONDS

    def _take(self, frame: list[Any]) -> None:
        match frame:
            case ["ask", int(), str(), *_]:
                self._asked_at, self._is_warm = time.monotonic(), True
                self._questions.put(frame[1:])
            case ["news"]:
                self._changed_at = time.monotonic()
                self._ready_at = self._changed_at + _GATHER_SECONDS
                for wake in (self._indexes.wake, *(job.wake for job in self._jobs)):
                    wake()
            case ["ping"]:
                self._link.send("alive")
                if self._is_warm and time.monotonic() > self._asked_at + _WARM_SECONDS:
                    self._is_warm = False
                    self._indexes.rest()
            case ["appended", int(number), done, error]:
                self._node.appended(number, done, error)
            case ["hurry"]:
                self._hurry.set()
            case ["forget words"]:
                self._indexes.forget_words()
            case _:
                raise WorkerLinkEnded("the node said something that makes no sense")

    def _tell_report(self) -> None:
        report = self._indexes.report()
        if report != self._told:
            self._told, self._changed_at = report, time.monotonic()
            self._link.send("report", *report, self._indexes.asks_server)

    def _answer_questions(self) -> None:
        while True:
            number, *question = self._questions.get()
            try:
                answer = self._answer(question)
            except Exception as error:  # noqa: BLE001 (the index may be closed or damaged: then words answer)
                logging.getLogger("mesh.node").debug("a question by meaning failed: %s", error)
                answer = None
            with suppress(WorkerLinkEnded):
                self._link.send("answer", number, answer)

    def _answer(self, question: list[Any]) -> Any:
        meaning = self._indexes.meaning
        if meaning is None:
            return None
        match question:
            case ["near", str(text), int(count), scopes]:
                near = meaning.nearest(text, count, scopes)
            case ["cosines", str(text), list(tags)]:
                near = meaning.cosines(text, tags)
            case ["question", str(text)]:
                return meaning.question(text) is not None
            case _:
                raise Malformed("no question")
        return None if near is None else [list(record) for record in near]


class _LogFrames(logging.Handler):
    """What is logged here stands in the node's log."""

    def __init__(self, link: FrameLink) -> None:
        super().__init__()
        self._link = link

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(Exception):  # nobody is there to be told
            self._link.send("log", record.levelno, record.getMessage())


def _die_with_parent() -> None:
    """Where the system can: also while we are stopped, or stuck in a library."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


def main() -> None:
    """Work until the socket ends; leave without any tidying up, which might hang."""
    code = 1
    try:
        _die_with_parent()
        link = FrameLink(socket.socket(fileno=int(sys.argv[1])))
        logging.basicConfig(level=logging.INFO, handlers=[_LogFrames(link)])
        home = open_home(sys.argv[3])
        FileLock(home.file(LOCK)).acquire(_LOCK_SECONDS)  # until we end
        Worker(link, BusyFlag(int(sys.argv[2])), home).run()
    except WorkerLinkEnded:
        code = 0
    except MeshError as error:
        os.write(2, f"{error}\n".encode())
    except BaseException as error:  # noqa: BLE001 (it is the end of us all the same)
        os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
