"""The fold: accepted operations into elements, registers, counters. The rules of `mesh.core.crdt`, in tables.

`apply` adds newly accepted operations. Whatever takes something away (a remove, a clip, an erase) or makes
it doubtful (the same tag twice) goes through a recomputation that looks only at operations held now, never
at what the fold said before: so the result cannot depend on the order of events. The same holds where it matters who has
said something (`moderation`): whatever the answer may depend on is judged again when that changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw

from mesh.core.ids import Feed, digest, signed_prefix, tag_of
from mesh.core.moderation import SETTINGS
from mesh.core.operation import (
    ADD,
    COUNT,
    SET,
    Add,
    Count,
    Ignored,
    Page,
    Parsed,
    Remove,
    Set,
    counter_key,
    parse,
    register_key,
)
from mesh.store.database import Run
from mesh.store.moderation_judge import Judge, Order, Place
from mesh.store.subject import subjects

FOLD_VERSION = 3  # shown beside a root: equal roots mean equal views at equal fold version

_LATER = (
    "DO UPDATE SET at=excluded.at, tag=excluded.tag, op=excluded.op WHERE (excluded.at, excluded.tag) > (at, tag)"
    # The same write again, re-published: the copy that came first stands, whichever is folded first.
    " OR ((excluded.at, excluded.tag) = (at, tag) AND excluded.op < op)"
)
_CHUNK = 4096  # operations looked at together


class FoldRow(NamedTuple):
    """An operation on its way into or out of the fold; it stands in the ops table already."""

    op: int
    seq: int
    tag: bytes
    parsed: Parsed


class Copy(NamedTuple):
    """A held, unerased operation, found again by its key."""

    op: int
    feed: Feed
    accepted: bool
    tag: bytes
    body: Parsed


class Fold:
    """The folded tables of one schema: `main`, or the scratch one of `verify`; and with them the views of the subjects."""

    def __init__(self, connection: apsw.Connection, schema: str = "main") -> None:
        self._run: Run = connection.execute
        self._many: Run = connection.executemany
        self._schema = schema
        self._assign = f"INSERT INTO {schema}.registers VALUES(?,?,?,?,?) ON CONFLICT(target, field) {_LATER}"
        self._say = f"INSERT INTO {schema}.said VALUES(?,?,?,?,?,?) ON CONFLICT(field, target, node) {_LATER}"
        self._judge = Judge(connection, schema)
        self._views = [view for view in (each.view(connection, schema) for each in subjects()) if view is not None]
        self._columns = [column for view in self._views for column in view.columns]
        names, marks = ("op", "log", "at", *self._columns), ",".join("?" * (3 + len(self._columns)))
        self._insert = f"INSERT INTO {schema}.elements({','.join(names)}) VALUES({marks})"
        self._delete = f"DELETE FROM {schema}.elements WHERE op=? RETURNING {','.join(names)}"

    def apply(self, feed: Feed, number: int, rows: Sequence[FoldRow]) -> None:
        """Take in consecutive operations of one feed, which the feeds table already counts as accepted."""
        if not rows:
            return
        was_guarded = self._judge.begin()
        doubtful = self._doubtful(number, rows[0].seq, rows[-1].seq)
        elements, records = [], []
        edited: set[bytes] = set()
        judged: set[Place] = set()
        again: set[int] = set()
        logs: dict[str, int] = {}
        values = self._values(number)
        for op, _, tag, parsed in rows:
            if isinstance(parsed, Add):
                at, name, record = parsed
                if op in doubtful:
                    again.add(signed_prefix(tag))
                    continue
                log = logs.get(name)
                if log is None:
                    log = logs[name] = self._log(name)
                elements.append((op, log, at, *values(record, tag)))
                records.append((op, tag, record))
            elif isinstance(parsed, Set):
                at, target, field, _ = parsed
                self._run(self._say, (field, target, feed.node, at, tag, op))
                if self._judge.is_judged(target):
                    judged.add((target, field))
                else:
                    self._run(self._assign, (target, field, at, tag, op))
                if isinstance(target, bytes):
                    edited.add(target)
            elif isinstance(parsed, Count):
                self._count(feed, parsed)
            elif isinstance(parsed, Remove):
                again |= self._remove(op, parsed)
            elif isinstance(parsed, Page):
                for view in self._views:
                    view.page_added(op, parsed.page)
            elif isinstance(parsed, Ignored):
                self._run(f"INSERT INTO {self._schema}.ignored VALUES(?,?)", (op, parsed.reason))
        self._many(self._insert, elements)
        if was_guarded:  # whose they are is known from now on
            judged |= set(self._judge.said_of(row.tag for row in rows if isinstance(row.parsed, Add)))
        for target, field in judged:
            self._assign_word(target, field)
        for view in self._views:
            if elements:
                view.added(number, elements, records)
            view.edited(edited)
        for doubted in again:
            self._recompute_elements(doubted)
        self._follow(was_guarded=was_guarded, settings=judged)
        self._settle()

    def withdraw(self, rows: Iterable[FoldRow]) -> None:
        """Take out operations that no longer count; the feeds table already says so."""
        was_guarded = self._judge.begin()
        elements: set[int] = set()
        registers: set[Place] = set()
        unowned: set[bytes] = set()
        counters: set[str] = set()
        pages: set[bytes] = set()
        logs: set[str] = set()
        for row in rows:
            match row.parsed:
                case Add(log=log):
                    elements.add(signed_prefix(row.tag))
                    unowned.add(row.tag)
                    logs.add(log)
                case Set(target=target, field=field):
                    registers.add((target, field))
                case Count(key=key):
                    counters.add(key)
                case Remove():
                    elements |= self._unremove(row.op)
                case Page(page=page):
                    pages.add(page)
                case Ignored():
                    self._run(f"DELETE FROM {self._schema}.ignored WHERE op=?", (row.op,))
        for prefix in elements:
            self._recompute_elements(prefix)
        for target, field in registers:
            self._recompute_register(target, field)
        judged = set(self._judge.said_of(unowned)) - registers if was_guarded else set()
        for target, field in judged:
            self._assign_word(target, field)
        for view in self._views:
            view.edited({target for target, _ in registers | judged if isinstance(target, bytes)})
            view.withdrawn(pages, has_words=bool(registers), logs=logs)
        for key in counters:
            self._recompute_counter(key)
        self._follow(was_guarded=was_guarded, settings=registers)
        self._settle()

    def order(self) -> Order:
        """By what rule it is judged who may change what: to be asked for before the statements change, for `judge_again`."""
        return self._judge.order()

    def judge_again(self, before: Order) -> None:
        """Statements have joined: whatever was said by somebody who is an admin now, or is none any more, may count otherwise."""
        if not before.is_other(self._judge.order()):
            return
        self.judge_settings()
        if before.is_guarded or self._judge.is_guarded:
            self._judge_records()
            self._settle()

    def judge_settings(self) -> None:
        """What the mesh has agreed on, by all that was said about it and who may."""
        self._judge.begin()
        for target, field in self._judge.settings():
            self._assign_word(target, field)

    def forget_element(self, op: int) -> None:
        """Drop an element of which no copy is looked for: its body goes. To be followed by `withdraw`."""
        gone = self._run(self._delete, (op,)).fetchone()
        if gone is not None:
            element = dict(zip(("op", "log", "at", *self._columns), gone, strict=True))
            for view in self._views:
                view.removed(op, element)

    def drop_unused_names(self) -> None:
        """The name of a log, repo or pattern is text too: after an erase, names that only erased records used must go."""
        for view in self._views:
            view.drop_unused_names()
        self._run(
            f"DELETE FROM {self._schema}.logs WHERE NOT EXISTS"
            f" (SELECT 1 FROM {self._schema}.elements WHERE elements.log=logs.log)"
        )

    def _doubtful(self, number: int, first: int, last: int) -> set[int]:
        """The adds among these whose key something else touches: another copy, or a removal."""
        found = self._run(
            "SELECT a.op FROM ops a WHERE a.feed=? AND a.seq BETWEEN ? AND ? AND a.kind=1 AND a.key IS NOT NULL"
            " AND (EXISTS(SELECT 1 FROM ops b WHERE b.key=a.key AND b.op<>a.op)"
            f" OR EXISTS(SELECT 1 FROM {self._schema}.removals r WHERE r.key=a.key))",
            (number, first, last),
        )
        return {op for (op,) in found}

    def _log(self, name: str) -> int:
        found = self._run(f"SELECT log FROM {self._schema}.logs WHERE name=?", (name,)).get
        if found is None:
            found = self._run(f"INSERT INTO {self._schema}.logs(name) VALUES(?) RETURNING log", (name,)).get
        return int(found)

    def _assign_word(self, target: bytes | str, field: str) -> None:
        """What a register shows, by all that was said in it and who may say it."""
        found = self._judge.word(target, field)
        self._run(f"DELETE FROM {self._schema}.registers WHERE target=? AND field=?", (target, field))
        if found is not None:
            self._run(self._assign, (target, field, *found))

    def _follow(self, *, was_guarded: bool, settings: Iterable[Place]) -> None:
        """Once the mesh is guarded, or is so no more, what others have said of a record is looked at again."""
        if any(target == SETTINGS for target, _ in settings) and self._judge.begin() != was_guarded:
            self._judge_records()

    def _judge_records(self) -> None:
        edited: set[bytes] = set()
        for target, field in self._judge.foreign_words():
            self._assign_word(target, field)
            if isinstance(target, bytes):
                edited.add(target)
        for tag in self._judge.foreign_removals():
            self._recompute_elements(signed_prefix(tag))
        for view in self._views:
            view.edited(edited)

    def _count(self, feed: Feed, body: Count) -> None:
        slot = feed.encode() if body.origin is None else feed.node + body.origin
        self._run(
            f"INSERT INTO {self._schema}.counters VALUES(?,?,?) ON CONFLICT(key, slot) DO UPDATE"
            " SET total=max(total, excluded.total)",
            (body.key, slot, body.total),
        )

    def _remove(self, op: int, body: Remove) -> set[int]:
        rows = [(tag, op, signed_prefix(tag)) for tag in set(body.tags)]
        self._many(f"INSERT INTO {self._schema}.removals VALUES(?,?,?)", rows)
        return {key for _, _, key in rows}

    def _unremove(self, op: int) -> set[int]:
        gone = self._run(f"DELETE FROM {self._schema}.removals WHERE op=? RETURNING key", (op,)).fetchall()
        return {key for (key,) in gone}

    def _settle(self) -> None:
        for view in self._views:
            view.settle()

    def _values(self, feed: int) -> Callable[[dict[str, Any], bytes], tuple[Any, ...]]:
        """The columns of a record in all views that have any."""
        parts = [view.values(feed) for view in self._views if view.columns]
        if len(parts) == 1:
            return parts[0]
        return lambda record, tag: tuple(value for part in parts for value in part(record, tag))

    def _recompute_elements(self, key: int) -> None:
        """Of each tag under this key: the first accepted, unremoved copy stands, no other."""
        wanted: dict[bytes, int] = {}
        copies: dict[int, Add] = {}
        for copy in self._copies(ADD, key):
            if not isinstance(copy.body, Add):
                continue
            copies[copy.op] = copy.body
            if copy.accepted and copy.tag not in wanted and not self._judge.is_removed(copy.tag):
                wanted[copy.tag] = copy.op
        standing = {op: tag for tag, op in wanted.items()}
        for op, body in copies.items():
            known = self._run(f"SELECT 1 FROM {self._schema}.elements WHERE op=?", (op,)).get is not None
            if known and op not in standing:
                self.forget_element(op)
            elif not known and op in standing:
                feed = self._run("SELECT feed FROM main.ops WHERE op=?", (op,)).get
                row = (op, self._log(body.log), body.at, *self._values(feed)(body.record, standing[op]))
                self._run(self._insert, row)
                for view in self._views:
                    view.added(feed, [row], [(op, standing[op], body.record)])

    def _recompute_register(self, target: bytes | str, field: str) -> None:
        self._run(f"DELETE FROM {self._schema}.said WHERE field=? AND target=?", (field, target))
        for copy in self._copies(SET, register_key(target, field)):
            body = copy.body
            if copy.accepted and isinstance(body, Set) and (body.target, body.field) == (target, field):
                self._run(self._say, (field, target, copy.feed.node, body.at, copy.tag, copy.op))
        self._assign_word(target, field)

    def _recompute_counter(self, key: str) -> None:
        self._run(f"DELETE FROM {self._schema}.counters WHERE key=?", (key,))
        for copy in self._copies(COUNT, counter_key(key)):
            if copy.accepted and isinstance(copy.body, Count) and copy.body.key == key:
                self._count(copy.feed, copy.body)

    def _copies(self, kind: int, key: int) -> Iterator[Copy]:
        """Every held, unerased operation of a kind under a key, in the order they came."""
        rows = self._run(
            "SELECT ops.op, feeds.node, feeds.epoch, ops.seq<=feeds.seq, ops.hlc, ops.body"
            " FROM ops JOIN feeds USING(feed) WHERE ops.key=? AND ops.kind=? AND ops.body IS NOT NULL"
            " ORDER BY ops.op",
            (key, kind),
        ).fetchall()
        for op, node, epoch, accepted, hlc, body in rows:
            feed = Feed(node, int.from_bytes(epoch, "big"))
            yield Copy(op, feed, bool(accepted), tag_of(node, digest(body)), parse(kind, hlc, body))


def fill_said(connection: apsw.Connection) -> None:
    """Each node's word on each register, from the operations that count: for the migration that brought them."""
    run: Run = connection.execute
    say = f"INSERT INTO said VALUES(?,?,?,?,?,?) ON CONFLICT(field, target, node) {_LATER}"
    after = -1
    while True:
        rows = run(
            "SELECT op, node, ops.hlc, body, ops.seq<=feeds.seq FROM ops JOIN feeds USING(feed)"
            " WHERE op>? AND kind=? AND body IS NOT NULL ORDER BY op LIMIT ?",
            (after, SET, _CHUNK),
        ).fetchall()
        if not rows:
            break
        after = rows[-1][0]
        for op, node, hlc, body, accepted in rows:
            parsed = parse(SET, hlc, body)
            if accepted and isinstance(parsed, Set):
                run(say, (parsed.field, parsed.target, node, parsed.at, tag_of(node, digest(body)), op))
    Fold(connection).judge_settings()
