"""A model's answer as items. Untrusted: read leniently, judged strictly, one element at a time; runs and asks nothing.

A model may be wrong, and what it read may have talked to it. So a line that it cites must be there, must be something that
happened, and should hold the words it quotes; how sure it may be is decided here; and that a person said something
is never believed: what persons say, the rules find.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from clan_learnings.context.harmless_lines import LIMIT
from clan_learnings.harvest.items import CORRECTION, FIX, KINDS, Item
from clan_learnings.harvest.model_question import NEVER_SHOWN, clean
from clan_learnings.sessions.digest import Digest
from clan_learnings.sessions.events import Event, Kind, Session
from clan_learnings.sessions.injected_by_us import Ours, theirs

MOST = 50  # items of one session
UNSHOWN = 0.6  # the most that a claim is worth whose quotation is not where it says
SHOWN = 0.8  # and with its quotation: read by a model, verified by nobody
_NEAR = 3  # lines within which an item of the rules is about the same error
_SHORTEST = 12  # characters of a sentence
_QUOTE_CHARS = 200
_SHORTEST_QUOTE = 8
_LOOK_CHARS = 16_000
_TRIES = 400  # brackets at which an array may begin
_WRAPPERS = ("result", "response", "items", "output", "text", "content", "message", "answer")
_decode = json.JSONDecoder(strict=False).raw_decode


class Read(NamedTuple):
    """What an answer held: the items that can be used, and what is wrong with the rest."""

    items: list[Item]
    problems: list[str]


class NoArray(Exception):
    """There is no JSON array in it."""


def items_in(text: str, digest: Digest, session: Session | None, known: Sequence[Item] = ()) -> Read:
    """The items of an answer. Raises `NoArray`. `known`: what rules found in the same session."""
    elements = array_in(text)
    events, ours = theirs(session.events if session is not None else ())
    places = _places(digest, events)
    items: list[Item] = []
    problems: list[str] = []
    for number, element in enumerate(elements[:MOST], 1):
        found = _item(element, places, known, ours)
        if isinstance(found, str):
            problems.append(f"item {number} of {len(elements)} was left out: {found}")
            continue
        item, remark = found
        if any((one.kind, one.line, one.text) == (item.kind, item.line, item.text) for one in items):
            continue
        items.append(item)
        if remark:
            problems.append(f"item {number} of {len(elements)}: {remark}")
    if len(elements) > MOST:
        problems.append(f"{len(elements) - MOST} of {len(elements)} items were left out: at most {MOST} are read")
    return Read(items, problems)


def array_in(text: str, depth: int = 0) -> list[Any]:
    """The array that an answer holds, whatever stands around it: words, a fence, an object of the program's own."""
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _array_inside(text)
    found = _array_of(value, depth)
    if found is None:
        raise NoArray
    return found


def _array_of(value: Any, depth: int) -> list[Any] | None:
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or depth > 2:
        return None
    for name in _WRAPPERS:
        inside = value.get(name)
        try:
            found = array_in(inside, depth + 1) if isinstance(inside, str) else _array_of(inside, depth + 1)
        except NoArray:
            continue
        if found is not None:
            return found
    return None


def _array_inside(text: str) -> list[Any]:
    """Of all arrays in a text the one with the most objects; of equal ones the last, which is the answer after the thinking."""
    best: list[Any] | None = None
    at, tries = -1, 0
    while tries < _TRIES and (at := text.find("[", at + 1)) >= 0:
        tries += 1
        try:
            value, end = _decode(text, at)
        except (ValueError, RecursionError):
            continue
        if _is_answer(value) and (best is None or _objects(value) >= _objects(best)):
            best = value
        at = end - 1
    if best is None:
        raise NoArray
    return best


def _is_answer(value: list[Any]) -> bool:
    return not value or _objects(value) > 0


def _objects(value: list[Any]) -> int:
    return sum(isinstance(one, dict) for one in value)


class _Place(NamedTuple):
    """A line that may be cited."""

    text: str  # what was shown of it
    is_real: bool  # something that happened, not text that somebody put there
    at_ms: int | None = None
    signature: str = ""


