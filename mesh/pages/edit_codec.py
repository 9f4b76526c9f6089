"""The bytes of one page edit: read, checked and written in plain Python. No pycrdt and no state here: see `edit_acceptance`.

The format is version 1 of Yjs (https://docs.yjs.dev/api/document-updates), of which a page uses this much:

    update    clients (0 or 1), for that client [items, client id, clock, item...], delete clients, [client id, ranges, range...]...
    item      flags, left neighbour (client id, clock) if flagged, right neighbour if flagged, root if neither, text
    root      1, "text"
    range     clock, length

All numbers are LEB128, texts are a length in bytes and UTF-8, clocks count UTF-16 units. pycrdt names the clients of a delete
set in ascending order; its format promises none, so any order is read (and kept by `encode`), but no client twice.

What is refused here is refused on every node, so the limits are frozen with the protocol. Everything else the format can say
(formats, embedded values, maps, collected or skipped structs, texts born deleted) is refused: some of it kills pycrdt.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from mesh.core.errors import Malformed
from mesh.core.ids import named_digest

UPDATE_BYTES = 64 * 1024  # no more than an operation may have
ITEMS = 2048
DELETE_RANGES = 2048
CLIENTS = 256  # named in one update, as writer, neighbour or in the delete set
CLOCK_END = 2**31  # pycrdt counts in 32 bits; half of it leaves room for its sums
CLIENT_END = 2**53
ROOT = "text"

_STRING, _RIGHT, _LEFT = 0x04, 0x40, 0x80
_FLAGS = frozenset({_STRING, _STRING | _RIGHT, _STRING | _LEFT, _STRING | _LEFT | _RIGHT})
_ROOT_BYTES = bytes([1, len(ROOT)]) + ROOT.encode()
_CLIENT_BYTES = 8  # of a LEB128 number below 2**53
_PURPOSE = b"clan-mesh page 1"


class Id(NamedTuple):
    """One UTF-16 unit of a page: who wrote it, and as which."""

    client: int
    clock: int


class InsertedText(NamedTuple):
    """A text that was inserted between two neighbours, where there were any."""

    clock: int
    left: Id | None
    right: Id | None
    text: str


class DeletedRange(NamedTuple):
    """A range of units that was deleted."""

    client: int
    clock: int
    length: int


class Update(NamedTuple):
    """What one edit did: texts of one client (None if it only deleted), and deleted ranges of any."""

    client: int | None
    items: tuple[InsertedText, ...]
    deletes: tuple[DeletedRange, ...]

    @property
    def start(self) -> int:
        """The clock of the first unit it inserts; 0 if it inserts none."""
        return self.items[0].clock if self.items else 0

    @property
    def end(self) -> int:
        """The clock after the last unit it inserts; 0 if it inserts none."""
        return self.items[-1].clock + units(self.items[-1].text) if self.items else 0


def client_of(node: bytes, epoch: int) -> int:
    """The client id under which a node inserts text in an epoch: 53 bits, never 0."""
    return int.from_bytes(named_digest(_PURPOSE, node + epoch.to_bytes(8, "big"))[:8], "big") >> 11 or 1


def units(text: str) -> int:
    """The length of a text in UTF-16 units, as clocks count."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def pairs(item: InsertedText) -> list[int]:
    """The clocks of an item's units that are the first half of a surrogate pair."""
    if units(item.text) == len(item.text):
        return []
    found = []
    clock = item.clock
    for char in item.text:
        if char > "\uffff":
            found.append(clock)
            clock += 1
        clock += 1
    return found


def seams(update: Update) -> Iterator[Id]:
    """The units behind which an update takes the text apart. None may be the first half of a surrogate pair."""
    for item in update.items:
        if item.left is not None:
            yield item.left
        if item.right is not None:
            yield Id(item.right.client, item.right.clock - 1)
    for client, clock, length in update.deletes:
        yield Id(client, clock - 1)
        yield Id(client, clock + length - 1)


def parse(data: bytes) -> Update:
    """What an update says, or Malformed and why. Total: any bytes give one or the other, the same on every node."""
    if len(data) > UPDATE_BYTES:
        raise Malformed("an update of more than 64 KB")
    try:
        return _parse(data)
    except IndexError:
        raise Malformed("an update that ends too early") from None
    except UnicodeDecodeError:
        raise Malformed("an update with a text that is not UTF-8") from None


def encode(update: Update) -> bytes:
    """The bytes of an update, as pycrdt writes them if its delete set names the clients in ascending order."""
    out = bytearray()
    if update.client is None:
        out.append(0)
    else:
        out.append(1)
        for number in (len(update.items), update.client, update.start):
            _write(out, number)
        for item in update.items:
            _write_item(out, item)
    deletes = [(client, list(gaps)) for client, gaps in groupby(update.deletes, key=lambda gap: gap.client)]
    _write(out, len(deletes))
    for client, gaps in deletes:
        _write(out, client)
        _write(out, len(gaps))
        for gap in gaps:
            _write(out, gap.clock)
            _write(out, gap.length)
    return bytes(out)


