"""Blocks do what `contextlib.contextmanager` does: with each way in which a generator and what stands in its `with` can end."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import product

import pytest

from mesh.core.stdlib_substitutes import block

Maker = Callable[[list[str]], Iterator[str]]


def plain(said: list[str]) -> Iterator[str]:
    said.append("begin")
    yield "given"
    said.append("end")


def careful(said: list[str]) -> Iterator[str]:
    try:
        yield "given"
    finally:
        said.append("end")


def forgiving(said: list[str]) -> Iterator[str]:
    try:
        yield "given"
    except BaseException as error:  # noqa: BLE001 (all of them)
        said.append(f"forgives {error!r}")


def translating(said: list[str]) -> Iterator[str]:
    try:
        yield "given"
    except Exception as error:
        said.append("translates")
        raise LookupError("another") from error


def failing_at_the_end(said: list[str]) -> Iterator[str]:
    yield "given"
    said.append("fails")
    raise KeyError("at the end")


def failing_at_the_beginning(said: list[str]) -> Iterator[str]:
    if not said:
        said.append("fails")
        raise KeyError("at the beginning")
    yield "given"


def endless(said: list[str]) -> Iterator[str]:
    for _ in range(3):
        try:
            yield "given"
        except ValueError:
            said.append("goes on")


def empty(said: list[str]) -> Iterator[str]:
    yield from said


MAKERS: list[Maker] = [
    plain,
    careful,
    forgiving,
    translating,
    failing_at_the_end,
    failing_at_the_beginning,
    endless,
    empty,
]
ERRORS = [None, ValueError("v"), StopIteration("s"), KeyboardInterrupt(), GeneratorExit(), RuntimeError("r")]


def told(made: AbstractContextManager[str], error: BaseException | None, said: list[str]) -> tuple[object, ...]:
    """What whoever writes `with` gets to know: what was given, what was raised and from what, what was done."""
    given: str | None = None
    try:
        with made as given:
            if error is not None:
                raise error  # noqa: TRY301 (it has to come out of the block)
    except BaseException as raised:  # noqa: BLE001 (all of them)
        is_ours = raised is error
        words = None if isinstance(raised, RuntimeError) and not is_ours else str(raised)  # of misuse: our own words
        return given, type(raised), words, is_ours, type(raised.__cause__), said
    return given, None, said


@pytest.mark.parametrize(
    ("maker", "error"), [*product(MAKERS, ERRORS)], ids=lambda value: getattr(value, "__name__", repr(value))
)
def test_a_block_is_a_context_manager(maker: Maker, error: BaseException | None) -> None:
    """The same is done and raised, in the same order."""
    ours: list[str] = []
    theirs: list[str] = []
    assert told(block(maker)(ours), error, ours) == told(contextmanager(maker)(theirs), error, theirs)


def test_it_keeps_its_name_and_arguments() -> None:
    """As a method as well."""

    class Door:
        @block
        def open(self, *, width: int) -> Iterator[int]:
            """How wide."""
            yield width

    with Door().open(width=3) as width:
        assert width == 3
    assert (Door.open.__name__, Door.open.__doc__) == ("open", "How wide.")
