"""The members of the mesh as this node sees them, ready for JSON. Reads only."""

from typing import Any

from mesh import __version__
from mesh.core.ids import display_name, text_id
from mesh.core.trust import Trust
from mesh.sidecar.tally import Tally
from mesh.store.home import Home
from peers.proto.engine import Engine
from peers.proto.view import PeerView


def peers_report(
    home: Home, engine: Engine, tally: Tally, addresses: tuple[str, ...], seconds: float, trust: Trust
) -> dict[str, Any]:
    """Everyone, and in one word whether they are in step."""
    peers = engine.peers()
    return {
        "node": text_id(home.node),
        "name": display_name(home.name, home.node),
        "root": engine.root.hex(),
        "version": __version__,
        "addresses": list(addresses),
        "links": sum(peer.linked for peer in peers),
        "in_step": sum(peer.in_step is True for peer in peers),
        "behind": sum(peer.in_step is False for peer in peers),
        "fetching": engine.fetching,
        "bytes_in": sum(tally.bytes_in.values()),
        "bytes_out": sum(tally.bytes_out.values()),
        "up_seconds": round(seconds, 3),
        "peers": [_peer(tally, peer, trust) for peer in peers],
    }


def _peer(tally: Tally, peer: PeerView, trust: Trust) -> dict[str, Any]:
    flow = tally.flow(peer.node)
    return {
        "node": text_id(peer.node),
        "name": display_name(peer.name, peer.node),
        "role": trust.role(peer.node) if trust.certified(peer.node) else None,
        "state": peer.state,
        "addresses": list(peer.addresses),
        "linked": peer.linked,
        "dialed": peer.dialed,
        "address": peer.address or (peer.addresses[0] if peer.addresses else None),
        "round_trip_ms": None if peer.round_trip is None else round(peer.round_trip * 1000, 2),
        "seen_seconds": None if peer.seen_seconds is None else round(peer.seen_seconds, 1),
        "in_step": peer.in_step,
        "they_lack": peer.they_lack,
        "we_lack": peer.we_lack,
        "holds_back": peer.holds_back,
        "lag_seconds": None if peer.differs_seconds is None else round(peer.differs_seconds, 2),
        "clock_offset_ms": peer.offset_ms,
        "version": peer.version or None,
        "speaks_protocol": peer.speaks,
        "queued_bytes": peer.queued,
        "bytes": flow.bytes,
        "bytes_per_second": round(flow.rate()),
    }
