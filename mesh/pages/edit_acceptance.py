"""Which operations of a page count, which wait and which never will: one answer for any order of arrival. No text, no pycrdt.

An operation counts when it is sound and everything it refers to is here: what its writer inserted before, the neighbours of
its texts, the ranges it deletes. Counting only ever adds, so the order in which operations came does not matter. The one
exception is a writer with two histories (a copied home, or malice), where what comes first takes the clock. That is told by
`is_tangled`, and undone by ruling over everything from nothing, which goes by time and tag and by nothing else.

What is not told here: whether the neighbours a text names were ever side by side. Where they were not, its author lied, and the
place pycrdt gives to that text may depend on the order in which it was applied. Nothing of what others wrote is lost by that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

from mesh.core.errors import Malformed
from mesh.core.limits import EPOCH_MAX, HEAD_BYTES, HEADS_PER_PAGE, HLC_MAX
from mesh.core.strict_msgpack import pack, unpack
from mesh.pages.edit_codec import CLIENT_END, CLOCK_END, Update, client_of, pairs, parse, seams

_VERSION = 1
_EXPECTED = 256  # heads named before they came; beyond, the oldest is forgotten, and that one head is shown too long
_CELL = 64  # units a cell of pairs speaks of: one bit each, in one msgpack integer
_NOT_YOURS = "written under a client id that is not its author's"
_CUT = "an update that cuts a character in two"
_TAKEN = "claims a place in its author's text that another operation has"


class PageOp(NamedTuple):
    """One `page` operation as the store has it."""

    op: int
    at: int
    node: bytes
    tag: bytes
    epoch: int
    heads: tuple[bytes, ...]
    update: bytes


class RefusedEdit(NamedTuple):
    """An operation that will never count, and why."""

    op: PageOp
    reason: str


class Ruling(NamedTuple):
    """What to apply, in this order; what waits for something that is not here; what is refused. Both of these by time."""

    apply: list[PageOp]
    held: list[PageOp]
    refused: list[RefusedEdit]


class _Waiting(NamedTuple):
    """An operation that is read, and what it has yet to see: clients and the clocks they must have reached."""

    op: PageOp
    update: Update
    needs: list[tuple[int, int]]


class EditAcceptance:
    """What a body already holds: the next clock of every client, where surrogate pairs are, its heads, whether it is tangled."""

    def __init__(self) -> None:
        self.is_tangled = False  # then rule from nothing over all operations: a new ledger, not this one
        self._clocks: dict[int, int] = {}
        self._pairs: dict[int, dict[int, int]] = {}  # client -> number of a cell -> its bits
        self._heads: dict[bytes, int] = {}  # no operation that counts has named these -> when they were written
        self._expected: dict[bytes, None] = {}  # named as heads, not here yet

    @property
    def heads(self) -> list[bytes]:
        """The beginnings of the tags of what nobody has built on yet, newest last."""
        return sorted(self._heads, key=lambda head: (self._heads[head], head))

    @property
    def clocks(self) -> dict[int, int]:
        """The clock of the next unit of every client that has inserted something."""
        return dict(self._clocks)

    def clock(self, client: int) -> int:
        """The clock of the next unit this client inserts."""
        return self._clocks.get(client, 0)

    def rule(self, ops: Sequence[PageOp]) -> Ruling:
        """Take every operation that can count, smallest (at, tag) first, and say what becomes of the others.

        Those that were held before are to be given again, those that count already are not: one that inserts would seem
        to be a second history. Of those with one tag only the first is looked at.
        """
        return _Session(self, _distinct(ops)).ruling()

    def encode(self) -> bytes:
        """The whole ledger as bytes."""
        cells = [
            [client, [part for cell in sorted(bits.items()) for part in cell]] for client, bits in self._pairs.items()
        ]
        clocks = [part for client in sorted(self._clocks.items()) for part in client]
        heads = [[self._heads[head], head] for head in self.heads]
        return pack([_VERSION, self.is_tangled, clocks, sorted(cells), heads, list(self._expected)])

    @classmethod
    def decode(cls, data: bytes) -> EditAcceptance:
        """The ledger that was encoded, or Malformed."""
        fields = unpack(data)
        if type(fields) is not list or len(fields) != 6 or fields[0] != _VERSION or type(fields[1]) is not bool:
            raise Malformed("not a ledger")
        ledger = cls()
        _, ledger.is_tangled, clocks, cells, heads, expected = fields
        ledger._clocks = _numbers(clocks, CLIENT_END, CLOCK_END)
        for client, bits in _couples(cells):
            if type(client) is not int or client not in ledger._clocks:
                raise Malformed("a ledger with pairs of nobody")
            ledger._pairs[client] = _numbers(bits, CLOCK_END, 1 << _CELL)
        for at, head in _couples(heads):
            if type(at) is not int or not 0 <= at <= HLC_MAX or not _is_head(head):
                raise Malformed("a ledger with something else for a head")
            ledger._heads[head] = at
        if type(expected) is not list or not all(map(_is_head, expected)):
            raise Malformed("a ledger with something else for a head")
        ledger._expected = dict.fromkeys(expected)
        return ledger

    def _cuts(self, update: Update) -> bool:
        """Whether it takes a character of somebody's text apart. Its own new text was looked at when it was read."""
        if not self._pairs:
            return False
        start = update.start
        for client, clock in seams(update):
            bits = self._pairs.get(client)
            if bits and not (client == update.client and clock >= start) and clock >= 0:
                cell, bit = divmod(clock, _CELL)
                if bits.get(cell, 0) >> bit & 1:
                    return True
        return False

    def _take(self, op: PageOp, update: Update) -> None:
        if update.client is not None:
            self._clocks[update.client] = update.end
            for item in update.items:
                for clock in pairs(item):
                    cell, bit = divmod(clock, _CELL)
                    bits = self._pairs.setdefault(update.client, {})
                    bits[cell] = bits.get(cell, 0) | 1 << bit
        self._head(op)

    def _head(self, op: PageOp) -> None:
        head = op.tag[:HEAD_BYTES]
        for named in op.heads:
            if self._heads.pop(named, None) is None and named != head:
                self._expected[named] = None
        if head in self._expected:
            del self._expected[head]
        else:
            self._heads[head] = op.at
        while len(self._expected) > _EXPECTED:
            del self._expected[next(iter(self._expected))]
        if len(self._heads) > HEADS_PER_PAGE:
            del self._heads[self.heads[0]]


