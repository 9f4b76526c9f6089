"""No input may raise: wrong types under every name, cut lines, bytes that are no text."""

import copy
import json
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.sessions.recognition import all_flavours
from clan_learnings.sessions.transcript_events import Session, SessionEvent
from clan_learnings.sessions.transcript_source import TranscriptSource
from tests.clan_learnings.sessions.small_transcripts import TRANSCRIPTS, document, lines

JUNK: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1e308,
    10**30,
    "",
    "x",
    "\ud800",
    "{}",
    "[1]",
    [],
    [None],
    [[]],
    [{}],
    {},
    {"text": 5},
    {"": None},
    [["a"], "b"],
]
EMPTY: dict[str, Any] = {}  # what cannot be looked up in a table is the likeliest to raise
NAMES = sorted(TRANSCRIPTS)


def _values(name: str) -> list[Any]:
    """A transcript's records, or the one document in a list."""
    data = TRANSCRIPTS[name][1]
    try:
        return [json.loads(data)]
    except ValueError:
        return [json.loads(line) for line in data.splitlines()]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += _places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += _places(item, (*path, index))
    return found


def _changed(values: list[Any], path: tuple[Any, ...], junk: Any) -> list[Any]:
    values = copy.deepcopy(values)
    place: Any = values
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = junk
    return values


def _is_sound(session: Session) -> bool:
    texts = [
        session.id,
        session.flavour,
        session.parent,
        session.folder,
        session.remote,
        session.branch,
        session.model,
        session.version,
        session.title,
    ]
    return all(isinstance(text, str) for text in texts) and all(map(_is_sound_event, session.events))


def _is_sound_event(event: SessionEvent) -> bool:
    texts = (event.text, event.call, event.tool, event.message)
    numbers = (event.at_ms, event.exit_code)
    return (
        isinstance(event.line, int)
        and event.line >= 1
        and all(isinstance(text, str) for text in texts)
        and all(number is None or type(number) is int for number in numbers)
        and isinstance(event.arguments, dict)
        and event.failed in (True, False, None)
    )


def _is_looked_at(data: bytes) -> bool:
    return all(isinstance(flavour.recognises(TranscriptSource(data)), bool) for flavour in all_flavours())


def _survives(name: str, data: bytes) -> None:
    module = import_module(f"clan_learnings.sessions.flavours.{TRANSCRIPTS[name][0]}")
    assert isinstance(module.recognises(TranscriptSource(data)), bool)
    assert all(_is_sound(session) for session in module.read(TranscriptSource(data)))


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_type_at_any_place_raises_nothing(name: str) -> None:
    """Each value in turn becomes something else; the junk goes round."""
    values = _values(name)
    for number, path in enumerate(_places(values)[1:]):
        for junk in (JUNK[number % len(JUNK)], EMPTY):
            changed = _changed(values, path, junk)
            _survives(name, document(changed[0]) if len(changed) == 1 else lines(*changed))


@given(st.sampled_from(NAMES), st.data())
def test_any_value_at_several_places_raises_nothing(name: str, data: st.DataObject) -> None:
    """Whatever JSON can hold."""
    values = _values(name)
    junk: st.SearchStrategy[Any] = st.recursive(
        st.sampled_from(JUNK) | st.text(max_size=8) | st.integers() | st.floats(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=5,
    )
    for _ in range(data.draw(st.integers(1, 4))):
        values = _changed(values, data.draw(st.sampled_from(_places(values)[1:])), data.draw(junk))
    damaged = document(values[0]) if len(values) == 1 else lines(*values)
    assert _is_looked_at(damaged)
    _survives(name, damaged)


@given(st.sampled_from(NAMES), st.integers(0), st.integers(0, 40), st.binary(max_size=12))
def test_bytes_that_are_cut_out_or_put_in_raise_nothing(name: str, at: int, cut: int, put: bytes) -> None:
    """Files are cut, glued and overwritten."""
    data = TRANSCRIPTS[name][1]
    at %= len(data)
    damaged = data[:at] + put + data[at + cut :]
    assert _is_looked_at(damaged)
    _survives(name, damaged)


@given(st.sampled_from(NAMES), st.integers(0))
def test_a_transcript_that_ends_anywhere_raises_nothing(name: str, at: int) -> None:
    """The last line may be cut, and the agent may still be writing."""
    data = TRANSCRIPTS[name][1]
    _survives(name, data[: at % len(data)])
