"""Findings become signals of candidates, without their secrets. A person decides about each: nothing of this becomes a record by itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from clan_learnings.harvest.candidates import IMPORTED, Signal
from clan_learnings.harvest.harvest import Harvest
from clan_learnings.harvest.intake import IntakeCounts
from clan_learnings.harvest.item_quality import bears_mark
from clan_learnings.harvest.items import FACT, HarvestItem
from clan_learnings.imports.claude_mem_table import read_claude_mem
from clan_learnings.imports.finding import CLAUDE_MD, CLAUDE_MEM, CODEX_MEMORIES, Finding, Imported
from clan_learnings.imports.markdown_notes import read_codex_memories, read_rules
from clan_learnings.redaction.text_cleaner import TextCleaner
from clan_learnings.repository.detection import Repository, find
from mesh.core.ids import named_digest, text_id

READERS: dict[str, Callable[[str], Imported]] = {
    CLAUDE_MD: read_rules,
    CLAUDE_MEM: read_claude_mem,
    CODEX_MEMORIES: read_codex_memories,
}
_CONFIDENCE = 0.8  # once a person has let it in
_ID_CHARS = 20


class Adoption:
    """One import, from one kind of source."""

    def __init__(self, kind: str, environ: Mapping[str, str], repo: str = "") -> None:
        """`repo`: of whatever does not say by itself where it holds."""
        self._kind = kind
        self._environ = environ
        self._repo = repo
        self._places: dict[str, Repository | None] = {}
        self._pen = TextCleaner()

    def into(self, harvest: Harvest, imported: Imported) -> tuple[IntakeCounts, list[dict[str, Any]], str]:
        """Add what was found to the candidates. Returns what came of it, the new ones, and what was taken out of the words."""
        harvest.forget_erased()
        signals = [signal for finding in imported.found if (signal := self._signal(finding)).item.text]
        if lost := len(imported.found) - len(signals):
            imported.skipped["private from beginning to end"] += lost
        counts = harvest.intake.adopt(signals)
        fresh = (harvest.shelf.get(name) for name in harvest.shelf.changed)
        told = [{"id": one.id, "text": one.text, "repos": one.repos} for one in fresh if one is not None]
        return counts, told, self._pen.found

    def _signal(self, finding: Finding) -> Signal:
        place = self._place(finding.folder)
        repo = finding.repo or (place.identity if place is not None else "") or self._repo
        text = self._pen.clean(finding.text)
        # The same file of the same repository is the same source, on every machine; of what has none, this folder's.
        where = repo if place is None or not place.root else f"{repo}\0{os.path.relpath(finding.folder, place.root)}"
        source = named_digest(
            b"clan-mesh impt 1", f"{where or finding.folder}\0{finding.name}".encode("utf-8", "replace")
        )
        session = f"{self._kind}:{text_id(source)[:_ID_CHARS]}"
        item = HarvestItem(
            FACT,
            text,
            max(1, finding.line),
            _CONFIDENCE,
            source="human" if finding.by_person else "agent",
            quote=self._pen.clean(finding.place),
            at_ms=finding.at_ms or None,
        )
        return Signal(
            session=session,
            flavour=self._kind,
            repo=repo,
            item=item,
            folder=finding.folder if place is not None else "",
            at_ms=finding.at_ms,
            is_redacted=bears_mark(item.text),
            key=f"{IMPORTED}{session}",
        )

    def _place(self, folder: str) -> Repository | None:
        """The repository of a folder of this machine."""
        if folder not in self._places:
            path = os.path.expanduser(folder)
            self._places[folder] = find(path, self._environ) if folder and os.path.isdir(path) else None
        return self._places[folder]
