"""Reading that somebody waits for can be given up: the database asks now and then whether anybody still does."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import apsw

_STEPS = 50_000  # of SQLite's machine between two looks: some milliseconds
_IS_GIVEN_UP: ContextVar[Callable[[], bool] | None] = ContextVar("is given up", default=None)


@contextmanager
def give_up_when(is_given_up: Callable[[], bool]) -> Iterator[None]:
    """What this thread reads inside the block ends in an `apsw.InterruptError` once that is so."""
    token = _IS_GIVEN_UP.set(is_given_up)
    try:
        yield
    finally:
        _IS_GIVEN_UP.reset(token)


def watch(connection: apsw.Connection) -> None:
    """Have what is read through a connection from now on heed this thread's wish, or that it has none."""
    connection.set_progress_handler(_IS_GIVEN_UP.get(), _STEPS)
