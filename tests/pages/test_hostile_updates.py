"""Updates made to hurt: each sort is refused by the check, and what passes it does pycrdt no harm."""

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mesh.core.errors import Malformed
from mesh.core.ids import digest
from mesh.pages.edit_acceptance import EditAcceptance, PageOp
from mesh.pages.edit_codec import DeletedRange, Id, InsertedText, Update, client_of, encode, parse, units
from tests.pages.applier import FRAME, MODULE
from tests.pages.editors import Editor, session

TREE = Path(__file__).parents[2]
SAMPLES = (
    TREE.parent / "shared" / "hostile-pages"
)  # each ends an interpreter that applies it; not part of the repository
ROOT = b"\x01\x04text"


def number(value: int) -> bytes:
    """LEB128."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def structs(*items: bytes, client: int = 5, clock: int = 0, deletes: bytes = b"\x00") -> bytes:
    """An update of these structs, each already encoded."""
    return b"\x01" + number(len(items)) + number(client) + number(clock) + b"".join(items) + deletes


def text(value: bytes) -> bytes:
    return number(len(value)) + value


FIRST = b"\x04" + ROOT + text(b"abc")
EMOJI = b"\x04" + ROOT + text("a😀".encode())
SEVERAL = "an update by several clients"
PLAIN = "an update with something other than plain text"
EARLY = "an update that ends too early"
RANGE = "a delete range that is empty, out of order or out of range"
BEFORE = "an item beside itself, or beside one that comes after it"
HALF = "an update that cuts a character in two"
ITEMS = "an update of no items, or more than 2048"
CLIENTS = "an update that names more than 256 clients"
GAPS = "a delete set with no ranges for a client, or more than 2048"
OTHER_ROOT = "an update of something other than the page's text"
LONG = "a number that is longer than it needs to be"
NO_TEXT = "an item with no text, or one that ends too early"

HOSTILE = {
    "nothing": (b"", EARLY),
    "empty": (b"\x00\x00", "an update that says nothing"),
    "too large": (structs(b"\x04" + ROOT + text(b"x" * 65_522)), "an update of more than 64 KB"),
    "collected struct": (structs(b"\x00\x03"), PLAIN),
    "skipped struct": (structs(b"\x0a\x03"), PLAIN),
    "deleted text": (structs(b"\x01" + ROOT + b"\x03"), PLAIN),
    "json": (structs(b"\x02" + ROOT + b"\x01" + text(b"1")), PLAIN),
    "binary": (structs(b"\x03" + ROOT + text(b"abc")), PLAIN),
    "embedded value": (structs(b"\x05" + ROOT + text(b'{"a":1}')), PLAIN),
    "format": (structs(b"\x06" + ROOT + text(b"bold") + text(b"true")), PLAIN),
    "type": (structs(b"\x07" + ROOT + b"\x02"), PLAIN),
    "any": (structs(b"\x08" + ROOT + b"\x01\x7e"), PLAIN),
    "document": (structs(b"\x09" + ROOT + text(b"id") + b"\x7e"), PLAIN),
    "move": (structs(b"\x0b" + ROOT + b"\x00\x05\x00"), PLAIN),
    "unknown content": (structs(b"\x1f" + ROOT + text(b"abc")), PLAIN),
    "unused flag": (structs(b"\x14" + ROOT + text(b"abc")), PLAIN),
    "key of a map": (structs(b"\x24" + ROOT + text(b"key") + text(b"abc")), PLAIN),
    "key of a map beside": (structs(FIRST, b"\xa4\x05\x02" + text(b"abc")), PLAIN),
    "other root": (structs(b"\x04\x01" + text(b"test") + text(b"abc")), OTHER_ROOT),
    "longer root": (structs(b"\x04\x01" + text(b"text2") + text(b"abc")), OTHER_ROOT),
    "root of no name": (structs(b"\x04\x01\x00" + text(b"abc")), OTHER_ROOT),
    "parent by id": (structs(FIRST, b"\x04\x00\x05\x00" + text(b"abc")), OTHER_ROOT),
    "parent overlong": (structs(b"\x04\x81\x00\x04text" + text(b"abc")), OTHER_ROOT),
    "parent with a neighbour": (structs(FIRST, b"\x84\x05\x02" + ROOT + text(b"abc")), RANGE),
    "parent with both": (structs(FIRST, b"\xc4\x05\x01\x05\x02" + ROOT + text(b"abc")), RANGE),
    "beside itself": (structs(b"\x84\x05\x00" + text(b"abc")), BEFORE),
    "before itself": (structs(b"\x44\x05\x00" + text(b"abc")), BEFORE),
    "inside itself": (structs(FIRST, b"\x84\x05\x04" + text(b"abc")), BEFORE),
    "beside a later one": (structs(b"\x84\x05\x03" + text(b"abc"), FIRST), BEFORE),
    "before one to come": (structs(FIRST, b"\xc4\x05\x00\x05\x09" + text(b"abc")), BEFORE),
    "one neighbour twice": (structs(FIRST, b"\xc4\x05\x01\x05\x01" + text(b"z")), "an item with one neighbour on both sides"),
    "neighbour clock": (structs(b"\x84\x06" + number(2**31) + text(b"abc")), "a neighbour out of range"),
    "neighbour client": (structs(b"\x84" + number(2**53) + b"\x00" + text(b"abc")), "a neighbour out of range"),
    "client": (structs(FIRST, client=2**53), "a client id out of range"),
    "client of 64 bits": (structs(FIRST, client=2**64 - 1), "a number out of range"),
    "clock at the end": (structs(FIRST, clock=2**31 - 3), "a clock out of range"),
    "clock of 32 bits": (structs(FIRST, clock=2**32 - 1), "a clock out of range"),
    "clock below zero": (structs(FIRST, clock=2**64 - 1), "a number out of range"),
    "overlong count": (b"\x01\x81\x00\x05\x00" + FIRST + b"\x00", LONG),
    "overlong client": (b"\x01\x01\x85\x00\x00" + FIRST + b"\x00", LONG),
    "overlong clock": (b"\x01\x01\x05\x80\x80\x00" + FIRST + b"\x00", LONG),
    "overlong length": (structs(b"\x04" + ROOT + b"\x83\x00abc"), LONG),
    "overlong end": (structs(FIRST, deletes=b"\x80\x00"), LONG),
    "endless number": (b"\x01" + b"\x80" * 5000, "a number out of range"),
    "overlong clients": (b"\x81\x00\x01\x05\x00" + FIRST + b"\x00", SEVERAL),
    "two clients": (b"\x02\x01\x05\x00" + FIRST + b"\x01\x06\x00" + FIRST + b"\x00", SEVERAL),
    "same client twice": (b"\x02\x01\x05\x00" + FIRST + b"\x01\x05\x03" + FIRST + b"\x00", SEVERAL),
    "no items": (b"\x01\x00\x05\x00\x00", ITEMS),
    "giant count": (b"\x01" + number(2**32 - 1) + b"\x05\x00" + FIRST + b"\x00", ITEMS),
    "an item too many": (structs(FIRST, *[b"\x84\x05\x00" + text(b"x")] * 2048), ITEMS),
    "count without items": (b"\x01\x7f\x05\x00", EARLY),
    "giant text": (structs(b"\x04" + ROOT + number(2**40) + b"abc"), NO_TEXT),
    "empty text": (structs(b"\x04" + ROOT + b"\x00"), NO_TEXT),
    "not utf-8": (structs(b"\x04" + ROOT + text(b"a\xffb")), "an update with a text that is not UTF-8"),
    "lone surrogate": (structs(b"\x04" + ROOT + text(b"\xed\xa0\xbd")), "an update with a text that is not UTF-8"),
    "overlong utf-8": (structs(b"\x04" + ROOT + text(b"\xc0\x80")), "an update with a text that is not UTF-8"),
    "no delete set": (structs(FIRST, deletes=b""), EARLY),
    "behind the end": (structs(FIRST, deletes=b"\x00\x00"), "an update with bytes behind its end"),
    "second update": (structs(FIRST) * 2, "an update with bytes behind its end"),
    "giant deletes": (b"\x00" + number(2**32 - 1) + b"\x05\x01\x00\x01", CLIENTS),
    "giant ranges": (b"\x00\x01\x05" + number(2**31) + b"\x00\x01", GAPS),
    "no ranges": (b"\x00\x01\x05\x00", GAPS),
    "a range too many": (encode(Update(None, (), tuple(DeletedRange(5, 2 * n, 1) for n in range(2049)))), GAPS),
    "ranges too many together": (encode(Update(None, (), tuple(DeletedRange(n % 2, n, 1) for n in range(0, 4100, 2)))), GAPS),
    "a client too many": (encode(Update(None, (), tuple(DeletedRange(n, 0, 1) for n in range(257)))), CLIENTS),
    "a writer too many": (structs(FIRST, client=300, deletes=b"\x80\x02" + b"".join(number(n) + b"\x01\x00\x01" for n in range(256))), CLIENTS),
    "a neighbour too many": (structs(*[b"\x84" + number(400 + n) + b"\x00" + text(b"x") for n in range(256)]), CLIENTS),
    "client deleted twice": (b"\x00\x02\x05\x01\x00\x01\x05\x01\x02\x01", "a delete set that names a client twice"),
    "deleted client": (b"\x00\x01" + number(2**53) + b"\x01\x00\x01", "a client id out of range"),
    "overlapping ranges": (b"\x00\x01\x05\x02\x00\x03\x02\x02", RANGE),
    "same range twice": (b"\x00\x01\x05\x02\x00\x03\x00\x03", RANGE),
    "ranges backwards": (b"\x00\x01\x05\x02\x04\x01\x00\x01", RANGE),
    "empty range": (b"\x00\x01\x05\x01\x04\x00", RANGE),
    "range to the end": (b"\x00\x01\x05\x01\x01" + number(2**31 - 1), RANGE),
    "range over the end": (b"\x00\x01\x05\x01" + number(2**31 - 2) + number(2**32 - 1), RANGE),
    "deletes what comes after": (structs(FIRST, deletes=b"\x01\x05\x01\x02\x02"), "an update that deletes what comes after it"),
    "half a character deleted": (structs(EMOJI, deletes=b"\x01\x05\x01\x00\x02"), HALF),
    "other half deleted": (structs(EMOJI, deletes=b"\x01\x05\x01\x02\x01"), HALF),
    "behind half a character": (structs(EMOJI, b"\x84\x05\x01" + text(b"x")), HALF),
    "before half a character": (structs(EMOJI, b"\x44\x05\x02" + text(b"x")), HALF),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_update_is_refused(name: str) -> None:
    """Each for its own reason."""
    data, reason = HOSTILE[name]
    with pytest.raises(Malformed) as refused:
        parse(data)
    assert str(refused.value) == reason


def test_every_beginning_of_an_update_is_refused() -> None:
    """Cut anywhere: never read as something else."""
    data = structs(
        EMOJI, b"\xc4\x05\x00\x05\x01" + text(b"xyz"), deletes=b"\x02\x05\x01\x00\x01\x06\x02\x00\x01\x03\x04"
    )
    assert encode(parse(data)) == data
    for size in range(len(data)):
        with pytest.raises(Malformed):
            parse(data[:size])


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not on this machine")
def test_the_samples_that_kill_pycrdt_are_refused() -> None:
    """Each ends by signal the process that applies it."""
    samples = sorted(SAMPLES.glob("*.bin"))
    assert len(samples) >= 3
    for sample in samples:
        with pytest.raises(Malformed):
            parse(sample.read_bytes())


class Applier:
    """pycrdt in another process, started again when it dies."""

    def __init__(self, honest: list[PageOp]) -> None:
        self._honest = honest
        self._process: subprocess.Popen[bytes] | None = None
        self.moved = 0  # texts that were another when they were loaded again

    def attempt(self, before: int, *updates: bytes) -> dict[int, int] | None:
        """The clock of every client after these updates on top of the first honest ones; None if that was the end of the process."""
        process = self._process or self._start()
        try:
            self._send(process, FRAME.pack(before) + b"".join(FRAME.pack(len(update)) + update for update in updates))
            *vector, is_same = self._receive(process)
        except (BrokenPipeError, EOFError):
            self.end()
            return None
        self.moved += not is_same
        return vector_of(bytes(vector))

    def end(self) -> int | None:
        """End the process; what it ended with."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.communicate(timeout=300)
        return process.returncode

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", MODULE]
        process = subprocess.Popen(command, cwd=TREE, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._process = process
        for frame in (FRAME.pack(len(self._honest)), *(op.update for op in self._honest)):
            self._send(process, frame)
        assert self._receive(process) == b"ready"
        return process

    @staticmethod
    def _send(process: subprocess.Popen[bytes], data: bytes) -> None:
        assert process.stdin is not None
        process.stdin.write(FRAME.pack(len(data)) + data)
        process.stdin.flush()

    @staticmethod
    def _receive(process: subprocess.Popen[bytes]) -> bytes:
        assert process.stdout is not None
        head = process.stdout.read(FRAME.size)
        if len(head) < FRAME.size:
            raise EOFError
        return process.stdout.read(FRAME.unpack(head)[0])


@contextmanager
def applier(honest: list[PageOp]) -> Iterator[Applier]:
    process = Applier(honest)
    try:
        yield process
    finally:
        process.end()


def any_bit(rng: random.Random, data: bytes, _others: list[PageOp]) -> bytes:
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def any_byte(rng: random.Random, data: bytes, _others: list[PageOp]) -> bytes:
    place = rng.randrange(len(data))
    return data[:place] + bytes([rng.choice((0, 1, 2, 4, 0x44, 0x7F, 0x80, 0x84, 0xC4, 0xFF))]) + data[place + 1 :]


def cut_out(rng: random.Random, data: bytes, _others: list[PageOp]) -> bytes:
    start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:start] + data[end:]


