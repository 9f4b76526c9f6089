"""People who save whole texts of one page, and hear of each other when a test says so: real updates, real heads."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.core.clock import pack
from mesh.core.ids import digest
from mesh.pages.document import Document, deltas
from mesh.pages.edit_acceptance import EditAcceptance, PageOp
from mesh.pages.edit_codec import client_of
from mesh.pages.text_difference import Edit, edits

START_MS = 1_794_823_200_000  # 2026-11-16 10:00
MINUTE_MS = 60_000


class Writer:
    """One node. Every save is a minute after the last one of anybody it has heard of."""

    def __init__(self, name: str, epoch: int = 1, minute: int = 0) -> None:
        self.name = name
        self.node = digest(name.encode())
        self.epoch = epoch
        self.minute = minute
        self.known: dict[bytes, PageOp] = {}
        self._document = Document(client_of(self.node, epoch))
        self._ledger = EditAcceptance()

    @property
    def text(self) -> str:
        return self._document.text()

    def save(self, text: str) -> PageOp:
        """Make the page into this text."""
        return self.make(edits(self.text, text))

    def make(self, changes: Sequence[Edit]) -> PageOp:
        """Make these changes, as one operation."""
        self.minute += 1
        (update,) = self._document.edit(changes, 60_000, lambda: None)
        at = pack(START_MS + self.minute * MINUTE_MS)
        tag = digest(self.node + at.to_bytes(8, "big") + update)
        op = PageOp(0, at, self.node, tag, self.epoch, tuple(self._ledger.heads), update)
        assert self._ledger.rule([op]).apply == [op]
        self.known[tag] = op
        return op

    def replace(self, old: str, new: str) -> PageOp:
        """Replace a part of the page that stands in it once."""
        assert self.text.count(old) == 1
        return self.save(self.text.replace(old, new))

    def hear(self, *others: Writer) -> None:
        """Take in everything the others have."""
        new = [op for other in others for op in other.known.values() if op.tag not in self.known]
        for op in self._ledger.rule(new).apply:
            self._document.apply(op.update)
            self.known[op.tag] = op
            self.minute = max(self.minute, (op.at >> 16) // MINUTE_MS - START_MS // MINUTE_MS)


def meet(*writers: Writer) -> None:
    """All of them hear of everything."""
    for writer in writers:
        writer.hear(*writers)
    assert len({writer.text for writer in writers}) == 1


def history(*writers: Writer) -> tuple[list[PageOp], list[list[Edit]]]:
    """The operations of all in the order in which they count, and what each did to the text."""
    ops = EditAcceptance().rule([op for writer in writers for op in writer.known.values()]).apply
    return ops, deltas([op.update for op in ops], lambda: None)