class _Session:
    """One call of `rule`. An operation that waits is filed under one thing it lacks, and checked again when that arrives."""

    def __init__(self, ledger: EditAcceptance, ops: list[PageOp]) -> None:
        self._ledger = ledger
        self._ops = ops  # a place in this list stands for an operation: the smaller goes first
        self._applied: list[PageOp] = []
        self._refused: dict[int, str] = {}
        self._waiting: dict[int, _Waiting] = {}
        self._lacking: dict[int, list[tuple[int, int]]] = {}  # client -> heap of (clock it must reach, place)
        self._ready: list[int] = []  # a heap
        self._clients: dict[tuple[bytes, int], int] = {}

    def ruling(self) -> Ruling:
        for place, op in enumerate(self._ops):
            try:
                waiting = self._read(op)
            except Malformed as error:
                self._refused[place] = str(error)
                continue
            self._waiting[place] = waiting
            self._look(place)
            while (
                self._ready
            ):  # all of these come before the rest of the list, so the smallest ready one is always next
                self._decide(heappop(self._ready))
        for place, waiting in self._waiting.items():
            if waiting.update.client is not None and self._ledger.clock(waiting.update.client) > waiting.update.start:
                self._refuse_taken(place)
        return Ruling(
            self._applied,
            [waiting.op for place, waiting in sorted(self._waiting.items()) if place not in self._refused],
            [RefusedEdit(self._ops[place], reason) for place, reason in sorted(self._refused.items())],
        )

    def _read(self, op: PageOp) -> _Waiting:
        update = parse(op.update)
        if update.client is not None and update.client != self._client(op.node, op.epoch):
            raise Malformed(_NOT_YOURS)
        return _Waiting(op, update, _needs(update))

    def _client(self, node: bytes, epoch: int) -> int | None:
        if not 0 <= epoch <= EPOCH_MAX:
            return None
        client = self._clients.get((node, epoch))
        if client is None:
            client = self._clients[node, epoch] = client_of(node, epoch)
        return client

    def _look(self, place: int) -> None:
        needs = self._waiting[place].needs
        while needs:
            client, clock = needs[-1]
            if self._ledger.clock(client) < clock:
                heappush(self._lacking.setdefault(client, []), (clock, place))
                return
            needs.pop()
        heappush(self._ready, place)

    def _decide(self, place: int) -> None:
        op, update, _ = self._waiting.pop(place)
        # Cut before taken: whether a character is cut does not depend on who came first.
        if self._ledger._cuts(update):  # noqa: SLF001 (one noun, two classes)
            self._refused[place] = _CUT
        elif update.client is not None and self._ledger.clock(update.client) > update.start:
            self._refuse_taken(place)
        else:
            self._ledger._take(op, update)  # noqa: SLF001
            self._applied.append(op)
            if update.client is not None:
                self._wake(update.client, update.end)

    def _refuse_taken(self, place: int) -> None:
        self._refused[place] = _TAKEN
        self._ledger.is_tangled = True

    def _wake(self, client: int, clock: int) -> None:
        lacking = self._lacking.get(client)
        while lacking and lacking[0][0] <= clock:
            self._look(heappop(lacking)[1])


