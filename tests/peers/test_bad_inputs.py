"""What each bad input gets. The tables are what is tested: one row, one test. None ends the process, honest peers notice nothing."""

from collections.abc import Callable

import pytest

from mesh.core.operation import Add
from mesh.core.strict_msgpack import pack
from mesh.core.version_vector import Head
from peers.proto.engine_events import LinkUp, MergeThis, Received
from peers.proto.gossip_config import FRAME_BYTES, Config
from peers.proto.message_codec import encode
from peers.proto.messages import (
    CARDS,
    FEEDS,
    STATEMENTS,
    Busy,
    Compare,
    FeedEntry,
    Give,
    Have,
    Hello,
    Ping,
    Pong,
    Pull,
    Push,
    Ranges,
    Rumour,
)
from peers.proto.replica import MergeVerdict
from tests.peers.engines import CLAN, MEMBERS, Desk, chain_of, contact_of, node

# What a member, or who is none any more, can do over a link. Transport and TLS have their own table in
# tests/end_to_end/test_bad_connections.py.
TABLE = """
input                                    | its link         | what came         | our state
---------------------------------------- | ---------------- | ----------------- | ----------
a malformed frame                        | closed, shunned  | dropped           | unchanged
an empty frame                           | closed, shunned  | dropped           | unchanged
a frame that is too large                | closed, shunned  | dropped           | unchanged
an unknown version                       | closed, shunned  | dropped           | unchanged
an unknown kind                          | stays, one fault | dropped           | unchanged
an unknown kind, a hundred times         | closed, shunned  | dropped           | unchanged
a greeting from another mesh             | closed, shunned  | dropped           | unchanged
a greeting in someone else's name        | closed, shunned  | dropped           | unchanged
a second greeting                        | closed, shunned  | dropped           | unchanged
a push before the greeting               | closed, shunned  | dropped           | unchanged
a link without a certificate             | closed           | dropped           | unchanged
a link of a revoked node                 | closed           | dropped           | unchanged
operations of one without a certificate  | stays            | dropped           | unchanged
operations after a revocation            | stays            | clipped           | unchanged
a replay                                 | stays            | redundant         | unchanged
a replayed statement                     | stays            | known             | unchanged
a gap                                    | stays            | asked for         | unchanged
a fork                                   | stays            | forked            | ends there
a clock that is ahead                    | stays            | waits             | unchanged
a forged operation                       | stays, one fault | refused           | unchanged
forged operations, ten times             | closed, shunned  | refused           | unchanged
a forged statement                       | stays, one fault | refused           | unchanged
a forged contact                         | stays, one fault | dropped           | unchanged
ranges that nobody asked for             | stays, one fault | dropped           | unchanged
a flood of questions                     | stays            | busy              | unchanged
a flood of pulls                         | stays            | busy              | unchanged
a flood of writes                        | stays            | busy              | unchanged
heads that nobody has                    | stays            | asked for         | unchanged
a rumour about us of a time to come      | stays            | dropped           | unchanged
"""

EVIL, HONEST, AGAIN = 1, 2, 9
ROWS = {
    cells[0]: cells[1:]
    for cells in ([cell.strip() for cell in line.split("|")] for line in TABLE.strip().splitlines()[2:])
}
Deed = Callable[["Scene"], None]


# The deeds


def malformed(desk: "Scene") -> None:
    desk.handle(Received(EVIL, b"\x93\x01\x02"))


def nothing_at_all(desk: "Scene") -> None:
    desk.handle(Received(EVIL, b""))


def too_large(desk: "Scene") -> None:
    desk.handle(Received(EVIL, encode(Ranges(1, [], bytes(FRAME_BYTES)))))


def unknown_version(desk: "Scene") -> None:
    desk.handle(Received(EVIL, pack([3, 2, 0])))


def unknown_kind(desk: "Scene") -> None:
    desk.handle(Received(EVIL, pack([2, 99, b"of a later version"])))


def unknown_kinds(desk: "Scene") -> None:
    for _ in range(100):
        unknown_kind(desk)


def other_mesh(desk: "Scene") -> None:
    desk.handle(LinkUp(EVIL, node(1), False, ""))
    desk.receive(EVIL, Hello(bytes(32), node(1), contact_of(1).data, False))


def other_name(desk: "Scene") -> None:
    desk.handle(LinkUp(EVIL, node(1), False, ""))
    desk.receive(EVIL, Hello(CLAN.mesh, node(4), contact_of(4).data, False))


def second_greeting(desk: "Scene") -> None:
    desk.receive(EVIL, Hello(CLAN.mesh, node(1), contact_of(1).data, False))


def no_greeting(desk: "Scene") -> None:
    desk.handle(LinkUp(EVIL, node(1), False, ""))
    desk.receive(EVIL, Push([chain_of(1, 1).encoded()]))


