"""Tables of three fields of records: `repo`, `pattern` and `session`; and the tallies: how often each pattern occurred.

Only what was written counts, not later edits, so the columns follow from the record alone. Readers apply edits themselves; there are
few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import apsw

from mesh.core.ids import digest, named_digest, signed_prefix, tag_of
from mesh.core.limits import SALT_BYTES, TEXT_CHARS
from mesh.core.strict_msgpack import unpack
from mesh.store.subject import Element, Run, Step, Subject, View

_CHUNK = 4096  # elements filled at a time

Columns = tuple[int | None, int | None, int | None, int | None]  # scope, pattern, session, and of a pattern the feed


# What a record says of itself in `repo`, `pattern` and `session`: see `facets`. Texts stand once, under a number;
# of a session nothing but equality is asked, so it is a hash. The partial indexes cost nothing where a field is absent.
def _fields(schema: str) -> str:
    return f"""
CREATE TABLE {schema}.scopes(scope INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE {schema}.patterns(pattern INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE {schema}.tallies(
    pattern INTEGER NOT NULL, log INTEGER NOT NULL, sessions INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY(pattern, log)) WITHOUT ROWID;
CREATE INDEX {schema}.tallies_by_sessions ON tallies(log, sessions, at);
CREATE TABLE {schema}.occurrences(
    pattern INTEGER NOT NULL, log INTEGER NOT NULL, session INTEGER NOT NULL,
    PRIMARY KEY(pattern, log, session)) WITHOUT ROWID;
CREATE TABLE {schema}.spread(
    pattern INTEGER NOT NULL, log INTEGER NOT NULL, feed INTEGER NOT NULL, scope INTEGER NOT NULL,
    PRIMARY KEY(pattern, log, feed, scope)) WITHOUT ROWID;
ALTER TABLE {schema}.elements ADD COLUMN scope INTEGER;
ALTER TABLE {schema}.elements ADD COLUMN pattern INTEGER;
ALTER TABLE {schema}.elements ADD COLUMN session INTEGER;
CREATE INDEX {schema}.elements_by_scope ON elements(scope, log, at) WHERE scope IS NOT NULL;
CREATE INDEX {schema}.elements_by_pattern ON elements(pattern, log, at, session) WHERE pattern IS NOT NULL;
CREATE INDEX {schema}.registers_by_field ON registers(field, target);
"""


# In which feed a record of a pattern is: the oldest words of each node are found without a look at all the others.
def _voices(schema: str) -> str:
    return f"""
ALTER TABLE {schema}.elements ADD COLUMN voice INTEGER;
CREATE INDEX {schema}.elements_by_voice ON elements(pattern, log, voice, at) WHERE pattern IS NOT NULL;
"""


class Facets(View):
    """The numbers of repos and patterns in one schema, and the tallies of patterns."""

    columns = ("scope", "pattern", "session", "voice")

    def __init__(self, connection: apsw.Connection, schema: str) -> None:
        self._run: Run = connection.execute
        self._many: Run = connection.executemany
        self._schema = schema
        self._touched: set[tuple[int, int]] = set()  # patterns, a log each, whose sessions are to be counted again

    def values(self, feed: int) -> Callable[[dict[str, Any], bytes], Columns]:
        """The columns of a record. The function remembers numbers, so it must not outlive the transaction."""
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

    def added(self, feed: int, elements: Sequence[Element], records: object) -> None:  # noqa: ARG002
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

    def removed(self, op: int, element: Mapping[str, Any]) -> None:  # noqa: ARG002
        """A tally cannot be taken back: it is counted again at the end."""
        if element["pattern"] is not None:
            self._touched.add((element["pattern"], element["log"]))

    def settle(self) -> None:
        """Count again the patterns that were touched."""
        if self._touched:
            self.recount(self._touched)
            self._touched = set()

    def recount(self, patterns: Iterable[tuple[int, int]]) -> None:
        """Count patterns again from the elements that are left, each in one log, after something was removed."""
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

    def drop_unused_names(self) -> None:
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
    """Eight bytes for a session, only ever compared for equality. A record without a session counts for itself."""
    if type(session) is str and session:
        return signed_prefix(named_digest(b"clan-mesh sess 1", session.encode()))
    return signed_prefix(tag)


def fill(connection: apsw.Connection) -> None:
    """Fill the columns of every existing element, for the migration that added them."""
    run: Run = connection.execute
    facets = Facets(connection, "main")
    columns = facets.values(0)  # which a later migration fills in
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


def _begin(connection: apsw.Connection) -> None:
    connection.execute(_fields("main"))
    fill(connection)


_COMPARED = {
    "elements": (
        "op, (SELECT name FROM {s}.scopes WHERE scopes.scope=elements.scope),"
        " (SELECT name FROM {s}.patterns WHERE patterns.pattern=elements.pattern), session FROM {s}.elements"
    ),
    "tallies": (
        "(SELECT name FROM {s}.patterns WHERE patterns.pattern=tallies.pattern),"
        " (SELECT name FROM {s}.logs WHERE logs.log=tallies.log), sessions, at FROM {s}.tallies"
    ),
    "occurrences": (
        "(SELECT name FROM {s}.patterns WHERE patterns.pattern=occurrences.pattern),"
        " (SELECT name FROM {s}.logs WHERE logs.log=occurrences.log), session FROM {s}.occurrences"
    ),
    "spread": (
        "(SELECT name FROM {s}.patterns WHERE patterns.pattern=spread.pattern),"
        " (SELECT name FROM {s}.logs WHERE logs.log=spread.log), feed,"
        " (SELECT name FROM {s}.scopes WHERE scopes.scope=spread.scope) FROM {s}.spread"
    ),
}


class _Records(Subject):
    """See `mesh.store.subject`."""

    name = "records"
    steps: Mapping[int, Step] = {
        3: _begin,
        10: _voices("main")
        + "UPDATE elements SET voice=(SELECT feed FROM ops WHERE ops.op=elements.op) WHERE pattern IS NOT NULL;",
    }

    def view_tables(self, schema: str) -> str:
        return _fields(schema) + _voices(schema)

    def compared(self) -> Mapping[str, str]:
        return _COMPARED

    def view(self, connection: apsw.Connection, schema: str) -> View:
        return Facets(connection, schema)


RECORDS = _Records()
