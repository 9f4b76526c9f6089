"""How long is waited, as the user says."""

import pytest

from mesh.store.file_access import patience


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("1", 3.0), ("20", 60.0), ("0.5", 1.5), ("1e9", 3000.0), ("inf", 3000.0)],
)
def test_patience_is_as_many_times_as_long_as_the_user_says(
    monkeypatch: pytest.MonkeyPatch, said: str, seconds: float
) -> None:
    """But it always ends."""
    monkeypatch.setenv("MESH_PATIENCE", said)
    assert patience(3.0) == seconds


@pytest.mark.parametrize("said", ["", "long", "0", "-1", "nan"])
def test_what_is_no_number_changes_nothing(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """A hook has nobody to complain to."""
    monkeypatch.setenv("MESH_PATIENCE", said)
    assert patience(3.0) == 3.0


def test_without_a_word_of_the_user_patience_is_the_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    """As most have it."""
    monkeypatch.delenv("MESH_PATIENCE")
    assert patience(3.0) == 3.0
