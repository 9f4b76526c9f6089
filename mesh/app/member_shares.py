"""What each member costs the others, and how much of that is left to it: bytes and feeds. Reads only; ready for JSON."""

from __future__ import annotations

from mesh.core import member_limits
from mesh.core.ids import display_name, text_id
from mesh.store.acceptance import OVER_QUOTA, TOO_MANY_FEEDS

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

    from mesh.core.trust import Trust
    from mesh.store.store import Store


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