def spliced(rng: random.Random, data: bytes, others: list[PageOp]) -> bytes:
    other = rng.choice(others).update
    return data[: rng.randrange(len(data))] + other[rng.randrange(len(other)) :]


def rewritten(rng: random.Random, data: bytes, others: list[PageOp]) -> bytes:
    """In good form, but with other neighbours, texts and ranges: what a check of the form alone lets through."""
    update = parse(data)
    clocks = {client_of(op.node, op.epoch): rng.choice((2, 20, 200)) for op in others}
    return encode(altered(rng, update, update.client, update.start, clocks))


def altered(rng: random.Random, update: Update, client: int | None, clock: int, clocks: dict[int, int]) -> Update:
    """An update with other contents, by this client from this clock, about what is below these clocks."""
    items: list[InsertedText] = []
    for item in [*update.items, *update.items[: rng.randint(0, 1)]]:
        left = any_unit(rng, clocks) if rng.random() < 0.5 else item.left
        right = any_unit(rng, clocks) if rng.random() < 0.5 else item.right
        written = item.text if rng.random() < 0.7 else rng.choice(("x", "😀😀", "\n" * 50, "é", "\u0000"))
        items.append(InsertedText(clock, left, right, written))
        clock += units(written)
    gaps = list(update.deletes) if rng.random() < 0.5 else []
    for unit in filter(None, (any_unit(rng, clocks) for _ in range(rng.randint(0, 3)))):
        gaps.append(DeletedRange(unit.client, unit.clock, rng.choice((1, 1, 2, 30))))
    return Update(client if items else None, tuple(items), tuple(sorted(gaps)))


