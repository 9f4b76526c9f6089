"""Honest editors of one page, each with a pycrdt document and a ledger, as a node has them. No hostile bytes here."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from pycrdt import Doc, Text

from mesh.core.ids import digest
from mesh.pages.edit_acceptance import EditAcceptance, PageOp, Ruling
from mesh.pages.edit_codec import client_of

WORDS = ("a", "word ", "line\n", "é", "漢字", "😀", "x😀y", "👩‍👩‍👧", "\u0000", "a longer piece of text, ")


class Editor:
    """Somebody who writes, and takes what others wrote in any order."""

    def __init__(self, name: str, epoch: int = 1) -> None:
        self.node = digest(name.encode())
        self.epoch = epoch
        self.client = client_of(self.node, epoch)
        self.doc: Doc[Any] = Doc(client_id=self.client)
        self.body = self.doc.get("text", type=Text)
        self.ledger = EditAcceptance()
        self.held: list[PageOp] = []
        self.refused: list[PageOp] = []
        self.known: dict[bytes, PageOp] = {}
        self.now = 0
        self._made: list[bytes] = []
        self._subscription = self.doc.observe(lambda event: self._made.append(event.update))

    @property
    def text(self) -> str:
        return str(self.body)

    def change(self, *edits: tuple[int, int, str]) -> PageOp | None:
        """One transaction of (place, characters removed, text inserted), made from the last place to the first."""
        self._made.clear()
        with self.doc.transaction():
            for place, removed, inserted in sorted(edits, reverse=True):
                text = self.text
                start = len(text[:place].encode())
                end = len(text[: place + removed].encode())
                if end > start:
                    del self.body[start:end]
                if inserted:
                    self.body.insert(start, inserted)
        return self._publish(self._made[-1]) if self._made else None

    def receive(self, ops: Sequence[PageOp]) -> Ruling:
        self.now = max([self.now, *(op.at for op in ops)])
        new = [op for op in ops if op.tag not in self.known]
        self.known |= {op.tag: op for op in new}
        ruling = self.ledger.rule([*self.held, *new])
        self._made.clear()
        for op in ruling.apply:
            self.doc.apply_update(op.update)
        self.held = ruling.held
        self.refused += [refusal.op for refusal in ruling.refused]
        return ruling

    def _publish(self, update: bytes) -> PageOp:
        self.now += 1
        tag = digest(self.node + self.now.to_bytes(8, "big") + update)
        op = PageOp(self.now, self.now, self.node, tag, self.epoch, tuple(self.ledger.heads), update)
        ruling = self.ledger.rule([op])
        assert ruling == Ruling([op], [], []), ruling
        self.known[tag] = op
        return op


def text_of(updates: Sequence[bytes]) -> str:
    """What a fresh document shows after these updates."""
    doc: Doc[Any] = Doc()
    body = doc.get("text", type=Text)
    for update in updates:
        doc.apply_update(update)
    return str(body)


def random_edit(rng: random.Random, text: str) -> tuple[int, int, str]:
    place = rng.randint(0, len(text))
    removed = rng.randint(0, 4) if rng.random() < 0.4 else 0
    return place, removed, rng.choice(WORDS) if not removed or rng.random() < 0.5 else ""


def session(rng: random.Random, editors: Sequence[Editor], steps: int) -> list[PageOp]:
    """What these editors write while they hear of each other now and then: in the order it was written."""
    made: list[PageOp] = []
    for _ in range(steps):
        editor = rng.choice(editors)
        if rng.random() < 0.4:
            editor.receive(rng.sample(made, rng.randint(0, len(made))))
        first, second = sorted(rng.randint(0, len(editor.text)) for _ in range(2))
        if first < second and rng.random() < 0.3:
            edits = [(first, rng.randint(0, second - first), rng.choice(WORDS)), (second, 0, rng.choice(WORDS))]
        else:
            edits = [random_edit(rng, editor.text)]
        op = editor.change(*edits)
        if op is not None:
            made.append(op)
    return made
