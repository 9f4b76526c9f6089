"""Another process that does something just before a question to a database: what questions find must be of one state. No test lives here."""

from collections.abc import Callable, Sequence

import apsw

from mesh.core.draft import Draft, Request
from mesh.store.author import Author
from mesh.store.receipts import Receipt

_ABOUT_NOTHING = ("[]",)


def interrupted(connection: apsw.Connection, before: str, act: Callable[[], object]) -> list[str]:
    """From now on: the questions about bodies, each once, in order. When `before` is asked for the first time, `act` comes first."""
    asked: list[str] = []

    def trace(_: object, sql: str, given: object) -> bool:
        if "body" in sql and sql not in asked and given != _ABOUT_NOTHING:
            asked.append(sql)
            if sql == before:
                act()
        return True

    connection.exec_trace = trace
    return asked


def interrupted_author(author: Author, before: str, act: Callable[[], object]) -> list[str]:
    """The same, but not while it writes: then it holds the lock that others wait for."""
    connection, append = author.store.database.connection, author.append
    asked = interrupted(connection, before, act)
    trace = connection.exec_trace

    def quietly(drafts: Sequence[Draft], request: Request | None = None, *, is_bulk: bool = False) -> Receipt:
        connection.exec_trace = None
        receipt = append(drafts, request, is_bulk=is_bulk)
        connection.exec_trace = trace
        return receipt

    author.append = quietly  # type: ignore[method-assign]
    return asked
