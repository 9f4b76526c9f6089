"""The sidecar's counters as text: what a collector reads is exactly what was counted."""

from mesh.node.metrics import Counters, render
from peers.proto.membership import PeerView
from peers.proto.replica import MergeVerdict
from tests.end_to_end.prometheus import Family, parse


def peer(name: str, number: int = 1, **known: float | None) -> PeerView:
    """A member with a link, of which some things are known."""
    view = PeerView(
        node=bytes([number]) * 32,
        name=name,
        state="alive",
        addresses=(),
        linked=True,
        dialed=True,
        address="host:1",
        round_trip=None,
        seen_seconds=0.0,
        in_step=None,
        they_lack=None,
        we_lack=None,
        holds_back=None,
        differs_seconds=None,
        offset_ms=None,
        queued=0,
    )
    return view._replace(**known)  # type: ignore[arg-type]


def rendered(counters: Counters, *peers: PeerView) -> dict[str, Family]:
    return parse(render(counters, peers, 0, 0, 0))


def test_large_counters_lose_no_digit() -> None:
    """A rate is the difference of two readings: six digits would make it jump."""
    counters = Counters()
    counters.sent("push", bytes(32), 123_456_789_012)
    counters.sent("push", bytes(32), 1)
    assert rendered(counters)["mesh_bytes_out_total"].by("kind") == {"push": 123_456_789_013}
    assert rendered(counters)["mesh_messages_out_total"].by("kind") == {"push": 2}


def test_every_verdict_is_counted_by_its_name() -> None:
    """Merged, refused, held: all of them, each as often as it was given."""
    counters = Counters()
    for times, verdict in enumerate(MergeVerdict, 1):
        for _ in range(times):
            counters.merged(verdict)
    wanted = {verdict.value: times for times, verdict in enumerate(MergeVerdict, 1)}
    assert rendered(counters)["mesh_merged_total"].by("verdict") == wanted


def test_a_name_with_odd_characters_breaks_no_line() -> None:
    """Names come from other nodes."""
    views = [peer('quo"te', 1), peer("back\\slash", 2), peer("new\nline", 3), peer("# HELP fake", 4)]
    assert len(rendered(Counters(), *views)["mesh_queue_link_bytes"].samples) == 4


def test_what_is_not_known_of_a_peer_is_left_out() -> None:
    """No sample rather than a made-up one; a peer in step has no lag."""
    families = rendered(Counters(), peer("far", 1), peer("near", 2, round_trip=0.25, they_lack=3, we_lack=4))
    assert [name[:4] for name in families["mesh_round_trip_seconds"].by("peer")] == ["near"]
    assert list(families["mesh_peer_lacks_operations"].by("peer").values()) == [3]
    assert list(families["mesh_we_lack_operations"].by("peer").values()) == [4]
    assert list(families["mesh_lag_seconds"].by("peer").values()) == [0, 0]


def test_members_without_a_link_are_counted_by_state() -> None:
    """They have no samples of their own."""
    away = peer("away", 1)._replace(linked=False, state="dead")
    families = rendered(Counters(), away, peer("here", 2))
    assert families["mesh_members"].by("state") == {"alive": 1, "dead": 1}
    assert families["mesh_links"].samples == {frozenset(): 1}
    assert len(families["mesh_lag_seconds"].samples) == 1
