"""Whom a node has links with, and whom it takes for dead: by its own failures, by rumours, until the subject speaks up."""

from itertools import pairwise

import pytest

from peers.proto.cards import read_contact
from peers.proto.engine_events import AddressesChanged, Dial, DialFailure, Leaving, LinkDown, LinkUp
from peers.proto.gossip_config import Config
from peers.proto.messages import CARDS, Bye, Give, Hello, Ping, Pong, Rumour
from tests.peers.engines import CLAN, MEMBERS, Desk, Wires, contact_of, node
from tests.worlds import NOW_MS

CONFIG = Config()


def state(desk: Desk, index: int) -> str:
    return next(peer.state for peer in desk.engine.peers() if peer.node == node(index))


def acquainted(*indices: int, config: Config | None = None) -> Desk:
    """A node that knows how to reach these."""
    return Desk(cards=[contact_of(index) for index in indices], config=config)


def greet(desk: Desk, link: int) -> None:
    """Ping over a link, so that it is not silent."""
    desk.receive(link, Ping(1, desk.engine.root, bytes(8), bytes(8), NOW_MS))


# Neighbours


def test_a_node_dials_until_it_has_enough_neighbours() -> None:
    """Six, each once, and none that it has a link with."""
    desk = acquainted(*range(1, 20))
    desk.link(1, 1)
    desk.wait(5)
    assert len(desk.dialed()) == len(set(desk.dialed())) == CONFIG.neighbours - 1
    assert node(1) not in desk.dialed()
    assert {effect.addresses for effect in desk.all_of(Dial)} <= {(f"host{index}:1",) for index in range(2, 20)}


@pytest.mark.parametrize(
    ("why", "desk"),
    [
        ("it has no address", Desk(cards=[contact_of(1, addresses=[])])),
        ("it has left", Desk(cards=[contact_of(1, left=True)])),
        ("it is no member", Desk(cards=[contact_of(MEMBERS + 1)])),
        ("it is ourselves", Desk(cards=[contact_of(0, NOW_MS + 10)])),
    ],
)
def test_some_are_never_dialled(why: str, desk: Desk) -> None:
    """However long nobody else is there."""
    desk.wait(300)
    assert not desk.all_of(Dial), why


def test_a_revoked_node_is_not_dialled_any_more() -> None:
    """From the moment the statement is here."""
    desk = acquainted(1)
    desk.learn(CLAN.revoke(CLAN.node(1)).encode())
    desk.wait(300)
    assert not desk.all_of(Dial)
    assert state(desk, 1) == "revoked"


def test_a_node_behind_nat_is_a_neighbour_once_it_has_dialled() -> None:
    """It cannot be dialled, but its link carries both ways; when that is lost, the others are asked at once."""
    desk = Desk(cards=[contact_of(1, addresses=[])])
    desk.handle(LinkUp(1, node(1), False, "nat:1"))
    desk.receive(1, Hello(CLAN.mesh, node(1), contact_of(1, addresses=[]).data, False))
    desk.link(2, 2)
    assert state(desk, 1) == "alive"
    desk.handle(LinkDown(1, "reset"))
    assert [rumour.node for rumour in desk.sent(2, Rumour)] == [node(1)]
    assert state(desk, 1) == "suspect"


def test_dials_that_fail_are_repeated_ever_more_seldom() -> None:
    """Twice as long each time, up to a minute."""
    desk = acquainted(1)
    times = []
    for _ in range(3000):
        before = len(desk.all_of(Dial))
        desk.wait(0.2)
        if len(desk.all_of(Dial)) > before:
            times.append(desk.now)
            desk.handle(DialFailure(node(1), "no answer"))
        if desk.now > 500:
            break
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps[0] < 5
    assert all(later > 1.2 * earlier for earlier, later in pairwise(gaps[:4]))
    assert all(0.8 * CONFIG.redial_seconds <= gap <= 1.2 * CONFIG.redial_seconds + 2 for gap in gaps[6:])