def _parse(data: bytes) -> Update:
    client, items, place = _items(data)
    deletes, place = _deletes(data, place)
    if place != len(data):
        raise Malformed("an update with bytes behind its end")
    if not items and not deletes:
        raise Malformed("an update that says nothing")
    update = Update(client, items, deletes)
    if len(items) + len(deletes) > 1:
        _check_clients(update)
    if client is not None and deletes:
        _check_own_deletes(update)
    # An item of characters outside the basic plane may not be taken apart within its own update.
    own = {clock for item in items for clock in pairs(item)}
    if own and any(unit.client == client and unit.clock in own for unit in seams(update)):
        raise Malformed("an update that cuts a character in two")
    return update


def _items(data: bytes) -> tuple[int | None, tuple[InsertedText, ...], int]:
    if data[0] == 0:
        return None, (), 1
    if data[0] != 1:
        raise Malformed("an update by several clients")
    count, place = _read(data, 1)
    if not 0 < count <= ITEMS:
        raise Malformed(f"an update of no items, or more than {ITEMS}")
    client, place = _read(data, place)
    clock, place = _read(data, place)
    if client >= CLIENT_END:
        raise Malformed("a client id out of range")
    items = []
    for _ in range(count):
        flags = data[place]
        place += 1
        if flags not in _FLAGS:
            raise Malformed("an update with something other than plain text")
        left = right = None
        if flags & _LEFT:
            left, place = _neighbour(data, place, client, clock)
        if flags & _RIGHT:
            right, place = _neighbour(data, place, client, clock)
        if flags == _STRING:
            if not data.startswith(_ROOT_BYTES, place):
                raise Malformed("an update of something other than the page's text")
            place += len(_ROOT_BYTES)
        elif left == right:
            raise Malformed("an item with one neighbour on both sides")
        size, place = _read(data, place)
        if not 0 < size <= len(data) - place:
            raise Malformed("an item with no text, or one that ends too early")
        text = data[place : place + size].decode()
        place += size
        items.append(InsertedText(clock, left, right, text))
        clock += units(text)
        if clock >= CLOCK_END:
            raise Malformed("a clock out of range")
    return client, tuple(items), place


def _neighbour(data: bytes, place: int, writer: int, before: int) -> tuple[Id, int]:
    client, place = _read(data, place)
    clock, place = _read(data, place)
    if client >= CLIENT_END or clock >= CLOCK_END:
        raise Malformed("a neighbour out of range")
    if client == writer and clock >= before:
        raise Malformed("an item beside itself, or beside one that comes after it")
    return Id(client, clock), place


def _deletes(data: bytes, place: int) -> tuple[tuple[DeletedRange, ...], int]:
    clients, place = _read(data, place)
    if clients > CLIENTS:
        raise Malformed(f"an update that names more than {CLIENTS} clients")
    gaps: list[DeletedRange] = []
    seen = set()
    for _ in range(clients):
        client, place = _read(data, place)
        count, place = _read(data, place)
        if client >= CLIENT_END:
            raise Malformed("a client id out of range")
        if client in seen:
            raise Malformed("a delete set that names a client twice")
        seen.add(client)
        if not 0 < count <= DELETE_RANGES - len(gaps):
            raise Malformed(f"a delete set with no ranges for a client, or more than {DELETE_RANGES}")
        end = 0
        for _ in range(count):
            clock, place = _read(data, place)
            length, place = _read(data, place)
            if clock < end or length == 0 or clock + length >= CLOCK_END:
                raise Malformed("a delete range that is empty, out of order or out of range")
            end = clock + length
            gaps.append(DeletedRange(client, clock, length))
    return tuple(gaps), place


def _check_clients(update: Update) -> None:
    named = {unit.client for unit in seams(update)} | {update.client}
    if len(named - {None}) > CLIENTS:
        raise Malformed(f"an update that names more than {CLIENTS} clients")


def _check_own_deletes(update: Update) -> None:
    """A writer cannot delete what it has yet to write."""
    end = update.end
    if any(client == update.client and clock + length > end for client, clock, length in update.deletes):
        raise Malformed("an update that deletes what comes after it")


def _read(data: bytes, place: int) -> tuple[int, int]:
    """One LEB128 number in its shortest form, and the place behind it."""
    byte = data[place]
    if byte < 0x80:
        return byte, place + 1
    number = byte & 0x7F
    for shift in range(1, _CLIENT_BYTES):
        byte = data[place + shift]
        number |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            if byte == 0:
                raise Malformed("a number that is longer than it needs to be")
            return number, place + shift + 1
    raise Malformed("a number out of range")


def _write(out: bytearray, number: int) -> None:
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _write_item(out: bytearray, item: InsertedText) -> None:
    out.append(_STRING | (_LEFT if item.left is not None else 0) | (_RIGHT if item.right is not None else 0))
    for unit in (item.left, item.right):
        if unit is not None:
            _write(out, unit.client)
            _write(out, unit.clock)
    if item.left is None and item.right is None:
        out += _ROOT_BYTES
    text = item.text.encode()
    _write(out, len(text))
    out += text
