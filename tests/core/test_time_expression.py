"""Times as people type them are spans: a day, a minute, or a point so long ago."""

import pytest

from mesh.core.errors import UsageError
from mesh.core.time_expression import span

NOW = 1_794_823_200_000  # 2026-11-16T10:00:00Z
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-11-16", NOW - 10 * HOUR, NOW + 14 * HOUR - 1),
        ("2026-11-16T09:00", NOW - HOUR, NOW - HOUR + MINUTE - 1),
        ("2026-11-16 09:00:30", NOW - HOUR + 30_000, NOW - HOUR + 30_999),
        ("2026-11-16T09:00:30.250Z", NOW - HOUR + 30_250, NOW - HOUR + 30_250),
        ("9:59", NOW - MINUTE, NOW - 1),
        ("10:01", NOW - DAY + MINUTE, NOW - DAY + 2 * MINUTE - 1),
        ("30d", NOW - 30 * DAY, NOW - 30 * DAY),
        (" 2 h ago ", NOW - 2 * HOUR, NOW - 2 * HOUR),
        ("1w", NOW - 7 * DAY, NOW - 7 * DAY),
        ("0s", NOW, NOW),
    ],
)
def test_a_time_is_from_its_first_to_its_last_millisecond(text: str, first: int, last: int) -> None:
    """Since a day means from its beginning, until a day to its end."""
    assert span(text, NOW) == (first, last)


@pytest.mark.parametrize("text", ["", " ", "frob", "2026-13-01", "25:00", "10:60", "999999w", "-3d", "٣d", "3" * 9000])
def test_anything_else_is_refused_with_the_forms(text: str) -> None:
    """And with no more of it than fits in a line."""
    with pytest.raises(UsageError) as error:
        span(text, NOW)
    assert "2026-11-16T10:00" in error.value.next_step
    assert len(str(error.value)) < 100