def test_a_node_that_moved_is_dialled_soon() -> None:
    """Its new contact ends the waiting."""
    desk = acquainted(1)
    desk.wait(3)
    for _ in range(8):
        desk.handle(DialFailure(node(1), "no answer"))
    desk.link(2, 2)
    desk.forget()
    desk.receive(2, Give(CARDS, [contact_of(1, 99, ["moved:1"]).data]))
    desk.wait(3)
    assert desk.all_of(Dial) == [Dial(node(1), ("moved:1",))]


@pytest.mark.parametrize(("reason", "then"), [("exchanging neighbours", "alive"), ("stopping", "suspect")])
def test_a_node_that_says_goodbye_is_tried_again_after_a_while(reason: str, then: str) -> None:
    """Not at once: it may be restarting. Who stops is away until it says otherwise; who changes neighbours is not."""
    desk = acquainted(1)
    desk.link(1, 1, dialed=True)
    desk.forget()
    desk.receive(1, Bye(reason))
    desk.handle(LinkDown(1, reason))
    assert state(desk, 1) == then
    desk.wait(7)
    assert not desk.all_of(Dial)
    desk.wait(8)
    assert desk.dialed() == [node(1)]


def test_a_lost_link_is_made_anew_by_the_side_that_had_dialled() -> None:
    """At once: one side is enough."""
    desk = acquainted(1, 2)
    desk.link(1, 1, dialed=True)
    desk.link(2, 2)
    desk.forget()
    desk.handle(LinkDown(1, "reset"))
    desk.wait(1.5)
    assert desk.dialed() == [node(1)]


def test_one_neighbour_too_many_is_refused() -> None:
    """Whoever asked finds a less loaded node; a link for one comparison is always let in."""
    desk = acquainted(*range(1, MEMBERS))
    for link in range(1, CONFIG.most_neighbours + 1):
        desk.link(link, link)
    desk.link(50, 30)
    assert desk.closed(50) == "enough neighbours"
    desk.link(51, 31, passing=True)
    assert desk.closed(51) is None
    assert all(desk.closed(link) is None for link in range(1, CONFIG.most_neighbours + 1))


def test_the_only_node_that_can_be_dialled_serves_everyone() -> None:
    """All others are behind NAT: nobody else could take them."""
    desk = Desk(cards=[contact_of(index, addresses=[]) for index in range(1, MEMBERS)])
    for link in range(1, MEMBERS):
        desk.handle(LinkUp(link, node(link), False, "nat:1"))
        desk.receive(link, Hello(CLAN.mesh, node(link), contact_of(link, addresses=[]).data, False))
    assert not [link for link in range(1, MEMBERS) if desk.closed(link)]


def test_neighbours_are_renewed_one_at_a_time() -> None:
    """First a new link, then an old one goes; who dialled us is left alone."""
    config = Config(neighbours=2, renew_seconds=30, stray_seconds=10_000)
    desk = acquainted(*range(1, 10), config=config)
    desk.link(1, 1, dialed=True)
    desk.link(2, 2, dialed=True)
    desk.link(3, 3)
    desk.forget()
    for _ in range(10):
        desk.wait(4)
        for link in (1, 2, 3):
            greet(desk, link)
        if desk.all_of(Dial):
            break
    (dial,) = desk.all_of(Dial)
    assert all(desk.closed(link) is None for link in (1, 2, 3)), "not before the new link is there"
    index = next(number for number in range(4, 10) if node(number) == dial.node)
    desk.link(4, index, dialed=True)
    closed = [link for link in (1, 2, 3, 4) if desk.closed(link)]
    assert len(closed) == 1
    assert closed[0] in (1, 2)
    assert desk.closed(closed[0]) == "exchanging neighbours"