def _distinct(ops: Sequence[PageOp]) -> list[PageOp]:
    """In order of time and tag, each tag once: the oldest, if one was published again."""
    distinct: dict[bytes, PageOp] = {}
    for op in sorted(ops, key=lambda op: (op.at, op.tag, op.op)):
        distinct.setdefault(op.tag, op)
    return list(distinct.values())


def _needs(update: Update) -> list[tuple[int, int]]:
    """How far each client must have come before an update can count, its own writer included."""
    needs: dict[int, int] = {}
    for item in update.items:
        for unit in (item.left, item.right):
            if unit is not None and unit.clock >= needs.get(unit.client, 0):
                needs[unit.client] = unit.clock + 1
    for client, clock, length in update.deletes:
        if clock + length > needs.get(client, 0):
            needs[client] = clock + length
    if update.client is not None:
        needs[update.client] = update.start  # also in place of what it says of its own new text
    return list(needs.items())


def _numbers(parts: Any, key_end: int, value_end: int) -> dict[int, int]:
    if type(parts) is not list or len(parts) % 2 or any(type(part) is not int or part < 0 for part in parts):
        raise Malformed("a ledger with something else for a number")
    if any(key >= key_end for key in parts[::2]) or any(value >= value_end for value in parts[1::2]):
        raise Malformed("a ledger with a number out of range")
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _couples(rows: Any) -> list[list[Any]]:
    if type(rows) is not list or any(type(row) is not list or len(row) != 2 for row in rows):
        raise Malformed("a ledger with something else for a row")
    return rows


def _is_head(value: object) -> bool:
    return type(value) is bytes and len(value) == HEAD_BYTES


class Reach(NamedTuple):
    """How far one client was known."""

    clock: int
    at: int


KnownPrefix = dict[int, Reach]


def prefix_of(ops: Iterable[PageOp]) -> KnownPrefix:
    """What is known to who has these operations, all of which count."""
    seen: KnownPrefix = {}
    clients: dict[tuple[bytes, int], int] = {}
    for op in ops:
        client = clients.get((op.node, op.epoch))
        if client is None:
            client = clients[op.node, op.epoch] = client_of(op.node, op.epoch)
        before = seen.get(client, Reach(0, 0))
        seen[client] = Reach(max(before.clock, parse(op.update).end), max(before.at, op.at))
    return seen


def is_covered(op: PageOp, seen: KnownPrefix) -> bool:
    """Whether an operation is in the text that follows already. It has to be a sound one."""
    reach = seen.get(client_of(op.node, op.epoch), Reach(0, 0))
    update = parse(op.update)
    return op.at <= reach.at if update.client is None else update.end <= reach.clock


def encode_prefix(seen: KnownPrefix) -> list[list[int]]:
    """As it stands in a register."""
    return [[client, *reach] for client, reach in sorted(seen.items())]


def decode_prefix(value: Any) -> KnownPrefix:
    """From a register, as far as it says anything."""
    found = [item for item in value if _is_reach(item)] if isinstance(value, list) else []
    return {client: Reach(clock, at) for client, clock, at in found}


def _is_reach(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 3 and all(type(part) is int for part in item)
