"""Pages in tables: which there are, their registers, their texts as last computed, and their links.

A text is worked out by whoever asks for it. It and its state are disposable: `reset` drops them, and they are worked out
again from the operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from mesh.core.ids import digest, signed_prefix, tag_of
from mesh.core.operation import ADD, PAGE, PAGES_LOG, SET, Add, Set, parse, register_key
from mesh.pages.edit_table import COLUMNS, PageNews, PageRow, page_row
from mesh.store.database import Database, Run


class News(NamedTuple):
    """One that has come to count since the state was saved."""

    number: int
    row: PageRow


class TextState(NamedTuple):
    """A text as last worked out, of all news up to a number."""

    made: int  # another one whenever the text is worked out from nothing, or news go into the state
    text_number: int
    text: str


class StoredText(NamedTuple):
    """What is in no news any more: as the ledger and as the worker have it."""

    ledger: bytes
    state: bytes


class Element(NamedTuple):
    """A live page, as it was made."""

    tag: bytes
    at: int
    node: bytes
    record: dict[str, Any]


class PageField(NamedTuple):
    """What a register of a page holds, and since when."""

    value: Any
    at: int


class Trouble(NamedTuple):
    """An operation that is not in the text, and why. `sort`: held, refused or quarantined."""

    sort: str
    node: bytes
    op: int
    reason: str


class PageTable:
    """What the pages of a home are worked out from, and kept in."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._run: Run = database.connection.execute
        self._news = PageNews(database.connection)

    # What is there

    def version(self) -> tuple[int, int]:
        """Another value after each commit of anybody."""
        return self.version_of_others(), self._database.connection.total_changes()

    def version_of_others(self) -> int:
        """Another value after each commit of anybody but ourselves."""
        return int(self._run("PRAGMA data_version").get)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Several questions about one state."""
        with self._database.savepoint():
            yield

    def elements(self, tag: bytes | None = None) -> list[Element]:
        """The live pages; or one, live or not, as long as its body is there."""
        if tag is not None:
            found = self._run(
                f"{_ADDS} FROM ops JOIN feeds USING(feed)"
                " WHERE ops.key=? AND ops.kind=? AND ops.body IS NOT NULL AND ops.seq<=feeds.seq ORDER BY ops.op",
                (signed_prefix(tag), ADD),
            ).fetchall()
            return [element for element in map(_element, found) if element is not None and element.tag == tag][:1]
        found = self._run(
            f"{_ADDS} FROM elements JOIN ops USING(op) JOIN feeds USING(feed)"
            " WHERE elements.log=(SELECT log FROM logs WHERE name=?)",
            (PAGES_LOG,),
        ).fetchall()
        return [element for element in map(_element, found) if element is not None]

    def removed(self) -> list[Element]:
        """The pages that were removed, as far as they can be told; the one that was removed last comes last."""
        found = self._run(
            f"{_ADDS} FROM removals JOIN ops ON ops.key=removals.key AND ops.kind=? JOIN feeds USING(feed)"
            " JOIN ops AS removal ON removal.op=removals.op"
            " WHERE ops.body IS NOT NULL AND ops.seq<=feeds.seq GROUP BY ops.op ORDER BY max(removal.hlc), ops.op",
            (ADD,),
        ).fetchall()
        live = {element.tag for element in self.elements()}
        elements = {element.tag: element for element in map(_element, found) if element is not None}
        return [element for tag, element in elements.items() if tag not in live]

    def is_removed(self, tag: bytes) -> bool:
        """Whether somebody has removed a page."""
        return self._run("SELECT 1 FROM removals WHERE tag=? LIMIT 1", (tag,)).get is not None

    def fields(self, tag: bytes) -> dict[str, PageField]:
        """All registers of one page."""
        found = self._run("SELECT field, at, hlc, body FROM registers JOIN ops USING(op) WHERE target=?", (tag,))
        return {field: PageField(_value(hlc, body), at) for field, at, hlc, body in found}

    def authored(self, tag: bytes) -> list[tuple[int, bytes, str, PageField]]:
        """All registers of one page, each with the operation that set it and that one's author."""
        found = self._run(
            "SELECT op, node, field, at, ops.hlc, body FROM registers JOIN ops USING(op) JOIN feeds USING(feed)"
            " WHERE target=? ORDER BY op",
            (tag,),
        ).fetchall()
        return [(op, node, field, PageField(_value(hlc, body), at)) for op, node, field, at, hlc, body in found]

    def assigned(self, field: str) -> dict[bytes, PageField]:
        """One register of every page that has it."""
        found = self._run("SELECT target, at, hlc, body FROM registers JOIN ops USING(op) WHERE field=?", (field,))
        return {tag: PageField(_value(hlc, body), at) for tag, at, hlc, body in found if isinstance(tag, bytes)}

    def sets(self, tag: bytes, field: str) -> list[tuple[bytes, bytes, PageField]]:
        """Every accepted assignment of one register of a page, oldest first, with its own tag and its author."""
        found = self._run(
            "SELECT feeds.node, ops.hlc, ops.body FROM ops JOIN feeds USING(feed)"
            " WHERE ops.key=? AND ops.kind=? AND ops.body IS NOT NULL AND ops.seq<=feeds.seq",
            (register_key(tag, field), SET),
        ).fetchall()
        sets = [(tag_of(node, digest(body)), node, parse(SET, hlc, body)) for node, hlc, body in found]
        mine = [
            (own, node, PageField(body.value, body.at))
            for own, node, body in sets
            if isinstance(body, Set) and (body.target, body.field) == (tag, field)
        ]
        return sorted(mine, key=lambda item: (item[2].at, item[0]))

    # Texts

    def epoch(self, op: int) -> int:
        """Of the feed an operation stands in."""
        found = self._run("SELECT epoch FROM ops JOIN feeds USING(feed) WHERE op=?", (op,)).get
        return int.from_bytes(found, "big")

    def rows(self, body: bytes) -> list[PageRow]:
        """Every operation on a text that counts."""
        return self._news.rows(body)

    def extent(self, body: bytes) -> tuple[int, int]:
        """How many operations on a text count, and the last of them: others whenever one came or went."""
        count, last = self._run(
            "SELECT count(*), coalesce(max(op), 0) FROM ops JOIN feeds USING(feed)"
            " WHERE ops.key=? AND ops.kind=? AND ops.body IS NOT NULL AND ops.seq<=feeds.seq",
            (signed_prefix(body), PAGE),
        ).fetchone()
        return count, last

    def worked(self, body: bytes) -> TextState | None:
        """The text as last worked out."""
        found = self._run("SELECT made, text_number, text FROM page_texts WHERE body=?", (body,)).fetchone()
        return None if found is None else TextState(*found)

    def kept(self, body: bytes) -> StoredText | None:
        """The state that news come on top of; None: all is news."""
        found = self._run("SELECT ledger, state FROM page_states WHERE body=?", (body,)).fetchone()
        return None if found is None else StoredText(*found)

    def text(self, body: bytes) -> str | None:
        """The text, if nothing has come since it was worked out."""
        found = self._run(
            "SELECT text FROM page_texts WHERE body=?1"
            " AND text_number>=(SELECT coalesce(max(number), 0) FROM page_news WHERE body=?1)",
            (body,),
        ).get
        return None if found is None else str(found)

    def last_number(self, body: bytes) -> int:
        """The number of the newest news of a text; 0 if there are none."""
        return int(self._run("SELECT coalesce(max(number), 0) FROM page_news WHERE body=?", (body,)).get)

    def behind(self, body: bytes) -> tuple[int, int]:
        """How much has come to count since the state was saved: operations, and about how many bytes."""
        count, size = self._run(
            "SELECT count(*), coalesce(sum(length(ops.body)), 0) FROM page_news JOIN ops USING(op) WHERE page_news.body=?",
            (body,),
        ).fetchone()
        return count, size

    def news(self, body: bytes, after: int = 0) -> list[News]:
        """What has come to count since the state was saved, or since a number."""
        found = self._run(
            f"SELECT page_news.number, {COLUMNS} FROM page_news JOIN ops USING(op) JOIN feeds USING(feed)"
            " WHERE page_news.body=? AND page_news.number>? AND ops.body IS NOT NULL ORDER BY page_news.number",
            (body, after),
        ).fetchall()
        rows = [(number, page_row(rest)) for number, *rest in found]
        return [News(number, row) for number, row in rows if row is not None]

    def keep(
        self,
        body: bytes,
        before: TextState | None,
        after: TextState,
        troubles: Sequence[Trouble],
        kept: StoredText | None = None,
    ) -> bool:
        """Keep what was worked out, unless somebody else was faster. `kept`: a state with all news up to `after` in it.

        Those that are held are in none, and stay news.
        """
        held = {trouble.op for trouble in troubles if trouble.sort == "held"}
        with self._database.writing(durable=False):
            now = self._run("SELECT made, text_number FROM page_texts WHERE body=?", (body,)).fetchone()
            if now != (None if before is None else before[:2]):
                return False
            if before is None and after.text_number != self.last_number(body):
                return False  # reset in between
            self._run("INSERT OR REPLACE INTO page_texts VALUES(?,?,?,?)", (body, *after))
            if kept is not None:
                self._run("INSERT OR REPLACE INTO page_states VALUES(?,?,?)", (body, *kept))
                news = self._run(
                    "SELECT number, op FROM page_news WHERE body=? AND number<=?", (body, after.text_number)
                )
                taken = [(number,) for number, op in news.fetchall() if op not in held]
                self._database.connection.executemany("DELETE FROM page_news WHERE number=?", taken)
            # Those that are held are told again each time, if they still are.
            self._run("DELETE FROM page_troubles WHERE body=? AND sort='held'", (body,))
            self._database.connection.executemany(
                "INSERT OR REPLACE INTO page_troubles VALUES(?,?,?,?)",
                [(trouble.op, body, trouble.sort, trouble.reason) for trouble in troubles],
            )
        return True

    def reset(self, body: bytes) -> None:
        """Have a text worked out from nothing."""
        with self._database.writing(durable=False):
            self._news.reset(body)

    def troubles(self, body: bytes | None = None) -> dict[bytes, list[Trouble]]:
        """By text: what is not in it, and why."""
        found = self._run(
            "SELECT page_troubles.body, sort, node, op, reason FROM page_troubles JOIN ops USING(op) JOIN feeds USING(feed)"
            " WHERE ?1 IS NULL OR page_troubles.body=?1 ORDER BY op",
            (body,),
        ).fetchall()
        troubles: dict[bytes, list[Trouble]] = {}
        for of, *rest in found:
            troubles.setdefault(of, []).append(Trouble(*rest))
        return troubles

    def forgive(self) -> int:
        """Take everything out of quarantine, to be tried again. Returns how many there were."""
        with self._database.writing(durable=False):
            bodies = self._run("DELETE FROM page_troubles WHERE sort='quarantined' RETURNING body").fetchall()
            for body in {body for (body,) in bodies}:
                self._news.reset(body)
        return len(bodies)

    # What was carried over from texts that have a successor

    def carried(self) -> set[int]:
        """Operations of our own on such texts that are done with."""
        return {op for (op,) in self._run("SELECT op FROM page_carried")}

    def carry(self, ops: Iterable[int]) -> None:
        """Remember that these are done with."""
        with self._database.writing(durable=False):
            self._database.connection.executemany("INSERT OR IGNORE INTO page_carried VALUES(?)", [(op,) for op in ops])

    # Links

    def link(self, page: bytes, text_hash: bytes, find: Callable[[], Iterable[tuple[str, int]]], version: int) -> bool:
        """Keep what a page links to, if it has another text than when its links were last looked for.

        False: others have written since a `version_of_others`, so what was read of the page then may have been erased.
        """
        if self._run("SELECT text_hash FROM page_linked WHERE page=?", (page,)).get == text_hash:
            return True
        with self._database.writing(durable=False):
            if self.version_of_others() != version:
                return False
            self._run("INSERT OR REPLACE INTO page_linked VALUES(?,?)", (page, text_hash))
            self._run("DELETE FROM page_links WHERE page=?", (page,))
            self._database.connection.executemany(
                "INSERT INTO page_links VALUES(?,?,?)", [(page, target, line) for target, line in find()]
            )
        return True

    def unlink(self, page: bytes) -> None:
        """Forget what a page links to, until it is read again: what it linked to may be what is to be gone."""
        with self._database.writing(durable=False):
            self._run("DELETE FROM page_linked WHERE page=?", (page,))
            self._run("DELETE FROM page_links WHERE page=?", (page,))

    def links(self) -> Iterator[tuple[bytes, str, int]]:
        """Every link: from which page, to what, in which line."""
        yield from self._run("SELECT page, target, line FROM page_links ORDER BY page, line, target").fetchall()


_ADDS = "SELECT ops.hlc, feeds.node, ops.body"


def _element(found: Sequence[Any]) -> Element | None:
    hlc, node, body = found
    parsed = parse(ADD, hlc, body)
    if not isinstance(parsed, Add) or parsed.log != PAGES_LOG:
        return None
    return Element(tag_of(node, digest(body)), parsed.at, node, parsed.record)


def _value(hlc: int, body: bytes) -> Any:
    parsed = parse(SET, hlc, body)
    return parsed.value if isinstance(parsed, Set) else None
