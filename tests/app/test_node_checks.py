"""What `mesh doctor` finds: each finding from the smallest state that causes it, and nothing where nothing is wrong."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from mesh.app.checks.node_checks import examine
from mesh.core.display import shown_size
from mesh.store.acceptance import MAY_ONLY_READ, OVER_QUOTA, TOO_MANY_FEEDS

GUIDE = Path(__file__).parents[2] / "docs" / "OPERATIONS.md"
CHECKS = Path(__file__).parents[2] / "mesh" / "app" / "checks"
SOURCES = tuple(CHECKS.glob("*_checks.py"))

STATUS: dict[str, Any] = {
    "node": "a" * 52,
    "certified": True,
    "role": "member",
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


REQUEST = {
    "id": "a" * 52,
    "request": "b" * 52,
    "name": "ci·abcde",
    "author": "laptop·abcde",
    "is_live": True,
    "reason": "a password",
}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"damaged_copies": ["mesh.db.damaged-1"]}, "damaged copy"),
        ({"unfinished_erases": ["mesh.db"]}, "unfinished erase"),
        ({"erased_edits": ["a" * 52]}, "edit of what is erased"),
        ({"erase_requests": [REQUEST]}, "erase asked"),
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
        (changed(PEERS, version="0.2.0", peers=[PEER | {"version": "0.1.0", "speaks_protocol": 1}]), "other protocol"),
    ],
)
def test_each_fault_of_the_neighbourhood_is_found(peers: dict[str, Any] | None, expected: str) -> None:
    """One thing wrong, one finding."""
    assert sorts(STATUS, peers) == [expected]


@pytest.mark.parametrize(("protocol", "where"), [(1, "there"), (3, "here")])
def test_who_speaks_another_protocol_is_named_with_the_side_to_upgrade(protocol: int, where: str) -> None:
    """Both versions are named, and that nothing is exchanged."""
    peer = PEER | {"version": "0.1.0", "speaks_protocol": protocol}
    (found,) = examine(STATUS, changed(PEERS, version="0.2.0", peers=[peer]), recovery_key=None)
    assert found.sentence.startswith(
        f"{PEER['name']} speaks protocol {protocol} (clan-mesh 0.1.0), this node protocol 2"
    )
    assert found.next_step.startswith(f"upgrade clan-mesh {where}")


def test_where_all_others_speak_another_protocol_the_network_is_not_blamed() -> None:
    """They were met: neither the network is to be looked at, nor is one to be revoked."""
    older = PEER | {"speaks_protocol": 1}
    assert sorts(STATUS, changed(PEERS, links=0, peers=[older, older | {"state": "dead"}])) == ["other protocol"] * 2


def test_a_recovery_key_that_was_not_taken_away_is_found() -> None:
    """It is good for nothing here and dangerous in the wrong hands."""
    assert sorts(STATUS, recovery_key="/home/me/.clan-mesh/recovery.key") == ["recovery key here"]


def test_members_that_left_are_nobodys_fault() -> None:
    """Who has gone, or was sent away, is not missed."""
    assert sorts(STATUS, changed(PEERS, links=0, peers=[PEER | {"state": "left"}])) == []


def test_every_finding_is_in_the_operations_guide() -> None:
    """What the doctor says, the guide explains."""
    text = "".join(source.read_text(encoding="utf-8") for source in SOURCES)
    names = set(re.findall(r'(?:Problem\(\s*|: \()"([a-zA-Z ]+)"', text)) | {"waiting"}
    names |= {"hooks not installed", "hooks outdated", "settings broken", "hooks twice", "hooks never fired"}
    assert len(names) > 25
    guide = GUIDE.read_text(encoding="utf-8")
    assert {name for name in names if f"`{name}`" not in guide} == set()


# Shares of members

MB = 2**20
SHARE: dict[str, Any] = {
    "node": "a" * 52,
    "name": "laptop·aaaaa",
    "role": "member",
    "revoked": False,
    "written": 10 * MB,
    "allowance": 64 * MB,
    "quota": 64 * MB,
    "days": 1,
    "grows_ms": 1_800_000_000_000,
    "feeds": 3,
    "feed_limit": 64,
    "forked_too_often": False,
    "waiting": None,
}
OTHER = SHARE | {"node": "b" * 52, "name": "builder·bbbbb"}


def of_shares(*shares: dict[str, Any], role: str = "admin", waiting: tuple[dict[str, Any], ...] = ()) -> list[Any]:
    return list(examine(changed(STATUS, role=role, waiting=list(waiting)), PEERS, recovery_key=None, shares=shares))


def test_nothing_is_said_of_members_that_write_as_they_may() -> None:
    """A reader has no quota to come near, and a revoked node is nobody's business any more."""
    reader = OTHER | {"role": "reader", "quota": 0, "allowance": 0, "written": 0}
    gone = OTHER | {"revoked": True, "waiting": "over", "feeds": 99, "forked_too_often": True}
    assert of_shares(SHARE, OTHER, reader, gone) == []
    assert of_shares(reader | {"node": "a" * 52}) == []


