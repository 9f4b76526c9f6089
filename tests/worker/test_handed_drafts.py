"""Drafts on their way from the worker to its node: the same on arrival, and believed in nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from clan_learnings.harvest.harvest import harvest_new
from mesh.core.draft import Assignment, Draft, Increment, NewRecord, Removal, Republished
from mesh.core.errors import HomeBusy, Malformed, MayNotWrite, MeshError, QuotaReached, TooManyFeeds
from mesh.core.strict_msgpack import pack, unpack
from mesh.store.author import Author
from mesh.store.handing_author import HandingAuthor
from mesh.store.home import create_home, open_home
from mesh.store.receipts import Receipt
from mesh.worker.handed_drafts import pack_drafts, pack_error, pack_receipt, unpack_drafts, unpack_error, unpack_receipt
from tests.clan_learnings.harvest.homes import API, Farm
from tests.clan_learnings.harvest.signals import correction, fact


def test_drafts_arrive_as_they_were() -> None:
    """All that a worker writes."""
    drafts: list[Draft] = [
        NewRecord("discoveries", {"text": "x", "tags": ["a", "b"], "confidence": 0.5}, 17),
        Removal((bytes(32), bytes(range(32))), "wrong"),
        Assignment(bytes(32), "text", "y"),
        Assignment("pattern:x", "alias_of", None),
        Increment("harvested:x", 2),
    ]
    assert unpack_drafts(unpack(pack(pack_drafts(drafts)))) == drafts


def test_what_the_node_alone_writes_is_not_handed_over() -> None:
    """Republished bodies are for who knows the chain."""
    with pytest.raises(TypeError):
        pack_drafts([Republished(1, b"x", 0)])


@pytest.mark.parametrize(
    "values",
    [
        None,
        {},
        [[]],
        [["Republished", 1, b"x", 0]],
        [["NewRecord", "log"]],
        [["NewRecord", "log", [], 0]],
        [["NewRecord", 1, {}, 0]],
        [["Removal", ["text"], "why"]],
        [["Assignment", 1, "field", 0]],
        [["Increment", "key", "many"]],
        [[["NewRecord"], "log", {}, 0]],
    ],
)
def test_what_is_no_draft_is_refused(values: Any) -> None:
    """A worker that was taken over writes no more than a command could."""
    with pytest.raises(Malformed):
        unpack_drafts(values)


@pytest.mark.parametrize(
    "error",
    [
        HomeBusy("another process holds it", "wait"),
        MayNotWrite("it is a reader", "ask"),
        QuotaReached("enough", "wait", again_ms=12),
        TooManyFeeds(3),
        MeshError("something else", ""),
    ],
)
def test_errors_arrive_as_what_they_were(error: MeshError) -> None:
    """Whoever writes tells them apart."""
    found = unpack_error(unpack(pack(pack_error(error))))
    assert type(found) is type(error)
    assert (str(found), found.next_step) == (str(error), error.next_step)
    assert getattr(found, "again_ms", 0) == getattr(error, "again_ms", 0)


@pytest.mark.parametrize("values", [None, [], ["", 1, 2, 3], "text"])
def test_an_answer_that_makes_no_sense_is_an_error_too(values: Any) -> None:
    """And no other one."""
    assert type(unpack_error(values)) is MeshError


def test_a_harvest_that_hands_over_what_it_writes_is_the_same_as_one_that_writes(tmp_path: Path) -> None:
    """Records, marks, receipts; and nothing but the node's own author could have written."""
    records = []
    for way in ("own", "handed"):
        farm = Farm(tmp_path / way)
        farm.share(API)
        farm.session("codex:1", correction())
        farm.session("codex:2", fact("The build needs JDK 21 and nothing else."))
        writer = open_home(farm.home).author()

        def append(drafts: Sequence[Draft], is_bulk: bool, writer: Author = writer) -> Receipt:  # noqa: FBT001
            received = unpack_drafts(unpack(pack(pack_drafts(drafts))))
            receipt = unpack_receipt(unpack(pack(pack_receipt(writer.append(received, is_bulk=is_bulk)))))
            assert receipt is not None
            return receipt

        if way == "own":
            summary = harvest_new(farm.home)
        else:
            summary = harvest_new(farm.home, author_of=lambda home, append=append: HandingAuthor(home, append))  # type: ignore[misc]
        told = [[record[name] for name in ("kind", "text", "repo", "counts")] for record in summary.written.records]
        records.append((told, [record.get("right") or record.get("text") for record in farm.records()]))
        writer.store.close()
    assert records[0] == records[1]
    assert records[0][0]


def test_who_hands_over_cannot_write_by_itself(tmp_path: Path) -> None:
    """The store that it reads is open for reading only."""
    handing = HandingAuthor(create_home(str(tmp_path / "home"), "own"), lambda _drafts, _is_bulk: pytest.fail("no"))
    with pytest.raises(apsw.ReadOnlyError):
        handing.store.database.run("DELETE FROM ops")
    handing.store.close()
