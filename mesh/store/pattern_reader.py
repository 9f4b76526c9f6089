"""Records by the pattern they were written under, and the tallies of patterns. What a pattern means is for others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mesh.store.entries import AMONG, Entry, PatternTally, RowReader, keys_of


class PatternReader(RowReader):
    """The patterns of one database."""

    own: bytes | None = None  # the node whose home this is, if that is known

    def of_pattern(self, slug: str) -> list[Entry]:
        """The live records that were written under a pattern, oldest first."""
        rows = self._run("SELECT op FROM elements WHERE pattern=(SELECT pattern FROM patterns WHERE name=?)", (slug,))
        entries = self._entries([op for (op,) in rows])
        entries.sort(key=lambda entry: (entry.at, entry.tag))
        return entries

    def words_of_pattern(self, slug: str, each: int) -> list[Entry]:
        """Of what was written under a pattern, by each node in each log the oldest so many; more, if it has several feeds."""
        voices = "SELECT DISTINCT log, feed FROM spread WHERE pattern=?1"
        oldest = "SELECT op FROM elements WHERE pattern=?1 AND log=voices.log AND voice=voices.feed ORDER BY elements.at LIMIT ?2"
        rows = self._run(
            f"SELECT live.op FROM ({voices}) AS voices CROSS JOIN elements AS live ON live.op IN ({oldest})",
            (self._number("pattern", slug), each),
        )
        return self._entries([op for (op,) in rows])

    def eldest(self, slug: str, log: str) -> Entry | None:
        """The oldest live record of a log that was written under a pattern; of equal stamps the tag decides."""
        numbers = self._number("pattern", slug), self._number("log", log)
        rows = self._run(
            "SELECT op FROM elements WHERE pattern=?1 AND log=?2"
            " AND at=(SELECT min(at) FROM elements WHERE pattern=?1 AND log=?2)",
            numbers,
        )
        return min(self._entries([op for (op,) in rows]), key=lambda entry: entry.tag, default=None)

    def count_under(self, slug: str, repos: Iterable[str] | None = None) -> int:
        """How many live records were written under a pattern, for one of these repos."""
        number = self._number("pattern", slug)
        if repos is None:
            return int(self._run("SELECT count(*) FROM elements WHERE pattern=?", (number,)).get)
        scopes = [self._number("scope", repo) for repo in sorted(set(repos))]
        within = ",".join("?" * len(scopes))
        return int(
            self._run(f"SELECT count(*) FROM elements WHERE pattern=? AND scope IN ({within})", (number, *scopes)).get
        )

    def newest_of(self, slug: str, log: str, count: int) -> list[Entry]:
        """The newest of a log that were written under a pattern, newest first."""
        numbers = (self._number("pattern", slug), self._number("log", log))
        return self._newest([("pattern=? AND log=?", numbers)], count)

    def named_by(self, tags: Iterable[bytes]) -> set[str]:
        """The patterns that some records were written under, those that are live; hardly ever another one."""
        rows = f"SELECT DISTINCT name FROM elements JOIN patterns USING(pattern) WHERE {AMONG}"
        return {name for (name,) in self._run(rows, (keys_of(tags),))}

    def names_like(self, start: str, count: int) -> list[str]:
        """Names of patterns that begin like this."""
        rows = self._run(
            "SELECT name FROM patterns WHERE name>=? AND name<? ORDER BY name LIMIT ?",
            (start, start + "\U0010ffff", count),
        )
        return [name for (name,) in rows]

    def tallies(self, least: int, log: str) -> list[PatternTally]:
        """The patterns that a log names in at least so many sessions, as they were written: those of most sessions first, then of the newest record, then by name."""
        return self._tallies("sessions>=?2 ORDER BY sessions DESC, at DESC, name", log, least)

    def tally(self, slug: str, log: str) -> PatternTally | None:
        """How a log names one pattern; None if no live record of it does."""
        found = self._tallies("tallies.pattern=?2", log, self._number("pattern", slug))
        return found[0] if found else None

    def sessions(self, slug: str, log: str, after: int = -1) -> int:
        """In how many sessions a log names a pattern; `after`: only those whose first record under it has a later stamp."""
        if after < 0:
            return self._tallied("sessions", slug, log)
        later = "SELECT 1 FROM elements WHERE pattern=? AND log=? GROUP BY session HAVING min(at)>?"
        numbers = self._number("pattern", slug), self._number("log", log)
        return int(self._run(f"SELECT count(*) FROM ({later})", (*numbers, after)).get)

    def own_sessions(self, slug: str, log: str) -> int:
        """In how many sessions of this very node a log names a pattern."""
        numbers = self._number("pattern", slug), self._number("log", log)
        voices = "SELECT feed FROM feeds WHERE node=?3"
        own = f"SELECT count(DISTINCT session) FROM elements WHERE pattern=?1 AND log=?2 AND voice IN ({voices})"
        return int(self._run(own, (*numbers, self.own)).get)

    def last(self, slug: str, log: str) -> int:
        """The stamp of the newest record that names a pattern in a log; 0 if none does."""
        return self._tallied("at", slug, log)

    def writers(self, slug: str, logs: Sequence[str]) -> set[bytes]:
        """The nodes of the live records of some logs that were written under a pattern."""
        numbers = [self._number("log", log) for log in logs]
        rows = self._run(
            "SELECT DISTINCT node FROM spread JOIN feeds USING(feed)"
            f" WHERE pattern=? AND spread.log IN ({','.join('?' * len(numbers))})",
            (self._number("pattern", slug), *numbers),
        )
        return {node for (node,) in rows}

    def _tallied(self, column: str, slug: str, log: str) -> int:
        """What is tallied of a pattern, in one look: a search asks it of every pattern that it finds."""
        numbers = "pattern=(SELECT pattern FROM patterns WHERE name=?) AND log=(SELECT log FROM logs WHERE name=?)"
        return self._run(f"SELECT {column} FROM tallies WHERE {numbers}", (slug, log)).get or 0

    def _tallies(self, which: str, log: str, value: int) -> list[PatternTally]:
        mine = "WHERE spread.pattern=tallies.pattern AND spread.log=tallies.log"
        rows = self._run(
            "SELECT name, sessions, at,"
            f" (SELECT group_concat(DISTINCT feed) FROM spread {mine}),"
            f" (SELECT group_concat(DISTINCT scope) FROM spread {mine})"
            f" FROM tallies JOIN patterns USING(pattern) WHERE tallies.log=?1 AND {which}",
            (self._number("log", log), value),
        ).fetchall()
        if not rows:
            return []
        names = {str(number): name for number, name in self._run("SELECT scope, name FROM scopes")}
        nodes = {str(number): node for number, node in self._run("SELECT feed, node FROM feeds")}
        return [
            PatternTally(
                slug,
                sessions,
                at,
                frozenset([nodes[number] for number in feeds.split(",")]),
                sorted({names.get(number, "") for number in scopes.split(",")}),
            )
            for slug, sessions, at, feeds, scopes in rows
        ]