def any_unit(rng: random.Random, clocks: dict[int, int]) -> Id | None:
    client = rng.choice(sorted(clocks))
    return None if rng.random() < 0.2 else Id(client, rng.randrange(clocks[client]))


MUTATIONS: list[Callable[[random.Random, bytes, list[PageOp]], bytes]] = [any_bit, any_byte, cut_out, spliced]
MUTATIONS += [rewritten] * 4


def vector_of(data: bytes) -> dict[int, int]:
    """A state vector: how many clients, then each with its clock."""
    numbers = []
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(value)
            value = shift = 0
    assert len(numbers) == 1 + 2 * numbers[0]
    return dict(zip(numbers[1::2], numbers[2::2], strict=True))


def hostile_ops(rng: random.Random, honest: list[PageOp], place: int, ledger: EditAcceptance) -> Iterator[PageOp]:
    """One altered operation in place of an honest one; or a whole run of them, each built on those before."""
    original = honest[place]
    if rng.random() < 0.8:
        yield original._replace(update=rng.choice(MUTATIONS)(rng, original.update, honest))
        return
    client = client_of(original.node, original.epoch)
    for number in range(rng.randint(2, 12)):
        update = parse(rng.choice(honest).update)
        clocks = ledger.clocks or {client: 1}
        data = encode(altered(rng, update, client, ledger.clock(client), clocks))
        yield original._replace(update=data, at=original.at + number, tag=digest(data))


