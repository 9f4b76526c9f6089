"""A home with a real worker process beside it, and this process in the place of its node. No test lives here."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.indexes import SearchIndexes
from mesh.app.application import Application
from mesh.core.draft import Draft, NewRecord
from mesh.store.author import Author
from mesh.store.home import Home, create_home
from mesh.store.receipts import Receipt
from mesh.worker.worker_process import WorkerProcess, WorkerTimes
from tests.end_to_end.commands import wait_until

HURRIED = WorkerTimes(ping=0.2, hang=2.0, first_pause=0.05, longest_pause=0.2)
EVERYWHERE = SearchFilters()


class Served:
    """What a node has of its worker: it writes, tells of it, and asks."""

    def __init__(self, folder: Path, choice: str = "none") -> None:
        self.home: Home = create_home(str(folder / "home"), "own")
        Path(self.home.file("embedder")).write_text(choice, encoding="utf-8")
        self.author: Author = self.home.author(is_sidecar=True)
        self.handed: list[list[Draft]] = []
        self.worker = WorkerProcess(self.home.path, self.append, times=HURRIED)
        self.recall = SearchIndexes(self.home.path, self.worker)
        self.worker.reported = self.recall.tidy

    def append(self, drafts: Sequence[Draft], is_bulk: bool) -> Receipt:  # noqa: FBT001
        self.handed.append(list(drafts))
        author = self.home.author(is_sidecar=True)  # in the thread that listens to the worker
        try:
            return author.append(drafts, is_bulk=is_bulk)
        finally:
            author.store.close()

    def write(self, *texts: str) -> tuple[bytes, ...]:
        """Discoveries, of which the worker is told."""
        tags = self.author.append([NewRecord("discoveries", {"text": text, "repo": ""}) for text in texts]).tags
        self.worker.tell_news()
        return tags

    @property
    def process(self) -> int:
        """The worker's number, once there is one."""
        wait_until(lambda: self.worker.state()["pid"] is not None)
        pid: int = self.worker.state()["pid"]
        return pid

    def signal(self, number: signal.Signals) -> int:
        """Send the worker a signal; returns whom it went to."""
        process = self.process
        os.kill(process, number)
        return process

    def search(self, query: str) -> dict[str, Any]:
        """An answer, as a node gives it."""
        return Application(self.home.path, {}, "/", recall=self.recall).search(query, everywhere=True)

    def is_current(self) -> bool:
        """Whether every record is in the index of words, and in the rendered files."""
        status = self.recall.status()
        rendered = Path(self.home.file("rendered/discoveries.jsonl"))
        lines = rendered.read_bytes().count(b"\n") if rendered.exists() else 0
        return bool(status["behind"] == 0 and lines == status["records"] > 0)


@contextmanager
def served(folder: Path, choice: str = "none") -> Iterator[Served]:
    """While the worker runs."""
    node = Served(folder, choice)
    try:
        with node.worker, node.recall:
            yield node
    finally:
        node.author.store.close()


def exists(process: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        if os.path.exists("/proc/self"):
            return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
