"""Every member as one node sees it, for people: who is there, who is in step, who lacks what. Reads only."""

from collections.abc import Iterator
from typing import NamedTuple

from peers.proto.membership import Membership
from peers.proto.neighbour import Neighbour
from peers.proto.station import Station


class PeerView(NamedTuple):
    """One member. What is None is not known here: only neighbours tell."""

    node: bytes
    name: str
    state: str
    addresses: tuple[str, ...]
    linked: bool
    dialed: bool | None
    address: str | None  # of the link
    round_trip: float | None
    seen_seconds: float | None  # ago
    in_step: bool | None
    they_lack: int | None
    we_lack: int | None
    holds_back: int | None  # operations of ours that it has and does not count
    differs_seconds: float | None
    offset_ms: int | None
    queued: int
    version: str = ""  # of clan-mesh, as it says itself
    speaks: int | None = None  # the version of the protocol, if it is another than ours


def view(station: Station, membership: Membership) -> Iterator[PeerView]:
    """All members but ourselves."""
    links = {item.node: item for item in station.ready()}
    roster = station.mirror.roster
    for node in sorted(set(roster.names) | roster.revoked):
        if node == station.node:
            continue
        contact, link = membership.contact(node), links.get(node)
        seen = membership.last_seen(node)
        they, we = (None, None) if link is None else _lacking(station, link)
        yield PeerView(
            node,
            roster.names.get(node, ""),
            membership.state(node),
            () if contact is None else contact.addresses,
            link is not None,
            None if link is None else link.dialed,
            None if link is None else link.address,
            None if link is None else link.round_trip,
            _ago(station, link.arrivals.last if link is not None else seen),
            None if link is None or not link.root else link.root == station.mirror.root,
            they,
            we,
            None if link is None else _held_back(station, link),
            None if link is None or link.differs_since is None else station.now - link.differs_since,
            None if link is None else link.offset_ms,
            0 if link is None else link.queued,
            "" if contact is None else contact.version,
            station.other_versions.get(node),
        )


def _lacking(station: Station, link: Neighbour) -> tuple[int | None, int | None]:
    """Operations that they lack of what counts here, and that we lack of what they have."""
    if not link.root:
        return None, None
    if link.root == station.mirror.root:
        return 0, 0
    they = sum(max(0, state.accepted.seq - link.has.get(state.feed, 0)) for state in station.mirror.feeds())
    return they, sum(max(0, seq - station.mirror.held(feed).seq) for feed, seq in link.has.items())


def _held_back(station: Station, link: Neighbour) -> int:
    """Operations of ours that count here and that they have without counting them."""
    accepted = station.mirror.accepted
    return sum(max(0, min(has, accepted(feed).seq) - counts) for feed, (counts, has) in link.holds.items())


def _ago(station: Station, when: float | None) -> float | None:
    return None if when is None else max(0.0, station.now - when)
