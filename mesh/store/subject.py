"""What a subject brings to the store: tables, a part of the fold, of erasing and of checking. The store knows no subject by name.

A program names its subjects once, before it opens a store to write (`mesh.app.store_registry`). All of them write what they derive
from operations in the transaction that moves the operations, so no view of a subject is ever behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import apsw

from mesh.core.operation import Parsed

Run = Callable[..., Any]
Element = tuple[Any, ...]  # op, log, at, and the columns of all views
Step = str | Callable[[apsw.Connection], None]  # SQL, or what SQL cannot do


class View:
    """The tables of one subject, beside the fold's own. Works within whatever transaction the connection is in."""

    columns: tuple[str, ...] = ()  # of `elements`, beside the fold's own

    def values(self, feed: int) -> Callable[[dict[str, Any], bytes], tuple[Any, ...]]:  # noqa: ARG002
        """A function from a record of a feed and its tag to these columns. It is asked for anew in each transaction."""
        return lambda _record, _tag: ()

    def added(
        self, feed: int, elements: Sequence[Element], records: Sequence[tuple[int, bytes, dict[str, Any]]]
    ) -> None:
        """Records of one feed are live now: their rows, and of each op, tag and content."""

    def edited(self, tags: Iterable[bytes]) -> None:
        """Some records may read otherwise: a field was set, or is set no more."""

    def removed(self, op: int, element: Mapping[str, Any]) -> None:
        """A record is live no more: what its columns held."""

    def page_added(self, op: int, body: bytes) -> None:
        """An operation on the text of a page has come to count."""

    def withdrawn(self, bodies: Iterable[bytes], *, has_words: bool, logs: Iterable[str]) -> None:
        """Operations count no more: on these texts of pages, on a register (`has_words`), and records of these logs."""

    def settle(self) -> None:
        """The end of a change: what was put off is worked out."""

    def drop_unused_names(self) -> None:
        """After an erase: a name that only erased records used must go."""


class Subject:
    """One subject. What it does not bring it leaves out."""

    name = ""
    steps: Mapping[
        int, Step
    ] = {}  # its part of a version of the tables: the number of the version, and what is to be done

    def view_tables(self, schema: str) -> str:  # noqa: ARG002
        """Those of its tables that `verify` folds again, in another database."""
        return ""

    def compared(self) -> Mapping[str, str]:
        """What `verify` compares of these: a name, and a query with `{s}` for the database."""
        return {}

    def view(self, connection: apsw.Connection, schema: str) -> View | None:  # noqa: ARG002
        """Its part of the fold. None: it has none in this database."""
        return None

    def problems(self, connection: apsw.Connection) -> Iterator[str]:  # noqa: ARG002
        """What is wrong with tables that are not folded again."""
        yield from ()

    def erased(self, run: Run, parsed: Parsed, tag: bytes) -> None:
        """A body is gone from the tables of the fold: what else holds it goes, too."""

    def scrub(self, run: Run) -> None:
        """Before the file is written anew: leave no erased text in it that SQLite would copy."""

    def drop_files(self, folder: str) -> None:
        """Text was erased: delete what was derived from it and lies beside the database, in the folder of the home."""

    def wiped(self, folder: str, tags: set[bytes]) -> None:
        """Records were erased by this node: the same for what is not deleted but overwritten."""

    def kept_tables(self) -> Sequence[tuple[str, str]]:
        """What of its tables cannot be derived again: the table, and a query for what a repair takes over from a damaged file."""
        return ()


class _Registry:
    """The subjects of this process. They are loaded when the first store is opened to write: who only reads needs none."""

    def __init__(self) -> None:
        self.source: Callable[[], Sequence[Subject]] | None = None
        self.loaded: tuple[Subject, ...] | None = None


_REGISTRY = _Registry()


def provide(source: Callable[[], Sequence[Subject]]) -> None:
    """Say where the subjects of this program come from. Once, before a store is opened to write."""
    _REGISTRY.source, _REGISTRY.loaded = source, None


def subjects() -> tuple[Subject, ...]:
    """All subjects, in the order in which their tables are made."""
    if _REGISTRY.loaded is None:
        if _REGISTRY.source is None:  # records would be missing in the views of every subject
            raise RuntimeError("no subjects are registered; import mesh.app.store_registry before a store is opened")
        _REGISTRY.loaded = tuple(_REGISTRY.source())
    return _REGISTRY.loaded
