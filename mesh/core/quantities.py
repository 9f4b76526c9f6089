"""Numbers of things and of bytes as people read them. Pure; every command that prints may come through here."""

from __future__ import annotations

SIZES = {"KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def number_of(count: int, noun: str) -> str:
    """`1 session`, `2 sessions`."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


def shown_size(size: int) -> str:
    """A number of bytes, short. A megabyte has 1024 times 1024 of them."""
    for unit in reversed(SIZES):
        if size >= SIZES[unit]:
            return f"{size / SIZES[unit]:.1f} {unit}".replace(".0 ", " ")
    return f"{size} bytes"
