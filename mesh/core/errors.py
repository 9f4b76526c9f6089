"""Every error clan-mesh raises on purpose. Nothing here knows how an error is shown.

MeshError                    has a `next_step`: the command or action that helps
├── UsageError               the person asked for something that cannot be
│   ├── UnknownId            no record, node or feed of that name
│   ├── AmbiguousId          several; `matches` lists them
│   ├── PageMoved            another process of ours wrote to the page meanwhile
│   └── WriteRefused         nothing that this node writes now would count, whatever it says
│       ├── MayNotWrite      for good: a reader, or revoked
│       ├── QuotaReached     this node has written as much as it may by now
│       └── TooManyFeeds     this node has opened as many feeds as it may by now
├── RemoteError              bytes from elsewhere broke a rule; state unchanged
│   ├── Malformed            not decodable, or out of the frozen limits
│   └── Forged               decodable, but a signature or hash does not hold
├── WorkerDied               the process that applies page updates ended (`mesh.pages.worker_process`)
│   └── NotOpen              it has no such text
├── WorkerSlow               it did not answer in time: nothing is decided
└── HomeError                this node's own folder is not usable as it is
    ├── NoHome               nothing there yet
    ├── NewerHome            written by a later version
    ├── HomeDamaged          the database cannot be read
    ├── HomePermissions      too open, or not ours to write
    ├── DiskFull
    ├── HomeBusy             another process holds it
    └── ClockInDoubt         the clock is behind what was written, and nobody can tell which is wrong
"""


class MeshError(Exception):
    """Something a person should read: what happened, then what to do next."""

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.next_step = next_step


class UsageError(MeshError):
    """The request cannot be carried out as asked."""


class UnknownId(UsageError):
    """Nothing here goes by that id."""


class AmbiguousId(UsageError):
    """Several things go by that id."""

    def __init__(self, message: str, matches: list[str]) -> None:
        super().__init__(message, "give more characters of the id")
        self.matches = matches


class PageMoved(UsageError):
    """A page was written to by another process of ours while an edit was built: to be built again."""


class WriteRefused(UsageError):
    """Nothing that our node writes now would count: who has more to write stops, and keeps it."""

    again_ms = 0  # from when on it may write again, if that is known

    def facts(self) -> dict[str, str | int | None]:
        """Why a harvest or an import has written no more, for its answer. What is left is still there for the next one."""
        return {"why": str(self), "next": self.next_step, "again_ms": self.again_ms or None}


class MayNotWrite(WriteRefused):
    """Waiting does not help: our node was invited as a reader, or revoked."""


class QuotaReached(WriteRefused):
    """Our node has written as many bytes as it may by now. Others would let more wait, so it is not written."""

    def __init__(self, message: str, next_step: str = "", *, again_ms: int = 0) -> None:
        super().__init__(message, next_step)
        self.again_ms = again_ms


class TooManyFeeds(WriteRefused):
    """Our node would need one feed more than may count: its home was copied or put back too often."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"this node has opened the {most} feeds that may count of it by now: its home is copied, or put back from a"
            " backup, again and again, and what it wrote in one more would count nowhere",
            "join anew, with a home of its own for each copy; on an admin's node: mesh invite --ephemeral;"
            " then here: mesh join TOKEN --home DIR",
        )


class RemoteError(MeshError):
    """Bytes from elsewhere broke a rule. The state is as it was."""


class Malformed(RemoteError):
    """The bytes do not decode, or are outside the protocol's limits."""


class Forged(RemoteError):
    """The bytes decode, but a hash or signature does not hold."""


class HomeError(MeshError):
    """The home of this node cannot be used as it is."""


class NoHome(HomeError):
    """There is no node in that folder."""


class NewerHome(HomeError):
    """The home was written by a later version of clan-mesh."""


class HomeDamaged(HomeError):
    """The database cannot be read."""


class HomePermissions(HomeError):
    """The home is open to others, or closed to us."""


class DiskFull(HomeError):
    """No room left on the disk."""


class HomeBusy(HomeError):
    """Another process holds the home."""


class ClockInDoubt(HomeError):
    """The clock is more than five minutes behind the last stamp: one of the two is wrong, so nothing is written."""
