"""A certified member that takes more than its share: of feeds, bytes, erases, forks, of everyone's time, and of rights it does not have.

Everything it signs is authentic and keeps to the protocol; there is only too much of it, or it is not its to say. Each deed makes the frames for one link.
"""

from collections.abc import Callable
from random import Random

from mesh.core import clock
from mesh.core.feed import Link, Range, chain, encode_range, sign_range
from mesh.core.ids import Feed, digest, first_prev, tag_of
from mesh.core.limits import FEEDS, QUOTA_MOST, THROW_AWAY_BYTES
from mesh.core.moderation import GUARDED, MODERATION, SETTINGS
from mesh.core.operation import ADD, SET, Add, Set
from mesh.core.operation import encode as encode_body
from mesh.core.statement import ADMIN, Erase, Member, Quota, Revoke, Signed, fork_between, sign
from mesh.core.version_vector import Head
from peers.proto.message_codec import decode, encode
from peers.proto.messages import FEEDS as FEED_SET
from peers.proto.messages import STATEMENTS, Ending, Entry, FeedEntry, Give, Have, Push, Ranges, pack_ranges
from peers.simulate.simulated_node import START_MS, SimNode
from peers.simulate.world import World

# Enough to be far beyond every limit; after that, the same again. So a mesh under attack can still agree.
_MOST_FEEDS = 5 * FEEDS
_MOST_FORKS = 4 * FEEDS
_MOST_ERASES = 1_200
_MOST_BYTES = THROW_AWAY_BYTES + 2**20
_MOST_SETTINGS = 200
_SETTINGS = ((MODERATION, GUARDED), ("hot_at", 2), ("hot_nodes", 1), ("category:evil", True))
_BODY_BYTES, _BODIES = 60_000, 4  # of one range