@pytest.mark.parametrize(("feeds", "limit", "warnings"), [(47, 64, 0), (48, 64, 1), (64, 64, 1), (60, 84, 0)])
def test_a_node_that_has_opened_most_of_its_feeds_is_told_the_cause_and_the_remedy(
    feeds: int, limit: int, warnings: int
) -> None:
    """In time: from three quarters on."""
    found = of_shares(SHARE | {"feeds": feeds, "feed_limit": limit}, role="member")
    assert [item.sort for item in found] == ["many feeds"] * warnings
    for item in found:
        assert f"{feeds} of the {limit} feeds" in item.sentence
        assert "copied for every CI job" in item.sentence
        assert "mesh invite --ephemeral --uses N" in item.next_step


def test_a_feed_of_ours_that_is_one_too_many_is_told_with_what_to_do() -> None:
    """What is in it is only here."""
    item = {"feed": "aaaaa/1", "operations": 7, "why": TOO_MANY_FEEDS, "clipped": False, "written_again": False}
    (own,) = of_shares(waiting=(item | {"node": "a" * 52},))
    assert own.sort == "feeds left out"
    assert "7 operations of this node count nowhere, and are only here: aaaaa/1 is one feed too many" in own.sentence
    more = [item | {"node": "a" * 52, "feed": f"aaaaa/{number}", "operations": 1} for number in range(5)]
    (all_five,) = of_shares(waiting=tuple(more))
    assert "5 operations of this node count nowhere" in all_five.sentence
    assert "aaaaa/0 and 4 others are 5 feeds too many" in all_five.sentence
    assert "mesh export FILE" in own.next_step
    assert "mesh join TOKEN --home DIR" in own.next_step


@pytest.mark.parametrize(
    ("written", "allowance", "warnings"),
    [(47 * MB, 64 * MB, 0), (48 * MB, 64 * MB, 1), (70 * MB, 64 * MB, 1), (48 * MB, 128 * MB, 0)],
)
def test_a_node_near_its_quota_is_told_when_it_grows(written: int, allowance: int, warnings: int) -> None:
    """From three quarters of the first day's on; later, when as little is left."""
    found = of_shares(SHARE | {"written": written, "allowance": allowance}, role="member")
    assert [item.sort for item in found] == ["quota"] * warnings
    assert all(f"may write {shown_size(max(0, allowance - written))} more" in item.sentence for item in found)
    assert all("at 2027-01-15T08:00" in item.sentence and "mesh quota" in item.next_step for item in found)


def test_admins_hear_of_members_that_go_beyond_their_share() -> None:
    """Who can do nothing about it hears nothing."""
    shares = [
        OTHER | {"written": 90 * MB, "waiting": "over the quota of its author"},
        OTHER | {"feeds": 64},
        OTHER | {"forked_too_often": True},
    ]
    found = of_shares(*shares)
    assert [item.sort for item in found] == ["member over quota", "feeds of a member", "forked too often"]
    assert "builder·bbbbb has written 90 MB, more than the 64 MB" in found[0].sentence
    assert "mesh quota bbbbbbbbbbbbbbbb SIZE" in found[0].next_step
    assert all("mesh revoke bbbbbbbbbbbbbbbb" in item.next_step for item in found)
    assert of_shares(*shares, role="member") == []
    (own,) = of_shares(SHARE | {"forked_too_often": True}, role="member")
    assert own.sentence.startswith("this node has forked more feeds than may count")


@pytest.mark.parametrize(
    ("why", "sort"),
    [
        ("no certificate", "unknown author"),
        (MAY_ONLY_READ, "reader"),
        (OVER_QUOTA, "over quota"),
        (TOO_MANY_FEEDS, "feeds left out"),
    ],
)
def test_every_reason_to_wait_has_its_finding(why: str, sort: str) -> None:
    item = {"feed": "b/1", "node": "b" * 52, "operations": 7, "why": why, "clipped": False, "written_again": False}
    (found,) = of_shares(waiting=(item,))
    assert found.sort == sort
    assert why in found.sentence
