"""Redaction of JSON-like values: strings in lists and dicts, keys too. How one text is redacted is not decided here."""

from clan_learnings.redaction.names import is_secret_of
from clan_learnings.redaction.passes import MARK_OPENS, mark, without_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def without_secrets_inside(value: "Any", counts: dict[str, int]) -> "Any":
    """A copy with every string redacted. Works through a list of places instead of calling itself: depth is no limit."""
    root: list[Any] = [value]
    places: list[tuple[Any, Any, str]] = [(root, 0, "")]  # container, key or index, the name it stands under
    while places:
        container, place, name = places.pop()
        inner = container[place]
        if isinstance(inner, str):
            container[place] = _text(inner, name, counts)
        elif isinstance(inner, dict):
            names = _names(inner, counts)
            container[place] = copy = {names[key]: inner[key] for key in inner}
            places += [(copy, names[key], key if isinstance(key, str) else "") for key in reversed(inner)]
        elif isinstance(inner, list | tuple):
            container[place] = items = list(inner)
            places += [(items, index, name) for index in reversed(range(len(items)))]
    return root[0]


def _text(text: str, name: str, counts: dict[str, int]) -> str:
    own: dict[str, int] = {}
    clean = without_secrets(text, own)
    sort = is_secret_of(name, text) if name and MARK_OPENS not in text else ""
    if sort:  # all of it goes, under the better name if a rule knew one
        own = {next(iter(own), sort): 1}
        clean = mark(next(iter(own)))
    for found, count in own.items():
        counts[found] = counts.get(found, 0) + count
    return clean


def _names(container: "dict[Any, Any]", counts: dict[str, int]) -> "dict[Any, Any]":
    """The new name of each key. No two become one: a second address is `[redacted: e-mail address] (2)`."""
    names = {key: without_secrets(key, counts) if isinstance(key, str) else key for key in container}
    taken = {key for key, name in names.items() if name is key}
    numbers: dict[str, int] = {}
    for key, name in names.items():
        if name is not key:
            free = name
            while free in taken:
                numbers[name] = numbers.get(name, 1) + 1
                free = f"{name} ({numbers[name]})"
            names[key] = free
            taken.add(free)
    return names
