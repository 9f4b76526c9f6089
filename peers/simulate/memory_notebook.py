"""A notebook in memory, as gossip sees one: the simulator's side of `replica`. No disk, no views, no thread.

Equal roots mean equal state: the same accepted chains and the same statements.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from mesh.core.identity import Identity
from mesh.core.ids import Feed, first_prev, tag_of
from mesh.core.moderation import SETTINGS
from mesh.core.operation import ADD, SET, Set, parse
from mesh.core.statement import Erase
from mesh.core.version_vector import Head
from peers.proto.messages import peek
from peers.proto.replica import Changes, Chunk, Merge, MergeVerdict
from peers.simulate.memory_author import MemoryAuthor, MemoryProgress
from peers.simulate.memory_feed import MemoryFeed
from peers.simulate.memory_placement import MemoryPlacement
from peers.simulate.notebook_state import KEEPING_BYTES, NotebookSpace, SpaceLimits, speaker
from peers.simulate.verification_cache import KnownStatement, StatementSet, VerificationCache


class SettingWord(NamedTuple):
    """When it was said what a setting is, and the tag of having said it: the later word is the greater one."""

    at: int
    tag: bytes


class Snapshot(NamedTuple):
    """A backup of a notebook. The progress is not part of it: it lies outside the home."""

    chains: tuple[MemoryFeed, ...]
    statements: StatementSet
    held_statements: dict[bytes, KnownStatement]
    epoch: int | None
    own_seq: int
    owes_republication: bool


class MemoryNotebook:
    """What one node knows, and what it writes."""

    def __init__(
        self,
        verified: VerificationCache,
        identity: Identity,
        random: Random,
        clock: Callable[[], int],
        room: SpaceLimits | None = None,
    ) -> None:
        """`clock`: milliseconds, corrected as far as someone knows better."""
        self._verified = verified
        self._identity = identity
        self._random = random
        self._clock = clock
        self._room_bytes = room or SpaceLimits()
        self._state = MemoryPlacement(verified, identity.public, clock, self._room_bytes)
        self._author = MemoryAuthor(self._state, identity, random)

    # As gossip uses it

    def everything(self) -> Changes:
        """See Replica."""
        self._state.drain()
        state = self._state
        return Changes(
            [state.feed_state(chain) for chain in state.chains.values()],
            [(item.id, item.data) for item in state.statements.known.values()],
            (),
            state.statements.roster,
        )

    def refresh(self) -> Changes:
        """See Replica."""
        return self._state.drain()

    def merge(self, statements: Sequence[bytes], ranges: Sequence[bytes]) -> Merge:
        """See Replica."""
        reasons: list[str] = []
        said = self._merge_statements(statements, reasons) if statements else []
        room = self._room()
        placed = []
        for data in ranges:
            verdict, why = self._state.place(data, room)
            placed.append(verdict)
            if verdict is MergeVerdict.REFUSED:
                reasons.append(why)
        self._state.weigh_erases()
        self._author.pay_republication()
        came = {
            peek(data).feed: verdict
            for data, verdict in zip(ranges, placed, strict=True)
            if verdict is not MergeVerdict.REFUSED
        }
        full = {
            feed
            for feed, verdict in came.items()
            if verdict is MergeVerdict.FULL or self._state.chains.get(feed) is None
        }
        return Merge(said, placed, self._state.drain(), reasons, full)

    def read(self, wants: Sequence[tuple[Feed, Head]], room: int) -> list[Chunk]:
        """See Replica."""
        chunks = []
        sent = 0
        for feed, head in wants:
            chain = self._state.chains.get(feed)
            if chain is None:
                start = Head(0, first_prev(self._verified.mesh, feed))
                chunks.append(Chunk(feed, start, False, (), () if head.seq == 0 else (start,)))
                continue
            if not chain.is_on(head):
                chunks.append(Chunk(feed, chain.head(chain.held), False, (), chain.steps()))
                continue
            ranges: list[bytes] = []
            end = head.seq
            while end < chain.held:
                item = chain.next_range(end)
                data = self._verified.encoded(item)
                if sent and sent + len(data) > room:
                    break
                ranges.append(data)
                sent += len(data)
                end = item.last
            erases = self._state.aside_erases(chain, head.seq, end)
            chunks.append(Chunk(feed, chain.head(end), end < chain.held, ranges, erases=erases))
        return chunks

    def read_statements(self, ids: Sequence[bytes], room: int) -> list[bytes]:
        """See Replica."""
        found: list[bytes] = []
        size = 0
        for identity in ids:
            item = self._state.statements.known.get(identity)
            if item is None:
                continue
            if found and size + len(item.data) > room:
                break
            found.append(item.data)
            size += len(item.data)
        return found

    def common(self, feed: Feed, points: Sequence[Head]) -> Head:
        """See Replica."""
        chain = self._state.chains.get(feed)
        return Head(0, first_prev(self._verified.mesh, feed)) if chain is None else chain.common(points)

    # As its owner uses it; what changes is told by the next `refresh`

    def write(self, records: Sequence[dict[str, Any]]) -> list[bytes]:
        """Write records to our own feed; their tags acknowledge that they are kept."""
        self._author.pay_republication()
        return self._author.write(records)

    def change_setting(self, field: str, value: Any) -> bytes:
        """Say what a setting of the whole mesh is to be; the tag of having said it."""
        self._author.pay_republication()
        return self._author.change_setting(field, value)

    def settle(self) -> None:
        """Let in what has been waiting for the clock, and write again what waited for it."""
        self._state.settle_all()
        self._state.weigh_erases()
        self._author.pay_republication()

    def snapshot(self) -> Snapshot:
        """A backup."""
        state = self._state
        return Snapshot(
            tuple(chain.copy() for chain in state.chains.values()),
            state.statements,
            dict(state.held_statements),
            self._author.epoch,
            self._author.own_seq,
            state.owes_republication,
        )

    def restore(self, backup: Snapshot, *, noticed: bool) -> None:
        """Put a backup in the place of what is here. Unnoticed: the progress was in the backup too, which it never should."""
        progress = self._author.progress
        state = self._state = MemoryPlacement(self._verified, self._identity.public, self._clock, self._room_bytes)
        state.statements = backup.statements
        state.hold(backup.held_statements.values())
        state.owes_republication = backup.owes_republication
        for chain in backup.chains:
            state.put(chain.copy())
            state.vector.put(chain.feed, chain.head(chain.accepted))
        self._author = MemoryAuthor(state, self._identity, self._random)
        self._author.epoch, self._author.own_seq = backup.epoch, backup.own_seq
        if noticed or backup.epoch is None:
            self._author.progress = progress
        else:
            self._author.progress = MemoryProgress(backup.epoch, backup.own_seq)

    # As checks use it

    def root(self) -> bytes:
        """The name of the whole state."""
        return self._state.root()

    @property
    def statements(self) -> StatementSet:
        """Those that joined the set."""
        return self._state.statements

    def chain(self, feed: Feed) -> MemoryFeed | None:
        """A feed as it is held. Not to be changed."""
        return self._state.chains.get(feed)

    def chains(self) -> Iterator[MemoryFeed]:
        """All of them. Not to be changed."""
        return iter(self._state.chains.values())

    def waiting_bytes(self, node: bytes) -> tuple[int, int]:
        """What the erases of a node take up that name nothing here, and all that waits of it."""
        named = [item for item in self._state.held_statements.values() if speaker(item.statement) == node]
        idle = sum(
            len(item.data) + KEEPING_BYTES
            for item in named
            if isinstance(item.statement.fact, Erase) and not self._state.names_something(item.statement.fact)
        )
        return idle, self._room().waiting(node)

    def waits(self) -> bool:
        """Whether anything may come to count by the clock alone."""
        return self._state.owes_republication or any(
            chain.accepted < chain.held and not self._state.trust.cut(chain.feed)
            for chain in self._state.chains.values()
        )

    def live_tags(self) -> set[bytes]:
        """The tags of all records that count and are whole, read from the operations themselves."""
        return {
            tag_of(chain.feed.node, link.body_hash)
            for chain in self._state.chains.values()
            for link in chain.links[: chain.accepted]
            if link.kind == ADD and link.body is not None
        }

    def settings(self) -> dict[str, SettingWord]:
        """Of each setting of the mesh the word that counts, by name: an admin's latest, as the store's fold finds it."""
        found: dict[str, SettingWord] = {}
        for chain in self._state.chains.values():
            if not self._state.trust.may_certify(chain.feed.node):
                continue  # no admin, or revoked
            for link in chain.links[: chain.accepted]:
                said = parse(SET, link.hlc, link.body) if link.kind == SET and link.body is not None else None
                if isinstance(said, Set) and said.target == SETTINGS:
                    word = SettingWord(said.at, tag_of(chain.feed.node, link.body_hash))
                    found[said.field] = max(word, found.get(said.field, word))
        return found

    def holds(self, tag: bytes) -> bool:
        """Whether a record is here at all, counting or not."""
        return any(
            tag_of(chain.feed.node, link.body_hash) == tag
            for chain in self._state.chains.values()
            for links in (chain.links, *(stray.item.links for stray in chain.strays))
            for link in links
        )

    def _merge_statements(self, encoded: Sequence[bytes], reasons: list[str]) -> list[MergeVerdict]:
        state = self._state
        verdicts: list[MergeVerdict | None] = [None] * len(encoded)
        arrived: dict[int, KnownStatement] = {}
        room = self._room()
        for index, data in enumerate(encoded):
            item = self._verified.statement(data)
            if isinstance(item, str):
                verdicts[index] = MergeVerdict.REFUSED
                reasons.append(item)
            elif item.id in state.statements.known or item.id in state.held_statements or not self._full(item, room):
                arrived[index] = item
            else:
                verdicts[index] = MergeVerdict.FULL
        was_in = set(state.statements.known)
        state.take(arrived.values())
        for index, item in arrived.items():
            if item.id in was_in:
                verdicts[index] = MergeVerdict.KNOWN
            elif item.id in state.statements.known:
                verdicts[index] = MergeVerdict.NEW
            else:
                verdicts[index] = MergeVerdict.WAITS if item.id in state.held_statements else MergeVerdict.KNOWN
        return [verdict or MergeVerdict.KNOWN for verdict in verdicts]

    def _full(self, item: KnownStatement, room: NotebookSpace) -> str:
        """Why there is no room for a statement, if it does not simply join the set."""
        trust, who, fact = self._state.trust, speaker(item.statement), item.statement.fact
        if not trust.entitled(item.statement):
            stranger = not trust.certified(who) or who in trust.revoked
            return room.refusal(who, len(item.data), certified=not stranger)
        if not isinstance(fact, Erase) or trust.needs_no_operation(fact) or who == self._identity.public:
            return ""
        if self._state.names_something(fact):
            return room.refusal(who, len(item.data), certified=True)
        aside = self._state.aside_bytes(who) + len(item.data) + KEEPING_BYTES
        return "" if aside <= self._room_bytes.aside else "quarantine is full of erasures that name nothing"

    def _room(self) -> NotebookSpace:
        return NotebookSpace(self._room_bytes, self._state.chains.values(), self._state.held_statements.values())
