"""Light substitutes for slow imports of the standard library: `NamedTuple` without `typing`, `block` (contextmanager) without `contextlib`.

For the modules that everyday commands load; all others use the library's own. For type checkers they are the library's own.
A command that writes starts with thirty named tuples: here only the constructor of each is compiled.
"""

from __future__ import annotations

TYPE_CHECKING = False  # see `mesh`


__all__ = ["NamedTuple", "block"]

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 (handed on)
else:
    from _collections import _tuplegetter  # what collections.namedtuple makes fields of

    class _Fields(type):
        """Turns the annotations of a class into the fields of a tuple."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
            body.setdefault("__slots__", ())
            fields = tuple(body.get("__annotations__", ()))
            if fields:
                defaults = tuple(body[field] for field in fields if field in body)
                for place, field in enumerate(fields):
                    body[field] = _tuplegetter(place, "")
                listed = ", ".join(fields)
                new = eval(f"lambda _cls, {listed}: _new(_cls, ({listed},))", {"_new": tuple.__new__})  # noqa: S307 (our own names)
                new.__defaults__ = defaults
                body |= {"__new__": new, "_fields": fields, "__match_args__": fields}
            return super().__new__(cls, name, bases, body)

    class NamedTuple(tuple, metaclass=_Fields):
        """A tuple whose places have names."""

        __slots__ = ()

        def __repr__(self) -> str:
            named = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({named})"

        def _replace(self, **changes: object) -> NamedTuple:
            values = [changes.pop(name, value) for name, value in zip(self._fields, self, strict=True)]
            if changes:
                raise ValueError(f"there is no field {min(changes)!r}")
            return tuple.__new__(type(self), values)

        def _asdict(self) -> dict[str, object]:
            return dict(zip(self._fields, self, strict=True))

        @classmethod
        def _make(cls, values: tuple[object, ...]) -> NamedTuple:
            return cls(*values)

        def __getnewargs__(self) -> tuple[object, ...]:
            return tuple(self)


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
