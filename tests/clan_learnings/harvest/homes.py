"""A home whose catalogue is filled by hand: sessions as digests with their items. No test lives here."""

import time
from pathlib import Path
from typing import Any

from clan_learnings.harvest.candidates import HarvestCandidate
from clan_learnings.harvest.harvest import HarvestSummary, open_harvest
from clan_learnings.harvest.items import HarvestItem
from clan_learnings.records.memory import Memory
from clan_learnings.repository.consent import change_shared
from clan_learnings.sessions.catalogue_rows import TAKEN, CapturedFile, CapturedSession, FileLook
from clan_learnings.sessions.catalogue_table import Catalogue
from mesh.app.snapshot import memory_of
from mesh.store.home import create_home

API, WEB = "github.com/acme/api", "github.com/acme/web"
DAY_MS = 86_400_000


class Farm:
    """One node: what it captured, harvests and knows."""

    def __init__(self, folder: Path, name: str = "laptop", home: str = "") -> None:
        """`home`: one that is there, instead of a new one."""
        self.now_ms = int(time.time() * 1000)
        self.home = home or create_home(str(folder / name), name).path
        self.folder = folder
        self._files = 0

    def share(self, *globs: str) -> None:
        """Switch repositories on."""
        for glob in globs:
            change_shared(self.home, glob, on=True)

    def session(
        self,
        session: str,
        *items: HarvestItem,
        repo: str = API,
        days_ago: float = 1.0,
        key: str = "",
        path: str = "",
        **more: Any,
    ) -> str:
        """A captured session; returns its path. The same path again: the file has grown."""
        self._files += 1
        at_ms = self.now_ms - int(days_ago * DAY_MS)
        digest = {"session": session, "flavour": session.partition(":")[0], "repo": repo, "folder": ""}
        digest |= {"started_ms": at_ms, "ended_ms": at_ms, "tokens": 100, "dollars": 0.5} | more
        told = CapturedSession(key or session, session, self._files, {}, digest, [item.as_json() for item in items])
        path = path or str(self.folder / f"{self._files}.jsonl")
        look = FileLook(1, self._files, 1, 1)
        with Catalogue(self.home) as catalogue:
            taking = CapturedFile(
                path,
                look,
                1,
                1,
                b"",
                TAKEN,
                "",
                "",
                1,
                None,
                1,
                is_analysed=True,
                is_continued=True,
                sessions=[told],
                known=catalogue.known(path),
            )
            assert catalogue.take([taking])[0] in (TAKEN, "copy")
        return path

    def harvest(self) -> HarvestSummary:
        """One run."""
        with open_harvest(self.home) as harvest:
            return harvest.run()

    def candidates(self, *states: str) -> list[HarvestCandidate]:
        """What is kept of some states."""
        with open_harvest(self.home) as harvest:
            return list(harvest.shelf.every(*states))

    def only(self) -> HarvestCandidate:
        """The one candidate there is."""
        (found,) = self.candidates()
        return found

    def records(self, log: str = "corrections") -> list[dict[str, Any]]:
        """What is shared, oldest first."""
        with memory_of(self.home) as memory:
            return [entry.record for entry in memory.reader.tail(1000, log)]

    def hot(self) -> list[str]:
        """The names of what is HOT."""
        with memory_of(self.home) as memory:
            return [item.slug for item in memory.hot(None)]

    def sessions_of(self, slug: str) -> int:
        """How many sessions a pattern has."""
        with memory_of(self.home) as memory:
            return _sessions(memory, slug)


def _sessions(memory: Memory, slug: str) -> int:
    found = memory.weigh(slug)
    return 0 if found is None else found.sessions
