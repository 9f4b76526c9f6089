"""What was probably meant by a command, a member or an option that is not there. Loaded only to say so."""

from __future__ import annotations

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like it; empty if none is."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), 1)
    return found[0] if found else ""


def nearest_option(name: str, known: Iterable[str]) -> str:
    """The same among options; that all begin with hyphens makes none of them more like it."""
    bare = {option.lstrip("-"): option for option in known}
    return bare.get(nearest(name.lstrip("-"), bare), "")


def no_option(name: str, known: Iterable[str]) -> str:
    """What is said of an option that is not there."""
    near = nearest_option(name, known)
    return f"there is no option {name}" + (f"; did you mean {near}?" if near else "")
