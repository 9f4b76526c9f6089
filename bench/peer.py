"""Peers that may or may not be there: what was found of one, or why nothing was. Measures nothing."""

from collections.abc import Callable


def measured(notes: list[str], measure: Callable[[], tuple[dict[str, float], str]]) -> dict[str, float]:
    """What a peer's measurement found, and a note if it has one. A peer never fails a benchmark of ours."""
    try:
        found, why = measure()
    except (RuntimeError, OSError, ValueError) as error:
        found, why = {}, f"a peer was not measured to the end: {error}"
    if why:
        notes.append(why)
    return found