def _places(digest: Digest, events: Sequence[Event]) -> dict[int, _Place]:
    places = {line: _Place(words, True) for line, words in digest.corrections}
    for failure in digest.failures:
        if failure.fix_line is not None:
            places.setdefault(failure.fix_line, _Place(failure.fix, True))
        places[failure.line] = _Place(f"{failure.command}\n{failure.error}", True, None, failure.signature)
    for event in events:
        before = places.get(event.line)
        is_real = event.kind not in NEVER_SHOWN or event.kind is Kind.THOUGHT
        text = _text_of(event)
        if before is None:
            places[event.line] = _Place(text, is_real, event.at_ms)
        else:
            places[event.line] = _Place(
                f"{before.text}\n{text}", before.is_real or is_real, before.at_ms or event.at_ms, before.signature
            )
    return places


def _text_of(event: Event) -> str:
    text = event.text
    if not text and event.arguments:
        text = json.dumps(event.arguments, ensure_ascii=False, default=str)
    return text if len(text) <= 2 * _LOOK_CHARS else text[:_LOOK_CHARS] + text[-_LOOK_CHARS:]  # more was never shown


def _item(element: Any, places: Mapping[int, _Place], known: Sequence[Item], ours: Ours) -> tuple[Item, str] | str:
    """The item and a remark, or why there is none."""
    if not isinstance(element, dict):
        return "it is no object"
    kind = element.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        return f"its kind is none of {', '.join(KINDS)}"
    text = _line(element.get("text"))
    why = _wrong_with(text, element.get("text"))
    if why:
        return why
    if ours.has(text):
        return "the session was told so by us"
    line = element.get("line", element.get("evidence_line"))
    if type(line) is not int or line not in places:
        return "the line it cites is not in the session"
    place = places[line]
    if not place.is_real:
        return "the line it cites was put there by a program, nobody said or did it"
    claimed = element.get("confidence")
    if not isinstance(claimed, int | float) or type(claimed) is bool or not 0 <= claimed <= 1:  # nor NaN
        return "its confidence is no number from 0 to 1"
    quote, is_shown = _quotation(element.get("quote"), place)
    near = next((one for one in known if one.kind == kind and abs(one.line - line) <= _NEAR), None)
    cap = SHOWN if is_shown else UNSHOWN
    fix_line, remark = _fix_line(element.get("fix_line"), line, places)
    is_pair = kind in (CORRECTION, FIX)
    item = Item(
        kind=kind,
        text=text,
        line=line,
        confidence=round(min(float(claimed), cap), 2),
        fix_line=fix_line,
        wrong=_line(element.get("wrong"))[:LIMIT] if is_pair else "",
        right=_line(element.get("right"))[:LIMIT] if is_pair else "",
        source="agent",  # a person's words are the rules' to find: their item stands beside this one
        is_stated=False,
        signature=(near.signature if near else "") or place.signature,
        quote=quote,
        at_ms=place.at_ms if place.at_ms is not None else near.at_ms if near else None,
    )
    return item, remark


def _wrong_with(text: str, said: Any) -> str:
    if not isinstance(said, str):
        return "it has no text"
    if "<private" in said.lower():
        return "it has private text in it"
    if len(text) < _SHORTEST or " " not in text:
        return "its text is no sentence"
    return f"its text has {len(text)} characters, more than {LIMIT}" if len(text) > LIMIT else ""


def _fix_line(value: Any, line: int, places: Mapping[int, _Place]) -> tuple[int | None, str]:
    if value is None:
        return None, ""
    if type(value) is not int or value not in places or value < line:
        return None, "the line of its fix is not in the session, or before it"
    return value, ""


def _quotation(value: Any, place: _Place) -> tuple[str, bool]:
    """The quoted words, and whether they are there. Compared as they were shown: cleaned, and whatever the spaces."""
    quote = _line(value)
    if len(quote) < _SHORTEST_QUOTE:
        return "", False
    sought = quote.casefold()
    is_there = sought in _spaceless(place.text) or sought in _spaceless(clean(place.text))
    return (quote[:_QUOTE_CHARS], True) if is_there else ("", False)


def _spaceless(text: str) -> str:
    return " ".join(text.split()).casefold()


def _line(value: Any) -> str:
    """A text of the model's as one line of visible characters, without secrets and without what came from us."""
    if not isinstance(value, str):
        return ""
    flat = " ".join(clean(value[: 8 * LIMIT]).split())
    return " ".join("".join(char for char in flat if char.isprintable()).split())
