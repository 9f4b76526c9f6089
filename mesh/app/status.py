"""What a node says about itself: identity, root, feeds, counts, what waits. Reads only."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mesh import __version__
from mesh.app.derived_files import unerased
from mesh.app.record_json import iso
from mesh.core import clock, member_limits
from mesh.core.ids import display_name, text_id
from mesh.core.trust import Trust
from mesh.store.acceptance import AHEAD, CLIPPING, OVER_QUOTA, TOO_MANY_FEEDS
from mesh.store.database import Run
from mesh.store.erase_requests import EraseRequest, requests
from mesh.store.erasure import unfinished
from mesh.store.fold import FOLD_VERSION
from mesh.store.home import Home, node_process_id
from mesh.store.reader import Reader
from mesh.store.republication import ended_feeds, refusal, shown, stamp_ahead
from mesh.store.store import Store

if TYPE_CHECKING:
    from mesh.node.metrics import Counters
    from peers.proto.engine import Engine
    from peers.proto.membership import PeerView


def node_status(home: Home, store: Store) -> dict[str, Any]:
    """The status of a node, ready for JSON."""
    connection = store.database.connection
    with store.database.savepoint():  # one snapshot
        trust = store.trust()
        rows = store.feeds.all()
        reader = Reader(connection)
        count: Run = connection.execute
        feeds = [
            {
                "id": str(row.feed),
                "node": text_id(row.feed.node),
                "name": display_name(trust.members[row.feed.node].name, row.feed.node)
                if row.feed.node in trust.members
                else None,
                "epoch": f"{row.feed.epoch:016x}",
                "seq": row.accepted.seq,
                "head": row.accepted.hash.hex(),
                "held": {"seq": row.held.seq, "head": row.held.hash.hex()},
            }
            for row in rows
        ]
        acceptance = store.acceptance()
        waiting: list[dict[str, Any]] = []
        for row in rows:
            if row.held.seq > row.accepted.seq:
                _, why = acceptance.due(row)
                is_mended = why == "fork" and row.feed.encode().hex() in ended_feeds(connection, row.feed.node)
                waiting.append(
                    {
                        "feed": str(row.feed),
                        "operations": row.held.seq - row.accepted.seq,
                        "why": why or AHEAD,
                        "clipped": why in CLIPPING,
                        "written_again": is_mended,
                        "node": text_id(row.feed.node),
                    }
                )
        return {
            "node": text_id(home.node),
            "name": display_name(home.name, home.node),
            "mesh": text_id(home.mesh),
            "home": home.path,
            "root": store.root().hex(),
            "fold_version": FOLD_VERSION,
            "certified": trust.certified(home.node),
            "role": trust.role(home.node) if trust.certified(home.node) else None,
            "can_link": home.has_root_key
            or count("SELECT 1 FROM cards WHERE kind=2 AND subject=?", (home.node,)).get is not None,
            "mesh_time": clock.hour(max((row.accepted_hlc for row in rows), default=0)),
            "feeds": feeds,
            "counts": {
                "records": reader.logs(),
                "operations": sum(row.accepted.seq for row in rows),
                "registers": count("SELECT count(*) FROM registers").get,
                "counters": count("SELECT count(DISTINCT key) FROM counters").get,
                "ignored": count("SELECT count(*) FROM ignored").get,
                "erased": count("SELECT count(*) FROM erased_bodies").get,
                "members": len(trust.members),
                "statements": len(store.statements.ids()),
                "held_statements": count("SELECT count(*) FROM held_statements").get,
                "strays": count("SELECT count(*) FROM strays").get,
                "forks": len(trust.forks),
                "waiting": sum(item["operations"] for item in waiting if not item["clipped"]),
                "clipped": sum(item["operations"] for item in waiting if item["clipped"]),
            },
            "waiting": waiting,
            "clock": _clock(store),
            "private_clock": _private_clock(home),
            "damaged_copies": sorted(name for name in os.listdir(home.path) if ".db.damaged-" in name),
            "unfinished_erases": unfinished(home.path) + unerased(home.path),
            "erased_edits": _erased_edits(
                count("SELECT DISTINCT target FROM registers"), store.statements.erased_tags()
            ),
            "erase_requests": erase_requests(home, store),
            "db_bytes": _size(home.file("mesh.db")),
            "sidecar": node_process_id(home),
        }


def _clock(store: Store) -> dict[str, Any] | None:
    """How far stamps are ahead of the clock, where that is more than it may be: then nothing is written."""
    last = stamp_ahead(store)
    if not last:
        return None
    times = {"last_stamp": shown(clock.milliseconds(last)), "clock": shown(store.clock())}
    why = refusal(store, last)
    return times | {"peers_say": store.peers_on_clock(), "says": str(why), "next": why.next_step}


def _private_clock(home: Home) -> dict[str, Any] | None:
    """The same of the private records, which nobody else has."""
    if not home.has_private:
        return None
    private = home.store(private=True)
    try:
        return _clock(private)
    finally:
        private.close()


def erase_requests(home: Home, store: Store, tag: bytes | None = None) -> list[dict[str, Any]]:
    """What members asked to erase, as far as it can be granted here: of what this node wrote, or of everything."""
    trust = store.trust()
    of_all = home.has_root_key or trust.may_erase(home.node, b"")
    return [told_request(trust, request) for request in requests(store, home.node, of_all=of_all, tag=tag)]


def told_request(trust: Trust, request: EraseRequest) -> dict[str, Any]:
    """What another member asked to erase."""

    def name(node: bytes) -> str:
        member = trust.members.get(node)
        return display_name(member.name if member else "", node)

    return {
        "id": text_id(request.tag),
        "request": text_id(request.asking),
        "by": text_id(request.node),
        "name": name(request.node),
        "author": name(request.author),
        "is_live": request.is_live,
        "at": iso(request.at_ms),
        "reason": request.reason,
    }


def _erased_edits(targets: Iterable[tuple[object]], erased: frozenset[bytes]) -> list[str]:
    """Records whose text is erased, but not an edit of it: whoever erased it had not heard of that."""
    return sorted(text_id(target) for (target,) in targets if isinstance(target, bytes) and target in erased)


def _size(path: str) -> int:
    return sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end))


def peers_report(
    home: Home, engine: Engine, tally: Counters, addresses: tuple[str, ...], seconds: float, trust: Trust
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


def _peer(tally: Counters, peer: PeerView, trust: Trust) -> dict[str, Any]:
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


def member_shares(store: Store) -> list[dict[str, Any]]:
    """Every member, who has written most first."""
    with store.database.savepoint():  # one snapshot
        trust, acceptance = store.trust(), store.acceptance()
        found = [_share(store, trust, node) for node in trust.members]
        for share, node in zip(found, trust.members, strict=True):
            rows = store.feeds.of_node(node)
            left_out = sum(bool(row.held.seq) and acceptance.allowed(row)[1] == TOO_MANY_FEEDS for row in rows)
            share |= {"feeds": share["feeds"] - left_out, "feeds_left_out": left_out}
            held = [row for row in rows if row.held.seq > row.accepted.seq]
            is_over = bool(held) and not acceptance.fits_quota(node, 0)
            share["waiting"] = OVER_QUOTA if is_over else None
    return sorted(found, key=lambda share: (-share["written"], share["node"]))


def _share(store: Store, trust: Trust, node: bytes) -> dict[str, Any]:
    now = store.clock()
    days = member_limits.span_days(is_throw_away=trust.is_throw_away(node))
    return {
        "node": text_id(node),
        "name": display_name(trust.members[node].name, node),
        "role": trust.role(node),
        "revoked": node in trust.revoked,
        "written": store.feeds.held_weight(node),
        "allowance": trust.allowance(node, now) if trust.may_write(node) else 0,
        "quota": trust.quota(node) if trust.may_write(node) else 0,
        "days": days,
        "grows_ms": trust.next_allowance_ms(node, now),
        "feeds": store.feeds.count_of(node),
        "feed_limit": member_limits.feed_limit(now, trust.certified_ms(node)),
        "forked_too_often": trust.has_forked_too_often(node),
    }
