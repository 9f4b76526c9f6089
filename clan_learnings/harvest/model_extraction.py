"""Extraction by a model: a command of the user's is asked about captured sessions one by one, and its answer is read as items.

Problems are collected and reported; they cost nothing but the answer. An answer is untrusted: read leniently, judged strictly, one
element at a time. A model may be wrong, and what it read may have talked to it. So a line that it cites must exist, must be
something that happened, and should hold the words it quotes; how confident it may be is decided here. A model is never believed
that a person said something: what persons say, the rules find.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from clan_learnings.context.harmless_lines import LIMIT
from clan_learnings.harvest.items import CORRECTION, FIX, KINDS, HarvestItem, item_from
from clan_learnings.harvest.model_question import NEVER_SHOWN, clean, question_about
from clan_learnings.harvest.user_command import ask
from clan_learnings.sessions.catalogue_rows import DigestRow
from clan_learnings.sessions.catalogue_table import Catalogue
from clan_learnings.sessions.digest import Digest, Failure
from clan_learnings.sessions.injected_by_us import InjectedText, without_injected
from clan_learnings.sessions.recognition import read_transcript
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent

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


class AnswerItems(NamedTuple):
    """What an answer held: the items that can be used, and what is wrong with the rest."""

    items: list[HarvestItem]
    problems: list[str]


class NoArray(Exception):
    """The answer has no JSON array."""


def items_in(text: str, digest: Digest, session: Session | None, known: Sequence[HarvestItem] = ()) -> AnswerItems:
    """The items of an answer. Raises `NoArray`. `known`: what rules found in the same session."""
    elements = array_in(text)
    events, ours = without_injected(session.events if session is not None else ())
    places = _places(digest, events)
    items: list[HarvestItem] = []
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
    return AnswerItems(items, problems)


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


class _CitedEvent(NamedTuple):
    """A line that may be cited."""

    text: str  # what was shown of it
    is_real: bool  # something that happened, not text that somebody put there
    at_ms: int | None = None
    signature: str = ""


def _places(digest: Digest, events: Sequence[SessionEvent]) -> dict[int, _CitedEvent]:
    places = {line: _CitedEvent(words, True) for line, words in digest.corrections}
    for failure in digest.failures:
        if failure.fix_line is not None:
            places.setdefault(failure.fix_line, _CitedEvent(failure.fix, True))
        places[failure.line] = _CitedEvent(f"{failure.command}\n{failure.error}", True, None, failure.signature)
    for event in events:
        before = places.get(event.line)
        is_real = event.kind not in NEVER_SHOWN or event.kind is Kind.THOUGHT
        text = _text_of(event)
        if before is None:
            places[event.line] = _CitedEvent(text, is_real, event.at_ms)
        else:
            places[event.line] = _CitedEvent(
                f"{before.text}\n{text}", before.is_real or is_real, before.at_ms or event.at_ms, before.signature
            )
    return places


def _text_of(event: SessionEvent) -> str:
    text = event.text
    if not text and event.arguments:
        text = json.dumps(event.arguments, ensure_ascii=False, default=str)
    return text if len(text) <= 2 * _LOOK_CHARS else text[:_LOOK_CHARS] + text[-_LOOK_CHARS:]  # more was never shown


def _item(
    element: Any, places: Mapping[int, _CitedEvent], known: Sequence[HarvestItem], ours: InjectedText
) -> tuple[HarvestItem, str] | str:
    """The item and a remark, or why it cannot be used."""
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
    item = HarvestItem(
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


def _fix_line(value: Any, line: int, places: Mapping[int, _CitedEvent]) -> tuple[int | None, str]:
    if value is None:
        return None, ""
    if type(value) is not int or value not in places or value < line:
        return None, "the line of its fix is not in the session, or before it"
    return value, ""


def _quotation(value: Any, place: _CitedEvent) -> tuple[str, bool]:
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


_PROBLEMS = 10
_NO_COMMAND = (
    "no model was asked: the command of --extractor is empty; name one, like: mesh harvest --extractor 'claude -p'"
)


class ModelExtraction:
    """The command of a model, for the sessions of one harvest."""

    def __init__(
        self,
        command: str,
        paths: Collection[str] = (),
        said: Callable[[int], None] = lambda _: None,
        seconds: int | None = None,
    ) -> None:
        """`paths`: transcripts it is asked about also if they were harvested before. `said` is called after each answer.

        `seconds`: how long it may take for one session, if not as long as usual.
        """
        self.paths = frozenset(paths)
        self._command = command
        self._said = said
        self._seconds = seconds
        self._is_nobody = not command.strip()
        self._problems: Counter[str] = Counter([_NO_COMMAND] if self._is_nobody else [])

    def items(self, catalogue: Catalogue, found: DigestRow) -> list[HarvestItem]:
        """What it finds in a session."""
        if self._is_nobody:
            return []
        digest = digest_from(found.digest)
        if digest is None:
            self._problems["a digest could not be read"] += 1
            return []
        known = [item for value in found.items if (item := item_from(value)) is not None]
        return self.items_of(digest, _session(catalogue, found), known)

    def items_of(self, digest: Digest, session: Session | None, known: list[HarvestItem]) -> list[HarvestItem]:
        """The same for a session that is at hand."""
        if self._is_nobody:
            return []

        items, problems = extract(self._command, digest, session, seconds=self._seconds or SECONDS, known=known)
        self._problems.update(problems)
        self._said(1)
        return items

    def problems(self) -> list[str]:
        """What went wrong, each sort once, with its number."""
        told = self._problems.most_common(_PROBLEMS)
        return [f"{text} ({count} times)" if count > 1 else text for text, count in told]


def digest_from(value: dict[str, Any]) -> Digest | None:
    """A digest from its JSON; None if it is not a digest."""
    try:
        kept = {name: value[name] for name in Digest._fields if name in value}
        failures = [
            Failure(**{name: each[name] for name in Failure._fields if name in each}) for each in kept["failures"]
        ]
        corrections = [(line, text) for line, text in kept["corrections"]]
        return Digest(**kept | {"failures": failures, "corrections": corrections})
    except (KeyError, TypeError, ValueError):
        return None


def _session(catalogue: Catalogue, found: DigestRow) -> Session | None:
    """The session itself, if its body is still there."""
    try:
        body = catalogue.body(found.path)
    except (OSError, ValueError):
        return None
    if body is None:
        return None
    sessions = [each for each in read_transcript(body, found.path).sessions if each.name == found.session]
    return max(sessions, key=lambda each: len(each.events), default=None)


# Our hooks stay silent where this is set: the model's own session is not one of the user's.
EXTRACTING = "MESH_EXTRACTING"
SECONDS = 180.0  # for one session, unless somebody says otherwise
_COMPLAINT_CHARS = 200


class ExtractedItems(NamedTuple):
    """What a model found in one session, and what went wrong. With problems there may still be items."""

    items: list[HarvestItem]
    problems: list[str]  # sentences for a person, safe to print and to log


def extract(
    command: str,
    digest: Digest,
    session: Session | None,
    *,
    seconds: float = SECONDS,
    known: Sequence[HarvestItem] = (),
    environ: Mapping[str, str] = os.environ,
) -> ExtractedItems:
    """Ask a command about a session. Never raises for what the command does; blocks for `seconds` and a little at most.

    `session`: without it (its raw body is gone) only the digest is asked about, and only lines of the digest may be cited.
    `known`: what rules found in it; a model that found the same may be as sure as they are.
    """
    answer = ask(command, question_about(digest, session), seconds=seconds, environ={**environ, EXTRACTING: "1"})
    if answer.problem:
        return ExtractedItems([], [_told(command, answer.problem, answer.complaint)])
    try:
        read = items_in(answer.text, digest, session, known)
    except NoArray:
        return ExtractedItems([], [_told(command, "its answer has no JSON array in it", answer.complaint)])
    return ExtractedItems(read.items, [_told(command, problem) for problem in read.problems])


def _told(command: str, problem: str, complaint: str = "") -> str:
    """A sentence about the command, which may hold a key in its arguments: only its name is told."""
    words = command.split()
    name = os.path.basename(words[0]) if words else "nothing"
    last = complaint.rsplit("\n", 1)[-1]
    said = "".join(char for char in clean(" ".join(last.split())) if char.isprintable())[:_COMPLAINT_CHARS]
    return f"extractor {name}: {problem}" + (f"; it said: {said}" if said else "")
