"""The node's counters, and their text for Prometheus.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from mesh.core.ids import display_name
from peers.proto.membership import PeerView
from peers.proto.replica import MergeVerdict

_WINDOW_SECONDS = 2.0


class Counters:
    """Counters of one sidecar since its start."""

    def __init__(self) -> None:
        self.bytes_in: Counter[str] = Counter()
        self.bytes_out: Counter[str] = Counter()
        self.frames_in: Counter[str] = Counter()
        self.frames_out: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self._flows: dict[bytes, Flow] = {}

    def sent(self, kind: str, node: bytes, size: int) -> None:
        """A frame was queued."""
        self.frames_out[kind] += 1
        self.bytes_out[kind] += size
        self.flow(node).count(size)

    def received(self, kind: str, node: bytes, size: int) -> None:
        """A frame came in."""
        self.frames_in[kind] += 1
        self.bytes_in[kind] += size
        self.flow(node).count(size)

    def flow(self, node: bytes) -> "Flow":
        """The traffic with one node."""
        known = self._flows.get(node)
        if known is None:
            known = self._flows[node] = Flow(time.monotonic())
        return known

    def merged(self, verdict: MergeVerdict) -> None:
        """A range or statement was judged."""
        self.verdicts[verdict.value] += 1

    def observed(self, what: str, amount: int) -> None:
        """The engine noticed something."""
        self.events[what] += amount


class Flow:
    """Bytes both ways with one node, and how many a second lately."""

    def __init__(self, now: float) -> None:
        self.bytes = 0
        self._begun, self._in_window, self._rate = now, 0, 0.0

    def count(self, size: int) -> None:
        """So many bytes more."""
        self.rate()
        self.bytes += size
        self._in_window += size

    def rate(self) -> float:
        """Bytes a second over the last full window."""
        elapsed = time.monotonic() - self._begun
        if elapsed >= _WINDOW_SECONDS:
            self._rate = self._in_window / elapsed
            self._begun, self._in_window = self._begun + elapsed, 0
        return self._rate


_Sample = tuple[Mapping[str, str], float]


def render(counters: Counters, peers: Iterable[PeerView], queued_jobs: int, fetching: int, merging_bytes: int) -> str:
    """Everything, in one text."""
    peers = list(peers)
    linked = [peer for peer in peers if peer.linked]
    states: dict[str, int] = {}
    for peer in peers:
        states[peer.state] = states.get(peer.state, 0) + 1
    families = [
        _family("mesh_links", "gauge", "Links that are up.", [({}, len(linked))]),
        _family(
            "mesh_members", "gauge", "Other members, by state.", [({"state": k}, v) for k, v in sorted(states.items())]
        ),
        _family(
            "mesh_bytes_in_total", "counter", "Bytes of messages received, by kind.", _by("kind", counters.bytes_in)
        ),
        _family("mesh_bytes_out_total", "counter", "Bytes of messages sent, by kind.", _by("kind", counters.bytes_out)),
        _family("mesh_messages_in_total", "counter", "Messages received, by kind.", _by("kind", counters.frames_in)),
        _family("mesh_messages_out_total", "counter", "Messages sent, by kind.", _by("kind", counters.frames_out)),
        _family(
            "mesh_merged_total",
            "counter",
            "Ranges and statements that peers sent, by what became of them (new, known, gap, waits, clipped, forked, full, refused).",
            _by("verdict", counters.verdicts),
        ),
        _family("mesh_events_total", "counter", "What gossip noticed, by name.", _by("event", counters.events)),
        _family("mesh_queue_jobs", "gauge", "Questions waiting for the store.", [({}, queued_jobs)]),
        _family("mesh_queue_feeds", "gauge", "Feeds being fetched.", [({}, fetching)]),
        _family("mesh_queue_merging_bytes", "gauge", "Bytes being merged.", [({}, merging_bytes)]),
        _family("mesh_queue_link_bytes", "gauge", "Bytes queued to a peer.", _of(linked, lambda peer: peer.queued)),
        _family(
            "mesh_lag_seconds",
            "gauge",
            "How long a peer's state has differed from ours.",
            _of(linked, lambda peer: peer.differs_seconds or 0),
        ),
        _family(
            "mesh_peer_lacks_operations", "gauge", "Operations a peer lacks.", _of(linked, lambda peer: peer.they_lack)
        ),
        _family(
            "mesh_we_lack_operations",
            "gauge",
            "Operations of a peer that we lack.",
            _of(linked, lambda peer: peer.we_lack),
        ),
        _family("mesh_round_trip_seconds", "gauge", "Round trip to a peer.", _of(linked, lambda peer: peer.round_trip)),
    ]
    return "".join(families)


def _family(name: str, kind: str, sentence: str, samples: Iterable[_Sample]) -> str:
    lines = [f"# HELP {name} {sentence}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        inner = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        lines.append(f"{name}{{{inner}}} {value!r}" if inner else f"{name} {value!r}")
    return "\n".join(lines) + "\n"


def _by(label: str, counter: Mapping[str, int]) -> list[_Sample]:
    return [({label: key}, value) for key, value in sorted(counter.items())]


def _of(peers: Iterable[PeerView], value: Callable[[PeerView], float | None]) -> list[_Sample]:
    found = ((peer, value(peer)) for peer in peers)
    return [({"peer": display_name(peer.name, peer.node)}, number) for peer, number in found if number is not None]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
