"""The hybrid logical clock: always forward, never far ahead."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.core import clock
from mesh.core.limits import FUTURE_SECONDS, HLC_MAX

STAMPS = st.integers(0, HLC_MAX - 1)
TIMES = st.integers(0, 2**47 - 1)


def test_a_stamp_is_milliseconds_above_sixteen_bits_of_counter() -> None:
    """The two parts go in and the physical one comes out."""
    stamp = clock.pack(1_790_000_000_123, 7)
    assert stamp == (1_790_000_000_123 << 16) + 7
    assert clock.milliseconds(stamp) == 1_790_000_000_123


def test_a_full_counter_carries_into_the_milliseconds() -> None:
    """The 65,537th write within one millisecond is stamped with the next one."""
    last = clock.pack(1000, 0xFFFF)
    assert clock.tick(last, 1000) == clock.pack(1001, 0)


def test_a_tick_takes_the_wall_clock_when_that_is_ahead() -> None:
    """The counter begins again at zero."""
    assert clock.tick(clock.pack(1000, 5), 1001) == clock.pack(1001, 0)


def test_a_wall_clock_set_back_does_not_set_back_the_stamps() -> None:
    """What was seen counts more than what the machine says."""
    assert clock.tick(clock.pack(2000, 5), 1) == clock.pack(2000, 6)


@given(STAMPS, st.lists(TIMES, min_size=1, max_size=50))
def test_stamps_strictly_increase_whatever_the_wall_clock_does(last: int, times: list[int]) -> None:
    """Every tick is greater than all before it and at least the time given."""
    for now in times:
        stamp = clock.tick(last, now)
        assert stamp > last
        assert stamp >= clock.pack(now)
        last = stamp


def test_the_horizon_is_the_last_stamp_five_minutes_ahead() -> None:
    """The whole of the last millisecond is inside, the next is not."""
    ahead = 1000 + FUTURE_SECONDS * 1000
    assert clock.horizon(1000) == clock.pack(ahead, 0xFFFF)
    assert clock.pack(ahead + 1, 0) == clock.horizon(1000) + 1


@given(TIMES)
def test_the_horizon_never_leaves_the_field_of_a_stamp(now: int) -> None:
    """Also at the end of time what is acceptable fits SQLite's signed integer, and now is inside."""
    assert min(clock.pack(now), HLC_MAX) <= clock.horizon(now) <= HLC_MAX
    assert clock.horizon(2**60) == HLC_MAX


@given(STAMPS)
def test_mesh_time_is_the_hour_begun(hlc: int) -> None:
    """Rounded down, at most an hour, to a multiple of an hour."""
    hour = clock.hour(hlc)
    assert hour % clock.HOUR_MS == 0
    assert hour <= clock.milliseconds(hlc) < hour + clock.HOUR_MS