class Greedy:
    """The deeds by name, and what it has made so far."""

    KINDS = (
        "many_feeds",
        "many_bytes",
        "junk_erases",
        "many_forks",
        "phantom_feeds",
        "late_starts",
        "own_quota",
        "reader_writes",
        "own_settings",
    )

    def __init__(self, world: "World", node: SimNode, random: Random, amount: int) -> None:
        """`amount`: about so much in one deed."""
        self._world = world
        self._node = node
        self._identity = node.identity
        self._random = random
        self._amount = amount
        self._opened: list[bytes] = []
        self._said: list[bytes] = []
        self._forked: list[tuple[list[bytes], list[bytes]]] = []  # frames for either half of the neighbours
        self._erases: list[bytes] = []
        self._late: dict[Feed, bytes] = {}
        self._heavy = Feed(node.identity.public, 0xFA7)
        self._heavy_head = Head(0, first_prev(world.mesh, self._heavy))
        self._heavy_bytes = 0
        self._bait = b""
        self._settings = Feed(node.identity.public, 0x5E7)
        self._settings_said = b""  # the last range of that feed
        self._settings_head = Head(0, first_prev(world.mesh, self._settings))

    def deeds(self) -> dict[str, Callable[[int], list[bytes]]]:
        """One for each kind."""
        made = (
            self._feeds,
            self._bytes,
            self._erase,
            self._forks,
            self._phantoms,
            self._late_starts,
            self._own_quota,
            self._reader_writes,
            self._own_settings,
        )
        return dict(zip(self.KINDS, made, strict=True))

    def _feeds(self, _position: int) -> list[bytes]:
        """Ever more feeds, each beginning earlier than those before: all that came so far are pushed out by those to come."""
        for _ in range(self._amount if len(self._opened) < _MOST_FEEDS else 0):
            stamp = clock.pack(START_MS - 1000 * (1 + len(self._opened)))
            self._opened.append(self._first(self._new_feed(), stamp, "one feed more"))
        some = self._opened[-self._amount :] + self._random.choices(self._opened, k=3)
        return [encode(Push([data])) for data in some]

    def _bytes(self, _position: int) -> list[bytes]:
        """More than a throw-away node may add, announced as if it counted, and served by our own engine."""
        if self._heavy_bytes < _MOST_BYTES:
            stamp = clock.pack(self._node.corrected_ms()) + self._heavy_head.seq
            links = [self._link("x" * _BODY_BYTES, stamp + number) for number in range(_BODIES)]
            item = sign_range(
                self._world.mesh, self._identity, self._heavy, self._heavy_head.seq + 1, self._heavy_head.hash, links
            )
            self._node.take_in([encode_range(item)])
            self._heavy_head = Head(item.last, item.head)
            self._heavy_bytes += _BODIES * _BODY_BYTES
        return [self._claims([FeedEntry(self._heavy, self._heavy_head, self._heavy_head)])]

    def _own_quota(self, position: int) -> list[bytes]:
        """A quota that only root or an admin may raise, signed by itself, and what would need it."""
        public = self._identity.public
        fact = Quota(public, START_MS, public, QUOTA_MOST)
        return [
            encode(Give(STATEMENTS, [sign(self._world.mesh, self._identity, fact).encode()])),
            *self._bytes(position),
        ]

    def _reader_writes(self, _position: int) -> list[bytes]:
        """Operations, though it may only read; of one with other habits too, which is no reader, some feeds more."""
        if len(self._said) < _MOST_FEEDS:
            self._said.append(self._first(self._new_feed(), clock.pack(START_MS), "what a reader says"))
        return [encode(Push([data])) for data in self._random.choices(self._said, k=3)]

    def _own_settings(self, _position: int) -> list[bytes]:
        """Settings of the whole mesh, each later than all before; and statements that would make it an admin, and others less."""
        head, own = self._settings_head, self._identity.public
        if head.seq < _MOST_SETTINGS:
            stamp = clock.pack(self._node.corrected_ms()) + head.seq
            field, value = _SETTINGS[head.seq % len(_SETTINGS)]
            body = encode_body(Set(stamp, SETTINGS, field, value), self._random.randbytes(16))
            link = Link(stamp, SET, body, digest(body))
            item = sign_range(self._world.mesh, self._identity, self._settings, head.seq + 1, head.hash, [link])
            self._settings_said, self._settings_head = encode_range(item), Head(item.last, item.head)
            self._node.take_in([self._settings_said])
        other = self._random.choice([node for node in self._world.nodes if node is not self._node])
        theirs = sorted(tag for chain in self._node.notebook.chains() for tag in chain.tags() if chain.feed.node != own)
        facts: list[Signed] = [
            Member(own, START_MS, own, "admin", ADMIN),
            Member(own, START_MS, digest(own), "a friend"),
            Revoke(own, START_MS, other.identity.public, (), (), "not wanted"),
            *(Erase(own, START_MS, (tag,), "not wanted") for tag in self._random.sample(theirs, min(3, len(theirs)))),
        ]
        statements = [sign(self._world.mesh, self._identity, fact).encode() for fact in facts]
        return [encode(Give(STATEMENTS, statements)), encode(Push([self._settings_said]))]

    def _erase(self, _position: int) -> list[bytes]:
        """Of what never was, and again and again of one operation of our own: each says that it came before all others."""
        frames = []
        if not self._bait:
            link = self._link("bait", clock.pack(START_MS))
            self._bait = tag_of(self._identity.public, link.body_hash)
            frames.append(encode(Push([self._range(self._new_feed(), [link])])))
        public = self._identity.public
        for _ in range(self._amount if len(self._erases) < _MOST_ERASES else 0):
            own = self._random.random() < 0.1
            tag = self._bait if own else self._random.randbytes(32)
            fact = Erase(public, START_MS - len(self._erases), (tag,), "")
            self._erases.append(sign(self._world.mesh, self._identity, fact).encode())
        some = self._erases[-self._amount :] + self._random.choices(self._erases, k=3)
        return [*frames, encode(Give(STATEMENTS, some))]

    def _forks(self, position: int) -> list[bytes]:
        """Two histories of ever more feeds: of some one to each half of the neighbours, of most the proof at once."""
        several = max(1, self._amount // 10)
        for _ in range(several if len(self._forked) < _MOST_FORKS else 0):
            feed, stamp = self._new_feed(), clock.pack(START_MS - self._random.randint(0, 10**6))
            one, other = (self._signed(feed, [self._link(text, stamp)]) for text in ("one story", "another"))
            proof = encode(Give(STATEMENTS, [fork_between(one, other, 1).encode()]))
            told = [[encode(Push([encode_range(side)]))] for side in (one, other)]
            self._forked.append((told[0], told[1]) if len(self._forked) % 4 == 0 else ([*told[0], proof], [proof]))
        some = self._forked[-several:] + self._random.choices(self._forked, k=3)
        return [frame for sides in some for frame in sides[position % 2]]

    def _phantoms(self, _position: int) -> list[bytes]:
        """Feeds that nobody has, of others and of our own: requests for them get no answer."""
        authors = [node.identity.public for node in self._world.nodes]
        entries: list[Entry] = []
        for _ in range(5 * self._amount):
            head = Head(1 + self._random.getrandbits(8), self._random.randbytes(32))
            feed = Feed(self._random.choice(authors), 1 + self._random.getrandbits(60))
            entries.append(FeedEntry(feed, head, head))
        return [self._claims(entries)]

    def _late_starts(self, _position: int) -> list[bytes]:
        """Ranges that begin at their second operation: they can only lie aside."""
        frames = []
        for _ in range(self._amount):
            feed, stamp = self._new_feed(), clock.pack(START_MS)
            links = [self._link("never shown", stamp), self._link("too late", stamp + 1)]
            (before,) = chain(first_prev(self._world.mesh, feed), links[:1])
            data = encode_range(sign_range(self._world.mesh, self._identity, feed, 2, before, links[1:]))
            self._late[feed] = data
            frames.append(encode(Push([data])))
        while len(self._late) > 5 * self._amount:
            del self._late[next(iter(self._late))]
        return frames

    def bent(self, frame: bytes) -> bytes:
        """Who asks for the feeds that begin late gets just that, said to be all there is."""
        message = decode(frame)
        if not self._late or not isinstance(message, Ranges):
            return frame
        asked = [item.feed for item in message.endings if item.feed in self._late]
        if not asked:
            return frame
        endings = [Ending(feed, Head(2, bytes(32)), False, []) for feed in asked]
        return encode(Ranges(message.pull, endings, pack_ranges([self._late[feed] for feed in asked])))

    def _claims(self, entries: list[Entry]) -> bytes:
        return encode(Have(FEED_SET, b"", answer=False, entries=entries))

    def _new_feed(self) -> Feed:
        return Feed(self._identity.public, 1 + self._random.getrandbits(60))

    def _first(self, feed: Feed, stamp: int, text: str) -> bytes:
        return self._range(feed, [self._link(text, stamp)])

    def _range(self, feed: Feed, links: list[Link]) -> bytes:
        return encode_range(self._signed(feed, links))

    def _signed(self, feed: Feed, links: list[Link]) -> Range:
        return sign_range(self._world.mesh, self._identity, feed, 1, first_prev(self._world.mesh, feed), links)

    def _link(self, text: str, stamp: int) -> Link:
        body = encode_body(Add(stamp, "notes", {"text": text}), self._random.randbytes(16))
        return Link(stamp, ADD, body, digest(body))