def test_strangers_are_compared_with_and_let_go() -> None:
    """A short link now and then with one that is no neighbour; it ends when both have the same."""
    config = Config(neighbours=2, stray_seconds=10, renew_seconds=10_000)
    desk = acquainted(*range(1, 10), config=config)
    desk.link(1, 1, dialed=True)
    desk.link(2, 2)
    desk.forget()
    desk.wait(12.5)
    (dial,) = desk.all_of(Dial)
    index = next(number for number in range(3, 10) if node(number) == dial.node)
    desk.link(3, index, dialed=True)
    (hello,) = desk.sent(3, Hello)
    assert hello.passing
    ping = desk.sent(3, Ping)[-1]
    desk.receive(3, Pong(ping.nonce, desk.engine.root, ping.statements, ping.cards, NOW_MS))
    assert desk.closed(3) == "compared"


# Two links with one node


@pytest.mark.parametrize("ours_first", [True, False])
@pytest.mark.parametrize("theirs_first", [True, False])
def test_of_two_links_both_sides_keep_the_same_one(ours_first: bool, theirs_first: bool) -> None:  # noqa: FBT001
    """Both have dialled at once: whatever arrives first where, one link is left, and it is one link."""
    one, other = Desk(), Desk(identity=CLAN.node(1))
    ours = [(one, LinkUp(1, node(1), True, "host1:1")), (one, LinkUp(2, node(1), False, ""))]
    theirs = [(other, LinkUp(1, node(0), False, "")), (other, LinkUp(2, node(0), True, "host0:1"))]
    for desk, event in (ours if ours_first else ours[::-1]) + (theirs if theirs_first else theirs[::-1]):
        desk.handle(event)
    Wires(one, other, [(1, 1), (2, 2)]).carry()
    left = [{link for link in (1, 2) if desk.closed(link) is None} for desk in (one, other)]
    closed = {link for desk in (one, other) for link in (1, 2) if desk.closed(link)}
    assert len(closed) == 1, "one link is closed, by one side or both"
    assert [links - closed for links in left] == [{1, 2} - closed] * 2
    assert [sum(peer.linked for peer in desk.engine.peers()) for desk in (one, other)] == [1, 1]
    assert one.noticed("shunned") == other.noticed("shunned") == 0


def test_a_second_link_after_a_while_takes_the_place_of_a_stale_one() -> None:
    """The other side has lost the first without our noticing."""
    desk = Desk()
    desk.link(1, 1)
    desk.wait(11)
    desk.link(2, 1)
    assert desk.closed(1) == "one link is enough"
    assert desk.closed(2) is None


# Suspicion


def test_two_failures_in_a_row_make_a_suspect_and_time_makes_it_dead() -> None:
    """The others are told once."""
    desk = acquainted(1)
    desk.link(2, 2)
    for expected in ("alive", "suspect", "suspect"):
        desk.handle(DialFailure(node(1), "no answer"))
        assert state(desk, 1) == expected
    assert desk.sent(2, Rumour) == [Rumour(node(1), contact_of(1).at)]
    for _ in range(8):
        desk.wait(4)
        greet(desk, 2)
    assert state(desk, 1) == "dead"


def test_a_rumour_is_passed_on_once_and_refuted_by_a_newer_contact() -> None:
    """Not back to who told it; an older contact refutes nothing."""
    desk = acquainted(5)
    for link in (1, 2):
        desk.link(link, link)
    for _ in range(3):
        desk.receive(1, Rumour(node(5), 1))
    assert state(desk, 5) == "suspect"
    assert [len(desk.sent(link, Rumour)) for link in (1, 2)] == [0, 1]
    desk.receive(2, Give(CARDS, [contact_of(5, 1, ["other:1"]).data]))
    assert state(desk, 5) == "suspect"
    desk.receive(2, Give(CARDS, [contact_of(5, 2).data]))
    assert state(desk, 5) == "alive"
    assert desk.noticed("refuted") == 1
    desk.receive(1, Rumour(node(5), 1))
    assert state(desk, 5) == "alive", "the old rumour is about the old contact"


