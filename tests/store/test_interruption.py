"""Reading that nobody waits for any more ends inside the database."""

import apsw
import pytest

from mesh.store.interruption import give_up_when, watch

LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT count(*) FROM n"


def test_reading_ends_once_it_is_given_up() -> None:
    connection = apsw.Connection(":memory:")
    asked: list[None] = []

    def is_given_up() -> bool:
        asked.append(None)
        return len(asked) > 2

    with give_up_when(is_given_up):
        watch(connection)
        with pytest.raises(apsw.InterruptError):
            connection.execute(LONG).fetchall()
    assert len(asked) == 3


def test_a_connection_that_is_used_again_heeds_only_its_present_reader() -> None:
    connection = apsw.Connection(":memory:")
    with give_up_when(lambda: True):
        watch(connection)
    watch(connection)
    assert connection.execute(LONG).get == 3_000_000
