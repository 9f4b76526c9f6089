"""The arithmetic of a network's conditions, by tables and with a seeded generator."""

from random import Random

import pytest

from peers.transport.network_conditions import LATE_SECONDS, Conditions, Lane


@pytest.mark.parametrize(
    ("conditions", "sent", "arrivals"),
    [
        (Conditions(), [(0, 10), (1, 10)], [[0], [1]]),
        (Conditions(latency_seconds=(0.5, 0.5)), [(0, 10), (1, 10)], [[0.5], [1.5]]),
        (Conditions(bandwidth_bytes_per_second=100), [(0, 100), (0, 50), (5, 10)], [[1], [1.5], [5.1]]),
        (
            Conditions(bandwidth_bytes_per_second=100, latency_seconds=(2, 2)),
            [(0, 100), (0, 100), (0, 0)],
            [[3], [4], [4]],
        ),
        (Conditions(cut=True), [(0, 10), (1, 10)], [[], []]),
        (Conditions(loss=1), [(0, 10)], [[]]),
        (Conditions(duplicate=1, latency_seconds=(1, 1)), [(0, 10), (2, 10)], [[1, 1], [3, 3]]),
    ],
    ids=["nothing", "latency", "bandwidth", "bandwidth and latency", "cut", "loss", "duplicate"],
)
def test_certain_conditions_give_certain_arrivals(
    conditions: Conditions, sent: list[tuple[float, int]], arrivals: list[list[float]]
) -> None:
    """What holds no chance: (moment, size) in, moments of arrival out."""
    lane = Lane(conditions)
    random = Random(1)
    found = [lane.deliveries(size, now, random) for now, size in sent]
    assert found == [pytest.approx(times) for times in arrivals]


def test_a_lane_has_one_latency_between_the_two() -> None:
    """Drawn once a lane; another lane lies elsewhere; the lane keeps its place when conditions change."""
    random = Random(2)
    conditions = Conditions(latency_seconds=(0.1, 0.3))
    lane, other = Lane(conditions), Lane(conditions)
    (first,), (second,) = lane.deliveries(1, 0, random), lane.deliveries(1, 10, random)
    assert first == pytest.approx(second - 10)
    assert 0.1 <= first <= 0.3
    assert other.deliveries(1, 0, random) != [first]
    lane.conditions = Conditions(latency_seconds=(1.1, 1.3))
    assert lane.deliveries(1, 20, random) == [pytest.approx(21 + first)]


@pytest.mark.parametrize(("share", "what"), [(0.2, "loss"), (0.2, "duplicate")])
def test_shares_come_out_as_asked(share: float, what: str) -> None:
    """A fifth of ten thousand frames is lost, or arrives twice."""
    lane = Lane(Conditions(**{what: share}))  # type: ignore[arg-type]
    random = Random(3)
    copies = [len(lane.deliveries(1, n, random)) for n in range(10_000)]
    assert abs(copies.count(0 if what == "loss" else 2) - 2000) < 150


def test_jitter_never_changes_the_order() -> None:
    """A frame that would overtake arrives with the one before it; none is early or later than latency and jitter."""
    lane = Lane(Conditions(latency_seconds=(1, 1), jitter_seconds=0.5, duplicate=0.1, loss=0.1))
    random = Random(4)
    sent = [n * 0.01 for n in range(1000)]
    found = [(now, time) for now in sent for time in lane.deliveries(1, now, random)]
    times = [time for _, time in found]
    assert times == sorted(times)
    assert len(set(times)) > 50
    assert all(now + 1 <= time <= now + 1.5 for now, time in found)


def test_reordered_frames_are_late_and_the_others_keep_their_order() -> None:
    """About a third is held back, each by no more than its own way took; nobody waits for it."""
    lane = Lane(Conditions(latency_seconds=(1, 1), reorder=0.3))
    random = Random(5)
    found = [(now, lane.deliveries(1, now, random)[0]) for now in range(1000)]
    late = [(now, time) for now, time in found if time != now + 1]
    assert 250 < len(late) < 350
    assert all(now + 1 < time <= now + 2 for now, time in late)


def test_reordering_shows_without_any_latency() -> None:
    """A burst sent at one moment over a perfect wire does not arrive as sent."""
    lane = Lane(Conditions(reorder=0.5))
    random = Random(6)
    times = [lane.deliveries(1, 0, random)[0] for _ in range(100)]
    assert times != sorted(times)
    assert max(times) <= LATE_SECONDS


def test_a_lost_frame_takes_its_time_on_the_wire() -> None:
    """The next one waits for it all the same."""
    lane = Lane(Conditions(bandwidth_bytes_per_second=10, loss=1))
    random = Random(7)
    assert lane.deliveries(100, 0, random) == []
    lane.conditions = Conditions(bandwidth_bytes_per_second=10)
    assert lane.deliveries(10, 0, random) == [pytest.approx(11)]


def test_what_is_repeated_until_it_arrives_only_a_cut_can_stop() -> None:
    """`arrival` knows no loss, and stays behind the frames sent before it."""
    lane = Lane(Conditions(latency_seconds=(1, 1), loss=1, duplicate=1, bandwidth_bytes_per_second=10))
    random = Random(8)
    assert lane.arrival(10, 0, random) == pytest.approx(2)
    assert lane.arrival(0, 0, random) == pytest.approx(2)
    lane.conditions = Conditions(cut=True)
    assert lane.arrival(0, 0, random) is None


def test_the_same_seed_gives_the_same_network() -> None:
    """Everything random comes from the generator handed in."""
    conditions = Conditions((0.1, 0.9), 0.3, loss=0.1, duplicate=0.1, reorder=0.1, bandwidth_bytes_per_second=1e4)

    def run(seed: int) -> list[list[float]]:
        lane, random = Lane(conditions), Random(seed)
        return [lane.deliveries(n, n * 0.01, random) for n in range(500)]

    assert run(9) == run(9)
    assert run(9) != run(10)
