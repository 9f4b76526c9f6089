"""Times as people type them. Each stands for a span: a day lasts from its first to its last millisecond. All are UTC; the clock is an argument."""

from __future__ import annotations

import re
from calendar import timegm
from datetime import date

from mesh.core.errors import UsageError

FORMS = "2026-11-16, 2026-11-16T10:00, 10:02, or how long ago: 45m, 2h, 3d"
_AGO = re.compile(r"(\d{1,6})\s*([smhdw])(?:\s+ago)?", re.ASCII)
_LENGTH = re.compile(r"(\d{1,6})\s*([smhdw])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TIME = re.compile(
    r"(?:(\d{4})-(\d\d)-(\d\d)(?:[T ](?=\d)|$))?(?:(\d?\d):(\d\d)(?::(\d\d)(?:\.(\d{3}))?)?Z?)?", re.ASCII
)
_DAY_MS = 86_400_000


def span(text: str, now_ms: int) -> tuple[int, int]:
    """The first and the last millisecond of the time that was meant."""
    text = text.strip()
    ago = _AGO.fullmatch(text)
    if ago:
        first = last = now_ms - int(ago[1]) * _SECONDS[ago[2]] * 1000
    else:
        first, last = _at(text, now_ms)
    if first < 0:
        raise _wrong(text)
    return first, last


def length(text: str) -> int:
    """Milliseconds that were meant by 30m, 2h or 1d."""
    found = _LENGTH.fullmatch(text.strip())
    if not found or not int(found[1]):
        raise UsageError(f"{text[:60]!r} is not a length of time", "write it like 30m, 2h or 7d")
    return int(found[1]) * _SECONDS[found[2]] * 1000


def _at(text: str, now_ms: int) -> tuple[int, int]:
    match = _TIME.fullmatch(text)
    if not text or match is None:
        raise _wrong(text)
    year, month, day, hour, minute, second, fraction = match.groups()
    try:
        start = (
            timegm(date(int(year), int(month), int(day)).timetuple()) * 1000 if year else now_ms // _DAY_MS * _DAY_MS
        )
    except ValueError:
        raise _wrong(text) from None
    if hour is None:
        return start, start + _DAY_MS - 1
    if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
        raise _wrong(text)
    start += (int(hour) * 3600 + int(minute) * 60 + int(second or 0)) * 1000 + int(fraction or 0)
    if year is None and start > now_ms:
        start -= _DAY_MS  # the last time it was so late
    return start, start + (0 if fraction else 999 if second else 59_999)


def _wrong(text: str) -> UsageError:
    return UsageError(f"{text[:60]!r} is not a time", f"write it like one of these, in UTC: {FORMS}")
