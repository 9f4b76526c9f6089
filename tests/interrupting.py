"""Another process that does something just before a question to a database: what questions find must be of one state. No test lives here."""

from collections.abc import Callable

import apsw


def interrupted(connection: apsw.Connection, before: str, act: Callable[[], object]) -> list[str]:
    """From now on: the questions about bodies, each once, in order. When `before` is asked for the first time, `act` comes first."""
    asked: list[str] = []

    def trace(_: object, sql: str, __: object) -> bool:
        if "body" in sql and sql not in asked:
            asked.append(sql)
            if sql == before:
                act()
        return True

    connection.exec_trace = trace
    return asked
