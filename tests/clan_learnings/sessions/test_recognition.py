"""Whose transcript it is: found by content, in a fixed order, and never an exception."""

import pkgutil
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from clan_learnings.sessions import flavours, recognition
from clan_learnings.sessions.recognition import EMPTY, TOO_LARGE, UNKNOWN, all_flavours, read_transcript
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent
from clan_learnings.sessions.transcript_source import TooLarge, TranscriptSource
from tests.clan_learnings.sessions.transcripts import lines

CLAUDE = {"type": "user", "uuid": "u1", "sessionId": "s1", "message": {"role": "user", "content": "hello"}}


def flavour(name: str, read: Any, *, recognises: Any = lambda _source: True, order: int = 0) -> Any:
    return SimpleNamespace(NAME=name, ORDER=order, __name__=name, recognises=recognises, read=read)


def with_flavours(monkeypatch: pytest.MonkeyPatch, *found: Any) -> None:
    monkeypatch.setattr(recognition, "all_flavours", lambda: list(found))


def test_every_module_of_the_folder_is_a_flavour() -> None:
    """Adding one is one file: nothing else names them."""
    names = {module.__name__.rpartition(".")[2] for module in all_flavours()}
    in_folder = {module.name for module in pkgutil.iter_modules(flavours.__path__)}
    assert names <= in_folder
    assert {"claude_code", "codex", "gemini"} <= names


def test_order_is_fixed_and_the_generic_come_last() -> None:
    """Who is asked first does not depend on how a disk lists files."""
    orders = [(getattr(module, "ORDER", 0), module.__name__) for module in all_flavours()]
    assert orders == sorted(orders)


def test_content_decides_and_not_the_name() -> None:
    """A transcript may lie anywhere, under any name."""
    data = lines(CLAUDE)
    for path in ("", "/x/.codex/sessions/rollout-1.jsonl", "/x/session.json", "full.traj"):
        assert read_transcript(data, path).flavour == "claude-code"


@pytest.mark.parametrize("data", [b"", b" \n\t\r\n", b"\0\0\0", b"\xef\xbb\xbf"])
def test_empty_file_is_said_to_be_empty(data: bytes) -> None:
    """It is no failure."""
    assert read_transcript(data) == ("", [], {EMPTY: 1})


@pytest.mark.parametrize("data", [b"hello", b'{"a": 1}', b"[]", b'{"ts":"x","dir":"meta","kind":"session_start"}\n'])
def test_unknown_file_is_said_to_be_unknown(data: bytes) -> None:
    """Nobody guesses."""
    assert read_transcript(data) == ("", [], {UNKNOWN: 1})


QUOTING = b"""# How to read a transcript

Each line of a session is one record. The first says who speaks:

```
%s%s```

The second is its answer. Everything else is passed over.

Then run `mesh harvest`.
"""


def test_document_that_quotes_a_transcript_is_none() -> None:
    """A few records between lines of prose are an example, and nobody's session."""
    quoting = QUOTING % (lines(CLAUDE), lines(CLAUDE | {"uuid": "u2"}))
    assert read_transcript(quoting, "README.md") == ("", [], {UNKNOWN: 1})


@pytest.mark.parametrize("junk", [b"cut off {", b"Loaded cached credentials.\n\n", b"\0\0\0\0\n" * 9 + b"\n" * 9])
def test_junk_that_is_no_majority_hides_no_transcript(junk: bytes) -> None:
    """A line of a log before it, a cut one behind it, padding and blank lines."""
    assert read_transcript(junk + b"\n" + lines(CLAUDE)).flavour == "claude-code"
    assert read_transcript(lines(CLAUDE) + junk).flavour == "claude-code"


def test_junk_far_behind_the_beginning_does_not_count() -> None:
    """What is damaged later costs only itself: the beginning decides whose it is."""
    said = b"".join(lines(CLAUDE | {"uuid": f"u{number}"}) for number in range(40))
    assert len(read_transcript(said + b"no record\n" * 500).sessions[0].events) == 40


def test_too_large_file_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read at all."""

    def refuse(_data: bytes) -> bytes:
        raise TooLarge

    monkeypatch.setattr("clan_learnings.sessions.transcript_source.unpacked", refuse)
    assert read_transcript(b"x") == ("", [], {TOO_LARGE: 1})


def test_flavour_that_breaks_while_it_looks_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is asked."""

    def broken(_source: TranscriptSource) -> bool:
        raise KeyError("x")

    def read(_source: TranscriptSource) -> Iterator[Session]:
        yield Session("good", "s1", [])

    with_flavours(monkeypatch, flavour("bad", read, recognises=broken), flavour("good", read))
    transcript = read_transcript(b"x")
    assert transcript.flavour == "good"
    assert transcript.skipped == {"bad failed to look at it: KeyError": 1}


def test_flavour_that_breaks_while_it_reads_keeps_what_it_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says why there is no more."""

    def read(_source: TranscriptSource) -> Iterator[Session]:
        yield Session("bad", "s1", [SessionEvent(1, Kind.PROMPT, "hello")])
        raise RecursionError

    with_flavours(monkeypatch, flavour("bad", read))
    transcript = read_transcript(b"x")
    assert [session.id for session in transcript.sessions] == ["s1"]
    assert transcript.skipped == {"bad could not read on: RecursionError": 1}


def test_session_without_an_id_is_called_like_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or by its beginning, if there is no file; never by nothing."""

    def read(_source: TranscriptSource) -> Iterator[Session]:
        yield Session("x", "", [])

    with_flavours(monkeypatch, flavour("x", read))
    assert read_transcript(b"x", "/tmp/20260101_a b.jsonl").sessions[0].name == "x:20260101_a-b"
    (first,), (again,), (other,) = (read_transcript(data).sessions for data in (b"x", b"x", b"y"))
    assert first.id == again.id != other.id


def test_every_event_can_be_written_down() -> None:
    """Halves of characters become marks, in texts and in arguments."""
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "echo \ud800", "\udc00": ["\ud800"]}}
    answer = {"type": "assistant", "uuid": "a1", "sessionId": "s1", "message": {"id": "m1", "content": [call]}}
    (session,) = read_transcript(lines(CLAUDE, answer)).sessions
    assert repr(session.events).encode()
    assert session.events[1].text == "echo ?"
    assert session.events[1].arguments == {"command": "echo ?", "?": ["?"]}


def test_later_part_of_a_file_has_its_own_lines() -> None:
    """A file that grew is read on."""
    (session,) = read_transcript(lines(CLAUDE), first_line=7).sessions
    assert session.events[0].line == 7
