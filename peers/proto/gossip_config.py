"""The settings of gossip, each with its trade-off. Pure values; files and environment are read elsewhere."""

from typing import NamedTuple

FRAME_BYTES = 1_310_720  # the most one message may be: a full answer to a pull, with room for its frame
ANSWER_BYTES = 1_048_576  # of ranges, before compression, in one answer
EAGER_BYTES = 4096  # the most a push may carry
WHOLE_ENTRIES = 32  # sets up to this are compared entry by entry; above, 2 KB of digests are fewer bytes
HAVE_ENTRIES = 4096  # of one message: about 400 KB
PULL_FEEDS = 256  # of one pull
KEYS_PER_FETCH = 1024


class Config(NamedTuple):
    """Frozen for the life of an engine. The defaults are for machines on the Internet."""

    neighbours: int = 6  # more reach everyone in fewer hops and cost as many more copies of each small write
    most_neighbours: int = (
        14  # beyond this a link is refused, unless so few nodes can be dialled that they must carry more
    )
    eager_bytes: int = (
        EAGER_BYTES  # larger batches are announced in 80 bytes instead, which costs one more round trip a hop
    )
    ping_seconds: float = 5.0  # shorter finds the dead sooner; every link pays two messages of about 80 bytes
    behind_seconds: float = 1.0  # how often roots are compared with a neighbour whose root differs
    quick_seconds: float = 0.4  # how long the fast path may take before the repair path looks
    settled_seconds: float = 15.0  # how long two differing roots that neither side can mend are left alone
    phi_dead: float = 8.0  # one false alarm in 10**8 pings of a link that behaves as before
    pause_seconds: float = 3.0  # a stop of the other process that does not yet count as lateness
    hello_seconds: float = 5.0
    answer_seconds: float = 1.0  # the least time a question may take; grows with the round trip and with each miss
    renew_seconds: float = 300.0  # how often one neighbour is exchanged: often mends bad luck, seldom saves handshakes
    stray_seconds: float = 60.0  # how often a random member that is no neighbour is compared with
    redial_seconds: float = 60.0  # the longest wait before a node that did not answer is tried again
    suspect_seconds: float = 30.0  # how long the suspected has to refute
    forget_seconds: float = 3600.0  # after so long without a sign an ephemeral node counts as having left
    contact_seconds: float = 6 * 3600.0  # how often our own contact is signed again
    link_bytes: int = 2 * 1024 * 1024  # queued to one link: above it pushes are dropped and pulls answered `busy`
    merge_bytes: int = 4 * 1024 * 1024  # being merged: above it nothing more is pulled, and pushes are answered `busy`
    penalty_limit: float = 10.0  # refused ranges and other faults, one each, before a link is closed
    shun_seconds: float = 60.0  # how long a node that broke the protocol is not spoken to
