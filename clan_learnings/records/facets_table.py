"""What a record says of itself in three fields, as columns of its element: `repo`, `pattern`, `session`. No edits here.

Only what was written counts, so that the columns follow from the record alone. Who wants edits (registers) applied
looks at them after: they are few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import apsw

from mesh.core.ids import digest, named_digest, signed_prefix, tag_of
from mesh.core.limits import SALT_BYTES, TEXT_CHARS
from mesh.core.wire import unpack
from mesh.store.database import Run

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

_CHUNK = 4096  # elements filled at a time

Columns = tuple[int | None, int | None, int | None, int | None]  # scope, pattern, session, and of a pattern the feed
Element = tuple[int, int, int, int | None, int | None, int | None, int | None]  # op, log, at, and the columns


class Facets:
    """The numbers of repos and patterns in one schema. Reads and writes within whatever transaction the connection is in."""

    def __init__(self, connection: apsw.Connection, schema: str) -> None:
        self._run: Run = connection.execute
        self._many: Run = connection.executemany
        self._schema = schema

    def batch(self, feed: int) -> Callable[[dict[str, Any], bytes], Columns]:
        """A function from a record of a feed and its tag to its columns. It remembers numbers, so it must not outlive the transaction."""
        scopes: dict[str, int] = {}
        patterns: dict[str, int] = {}

        def columns(record: dict[str, Any], tag: bytes) -> Columns:
            repo, name = record.get("repo"), record.get("pattern")
            scope = None
            # A longer text is nobody's repo or pattern, and would stand in the file three times.
            if type(repo) is str and len(repo) <= TEXT_CHARS:
                scope = scopes.get(repo)
                if scope is None:
                    scope = scopes[repo] = self._number("scope", repo)
            if type(name) is not str or len(name) > TEXT_CHARS:
                return scope, None, None, None
            pattern = patterns.get(name)
            if pattern is None:
                pattern = patterns[name] = self._number("pattern", name)
            return scope, pattern, session_key(record.get("session"), tag), feed

        return columns

    def count(self, feed: int, elements: Iterable[Element]) -> None:
        """Take new elements of one feed into the tallies. Sets only grow by this, so the order they come in does not matter."""
        found: dict[tuple[int, int], tuple[int, int]] = {}
        spread = set()
        add = f"INSERT OR IGNORE INTO {self._schema}.occurrences VALUES(?,?,?) RETURNING 1"
        for _, log, at, scope, pattern, session, _ in elements:
            if pattern is not None:
                fresh = self._run(add, (pattern, log, session)).get or 0
                sessions, last = found.get((pattern, log), (0, 0))
                found[pattern, log] = (sessions + fresh, max(last, at))
                spread.add((pattern, log, feed, scope or 0))
        self._many(f"INSERT OR IGNORE INTO {self._schema}.spread VALUES(?,?,?,?)", spread)
        self._many(
            f"INSERT INTO {self._schema}.tallies VALUES(?,?,?,?) ON CONFLICT(pattern, log) DO UPDATE"
            " SET sessions=sessions+excluded.sessions, at=max(at, excluded.at)",
            [(*key, *counted) for key, counted in found.items()],
        )

    def recount(self, patterns: Iterable[tuple[int, int]]) -> None:
        """Count patterns anew from the elements that are left, each in one log: for whatever takes something away."""
        patterns = sorted(patterns)
        mine = f"FROM {self._schema}.elements WHERE pattern=?1 AND log=?2"
        for table in ("occurrences", "spread", "tallies"):
            self._many(f"DELETE FROM {self._schema}.{table} WHERE pattern=?1 AND log=?2", patterns)
        self._many(f"INSERT INTO {self._schema}.occurrences SELECT DISTINCT ?1, ?2, session {mine}", patterns)
        self._many(
            f"INSERT INTO {self._schema}.spread SELECT DISTINCT ?1, ?2, feed, ifnull(scope, 0)"
            f" FROM {self._schema}.elements JOIN main.ops USING(op) WHERE pattern=?1 AND log=?2",
            patterns,
        )
        self._many(
            f"INSERT INTO {self._schema}.tallies SELECT ?1, ?2,"
            f" (SELECT count(*) FROM {self._schema}.occurrences WHERE pattern=?1 AND log=?2), max(at)"
            f" {mine} HAVING count(*)>0",
            patterns,
        )

    def drop_unused(self) -> None:
        """Names are text too: after an erase, those that only erased records used must go."""
        for column in ("scope", "pattern"):
            self._run(
                f"DELETE FROM {self._schema}.{column}s WHERE NOT EXISTS"
                f" (SELECT 1 FROM {self._schema}.elements WHERE elements.{column}={column}s.{column})"
            )

    def _number(self, column: str, name: str) -> int:
        table = f"{self._schema}.{column}s"
        found = self._run(f"SELECT {column} FROM {table} WHERE name=?", (name,)).get
        if found is None:
            found = self._run(f"INSERT INTO {table}(name) VALUES(?) RETURNING {column}", (name,)).get
        return int(found)


def session_key(session: object, tag: bytes) -> int:
    """Eight bytes for a session, of which nothing but equality is asked. A record without one counts for itself."""
    if type(session) is str and session:
        return signed_prefix(named_digest(b"clan-mesh sess 1", session.encode()))
    return signed_prefix(tag)


def fill(connection: apsw.Connection) -> None:
    """The columns of every element that is there: for the migration that brought them."""
    run: Run = connection.execute
    facets = Facets(connection, "main")
    columns = facets.batch(0)  # which a later migration fills in
    after = -1
    while True:
        rows = run(
            "SELECT op, node, body FROM elements JOIN ops USING(op) JOIN feeds USING(feed) WHERE op>? ORDER BY op LIMIT ?",
            (after, _CHUNK),
        ).fetchall()
        if not rows:
            break
        after = rows[-1][0]
        connection.executemany(
            "UPDATE elements SET scope=?, pattern=?, session=? WHERE op=?",
            [(*columns(unpack(body[SALT_BYTES:])[2], tag_of(node, digest(body)))[:3], op) for op, node, body in rows],
        )
    facets.recount(run("SELECT DISTINCT pattern, log FROM elements WHERE pattern IS NOT NULL").fetchall())
