"""Page operations in tables: what is new since a text was last computed, and who edited it last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from clan_learnings.search.keywords.fts_table import scrub
from mesh.core.ids import digest, signed_prefix, tag_of
from mesh.core.operation import PAGE, PAGES_LOG, Add, Ignored, Page, Parsed, Set, fold_key, parse
from mesh.pages.page_words_table import PAGE_WORDS
from mesh.store.database import Database
from mesh.store.subject import Run, Step, Subject, View

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


COLUMNS = "ops.op, ops.hlc, feeds.node, ops.body"
_COUNTS = "EXISTS(SELECT 1 FROM ops JOIN feeds USING(feed) WHERE ops.op={}.op AND ops.body IS NOT NULL AND ops.seq<=feeds.seq)"


class PageRow(NamedTuple):
    """An accepted operation on a text."""

    op: int
    at: int
    node: bytes
    tag: bytes
    page: Page


class PageNews(View):
    """What the fold tells of pages. Works within whatever transaction the connection is in."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._run: Run = connection.execute

    def page_added(self, op: int, body: bytes) -> None:
        """An operation has come to count."""
        self._run("INSERT INTO page_news(op, body) VALUES(?,?)", (op, body))

    def withdrawn(self, bodies: Iterable[bytes], *, has_words: bool, logs: Iterable[str]) -> None:
        """Some operations count no more. A register, or what a page was made with, may have held a link."""
        for body in bodies:
            self.reset(body)
        if has_words or PAGES_LOG in logs:
            self.unlink()

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
                self.page_added(op, body)
            return
        self._run("DELETE FROM page_news WHERE body=?", (body,))
        for row in self.rows(body):
            self.page_added(row.op, body)

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
            news.page_added(op, parsed.page)
        elif counts and isinstance(parsed, Ignored):
            run("INSERT INTO ignored VALUES(?,?)", (op, parsed.reason))


# Pages: see `mesh.pages.page_table`. All of it is of this node alone and can be worked out again, but for `page_files`,
# which remembers what a file held when it was last in step with its page, and `page_carried`.
_PAGES = """
CREATE TABLE page_news(number INTEGER PRIMARY KEY AUTOINCREMENT, op INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX page_news_by_body ON page_news(body, number);
CREATE TABLE page_texts(
    body BLOB PRIMARY KEY, made INTEGER NOT NULL, text_number INTEGER NOT NULL, text TEXT NOT NULL);
CREATE TABLE page_states(body BLOB PRIMARY KEY, ledger BLOB NOT NULL, state BLOB NOT NULL);
CREATE TABLE page_troubles(op INTEGER PRIMARY KEY, body BLOB NOT NULL, sort TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE page_wiped(id BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE page_carried(op INTEGER PRIMARY KEY);
CREATE TABLE page_linked(page BLOB PRIMARY KEY, text_hash BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE page_links(page BLOB NOT NULL, target TEXT NOT NULL, line INTEGER NOT NULL);
CREATE INDEX page_links_by_page ON page_links(page);
CREATE TABLE page_folders(folder TEXT PRIMARY KEY, prefix TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE page_files(
    folder TEXT NOT NULL, path TEXT NOT NULL, page BLOB NOT NULL, page_text TEXT NOT NULL, file_hash BLOB,
    style TEXT NOT NULL, PRIMARY KEY(folder, path)) WITHOUT ROWID;
"""


def _page_of(parsed: Parsed, tag: bytes) -> bytes | None:
    """The page, or the text of one, that an operation was about: what is remembered of its files holds it too (`page_files`)."""
    match parsed:
        case Page(page=page):
            return page
        case Add(log=log) if log == PAGES_LOG:
            return tag
        case Set(target=target, field=field) if field == "name" or field.partition(".")[0] == "front":
            return target if isinstance(target, bytes) else None
    return None


def _begin(connection: apsw.Connection) -> None:
    """Operations on pages that came to an earlier version, which could not read them."""
    connection.execute(_PAGES)
    take_earlier(connection)


class _Pages(Subject):
    """See `mesh.store.subject`."""

    name = "pages"
    steps: Mapping[int, Step] = {4: _begin, 5: PAGE_WORDS}

    def view(self, connection: apsw.Connection, schema: str) -> View | None:
        return PageNews(connection) if schema == "main" else None

    def erased(self, run: Run, parsed: Parsed, tag: bytes) -> None:
        page = _page_of(parsed, tag)
        if page is not None:
            run("INSERT OR IGNORE INTO page_wiped VALUES(?)", (page,))

    def scrub(self, run: Run) -> None:
        scrub(run, "page_words")

    def kept_tables(self) -> Sequence[tuple[str, str]]:
        return (
            ("page_folders", "SELECT folder, prefix FROM page_folders"),
            ("page_files", "SELECT folder, path, page, page_text, file_hash, style FROM page_files"),
            ("page_wiped", "SELECT id FROM page_wiped"),  # what these still hold of what was erased
        )


PAGES = _Pages()
