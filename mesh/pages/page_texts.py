"""The texts of pages, computed from their operations by the worker, and kept in the store.

As long as nothing new has come to count, reading a text needs no worker.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from mesh.core.errors import HomePermissions, Malformed, MeshError
from mesh.core.ids import digest, text_id
from mesh.core.strict_msgpack import pack
from mesh.pages.edit_acceptance import EditAcceptance, PageOp, Ruling
from mesh.pages.edit_table import PageRow
from mesh.pages.page_table import News, PageTable, StoredText, TextState, Trouble
from mesh.pages.worker_client import WorkerClient, WorkerDied

if TYPE_CHECKING:
    from mesh.pages.book import Book


_KEEP_UPDATES = 256  # so many, or so many bytes, may have to be applied when a page is opened
_KEEP_BYTES = 64 * 1024
_HELD = "it builds on what is not here, or counts no more"
_KILLER = "the text worker died of it, twice: it stays out of the page on this node"

log = logging.getLogger("mesh.node")


class _Open:
    """A text that the worker has in memory."""

    def __init__(self, made: int, ledger: EditAcceptance, number: int, held: list[PageOp]) -> None:
        self.made = made
        self.ledger = ledger
        self.number = number  # of the last news that were looked at
        self.held = held


class _Start(NamedTuple):
    """What a text is to be worked out from. `kept`: what the news come on top of, if the text is not open."""

    before: TextState | None
    kept: StoredText | None
    is_open: bool
    ledger: EditAcceptance
    news: list[News]
    held: list[PageOp]
    number: int

    @property
    def is_nothing(self) -> bool:
        """Whether all operations are among the news."""
        return not self.is_open and self.kept is None


class Texts:
    """The texts of one home, by the ids of their bodies. Not for two threads."""

    def __init__(self, shelf: PageTable, workshop: WorkerClient) -> None:
        self._shelf = shelf
        self._workshop = workshop
        self._open: dict[bytes, _Open] = {}
        self._expected: dict[bytes, tuple[list[bytes], str]] = {}
        self.writer = 1  # the client id that edits will be made under: opening for another one takes longer

    def plain(self, body: bytes) -> str:
        """A text, brought up to date with what has come to count."""
        known = self._shelf.text(body)
        return self._work_out(body) if known is None else known

    def opened(self, body: bytes) -> tuple[EditAcceptance, str]:
        """A text that is to be edited: up to date, and open in the worker."""
        text = self._work_out(body)
        return self._open[body].ledger, text

    def closed(self, body: bytes) -> None:
        """What the worker has of a text is no longer what we know of it."""
        self._open.pop(body, None)
        self._expected.pop(body, None)
        with suppress(WorkerDied):  # then it has forgotten everything
            self._workshop.forget(body)

    def expect(self, body: bytes, updates: list[bytes], text: str) -> None:
        """The worker has made these updates itself. When they come to count, and nothing else with them, this is the text."""
        self._expected[body] = updates, text

    def history(self, body: bytes) -> list[PageOp]:
        """Every operation that counts, in an order in which they can be applied."""
        ruling = EditAcceptance().rule([_op(row) for row in self._shelf.rows(body)])
        lost = self._quarantined(body)
        return [op for op in ruling.apply if op.op not in lost]

    def sound(self, body: bytes) -> list[PageOp]:
        """Every operation that counts, or would if what it builds on were here."""
        ruling = EditAcceptance().rule([_op(row) for row in self._shelf.rows(body)])
        lost = self._quarantined(body)
        return [op for op in (*ruling.apply, *ruling.held) if op.op not in lost]

    def _work_out(self, body: bytes) -> str:
        start = self._start(body)
        if start is None:
            return self._from_nothing(body)
        before, ledger = start.before, start.ledger
        if start.is_open and before is not None and not start.news and start.number <= before.text_number:
            return before.text
        ruling = ledger.rule([*start.held, *(_op(item.row) for item in start.news)])
        if ledger.is_tangled and not start.is_nothing:
            return self._from_nothing(body)
        try:
            text, state, killers = self._apply(body, start, ruling)
        except BaseException:  # the ledger knows of what was never applied
            self._open.pop(body, None)
            raise
        made = _made() if before is None else before.made
        opened = self._open[body] = _Open(made, ledger, start.number, ruling.held)
        troubles = [Trouble("held", op.node, op.op, _HELD) for op in ruling.held]
        troubles += [Trouble("refused", item.op.node, item.op.op, item.reason) for item in ruling.refused]
        troubles += [Trouble("quarantined", op.node, op.op, _KILLER) for op in killers]
        self._keep(body, before, opened, text, troubles, state)
        return text

    def _start(self, body: bytes) -> _Start | None:
        """Where to begin, read as one snapshot. None: what was kept is of no use."""
        with self._shelf.snapshot():
            before, known = self._shelf.worked(body), self._open.get(body)
            if known is not None and before is not None and known.made == before.made and self._workshop.is_open(body):
                news = self._shelf.news(body, known.number)
                number = max([known.number, *(item.number for item in news)])
                return _Start(before, None, True, known.ledger, news, known.held, number)
            kept, news = self._shelf.kept(body), self._shelf.news(body)
        number = max([0 if before is None else before.text_number, *(item.number for item in news)])
        try:
            ledger = EditAcceptance() if kept is None else EditAcceptance.decode(kept.ledger)
        except Malformed:  # of another version of ours
            return None
        return _Start(before, kept, False, ledger, news, [], number)

    def _from_nothing(self, body: bytes) -> str:
        self.closed(body)
        self._shelf.reset(body)
        return self._work_out(body)

    def _apply(self, body: bytes, start: _Start, ruling: Ruling) -> tuple[str, bytes | None, list[PageOp]]:
        """Have the worker apply what counts. Gives the text, the state if it is to be kept, and what ends the worker."""
        lost = self._quarantined(body)
        updates = [op.update for op in ruling.apply if op.op not in lost]
        made, expected = self._expected.pop(body, ([], ""))
        try:
            if start.is_open and updates and updates == made:
                text = expected  # they are our own, and the worker has made them itself
            elif start.is_open:
                text = self._workshop.apply(body, updates)
            else:
                state = None if start.kept is None else start.kept.state
                text = self._workshop.open(body, state, updates, client=self.writer)
            count, size = self._shelf.behind(body)
            is_much = count > _KEEP_UPDATES or size > _KEEP_BYTES
            return text, self._workshop.state(body) if is_much else None, []
        except WorkerDied as error:
            log.warning("the text worker died, and is started again: %s", error)
        # All that it had in memory is gone: from what was kept on.
        with self._shelf.snapshot():  # another process may bring news into the state, and then they are news no more
            kept, news = self._shelf.kept(body), self._shelf.news(body)
        ledger = EditAcceptance() if kept is None else EditAcceptance.decode(kept.ledger)
        again = ledger.rule([_op(item.row) for item in news if item.number <= start.number])
        ops = [op for op in again.apply if op.op not in lost]
        settled = self._workshop.settle(None if kept is None else kept.state, [op.update for op in ops])
        killers = [ops[index] for index in settled.killers]
        for op in killers:
            log.error("an update that ends the text worker is in quarantine author=%s", text_id(op.node)[:8])
        return self._workshop.open(body, settled.state, [], client=self.writer), settled.state, killers

    def _quarantined(self, body: bytes) -> set[int]:
        troubles = self._shelf.troubles(body).get(body, ())
        return {trouble.op for trouble in troubles if trouble.sort == "quarantined"}

    def _keep(
        self,
        body: bytes,
        before: TextState | None,
        opened: _Open,
        text: str,
        troubles: Sequence[Trouble],
        state: bytes | None,
    ) -> None:
        """The text always; the state, which is larger, only now and then."""
        kept = None
        if state is not None:
            # What goes into the state is news no more: another process that has the text open must load it again.
            opened.made = _made()
            kept = StoredText(opened.ledger.encode(), state)
        with suppress(HomePermissions):  # in a home that we may only read it is worked out again next time
            self._shelf.keep(body, before, TextState(opened.made, opened.number, text), troubles, kept)


def _made() -> int:
    return int.from_bytes(os.urandom(6), "big")


def _op(row: PageRow) -> PageOp:
    return PageOp(row.op, row.at, row.node, row.tag, row.page.epoch, tuple(row.page.heads), row.page.update)


class PagesVerdict(NamedTuple):
    """What was checked, and what was found wrong. Nodes in step have the same digest of names and texts."""

    pages: int
    digest: str
    problems: list[str]


def verify_pages(book: Book) -> PagesVerdict:
    """Work every text out from nothing and compare."""
    said, problems = [], []
    pages = book.pages()
    for info in pages:
        try:
            page = book.read(info)
            updates = [op.update for op in book.history(info)]
            (again,) = book.workshop.texts(updates, [len(updates)])
        except MeshError as error:
            problems.append(f"page {info.shown}: {error}")
            continue
        if again != page.plain:
            problems.append(f"page {info.shown}: the text that is kept is not the one its operations give")
        said.append([info.id, info.shown, page.text])
    return PagesVerdict(len(pages), digest(pack(sorted(said))).hex(), problems)
