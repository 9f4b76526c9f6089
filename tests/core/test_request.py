"""What makes two requests one: their ids, and what they say."""

import pytest

from mesh.core.draft import checked_id, content_of
from mesh.core.errors import UsageError


@pytest.mark.parametrize(
    "text", ["deploy-17", "0f" * 16, "3f0c1c1e-8a55-4d7b-9c0b-6f1d2c3b4a59", "a" * 64, "ci.run_12345"]
)
def test_what_a_script_would_choose_can_be_an_id(text: str) -> None:
    """Also what `uuidgen` prints."""
    assert checked_id(text) == text


@pytest.mark.parametrize(
    "text", ["", "short", "a" * 65, "two words", "--------", "naïve-id-1", "line\nbreak", "a/b/c/d/e"]
)
def test_what_may_be_a_mistake_cannot(text: str) -> None:
    """The error says what an id looks like."""
    with pytest.raises(UsageError, match="cannot be a request id") as refused:
        checked_id(text)
    assert "uuidgen" in refused.value.next_step


def test_to_leave_something_out_is_to_say_nothing() -> None:
    """A command says more of nothing than the API does."""
    said = content_of("discover", {"text": "a", "anyway": True, "confidence": 0.5})
    more: dict[str, object] = {"tags": [], "topic": "", "minutes_lost": None, "private": False}
    assert content_of("discover", {"confidence": 0.5, "anyway": True, "text": "a"} | more) == said


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("correct", {"text": "a", "tags": ["x"]}),
        ("discover", {"text": "b", "tags": ["x"]}),
        ("discover", {"text": "a", "tags": ["x", "y"]}),
        ("discover", {"text": "a", "topic": "x"}),
        ("discover", {"text": "a", "tags": ["x"], "confidence": 0.0}),
        ("discover", {"text": "a', 'b", "tags": ["x"]}),
    ],
)
def test_what_says_something_else_has_another_content(kind: str, words: dict[str, object]) -> None:
    """Also where only a zero is added: that is a number, and not nothing."""
    assert content_of(kind, words) != content_of("discover", {"text": "a", "tags": ["x"]})
