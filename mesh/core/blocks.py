"""A generator as a `with` block, as `contextlib.contextmanager` makes it, for the modules that everyday commands load.

`contextlib` loads three modules more, which takes a fiftieth of a whole `mesh search`. Whoever is not in its way uses it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from contextlib import contextmanager as block
    from typing import Any
else:

    def block(function: Any) -> Any:
        """What stands before its `yield` is done at the beginning, what stands behind it at the end."""

        def begin(*args: Any, **named: Any) -> _Block:
            return _Block(function(*args, **named))

        begin.__doc__, begin.__name__, begin.__qualname__ = function.__doc__, function.__name__, function.__qualname__
        return begin


__all__ = ["block"]


class _Block:
    """One `with`, once."""

    __slots__ = ("_steps",)

    def __init__(self, steps: Any) -> None:
        self._steps = steps

    def __enter__(self) -> Any:
        for given in self._steps:
            return given
        raise RuntimeError("a block that does not begin")

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is None:
            for _ in self._steps:
                raise RuntimeError("a block that does not end")
            return False
        try:
            self._steps.throw(error)
        except StopIteration as end:
            return end is not error  # the block has dealt with it
        except BaseException as raised:
            if raised is error or (isinstance(error, StopIteration) and _is_made_of(raised, error)):
                return False
            raise
        raise RuntimeError("a block that does not end")


def _is_made_of(raised: BaseException, error: StopIteration) -> bool:
    """Whether it is what Python makes of a StopIteration that a generator lets through."""
    return isinstance(raised, RuntimeError) and raised.__cause__ is error
