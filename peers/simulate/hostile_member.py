"""A certified member that breaks the protocol: malformed frames, forgeries, floods, lies, two histories.

It has a key and a certificate like everyone, and an engine that behaves; what leaves it is another matter. What keeps to the
protocol and is only too much is made in `greedy`.
"""

from collections import deque
from collections.abc import Callable, Sequence
from random import Random

from mesh.core import clock
from mesh.core.errors import RemoteError
from mesh.core.feed import Link, encode_range, sign_range
from mesh.core.ids import Feed, digest, first_prev
from mesh.core.operation import ADD, Add
from mesh.core.operation import encode as encode_body
from mesh.core.statement import EPHEMERAL, READER
from mesh.core.strict_msgpack import pack
from mesh.core.version_vector import Head
from peers.proto.engine_events import Send
from peers.proto.message_codec import decode, encode
from peers.proto.messages import (
    CARDS,
    FEEDS,
    STATEMENTS,
    Busy,
    CardEntry,
    Compare,
    Ending,
    Entry,
    FeedEntry,
    Fetch,
    Give,
    Have,
    Message,
    Ping,
    Pong,
    Pull,
    Push,
    Ranges,
    Rumour,
)
from peers.simulate.greedy_member import Greedy
from peers.simulate.simulated_node import SimNode
from peers.simulate.virtual_time import chance
from peers.simulate.world import World

_HUGE = 2**39
_BY_NAME = frozenset(("own_quota", "reader_writes", "own_settings"))
_KIND = "hostile"