def no_certificate(desk: "Scene") -> None:
    desk.handle(LinkUp(EVIL, node(MEMBERS + 1), False, ""))
    desk.receive(EVIL, Push([chain_of(1, 1).encoded()]))


def revoked(desk: "Scene") -> None:
    """Also what it had sent before it knew."""
    desk.learn(CLAN.revoke(CLAN.node(1)).encode())
    desk.forget_root()
    desk.receive(EVIL, Push([chain_of(1, 1).encoded()]))


def uncertified_operations(desk: "Scene") -> None:
    desk.receive(EVIL, Push([chain_of(MEMBERS + 1, 2).encoded()]))


def operations_after_revocation(desk: "Scene") -> None:
    desk.learn(CLAN.revoke(CLAN.node(5)).encode())
    desk.forget_root()
    desk.receive(EVIL, Push([chain_of(5, 2).encoded()]))
    assert not desk.sent(HONEST, Push), "what counts nowhere is not passed on"


def replay(desk: "Scene") -> None:
    for _ in range(5):
        desk.receive(EVIL, Push([chain_of(3, 3).encoded()]))


def replayed_statement(desk: "Scene") -> None:
    desk.receive(EVIL, Give(STATEMENTS, [CLAN.member(CLAN.node(6), "node6").encode()]))


def gap(desk: "Scene") -> None:
    desk.receive(EVIL, Push([chain_of(3, 9).encoded(7, 9)]))


def fork(desk: "Scene") -> None:
    other = chain_of(3, 3).fork(1)
    for number in range(3):
        other.add(Add(other.next_hlc(), "facts", {"text": f"another story {number}"}))
    desk.receive(EVIL, Push([other.encoded(2)]))
    (given,) = desk.sent(HONEST, Give)
    assert given.kind == STATEMENTS, "the proof goes to everyone"


def clock_ahead(desk: "Scene") -> None:
    desk.receive(EVIL, Push([chain_of(1, 2, ahead_ms=3_600_000).encoded()]))


def forged(desk: "Scene", epoch: int = 7) -> None:
    data = bytearray(chain_of(4, 1, epoch).encoded())
    data[-1] ^= 1
    desk.receive(EVIL, Push([bytes(data)]))


def forged_often(desk: "Scene") -> None:
    for epoch in range(1, 11):
        forged(desk, epoch)


def forged_statement(desk: "Scene") -> None:
    data = bytearray(CLAN.revoke(CLAN.node(2)).encode())
    data[-1] ^= 1
    desk.receive(EVIL, Give(STATEMENTS, [bytes(data)]))


def forged_contact(desk: "Scene") -> None:
    data = bytearray(contact_of(2, 99).data)
    data[-1] ^= 1
    desk.receive(EVIL, Give(CARDS, [bytes(data)]))


def uncalled_for(desk: "Scene") -> None:
    desk.receive(EVIL, Ranges(77, [], b"whatever"))


def questions(desk: "Scene") -> None:
    """Two hundred are answered at once, then fifty a second."""
    for _ in range(300):
        desk.receive(EVIL, Compare(FEEDS, bytes(2048)))
    assert len(desk.sent(EVIL, Have)) == 200
    desk.receive(EVIL, Pull(5, 1000, [(chain_of(3, 1).feed, Head(0, bytes(32)))]))


def pulls(desk: "Scene") -> None:
    chain = chain_of(3, 3)
    for number in range(300):
        desk.receive(EVIL, Pull(number, 1000, [(chain.feed, Head(0, chain.hash_at(0)))]))
    assert len(desk.sent(EVIL, Ranges)) == 200


def writes(desk: "Scene") -> None:
    """More than can be merged: the rest is left to repair, and said once."""
    desk.answers = False
    before = desk.engine.root
    for epoch in range(1, 100):
        desk.receive(EVIL, Push([chain_of(1, 5, epoch).encoded()]))
    assert desk.engine.merging_bytes <= CONFIG.merge_bytes
    assert len(desk.sent(EVIL, Busy)) == 1
    assert desk.engine.root == before
    desk.answers = True
    desk.answer()
    desk.forget_root()


def made_up_heads(desk: "Scene") -> None:
    feed = chain_of(4, 1, 1234).feed
    far = Head(2**39, bytes(32))
    desk.receive(EVIL, Have(FEEDS, b"", answer=False, entries=[FeedEntry(feed, far, far)]))


def rumour_of_the_future(desk: "Scene") -> None:
    """Answering it with a still later contact would make one that nobody can read."""
    desk.receive(EVIL, Rumour(node(0), 2**47 - 1))
    for given in desk.sent(HONEST, Give):
        assert not given.items


