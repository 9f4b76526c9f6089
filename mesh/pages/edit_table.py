"""Who edited a page last, and when. Answers from the newest operations alone: a page may have a hundred thousand."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from mesh.core.ids import digest, signed_prefix, tag_of
from mesh.core.operation import PAGE, Ignored, Page, fold_key, parse
from mesh.core.tuples import NamedTuple
from mesh.store.database import Run

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

    from mesh.store.database import Database, Run


_ARRIVED_LAST = (
    256  # among so many the newest by its stamp is looked for: they come almost in the order of their stamps
)


class LastEdit(NamedTuple):
    """A stamp, and the node."""

    at: int
    node: bytes


class Edits:
    """The newest edits of the pages of one home."""

    def __init__(self, database: Database) -> None:
        self._run: Run = database.connection.execute

    def last(self, page: bytes, body: bytes) -> LastEdit | None:
        """The last edit of a page's text or of its front matter, of those that are in it. None: there is none."""
        found = [edit for edit in (self._text(body), self._front(page)) if edit is not None]
        return max(found, default=None)

    def _text(self, body: bytes) -> LastEdit | None:
        rows = self._run(
            "SELECT hlc, node, data FROM ("
            " SELECT ops.hlc AS hlc, feeds.node AS node, ops.body AS data FROM ops JOIN feeds USING(feed)"
            " WHERE ops.key=? AND ops.kind=? AND ops.body IS NOT NULL AND ops.seq<=feeds.seq"
            " AND ops.op NOT IN (SELECT op FROM page_troubles) ORDER BY ops.op DESC LIMIT ?) ORDER BY hlc DESC",
            (signed_prefix(body), PAGE, _ARRIVED_LAST),
        )
        for hlc, node, data in rows:
            parsed = parse(PAGE, hlc, data)
            if isinstance(parsed, Page) and parsed.page == body:
                return LastEdit(hlc, node)
        return None

    def _front(self, page: bytes) -> LastEdit | None:
        found = self._run(
            "SELECT registers.at, feeds.node FROM registers JOIN ops USING(op) JOIN feeds USING(feed)"
            " WHERE target=? AND (field='front' OR field LIKE 'front.%') ORDER BY registers.at DESC LIMIT 1",
            (page,),
        ).fetchone()
        return None if found is None else LastEdit(*found)


LOG = "pages"  # whose elements are pages
COLUMNS = "ops.op, ops.hlc, feeds.node, ops.body"
_COUNTS = "EXISTS(SELECT 1 FROM ops JOIN feeds USING(feed) WHERE ops.op={}.op AND ops.body IS NOT NULL AND ops.seq<=feeds.seq)"


class PageRow(NamedTuple):
    """An accepted operation on a text."""

    op: int
    at: int
    node: bytes
    tag: bytes
    page: Page


class PageNews:
    """What the fold tells of pages. Works within whatever transaction the connection is in."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._run: Run = connection.execute

    def add(self, op: int, body: bytes) -> None:
        """An operation has come to count."""
        self._run("INSERT INTO page_news(op, body) VALUES(?,?)", (op, body))

    def reset(self, body: bytes) -> None:
        """Some operation counts no more: what was worked out is dropped, and all that counts is news again."""
        self._run("DELETE FROM page_texts WHERE body=?", (body,))
        is_kept = self._run("DELETE FROM page_states WHERE body=? RETURNING 1", (body,)).get is not None
        self._run(
            f"DELETE FROM page_troubles WHERE body=? AND (sort<>'quarantined' OR NOT {_COUNTS.format('page_troubles')})",
            (body,),
        )
        self.unlink()
        if not is_kept:  # then all that counts is news already, and perhaps what counts no more
            self._run(f"DELETE FROM page_news WHERE body=? AND NOT {_COUNTS.format('page_news')}", (body,))
            # Another last number: who works the first text out meanwhile must see that it is of no use.
            last = "(SELECT max(number) FROM page_news WHERE body=?)"
            for (op,) in self._run(f"DELETE FROM page_news WHERE number={last} RETURNING op", (body,)).fetchall():
                self.add(op, body)
            return
        self._run("DELETE FROM page_news WHERE body=?", (body,))
        for row in self.rows(body):
            self.add(row.op, body)

    def unlink(self) -> None:
        """Forget all links, until their pages are read again: what was taken back may have been one."""
        self._run("DELETE FROM page_linked")
        self._run("DELETE FROM page_links")

    def rows(self, body: bytes) -> list[PageRow]:
        """Every accepted, unerased operation on a text, in the order they came."""
        found = self._run(
            f"SELECT {COLUMNS} FROM ops JOIN feeds USING(feed) WHERE ops.key=? AND ops.kind=? AND ops.body IS NOT NULL AND ops.seq<=feeds.seq ORDER BY ops.op",
            (signed_prefix(body), PAGE),
        ).fetchall()
        return [row for row in map(page_row, found) if row is not None and row.page.page == body]


def page_row(found: Sequence[Any]) -> PageRow | None:
    """An operation on a text, from `COLUMNS`."""
    op, hlc, node, body = found
    parsed = parse(PAGE, hlc, body)
    return PageRow(op, hlc, node, tag_of(node, digest(body)), parsed) if isinstance(parsed, Page) else None


def take_earlier(connection: apsw.Connection) -> None:
    """Read every operation on a page again: an earlier version may have taken its body for something else."""
    run: Run = connection.execute
    rows = run(
        "SELECT ops.op, ops.hlc, ops.seq<=feeds.seq, ops.body FROM ops JOIN feeds USING(feed)"
        " WHERE ops.kind=? AND ops.body IS NOT NULL ORDER BY ops.op",
        (PAGE,),
    ).fetchall()
    news = PageNews(connection)
    for op, hlc, counts, body in rows:
        parsed = parse(PAGE, hlc, body)
        run("UPDATE ops SET key=? WHERE op=?", (fold_key(parsed, b""), op))
        run("DELETE FROM ignored WHERE op=?", (op,))
        if counts and isinstance(parsed, Page):
            news.add(op, parsed.page)
        elif counts and isinstance(parsed, Ignored):
            run("INSERT INTO ignored VALUES(?,?)", (op, parsed.reason))
