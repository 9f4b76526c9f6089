"""The arithmetic of suspicion and of clocks, by tables; and what the engine makes of silence."""

from math import log10

import pytest

from peers.proto.engine_events import Correct, Lagged, Woke
from peers.proto.gossip_config import Config
from peers.proto.membership import median_offset
from peers.proto.messages import Bye, Ping, Pong, Rumour
from peers.proto.neighbour import Arrivals, phi
from tests.peers.engines import Desk, node
from tests.worlds import NOW_MS

CONFIG = Config()


@pytest.mark.parametrize(
    ("deviations", "nines"),
    [(0, 0.30103), (1, 0.79955), (2, 1.64302), (3, 2.86970), (4, 4.49934), (6, 9.00587), (-3, 0.00059)],
)
def test_phi_is_the_number_of_nines_of_the_normal_distribution(deviations: float, nines: float) -> None:
    """Values from a table of the distribution."""
    assert phi(10 + deviations * 2, 10, 2) == pytest.approx(nines, abs=1e-4)


def test_phi_has_a_greatest_value_and_never_falls() -> None:
    """However long the silence, and however short the deviation."""
    values = [phi(silence / 2, 8, 1.25) for silence in range(200)]
    assert values == sorted(values)
    assert phi(1e9, 8, 1.25) == 100
    assert phi(0, 8, 1.25) == pytest.approx(0, abs=1e-6)


def arrivals(gap: float, count: int = 40) -> Arrivals:
    heard = Arrivals(0.0)
    for number in range(1, count + 1):
        heard.heard(number * gap)
    return heard


def is_dead(heard: Arrivals, silence: float) -> bool:
    return heard.phi(heard.last + silence, CONFIG.ping_seconds, CONFIG.pause_seconds) > CONFIG.phi_dead


@pytest.mark.parametrize(
    ("gap", "silence", "dead"),
    [(5, 5, False), (5, 10, False), (5, 14, False), (5, 17, True), (20, 25, False), (20, 60, True)],
)
def test_a_neighbour_is_dead_after_a_silence_that_is_long_for_it(gap: float, silence: float, dead: bool) -> None:  # noqa: FBT001
    """Who is heard of seldom is given longer."""
    assert is_dead(arrivals(gap), silence) is dead


@pytest.mark.parametrize("gap", [0.1, 5, 20])
def test_before_a_sign_is_expected_there_is_nothing_to_suspect(gap: float) -> None:
    """So whoever is not quiet need not be judged: phi is below every limit."""
    heard = arrivals(gap)
    last = heard.last + CONFIG.ping_seconds + CONFIG.pause_seconds
    assert not heard.is_quiet(last, CONFIG.ping_seconds, CONFIG.pause_seconds)
    assert heard.phi(last, CONFIG.ping_seconds, CONFIG.pause_seconds) <= log10(2) < CONFIG.phi_dead
    assert heard.is_quiet(last + 0.1, CONFIG.ping_seconds, CONFIG.pause_seconds)


def test_a_new_link_is_given_the_time_of_one_that_pings() -> None:
    """Nothing was heard yet, so nothing is known of its habits."""
    assert not is_dead(Arrivals(0.0), 14)
    assert is_dead(Arrivals(0.0), 17)


def test_a_busy_time_does_not_delay_the_suspicion() -> None:
    """Many frames a second make nobody impatient, and nobody patient either."""
    busy = arrivals(0.01)
    assert not is_dead(busy, 14)
    assert is_dead(busy, 17)


@pytest.mark.parametrize(
    ("offsets", "ours"),
    [
        ([], 0),
        ([500], 0),  # one against one: we keep ours
        ([500, 700], 500),
        ([500, 600, 700], 500),
        ([-500, -700], -500),
        ([2**46, 10, 20], 10),  # one liar moves nothing
        ([2**46, 10, 20, -10], 10),
        ([2**46, -(2**46), 3], 0),
        ([5, 5, 5, 5, -3000], 5),
    ],
)
def test_the_clock_is_corrected_by_the_median(offsets: list[int], ours: int) -> None:
    """Ours counts too, and of two middle ones the nearer to ours."""
    assert median_offset(offsets) == ours
    assert median_offset(reversed(offsets)) == ours


def pong(desk: Desk, link: int, ahead_ms: int) -> None:
    """Answer the last ping with a clock that is ahead."""
    ping = desk.sent(link, Ping)[-1]
    desk.receive(link, Pong(ping.nonce, desk.engine.root, bytes(8), bytes(8), NOW_MS + int(desk.now * 1000) + ahead_ms))


def test_most_neighbours_correct_our_clock_and_one_liar_does_not() -> None:
    """The offset is told once, when it is another than before."""
    desk = Desk()
    for link in (1, 2, 3):
        desk.link(link, link, dialed=True)
    for link, ahead in ((1, 60_000), (2, 60_000), (3, 2**46 - NOW_MS)):
        pong(desk, link, ahead)
    desk.wait(2.5)
    assert desk.all_of(Correct) == [Correct(60_000)]
    liar = Desk()
    liar.link(1, 1, dialed=True)
    pong(liar, 1, 2**46 - NOW_MS)
    liar.wait(2.5)
    assert not liar.all_of(Correct)


def test_a_pong_to_no_ping_says_nothing() -> None:
    """Neither about the clock nor about the state."""
    desk = Desk()
    for link in (1, 2, 3):
        desk.link(link, link, dialed=True)
        desk.receive(link, Pong(12345, bytes(32), bytes(8), bytes(8), NOW_MS + 60_000))
    desk.wait(2.5)
    assert not desk.all_of(Correct)
    assert [peer.in_step for peer in desk.engine.peers() if peer.linked] == [None] * 3


def test_a_silent_neighbour_is_let_go_and_the_others_are_asked() -> None:
    """Its link is closed; the rumour goes to those who are still there."""
    desk = Desk()
    desk.link(1, 1)
    desk.link(2, 2)
    for _ in range(6):
        desk.wait(4)
        desk.receive(2, Ping(1, desk.engine.root, bytes(8), bytes(8), NOW_MS))
    assert desk.closed(1) == "silent for too long"
    assert desk.closed(2) is None
    assert [rumour.node for rumour in desk.sent(2, Rumour)] == [node(1)]


def test_our_own_lag_is_not_held_against_others() -> None:
    """The loop stood still for half a minute: that says nothing about who was silent meanwhile."""
    desk = Desk()
    desk.link(1, 1)
    desk.now += 30
    desk.handle(Lagged(30))
    desk.wait(2)
    assert desk.closed(1) is None


def test_after_sleep_every_link_is_made_anew() -> None:
    """Nobody knows which of them still stand."""
    desk = Desk()
    desk.link(1, 1)
    desk.link(2, 2, dialed=True)
    desk.forget()
    desk.handle(Woke())
    assert [desk.closed(link) for link in (1, 2)] == ["slept", "slept"]
    assert [bye.reason for bye in desk.sent(1, Bye)] == ["slept"]
    desk.wait(2)
    assert set(desk.dialed()) == {node(1), node(2)}
