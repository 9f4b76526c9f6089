"""Meshes in the simulator, each run in a process of its own, several at once: virtual time does not mind.

What is counted are frames of gossip: neither TLS nor TCP is simulated.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from random import Random

from bench.notes import notes
from bench.processes import Measures, side
from peers.proto.gossip_config import ANSWER_BYTES, Config
from peers.proto.messages import pack_ranges
from peers.simulate.run import find_peace, spreads
from peers.simulate.simulated_node import SimNode
from peers.simulate.traffic_meter import PAYLOAD
from peers.simulate.world import World
from peers.transport.network_conditions import Conditions

LATENCY_SECONDS = (0.005, 0.05)
_WARM_SECONDS = 30.0  # to choose neighbours
_SETTLE_SECONDS = 5.0  # of silence at the end, in which late copies still arrive


def simulate_all(runs: list[Measures]) -> list[Measures]:
    """`spread` for each set of arguments, as many at once as there are processors; results in the same order."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(lambda run: side(spread, **run), runs))


def spread(
    nodes: int,
    seed: int,
    *,
    records: int = 1,
    eager: bool = True,
    dead: float = 0.0,
    loss: float = 0.0,
    idle_seconds: float = 0.0,
) -> Measures:
    """One batch of notes that one node writes, until everyone has it; before that, what silence costs."""
    config = Config() if eager else Config(eager_bytes=0)
    world = World(seed, nodes, conditions=Conditions(LATENCY_SECONDS), config=config)
    random = Random(seed)
    order = list(world.nodes)
    random.shuffle(order)
    world.start_connected()
    world.run(_WARM_SECONDS)
    idle = _idle(world, idle_seconds)
    silenced = order[1 : 1 + round(dead * nodes)]
    world.checker.fragile = {node.index for node in silenced}
    for node in silenced:
        node.stop(silently=True)
    world.wire.set_conditions(Conditions(LATENCY_SECONDS, loss=loss))
    world.meter.forget_traffic()
    batch = list(islice(notes(records, seed=seed), records))
    order[0].write(batch)
    agreed = find_peace(world)
    world.wire.set_conditions(Conditions(LATENCY_SECONDS))
    world.run(_SETTLE_SECONDS)
    return _measures(world, order[0]) | {"idle": idle, "agreed": agreed}


def _idle(world: World, seconds: float) -> float | None:
    """Bytes a second that a node sends when nothing is written; as many are received."""
    if not seconds:
        return None
    world.meter.forget_traffic()
    world.run(seconds)
    return sum(world.meter.sent.values()) / seconds / len(world.nodes)


def _measures(world: World, author: SimNode) -> Measures:
    meter, up = world.meter, frozenset(node.index for node in world.honest())
    reached = spreads(meter.writes, up)[1]  # of several ranges the slowest
    payload = sum(size for (node, kind), size in meter.received.items() if kind in PAYLOAD and node != author.index)
    return {
        "half": reached.half,
        "most": reached.most,
        "all": reached.all,
        "written": sum(write.size for write in meter.writes),
        "copy": _copy_bytes(author),
        "payload": payload / (len(up) - 1),
        "received": sum(meter.received.values()) / len(up),
    }


def _copy_bytes(author: SimNode) -> int:
    """What the batch takes when it is pulled once: its ranges, compressed, in full answers."""
    (chain,) = [item for item in author.notebook.chains() if item.feed.node == author.identity.public]
    head, total = chain.head(0), 0
    while head.seq < chain.held:
        (chunk,) = author.notebook.read([(chain.feed, head)], ANSWER_BYTES)
        total += len(pack_ranges(chunk.ranges))
        head = chunk.end
    return total
