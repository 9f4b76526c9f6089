"""What the parts of the engine share: the time, the links, the notebook's summary, the effects to come. No protocol here."""

from collections.abc import Callable, Iterable, MutableSequence, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol, TypeVar

from mesh.core.limits import PROTOCOL_VERSION
from peers.proto.engine_events import Close, Effect, Observe, Send
from peers.proto.gossip_config import Config
from peers.proto.message_codec import KIND_NAMES, encode, encode_bye
from peers.proto.messages import Bye, Message
from peers.proto.neighbour import Neighbour
from peers.proto.notebook_summary import NotebookSummary

T = TypeVar("T")


class RandomSource(Protocol):
    """A generator of randomness, as `random.Random` is one: always handed in, so that a run can be repeated."""

    def uniform(self, a: float, b: float) -> float:
        """A number between the two."""
        ...

    def getrandbits(self, k: int, /) -> int:
        """A number of so many bits."""
        ...

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Any order, in place."""
        ...

    def choice(self, seq: Sequence[T]) -> T:
        """Any one."""
        ...


class Job(NamedTuple):
    """A question to the notebook, and who waits for the answer."""

    done: Callable[[Any], None]
    size: int
    source: Neighbour | None


class EngineContext:
    """Owned by one engine; the parts read and write it within one `handle`."""

    def __init__(
        self, mesh: bytes, node: bytes, summary: NotebookSummary, config: Config, random: RandomSource, now: float
    ) -> None:
        self.mesh = mesh
        self.node = node
        self.summary = summary
        self.config = config
        self.random = random
        self.now = now
        self.links: dict[int, Neighbour] = {}
        self.effects: list[Effect] = []
        self.merging_bytes = 0
        self.shunned: dict[bytes, float] = {}
        self.other_versions: dict[bytes, int] = {}  # of the protocol: nodes that spoke one when they were last met
        self.when_lost: list[Callable[[Neighbour], None]] = []  # who has to let go of a link that is gone
        self._jobs: dict[int, Job] = {}
        self._next_job = 0
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._next_timer = 0

    # Links

    def ready(self) -> list[Neighbour]:
        """Links that have been greeted."""
        return [neighbour for neighbour in self.links.values() if neighbour.greeted]

    def send(self, neighbour: Neighbour, message: Message) -> None:
        """Send one message over one link."""
        self.send_frame((neighbour,), message)

    def send_frame(self, neighbours: Iterable[Neighbour], message: Message) -> None:
        """Send one message over several links, encoded once."""
        frame, kind = encode(message), KIND_NAMES[type(message)]
        size, effects = len(frame), self.effects
        for neighbour in neighbours:
            neighbour.queued += size
            effects.append(Send(neighbour.link, frame, kind))

    def close(self, neighbour: Neighbour, reason: str, *, shun: bool = False) -> None:
        """Close a link, saying why. `shun`: they broke the protocol, and are left alone for a while."""
        if self.drop(neighbour.link) is None:
            return
        if shun:
            self.shunned[neighbour.node] = self.now + self.config.shun_seconds
            self.observe("shunned", neighbour.node, detail=reason)
        self.send(neighbour, Bye(reason[:200]))
        self.effects.append(Close(neighbour.link, reason))

    def part(self, neighbour: Neighbour, version: int, reason: str) -> None:
        """Close a link with who speaks another version: told so in the older one, and left alone for a while."""
        if self.drop(neighbour.link) is None:
            return
        self.shunned[neighbour.node] = self.now + self.config.shun_seconds
        self.observe("shunned", neighbour.node, detail=reason)
        said = f"this node speaks protocol {PROTOCOL_VERSION}, yours {version}: upgrade clan-mesh on the older side"
        frame = encode_bye(min(version, PROTOCOL_VERSION), said)
        neighbour.queued += len(frame)
        self.effects.append(Send(neighbour.link, frame, KIND_NAMES[Bye]))
        self.effects.append(Close(neighbour.link, reason))

    def drop(self, link: int) -> Neighbour | None:
        """A link is no more."""
        neighbour = self.links.pop(link, None)
        if neighbour is not None:
            for let_go in self.when_lost:
                let_go(neighbour)
        return neighbour

    def blame(self, neighbour: Neighbour, points: float, why: str) -> None:
        """Hold a fault against a link; too many end it."""
        self.observe("fault", neighbour.node, detail=why)
        if neighbour.punish(points, self.now) >= self.config.penalty_limit:
            self.close(neighbour, why, shun=True)

    def observe(self, what: str, node: bytes = b"", amount: int = 1, detail: str = "") -> None:
        """Report something that is counted."""
        self.effects.append(Observe(what, node, amount, detail))

    # Questions to the notebook

    def job(self, done: Callable[[Any], None], size: int = 0, source: Neighbour | None = None) -> int:
        """A number for a question; `done` gets the answer. `size`: bytes of `source` that are merged meanwhile."""
        self._next_job += 1
        self._jobs[self._next_job] = Job(done, size, source)
        self.merging_bytes += size
        return self._next_job

    def source_of(self, number: int) -> Neighbour | None:
        """Who sent what a job is about."""
        job = self._jobs.get(number)
        return None if job is None else job.source

    def finish(self, number: int, answer: object) -> None:
        """An answer came."""
        job = self._jobs.pop(number, None)
        if job is None:
            return  # it was excused before
        self.merging_bytes -= job.size
        job.done(answer)

    # Time

    def at(self, when: float, action: Callable[[], None]) -> None:
        """Do something later."""
        self._next_timer += 1
        heappush(self._timers, (when, self._next_timer, action))

    def run_due(self) -> None:
        """Do what is due now."""
        timers = self._timers
        while timers and timers[0][0] <= self.now:
            heappop(timers)[2]()

    @property
    def wake_at(self) -> float:
        """When something is due next."""
        return self._timers[0][0] if self._timers else self.now + 1.0

    def spread(self, seconds: float) -> float:
        """A duration with a fifth of jitter either way, so that nodes do not march in step."""
        return seconds * self.random.uniform(0.8, 1.2)