def run_mutations(count: int) -> None:
    """Mutate, rule, and let pycrdt apply what counts; whatever ends pycrdt is named at the end, with all others tried."""
    start = time.time_ns() if count > 10_000 else 0  # other ones each time in a long run
    honest = (
        EditAcceptance().rule(session(random.Random(start), [Editor(f"editor {name}") for name in range(4)], 120)).apply
    )
    ledger = EditAcceptance()
    ledgers = []
    for op in honest:
        ledgers.append(ledger.encode())
        assert ledger.rule([op]).apply == [op]
    passed = tried = 0
    deaths = []
    with applier(honest) as process:
        for attempt in range(start, start + count):
            rng = random.Random(attempt)
            place = rng.randrange(len(honest))
            ledger = EditAcceptance.decode(ledgers[place])
            counted = []
            for op in hostile_ops(rng, honest, place, ledger):
                tried += 1
                before = ledger.encode()
                ruling = ledger.rule([op])
                assert len(ruling.apply) + len(ruling.held) + len(ruling.refused) == 1
                assert ruling.apply or ledger.is_tangled or ledger.encode() == before, (
                    "what does not count leaves no trace"
                )
                counted += ruling.apply
            if not counted:
                continue
            passed += len(counted)
            clocks = process.attempt(place, *(op.update for op in counted))
            if clocks is None:
                deaths.append(f"{start} {attempt}: {[op.update.hex() for op in counted]} behind {place} honest ones")
            else:
                assert clocks == ledger.clocks, f"{start} {attempt}: all of it is applied, nothing waits inside pycrdt"
    print(f"{passed} of {tried} counted; {process.moved} texts were another when loaded again")
    assert deaths == []
    assert passed > tried / 20, "else little was tried"


def test_what_passes_the_check_does_pycrdt_no_harm() -> None:
    """Mutations of real updates: refused, held, or applied whole, with a text that can be edited and stored afterwards."""
    run_mutations(2500)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_what_passes_the_check_does_pycrdt_no_harm_in_tens_of_thousands_of_tries() -> None:
    """The same, for longer, with other numbers each time."""
    run_mutations(60_000)


def test_a_process_that_dies_is_seen() -> None:
    """Else the tests above would prove nothing: what the check refuses does end the process."""
    ann = Editor("ann")
    first = ann.change((0, 0, "abc"))
    assert first is not None
    with applier([first]) as process:
        assert process.attempt(1, b"\x07garbage") is None
        assert process.attempt(1, encode(Update(9, (InsertedText(0, None, None, "x"),), ()))) == {
            ann.client: 3,
            9: 1,
        }
