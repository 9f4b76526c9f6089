"""All rules over one text, repeated until they find nothing. The rules themselves are in the other modules.

Repeating is what makes redaction idempotent: a text is handed out only after a pass that found nothing in it. Two passes
are usual, the second of them the one that finds nothing. A text made to need many is given up as a whole, so that the
work stays linear.
"""

from collections.abc import Callable
from re import Match
from typing import Any

from clan_learnings.redaction import cookies, logins, personal_data, secret_arguments, secret_names, secret_shapes
from clan_learnings.redaction.compiled_patterns import BLANK, Span, compiled, shown
from clan_learnings.redaction.secret_names import is_secret_of

PASSES = 6
UNSETTLED = "text with entangled secrets"

# In the order of precedence: where two overlap, both go, under the name of the first. Mail comes last and alone: the
# host after a password in a URL is no address.
_TOGETHER = (
    secret_shapes.find_keys,
    secret_shapes.find_tokens,
    logins.find,
    secret_arguments.find_in_options,
    secret_arguments.find_in_calls,
    cookies.find,
    secret_names.find,
    personal_data.find_numbers,
)
SORTS = frozenset({UNSETTLED}).union(
    *(rules.SORTS for rules in (secret_shapes, logins, secret_arguments, cookies, secret_names, personal_data))
)
MARK_OPENS = "[redacted: "


def mark(sort: str) -> str:
    """What stands in the place of a secret."""
    return f"{MARK_OPENS}{sort}]"


def without_secrets(text: str, counts: dict[str, int]) -> str:
    """The text with marks for secrets; adds what it found to `counts`."""
    for _ in range(PASSES):
        before, view = text, shown(text)
        text = _marked(text, _found(text, view, _find_together), counts)
        view = view if text is before else shown(text)
        text = _marked(text, _found(text, view, personal_data.find_addresses), counts)
        if text is before:
            return text
    counts[UNSETTLED] = counts.get(UNSETTLED, 0) + 1
    return mark(UNSETTLED)


def _find_together(text: str) -> "list[Span]":
    lower = _lowered(text)
    return [span for find in _TOGETHER for span in find(text, lower)]


def _lowered(text: str) -> str:
    """The text in small letters, each in its place: the one letter that grows on the way is replaced before."""
    return text.replace("\u0130", "I").lower()


def _found(text: str, view: "tuple[str, list[int]] | None", find: "Callable[[str], list[Span]]") -> "list[Span]":
    """What rules find in the text as it is, and in what of it will be shown."""
    spans = find(_blanked(text))
    if view is not None:
        visible, places = view
        spans += [
            (places[start], places[end - 1] + 1, sort) for start, end, sort in find(_blanked(visible)) if start < end
        ]
    return spans


def _blanked(text: str) -> str:
    """The text with our own marks hidden from the rules. Only the marks we make: no secret hides by looking like one."""
    if MARK_OPENS not in text:
        return text
    return compiled(r"\[redacted: ([a-z][a-z0-9 -]{1,40})\]").sub(_blank_mark, text)


def _blank_mark(found: "Match[str]") -> str:
    return BLANK * len(found[0]) if found[1] in SORTS else found[0]


def _marked(text: str, spans: "list[Span]", counts: dict[str, int]) -> str:
    """The text with a mark for each span; overlapping spans are one."""
    if not spans:
        return text
    merged: list[list[int]] = []  # start, end, the rule with precedence
    for start, end, rule in sorted((start, end, rule) for rule, (start, end, _) in enumerate(spans)):
        if merged and start < merged[-1][1]:
            merged[-1][1:] = max(end, merged[-1][1]), min(rule, merged[-1][2])
        else:
            merged.append([start, end, rule])
    parts: list[str] = []
    done = 0
    for start, end, rule in merged:
        sort = spans[rule][2]
        counts[sort] = counts.get(sort, 0) + 1
        parts += text[done:start], mark(sort)
        done = end
    return "".join((*parts, text[done:]))


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
            secret_names = _names(inner, counts)
            container[place] = copy = {secret_names[key]: inner[key] for key in inner}
            places += [(copy, secret_names[key], key if isinstance(key, str) else "") for key in reversed(inner)]
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
    secret_names = {key: without_secrets(key, counts) if isinstance(key, str) else key for key in container}
    taken = {key for key, name in secret_names.items() if name is key}
    numbers: dict[str, int] = {}
    for key, name in secret_names.items():
        if name is not key:
            free = name
            while free in taken:
                numbers[name] = numbers.get(name, 1) + 1
                free = f"{name} ({numbers[name]})"
            secret_names[key] = free
            taken.add(free)
    return secret_names
