"""Vectors that are asked by some threads while another changes them."""

import os
import threading
from pathlib import Path

import pytest

from clan_learnings.search.vectors import nearest as module
from clan_learnings.search.vectors.nearest import Vectors
from tests.clan_learnings.search.vector_sets import directions, tag_of, version_of

WIDE = 64
TURNS = 60


def test_two_readers_never_see_half_a_vector_while_one_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tag has one of two vectors, or none. Every cosine that a reader gets is one of these two, to the last digit."""
    monkeypatch.setattr(module, "_SHORTLIST", 100)
    monkeypatch.setattr(module, "_EXACT", 200)
    count = 300
    tags = [tag_of(n) for n in range(count)]
    sides = directions(count, WIDE, seed=1), directions(count, WIDE, seed=2)
    query = directions(1, WIDE, seed=3)[0]
    right: dict[bytes, set[float]] = {tag: set() for tag in tags}
    for at, side in enumerate(sides):
        alone = Vectors(os.fspath(tmp_path / str(at)), "model", WIDE)
        alone.put(tags, side, [version_of(at)] * count)
        for tag, cosine in alone.cosines(query, tags).items():
            right[tag].add(cosine)
        alone.close()
    shared = Vectors(os.fspath(tmp_path / "shared"), "model", WIDE)
    done = threading.Event()
    wrong: list[object] = []
    reads = [0, 0]

    def read(who: int) -> None:
        while not done.is_set() or not reads[who]:
            found = [*shared.nearest(query, 50), *shared.cosines(query, tags[::7]).items()]
            wrong.extend(pair for pair in found if pair[1] not in right[pair[0]])
            versions = {version for version in shared.versions(tags[::11]) if version is not None}
            wrong.extend(versions - {version_of(0), version_of(1)})
            reads[who] += 1

    readers = [threading.Thread(target=read, args=(who,)) for who in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(TURNS):
        some = range(turn * 37 % count, count, 1 + turn % 5)
        if turn % 4 == 3:
            shared.drop([tags[n] for n in some])
        else:
            which = turn % 2
            shared.put([tags[n] for n in some], sides[which][list(some)], [version_of(which)] * len(some))
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert min(reads) > 0
    shared.drop(tags)
    assert shared.nearest(query, 50) == []
    shared.close()


def test_who_asks_in_the_middle_of_a_write_gets_a_whole_vector_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replacement is written byte by byte, and the vector asked for after each: it is the old one, absent, or the new one."""
    old, new, query = directions(3, WIDE, seed=4)
    shared = Vectors(os.fspath(tmp_path), "model", WIDE)
    tag = tag_of(0)
    shared.put([tag], [old], [version_of(0)])
    before = shared.cosines(query, [tag])
    seen: list[tuple[dict[bytes, float], bytes | None]] = []
    write = os.pwrite

    def slowly(descriptor: int, data: memoryview, at: int) -> int:
        for place in range(len(data)):
            write(descriptor, data[place : place + 1], at + place)
            found = shared.cosines(query, [tag])
            assert dict(shared.nearest(query, 5)) == found
            seen.append((found, shared.versions([tag])[0]))
        return len(data)

    monkeypatch.setattr(os, "pwrite", slowly)
    shared.put([tag], [new], [version_of(1)])
    monkeypatch.undo()
    after = shared.cosines(query, [tag])
    assert after != before
    whole = [pair for pair in seen if pair != ({}, None)]
    assert {version for _, version in whole} <= {version_of(0), version_of(1)}
    assert all(found == (before if version == version_of(0) else after) for found, version in whole)
    assert len(whole) < len(seen) / 4
    shared.close()
