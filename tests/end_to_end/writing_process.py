"""A process that writes until it is killed, and says on stdout what it is about to do and what is done.

`will …` is printed before a write, `did …` after its receipt. Each line goes out in one piece, so whoever
reads them after the kill has everything that was acknowledged. A text may be given that an earlier life had announced: it
does not know whether that is written, and asks for it again.
"""

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from mesh.core.draft import Assignment, Increment, NewRecord, Request
from mesh.core.operation import Add
from mesh.store.author import Author
from mesh.store.merge_outcome import AlreadyKnown, Gap, Merged
from mesh.store.writer import Writer
from tests.worlds import Chain, Clan, open_author

CLAN = Clan(9)
OWN = CLAN.node(0)
OTHER = CLAN.node(1)
COUNTER, REGISTER = "kills survived", "progress"


def write_until_killed(folder: Path, life: int, unsure: str) -> None:
    """Every sort of write, in an order drawn from the number of this life."""
    rng = random.Random(life)
    names = _names(life)
    erasable: list[bytes] = []
    with open_author(folder, CLAN, OWN) as author:
        if unsure:
            erasable += _append(author, [unsure])
        while True:
            match rng.choice(("single", "single", "batch", "group", "merge", "strays", "erase", "count", "set")):
                case "single":
                    erasable += _append(author, [next(names)])
                case "batch":
                    erasable += _append(author, [next(names) for _ in range(rng.randint(2, 9))])
                case "group":
                    _group(author, [[next(names) for _ in range(rng.randint(1, 3))] for _ in range(6)])
                case "merge":
                    _merge(author, rng, [next(names) for _ in range(rng.randint(2, 20))], pieces=1)
                case "strays":
                    _merge(author, rng, [next(names) for _ in range(9)], pieces=3)
                case "erase" if erasable:
                    _erase(author, erasable.pop(rng.randrange(len(erasable))))
                case "count":
                    _say("will count 1")
                    author.append([Increment(COUNTER, 1)])
                    _say("did count 1")
                case "set":
                    value = next(names)
                    _say(f"will set {value}")
                    author.append([Assignment(REGISTER, "last", value)])
                    _say(f"did set {value}")


def _append(author: Author, wanted: list[str]) -> tuple[bytes, ...]:
    _will(wanted)
    request = Request(wanted[0], b"".join(text.encode() for text in wanted))
    receipt = author.append([NewRecord("kept", {"text": text}) for text in wanted], request)
    _did(wanted, receipt.tags)
    return receipt.tags


def _group(author: Author, batches: list[list[str]]) -> None:
    for batch in batches:
        _will(batch)
    with Writer(author) as writer:
        promised = [writer.submit([NewRecord("kept", {"text": text}) for text in batch]) for batch in batches]
        for batch, receipt in zip(batches, promised, strict=True):
            _did(batch, receipt.result().tags)


def _merge(author: Author, rng: random.Random, wanted: list[str], *, pieces: int) -> None:
    """A new feed of another node, in some pieces that arrive in any order."""
    chain = Chain(CLAN, OTHER, rng.randint(1, 2**63))
    tags = [chain.add(Add(chain.next_hlc(), "kept", {"text": text})) for text in wanted]
    _will(wanted)
    size = len(wanted) // pieces
    ranges = [chain.encoded(first, first + size - 1) for first in range(1, size * pieces + 1, size)]
    rng.shuffle(ranges)
    for data in ranges:
        (outcome,) = author.merge_ranges([data])
        assert isinstance(outcome, Merged | Gap | AlreadyKnown), outcome
    _did(wanted, tags)


def _erase(author: Author, tag: bytes) -> None:
    _say(f"will erase {tag.hex()}")
    (outcome,) = author.merge_statements([CLAN.erase(OWN, tag).encode()])
    assert isinstance(outcome, Merged), outcome
    _say(f"did erase {tag.hex()}")


def _names(life: int) -> Iterator[str]:
    """Texts that no two lives share and that no other text begins with."""
    number = 0
    while True:
        number += 1
        yield f"life{life:06d}write{number:06d}end"


def _will(wanted: list[str]) -> None:
    for text in wanted:
        _say(f"will add {text}")


def _did(wanted: list[str], tags: tuple[bytes, ...] | list[bytes]) -> None:
    for text, tag in zip(wanted, tags, strict=True):
        _say(f"did add {text} {tag.hex()}")


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # short lines: a pipe takes each whole or not at all


if __name__ == "__main__":
    write_until_killed(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
