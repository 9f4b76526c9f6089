"""Our named tuples behave as those of `typing` do."""

import copy
import pickle
import typing
from typing import Any

import pytest

from mesh.core.stdlib_substitutes import NamedTuple


class Ours(NamedTuple):
    """A pair."""

    first: int
    second: str = "none"

    @property
    def both(self) -> str:
        return f"{self.first} {self.second}"


class Theirs(typing.NamedTuple):
    first: int
    second: str = "none"


BOTH: tuple[Any, ...] = (Ours, Theirs)


def test_fields_defaults_and_methods_are_those_of_typing() -> None:
    """Made by place or by name, compared, unpacked, changed, listed."""
    for made in BOTH:
        one = made(1)
        assert (one.first, one.second, one) == (1, "none", (1, "none"))
        assert made(second="x", first=2) == (2, "x")
        assert one._replace(second="y") == (1, "y")
        assert type(one._replace(second="y")) is made
        assert one._asdict() == {"first": 1, "second": "none"}
        assert made._fields == ("first", "second")
        assert made._make([3, "z"]) == (3, "z")
        assert hash(one) == hash((1, "none"))
        assert repr(one) == f"{made.__name__}(first=1, second='none')"
    assert Ours(1).both == "1 none"


def test_wrong_calls_are_refused() -> None:
    """Too few, too many, unknown, and no attribute that was not there."""
    for made in BOTH:
        for wrong in ((), (1, "a", 2)):
            with pytest.raises(TypeError):
                made(*wrong)
        with pytest.raises(ValueError):
            made(1)._replace(third=3)
        with pytest.raises(AttributeError):
            made(1).third = 3


def test_they_are_matched_copied_and_pickled() -> None:
    """As values that travel between functions and processes."""
    match Ours(5, "five"):
        case Ours(first, second):
            assert (first, second) == (5, "five")
    one = Ours(1, "x")
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other == one
        assert type(other) is Ours