class Hostile:
    """What one hostile node does, by name: `habits` lists them. It changes habits from deed to deed."""

    def __init__(
        self, world: "World", node: SimNode, random: Random, habits: Sequence[str] | None = None, flood: int = 20
    ) -> None:
        """`habits`: only these; else all but those that have to be asked for. `flood`: so many messages to one link at once.

        Make it before the world starts: one that writes more bytes than it may is certified as a throw-away node, one that
        does nothing but write though it must not, as a reader.
        """
        self._world = world
        self._node = node
        self._random = chance(random.getrandbits(64))
        self._flood = flood
        self._sent: deque[bytes] = deque(maxlen=50)
        self._stories: list[list[Link]] = [[], []]  # two histories of one feed
        self._story = Feed(node.identity.public, 0xBAD)
        self.done: dict[str, int] = {}
        bending = {
            "mutate": self._mutate,
            "truncate": self._truncate,
            "replay": self._replay,
            "lie_ending": self._lie_ending,
            "lie_clock": self._lie_clock,
        }
        self._greedy = Greedy(world, node, self._random, max(5, flood // 5))
        deeds: dict[str, Callable[[int], list[bytes]]] = {
            "forge": self._forge,
            "equivocate": self._equivocate,
            "flood_push": self._flood_push,
            "flood_ask": self._flood_ask,
            "unknown": self._unknown,
            "lie_have": self._lie_have,
            "lie_ranges": self._lie_ranges,
            "huge_seq": self._huge_seq,
            "noise": self._noise,
            **self._greedy.deeds(),
        }
        self._bending: dict[str, Callable[[bytes], list[bytes]]] = {
            name: bend for name, bend in bending.items() if habits is None or name in habits
        }
        self._deeds: dict[str, Callable[[int], list[bytes]]] = {
            name: deed for name, deed in deeds.items() if (name not in _BY_NAME if habits is None else name in habits)
        }
        if self._deeds.keys() == {"reader_writes"}:
            node.role = READER
        elif not self._deeds.keys().isdisjoint(("many_bytes", "own_quota")):
            node.role = EPHEMERAL
        self._active = False

    # The last three only by name: the worlds that seeds were kept for stay as they were, and a reader does nothing else.
    HABITS = (
        "mutate", "truncate", "replay", "lie_ending", "lie_clock", "forge", "equivocate", "flood_push", "flood_ask",
        "unknown", "lie_have", "lie_ranges", "huge_seq", "noise", *Greedy.KINDS,
    )  # fmt: skip

    def begin(self) -> None:
        """From now on."""
        self._active = True
        self._act()

    def have_enough(self) -> None:
        """Take no more than the share from now on: what it has made itself would slow down a long run, and shows nothing new."""
        self._deeds = {name: deed for name, deed in self._deeds.items() if name not in Greedy.KINDS}

    def outgoing(self, send: Send) -> Sequence[tuple[bytes, str]]:
        """See FrameFilter."""
        self._sent.append(send.frame)
        if self._active and send.kind == "ranges":
            send = send._replace(frame=self._greedy.bent(send.frame))
        if self._active and self._bending and send.kind != "hello" and self._random.random() < 0.3:
            name = self._random.choice(list(self._bending))
            frames = self._bending[name](send.frame)
            self.done[name] = self.done.get(name, 0) + 1
            return [(frame, _KIND) for frame in frames]
        return [(send.frame, send.kind)]

    def _act(self) -> None:
        self._world.schedule.after(self._random.uniform(0.2, 0.6), self._act)
        if not self._deeds or not self._node.is_up:
            return
        name = self._random.choice(list(self._deeds))
        for position, end in enumerate(list(self._node.ends.values())):
            for frame in self._deeds[name](position):
                self._node.transmit(end, frame, _KIND)
                self.done[name] = self.done.get(name, 0) + 1

    # Bent frames

    def _mutate(self, frame: bytes) -> list[bytes]:
        bent = bytearray(frame)
        for _ in range(self._random.randint(1, 3)):
            bent[self._random.randrange(len(bent))] ^= 1 << self._random.randrange(8)
        return [bytes(bent)]

    def _truncate(self, frame: bytes) -> list[bytes]:
        return [frame[: self._random.randrange(len(frame))]]

    def _replay(self, frame: bytes) -> list[bytes]:
        return [frame, self._random.choice(self._sent)]

    def _lie_ending(self, frame: bytes) -> list[bytes]:
        message = _message(frame)
        if not isinstance(message, Ranges):
            return [frame]
        endings = [item._replace(end=Head(item.end.seq + 3, self._hash()), more=True) for item in message.endings]
        return [encode(message._replace(endings=endings, blob=self._random.choice((b"", message.blob))))]

    def _lie_clock(self, frame: bytes) -> list[bytes]:
        message = _message(frame)
        if not isinstance(message, Ping | Pong):
            return [frame]
        lie = message._replace(clock_ms=self._random.getrandbits(46), root=self._hash(), cards=self._hash()[:8])
        return [encode(lie)]

    # Deeds

    def _forge(self, _position: int) -> list[bytes]:
        """The next operation of somebody else's feed, or a feed of theirs that never was."""
        victim = self._random.choice([node for node in self._world.nodes if node is not self._node])
        chains = [chain for chain in self._node.notebook.chains() if chain.feed.node == victim.identity.public]
        link = self._link({"text": "the other said so"}, 0)
        self._world.checker.forged(link.body_hash)
        if chains:
            feed, first, prev = chains[0].feed, chains[0].held + 1, chains[0].hashes[-1]
        else:
            feed = Feed(victim.identity.public, 1 + self._random.getrandbits(32))
            first, prev = 1, first_prev(self._world.mesh, feed)
        item = sign_range(self._world.mesh, self._node.identity, feed, first, prev, [link])
        return [encode(Push([encode_range(item)]))]

    def _equivocate(self, position: int) -> list[bytes]:
        """One history to some, another to the rest, both signed."""
        story = self._stories[position % 2]
        if len(story) < 4:
            last = story[-1].hlc if story else 0
            story.append(self._link({"story": position % 2, "n": len(story)}, last))
        item = sign_range(
            self._world.mesh, self._node.identity, self._story, 1, first_prev(self._world.mesh, self._story), story
        )
        return [encode(Push([encode_range(item)]))]

    def _flood_push(self, _position: int) -> list[bytes]:
        chains = list(self._node.notebook.chains())
        ranges = [encode_range(chain.next_range(0, shortest=True)) for chain in chains if chain.held]
        small = [data for data in ranges if len(data) < 2000]
        return [encode(Push([self._random.choice(small)])) for _ in range(self._flood)] if small else []

    def _flood_ask(self, _position: int) -> list[bytes]:
        random = self._random
        asks: list[Message] = []
        for _ in range(self._flood):
            kind = random.choice((STATEMENTS, FEEDS, CARDS))
            feed = Feed(random.choice(self._world.nodes).identity.public, 1 + random.getrandbits(60))
            asks += [
                Compare(kind, random.randbytes(2048)),
                Pull(random.getrandbits(20), 1_000_000, [(feed, Head(random.getrandbits(10), self._hash()))]),
                Fetch(STATEMENTS, [self._hash()]),
            ]
        return [encode(ask) for ask in asks]

    def _unknown(self, _position: int) -> list[bytes]:
        return [pack([1, 99, b"of a later version"])] * 3 + [pack([9, 1, b"of another protocol"])]

    def _lie_have(self, _position: int) -> list[bytes]:
        random, nodes = self._random, self._world.nodes
        feeds: list[Entry] = [
            FeedEntry(chain.feed, Head(chain.held + 1000, self._hash()), Head(chain.held + 2000, self._hash()))
            for chain in self._node.notebook.chains()
        ]
        made_up = Feed(random.choice(nodes).identity.public, 1 + random.getrandbits(60))
        feeds.append(FeedEntry(made_up, Head(_HUGE, self._hash()), Head(_HUGE, self._hash())))
        cards: list[Entry] = [CardEntry(1, random.choice(nodes).identity.public, 2**46, self._hash()[:8])]
        ids: list[Entry] = [self._hash() for _ in range(20)]
        covers = random.choice((None, b"", bytes(range(256))))
        return [
            encode(Have(kind, covers, random.random() < 0.5, entries))
            for kind, entries in ((FEEDS, feeds), (CARDS, cards), (STATEMENTS, ids))
        ]

    def _lie_ranges(self, _position: int) -> list[bytes]:
        feeds = [chain.feed for chain in self._node.notebook.chains()] or [self._story]
        ending = Ending(self._random.choice(feeds), Head(_HUGE, self._hash()), True, [])
        blob = self._random.choice(
            (b"", self._random.randbytes(300), b"\x28\xb5\x2f\xfd\xa4\xff\xff\xff\xff" + bytes(40))
        )
        return [encode(Ranges(self._random.randint(1, 40), [ending], blob))]

    def _huge_seq(self, _position: int) -> list[bytes]:
        """Authentic, of our own, and far beyond anything: it can only wait."""
        feed = Feed(self._node.identity.public, 1 + self._random.getrandbits(60))
        link = self._link({"text": "far out"}, clock.pack(2**46))
        item = sign_range(self._world.mesh, self._node.identity, feed, _HUGE, self._hash(), [link])
        return [encode(Push([encode_range(item)]))]

    def _noise(self, _position: int) -> list[bytes]:
        random = self._random
        other = random.choice(self._world.nodes).identity.public
        return [
            encode(Rumour(other, 2**46)),
            encode(Busy(600_000, 0)),
            encode(Give(CARDS, [random.randbytes(60)])),
            encode(Give(STATEMENTS, [random.randbytes(60)])),
        ]

    def _link(self, record: dict[str, object], last: int) -> Link:
        stamp = clock.tick(last, self._node.corrected_ms())
        body = encode_body(Add(stamp, "notes", record), self._random.randbytes(16))
        return Link(stamp, ADD, body, digest(body))

    def _hash(self) -> bytes:
        return self._random.randbytes(32)


def _message(frame: bytes) -> Message | None:
    try:
        return decode(frame)
    except RemoteError:
        return None
