"""What the clocks of linked peers say of ours, where stamps are ahead of it."""

import pytest

from mesh.core.clock import EARLIEST_MS
from mesh.node.corrected_clock import verdict
from mesh.store.store import BEHIND, RIGHT

MINUTE, YEAR = 60_000, 365 * 86_400_000
NOW = EARLIEST_MS + 2 * YEAR


@pytest.mark.parametrize(
    ("last", "now", "peers", "expected"),
    [
        (NOW + YEAR, NOW, [], ""),
        (NOW + YEAR, NOW, [NOW], RIGHT),
        (NOW + YEAR, NOW, [NOW + 4 * MINUTE], RIGHT),
        (NOW + YEAR, NOW, [NOW + 6 * MINUTE], ""),
        (NOW + YEAR, NOW, [NOW - YEAR], ""),
        (NOW, NOW - YEAR, [NOW], BEHIND),
        (NOW, NOW - YEAR, [NOW + YEAR], BEHIND),
        (NOW, NOW - YEAR, [NOW - YEAR // 2], ""),
        (NOW, NOW - YEAR, [NOW, NOW - YEAR], RIGHT),
        (NOW, 5 * MINUTE, [5 * MINUTE], ""),
        (NOW, 5 * MINUTE, [5 * MINUTE, NOW], BEHIND),
    ],
)
def test_a_peer_that_agrees_settles_it(last: int, now: int, peers: list[int], expected: str) -> None:
    """With us: our clock is right. With the stamps: it is behind. A clock that was never set is never right."""
    assert verdict(last, now, peers) == expected
