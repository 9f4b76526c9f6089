"""What `mesh doctor` finds: each finding from the smallest state that causes it, and nothing where nothing is wrong."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from mesh.sidecar.doctor import examine

GUIDE = Path(__file__).parents[2] / "docs" / "OPERATIONS.md"
SIDECAR = Path(__file__).parents[2] / "mesh" / "sidecar"
SOURCES = (SIDECAR / "doctor.py", SIDECAR / "checkup.py", SIDECAR / "pages" / "checkup.py")

STATUS: dict[str, Any] = {
    "node": "a" * 52,
    "certified": True,
    "can_link": True,
    "damaged_copies": [],
    "sidecar": 4711,
    "unfinished_erases": [],
    "erased_edits": [],
    "erase_requests": [],
    "waiting": [],
    "clock": None,
    "private_clock": None,
    "counts": {"strays": 0, "held_statements": 0, "ignored": 0},
}
PEER = {
    "name": "builder·abcde",
    "node": "b" * 52,
    "state": "alive",
    "in_step": True,
    "lag_seconds": None,
    "they_lack": 0,
    "we_lack": 0,
    "holds_back": 0,
    "clock_offset_ms": 3,
}
PEERS: dict[str, Any] = {"links": 1, "peers": [PEER]}


def sorts(status: dict[str, Any], peers: dict[str, Any] | None = PEERS, recovery_key: str | None = None) -> list[str]:
    found = list(examine(status, peers, recovery_key=recovery_key))
    assert all(item.sentence and item.next_step for item in found)
    return [item.sort for item in found]


def test_a_clock_that_is_behind_the_stamps_is_a_finding_of_its_own() -> None:
    """It is why nothing is written; by the word of peers, it is only to be set."""
    times = {"last_stamp": "2027-11-18 10:00:00 UTC", "clock": "2026-11-18 10:00:00 UTC"}
    times |= {"says": f"stamped {times['last_stamp']}: nothing was written", "next": "mesh repair --clock"}
    (doubt,) = examine(changed(STATUS, clock=times | {"peers_say": ""}), PEERS, recovery_key=None)
    assert doubt.sort == "clock in doubt"
    assert times["last_stamp"] in doubt.sentence
    assert "mesh repair --clock" in doubt.next_step
    (behind,) = examine(changed(STATUS, private_clock=times | {"peers_say": "behind"}), PEERS, recovery_key=None)
    assert behind.next_step == "set this machine's clock"


def test_what_a_peer_holds_back_is_told_and_what_was_written_again_is_not() -> None:
    """The first needs somebody; the second is in order again."""
    assert sorts(STATUS, changed(PEERS, peers=[changed(PEER, holds_back=3)])) == ["held back"]
    ended = {"feed": "abcde/1", "operations": 2, "why": "fork", "clipped": True, "written_again": True}
    assert sorts(changed(STATUS, waiting=[ended])) == []
    assert sorts(changed(STATUS, waiting=[changed(ended, written_again=False)])) == ["fork"]


def changed(base: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return copy.deepcopy(base) | fields


def waiting(why: str, *, clipped: bool) -> list[dict[str, Any]]:
    return [{"feed": "abcde/1", "operations": 3, "why": why, "clipped": clipped, "node": "c" * 52}]


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    """A healthy node has a clean bill."""
    assert sorts(STATUS) == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"damaged_copies": ["mesh.db.damaged-1"]}, "damaged copy"),
        ({"unfinished_erases": ["mesh.db"]}, "unfinished erase"),
        ({"erased_edits": ["a" * 52]}, "edit of what is erased"),
        ({"erase_requests": [{"id": "a" * 52, "name": "ci·abcde", "reason": "a password"}]}, "erase asked"),
        ({"certified": False}, "not admitted"),
        ({"can_link": False}, "no certificate"),
        ({"waiting": waiting("no certificate", clipped=False)}, "unknown author"),
        ({"waiting": waiting("ahead of the clock", clipped=False)}, "clock ahead"),
        ({"waiting": waiting("fork", clipped=True)}, "fork"),
        ({"waiting": waiting("revoked", clipped=True)}, "revoked"),
        ({"waiting": waiting("something new", clipped=False)}, "waiting"),
        ({"counts": STATUS["counts"] | {"strays": 2}}, "gap"),
        ({"counts": STATUS["counts"] | {"held_statements": 2}}, "held statements"),
        ({"counts": STATUS["counts"] | {"ignored": 2}}, "ignored"),
    ],
)
def test_each_fault_of_a_home_is_found(status: dict[str, Any], expected: str) -> None:
    """One thing wrong, one finding."""
    assert sorts(changed(STATUS, **status)) == [expected]


@pytest.mark.parametrize(
    ("peers", "expected"),
    [
        (None, "no sidecar"),
        (changed(PEERS, links=0), "alone"),
        (changed(PEERS, peers=[PEER | {"lag_seconds": 300.0, "in_step": False}]), "behind"),
        (changed(PEERS, peers=[PEER | {"state": "dead"}]), "dead"),
        (changed(PEERS, peers=[PEER | {"clock_offset_ms": -3_600_000}]), "clock"),
        (changed(PEERS, version="0.2.0", peers=[PEER | {"version": "0.1.0"}]), "versions"),
    ],
)
def test_each_fault_of_the_neighbourhood_is_found(peers: dict[str, Any] | None, expected: str) -> None:
    """One thing wrong, one finding."""
    assert sorts(STATUS, peers) == [expected]


def test_a_recovery_key_that_was_not_taken_away_is_found() -> None:
    """It is good for nothing here and dangerous in the wrong hands."""
    assert sorts(STATUS, recovery_key="/home/me/.clan-mesh/recovery.key") == ["recovery key here"]


def test_members_that_left_are_nobodys_fault() -> None:
    """Who has gone, or was sent away, is not missed."""
    assert sorts(STATUS, changed(PEERS, links=0, peers=[PEER | {"state": "left"}])) == []


def test_every_finding_is_in_the_operations_guide() -> None:
    """What the doctor says, the guide explains."""
    text = "".join(source.read_text(encoding="utf-8") for source in SOURCES)
    names = set(re.findall(r'(?:Finding\(\s*|: \()"([a-zA-Z ]+)"', text)) | {"waiting"}
    names |= {"hooks not installed", "hooks outdated", "settings broken", "hooks twice", "hooks never fired"}
    assert len(names) > 25
    guide = GUIDE.read_text(encoding="utf-8")
    assert {name for name in names if f"`{name}`" not in guide} == set()