DEEDS: dict[str, Deed] = {
    "a malformed frame": malformed,
    "an empty frame": nothing_at_all,
    "a frame that is too large": too_large,
    "an unknown version": unknown_version,
    "an unknown kind": unknown_kind,
    "an unknown kind, a hundred times": unknown_kinds,
    "a greeting from another mesh": other_mesh,
    "a greeting in someone else's name": other_name,
    "a second greeting": second_greeting,
    "a push before the greeting": no_greeting,
    "a link without a certificate": no_certificate,
    "a link of a revoked node": revoked,
    "operations of one without a certificate": uncertified_operations,
    "operations after a revocation": operations_after_revocation,
    "a replay": replay,
    "a replayed statement": replayed_statement,
    "a gap": gap,
    "a fork": fork,
    "a clock that is ahead": clock_ahead,
    "a forged operation": forged,
    "forged operations, ten times": forged_often,
    "a forged statement": forged_statement,
    "a forged contact": forged_contact,
    "ranges that nobody asked for": uncalled_for,
    "a flood of questions": questions,
    "a flood of pulls": pulls,
    "a flood of writes": writes,
    "heads that nobody has": made_up_heads,
    "a rumour about us of a time to come": rumour_of_the_future,
}
UNGREETED = {other_mesh, other_name, no_greeting, no_certificate}
CONFIG = Config(merge_bytes=20_000)


class Scene(Desk):
    """A node with two neighbours, one of them hostile, and a feed of a third."""

    def __init__(self, *, greeted: bool) -> None:
        super().__init__(config=CONFIG)
        self.hold(chain_of(3, 3))
        self.link(HONEST, 2)
        if greeted:
            self.link(EVIL, 1)
        self.forget()
        self.forget_root()

    def forget_root(self) -> None:
        """What the state is before the bad input."""
        self.root = self.engine.root


@pytest.mark.parametrize("name", ROWS)
def test_a_bad_input_gets_what_the_table_says(name: str) -> None:
    """The link, the fate of what came, the state; and the honest link goes on as if nothing had happened."""
    link, fate, state = ROWS[name]
    deed = DEEDS[name]
    desk = Scene(greeted=deed not in UNGREETED)
    deed(desk)

    assert (desk.closed(EVIL) is not None) == link.startswith("closed"), desk.closed(EVIL)
    assert desk.noticed("shunned") == ("shunned" in link)
    if link == "stays, one fault":
        assert desk.noticed("fault") == 1
    elif link == "stays":
        assert desk.noticed("fault") == 0
    assert_fate(desk, fate)
    if state == "unchanged":
        assert desk.engine.root == desk.root
    else:
        assert desk.notebook.chain(chain_of(3, 1).feed).accepted == 1  # type: ignore[union-attr]
    assert desk.engine.root == desk.notebook.root(), "gossip says what the notebook has"
    assert_honest_peer_notices_nothing(desk)


def assert_fate(desk: Desk, fate: str) -> None:
    if fate == "dropped":
        assert not desk.all_of(MergeThis)
        assert not desk.sent(EVIL, Pull)
    elif fate == "redundant":
        assert desk.noticed("redundant") == 5
        assert not desk.verdicts
    elif fate == "asked for":
        assert desk.sent(EVIL, Pull)
        assert not desk.verdicts
    elif fate == "busy":
        assert desk.sent(EVIL, Busy)
        assert desk.noticed("busy")
    else:
        assert set(desk.verdicts) == {MergeVerdict(fate)}


def assert_honest_peer_notices_nothing(desk: "Scene") -> None:
    """Its link is open, its ping is answered, what it writes is merged."""
    assert desk.closed(HONEST) is None
    desk.receive(HONEST, Ping(1, desk.engine.root, bytes(8), bytes(8), 0))
    assert [pong.nonce for pong in desk.sent(HONEST, Pong)] == [1]
    before = desk.engine.root
    desk.forget()
    desk.receive(HONEST, Push([chain_of(2, 1).encoded()]))
    assert desk.verdicts == [MergeVerdict.NEW]
    assert desk.engine.root != before


def test_every_row_of_the_table_has_a_deed() -> None:
    """And every deed a row."""
    assert list(ROWS) == list(DEEDS)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if "shunned" in row[0]])
def test_who_is_shunned_may_come_again_after_a_minute(name: str) -> None:
    """Until then its links are closed before they begin."""
    desk = Scene(greeted=DEEDS[name] not in UNGREETED)
    DEEDS[name](desk)
    desk.link(AGAIN, 1)
    deed = "spoke another" if name == "an unknown version" else "broke the"
    assert desk.closed(AGAIN) == f"{deed} protocol lately"
    desk.receive(HONEST, Ping(1, desk.engine.root, bytes(8), bytes(8), 0))
    desk.wait(CONFIG.shun_seconds + 1)
    desk.link(AGAIN + 1, 1)
    assert desk.closed(AGAIN + 1) is None