def test_a_rumour_about_ourselves_is_refuted_with_a_later_contact() -> None:
    """One about an older contact needs no answer, nor does one about a contact we never signed."""
    desk = Desk()
    desk.link(1, 1)
    own = read_contact(CLAN.mesh, desk.sent(1, Hello)[0].contact)[1]
    desk.forget()
    desk.receive(1, Rumour(node(0), own.at - 1), Rumour(node(0), own.at + 1), Rumour(node(0), 2**47 - 1))
    assert not desk.sent(1, Give)
    desk.receive(1, Rumour(node(0), own.at))
    (given,) = desk.sent(1, Give)
    again = read_contact(CLAN.mesh, given.items[0])[1]
    assert again.at > own.at
    assert again._replace(at=0) == own._replace(at=0)


def test_a_rumour_about_a_neighbour_goes_to_that_neighbour() -> None:
    """We know better: it is told, and speaks for itself."""
    desk = Desk()
    desk.link(1, 1)
    desk.link(2, 2)
    desk.receive(1, Rumour(node(2), 1))
    assert desk.sent(2, Rumour) == [Rumour(node(2), 1)]
    assert state(desk, 2) == "alive"


def test_a_suspect_that_appears_is_told_that_it_was_suspected() -> None:
    """So that it can tell everyone otherwise."""
    desk = acquainted(5)
    desk.link(1, 1)
    desk.receive(1, Rumour(node(5), 1))
    desk.link(2, 5)
    assert desk.sent(2, Rumour) == [Rumour(node(5), 1)]
    assert state(desk, 5) == "alive"


def test_rumours_about_nobody_we_know_are_ignored() -> None:
    """Strangers, nodes that never said how to reach them, contacts we have not heard of."""
    desk = acquainted(5)
    desk.link(1, 1)
    desk.link(2, 2)
    desk.forget()
    desk.receive(1, Rumour(bytes(32), 1), Rumour(node(MEMBERS + 2), 1), Rumour(node(7), 1), Rumour(node(5), 0))
    assert not desk.effects


def test_an_ephemeral_node_that_is_gone_for_an_hour_has_left() -> None:
    """Nobody waits for a throw-away node."""
    desk = Desk(cards=[contact_of(5, ephemeral=True)], config=Config(ping_seconds=1000))
    desk.link(1, 1)
    desk.receive(1, Rumour(node(5), 1))
    desk.wait(60)
    assert state(desk, 5) == "dead"
    desk.wait(3600)
    assert state(desk, 5) == "left"


# About ourselves


def test_new_addresses_are_told_to_everyone() -> None:
    """In a contact that is later than the last."""
    desk = Desk(addresses=("before:1",))
    desk.link(1, 1)
    desk.forget()
    desk.handle(AddressesChanged(("after:1",)))
    (given,) = desk.sent(1, Give)
    assert read_contact(CLAN.mesh, given.items[0])[1].addresses == ("after:1",)


@pytest.mark.parametrize("left", [True, False])
def test_who_stops_says_goodbye_and_who_leaves_says_so_first(left: bool) -> None:  # noqa: FBT001
    """A contact that says it, then the end of every link."""
    desk = Desk()
    desk.link(1, 1)
    desk.link(2, 2)
    desk.forget()
    desk.handle(Leaving(left))
    for link in (1, 2):
        given = [read_contact(CLAN.mesh, item.items[0])[1].left for item in desk.sent(link, Give)]
        assert given == [True] * left
        assert [bye.reason for bye in desk.sent(link, Bye)] == ["leaving" if left else "stopping"]
        assert desk.closed(link)


def test_a_contact_is_signed_again_only_when_it_is_old_or_no_longer_so() -> None:
    """A restart within six hours says nothing new."""
    fresh, moved = contact_of(0, NOW_MS - 1000, ["host0:1"]), contact_of(0, NOW_MS - 1000, ["elsewhere:1"])
    old = contact_of(0, NOW_MS - 7 * 3_600_000, ["host0:1"])
    for card, kept in ((fresh, True), (moved, False), (old, False)):
        desk = Desk(cards=[card])
        desk.link(1, 1)
        assert (desk.sent(1, Hello)[0].contact == card.data) == kept
