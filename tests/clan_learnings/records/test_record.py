"""What a record may say, and how it is read."""

from typing import Any

import pytest

from clan_learnings.records.record import About, Note, checked, one_of, required_text
from clan_learnings.records.shared_settings import SharedSettings, is_category
from mesh.core.errors import UsageError
from mesh.store.reader import Entry


def note(log: str = "corrections", fields: dict[str, Any] | None = None, **record: Any) -> Note:
    return Note(Entry(b"t" * 32, log, 5 << 16, b"n" * 32, record), fields or {})


def test_what_was_not_said_is_not_written_but_for_the_repository() -> None:
    """It scopes the record, also when it is empty."""
    assert About().fields() == {"repo": ""}
    assert About(repo="r", tags=("a",), confidence=0.0, minutes_lost=0).fields() == {
        "repo": "r",
        "tags": ["a"],
        "confidence": 0.0,
        "minutes_lost": 0,
    }


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (note(right="pnpm", wrong="npm"), "pnpm (not: npm)"),
        (note(right="pnpm"), "pnpm"),
        (note("patterns", rule="use pnpm"), "use pnpm"),
        (note("discoveries", text="405"), "405"),
        (note("supersessions", old="a", new="b"), "b in the place of a"),
        (note("discoveries", {"text": "better"}, text="405"), "better"),
        (note("discoveries", text=405), ""),
    ],
)
def test_the_sentence_to_show(made: Note, text: str) -> None:
    """Of each kind of record, with its edits."""
    assert made.text == text


def test_only_what_may_be_edited_is() -> None:
    """Who said it, in which session and by what right stays; a field of another kind of record is not added."""
    made = note(
        "discoveries",
        {"session": "x", "agent": "x", "source": "x", "right": "x", "severity": "high", "text": "y"},
        text="t",
        session="s",
    )
    assert made.record == {"text": "y", "session": "s", "severity": "high"}


@pytest.mark.parametrize(
    ("record", "confidence"),
    [
        ({"confidence": 0.4}, 0.4),
        ({"confidence": 1}, 1.0),
        ({"confidence": True}, 0.8),
        ({"confidence": 3}, 0.8),
        ({"confidence": float("nan")}, 0.8),
        ({"confidence": "high", "source": "human"}, 0.9),
        ({"source": "human"}, 0.9),
        ({}, 0.8),
    ],
)
def test_confidence_is_between_nothing_and_certainty(record: dict[str, Any], confidence: float) -> None:
    """What cannot be is as if it were not said: then it depends on who speaks."""
    assert note(**record).confidence == confidence


def test_a_record_without_a_session_counts_for_itself() -> None:
    """Its own tag stands for one."""
    assert note(session="codex:1").session == "codex:1"
    assert note().session == "record:" + (b"t" * 32).hex()


@pytest.mark.parametrize(
    ("about", "right"),
    [
        (About(category="nope"), "build-errors, test-failures"),
        (About(severity="urgent"), "low, medium, high, critical"),
        (About(confidence=1.5), "from 0 to 1"),
        (About(confidence=float("nan")), "from 0 to 1"),
        (About(minutes_lost=-1), "whole minutes"),
        (About(topic="x" * 65), "64 characters"),
        (About(topic="two\nlines"), "64 characters"),
        (About(tags=["x"] * 17), "at most 16"),
        (About(tags=[""]), "64 characters"),
        (About(evidence="x" * 2001), "2000 characters"),
    ],
)
def test_a_wrong_value_gets_the_right_ones(about: About, right: str) -> None:
    """The error lists them, or says what may be."""
    with pytest.raises(UsageError) as raised:
        checked(about, SharedSettings({}).categories)
    assert right in raised.value.next_step


def test_a_wrong_source_lists_the_right_ones() -> None:
    """As every closed list does."""
    with pytest.raises(UsageError) as raised:
        one_of("boss", ("human", "agent", "build", "self"), "source")
    assert raised.value.next_step == "source is one of: human, agent, build, self"


def test_an_empty_text_and_one_too_long_are_refused() -> None:
    """With an example, or the way out."""
    with pytest.raises(UsageError, match="empty"):
        required_text(" \n", "the text", "mesh discover x")
    with pytest.raises(UsageError, match="8001 characters"):
        required_text("x" * 8001, "the text", "mesh discover x")
    assert required_text(" x \n", "the text", "") == "x"


def test_categories_of_the_mesh_come_behind_the_built_in_ones() -> None:
    """Those switched off, and names that cannot be, are left out."""
    own = {"category:data": True, "category:old": False, "category:No Good": True, "category:build-errors": True}
    assert SharedSettings(own).categories[-2:] == ("domain-knowledge", "data")


@pytest.mark.parametrize(
    ("name", "good"),
    [("data", True), ("data-2", True), ("", False), ("-", False), ("Data", False), ("a b", False), ("ä", False)],
)
def test_names_of_categories(name: str, *, good: bool) -> None:
    """Small letters, digits and hyphens."""
    assert is_category(name) is good
