"""The catalogue of captured sessions: which files were read how far, their digests, and where their bodies lie.

Local: nothing of it is ever in feeds, bundles, vectors or rendered files. Reads no transcript and judges nothing: what a
file says is worked out elsewhere and kept here, in one transaction a batch. What must hold at any moment, kill -9 included:
a body is dropped only when its digest exists, except by `drop(lost=True)`, which says so in `losses`.
"""

import json
import os
import time
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Self

from clan_learnings.sessions.catalogue_files import FOLDER as BODIES
from clan_learnings.sessions.catalogue_files import Bodies, NeverCapture
from clan_learnings.sessions.catalogue_rows import (
    COPY,
    FAILED,
    FORGOTTEN,
    MOVED_ON,
    TAKEN,
    CapturedFile,
    CapturedSession,
    CatalogueCounts,
    DigestRow,
    FileLook,
    KeptBody,
    KnownFile,
)
from mesh.store.local_database import LocalDatabase

MIGRATIONS = (
    """
CREATE TABLE files(
    file INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE,
    device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    cursor INTEGER NOT NULL, lines INTEGER NOT NULL, hash BLOB NOT NULL,
    state TEXT NOT NULL, why TEXT NOT NULL, flavour TEXT NOT NULL, rules INTEGER NOT NULL, at_ms INTEGER NOT NULL);
CREATE TABLE bodies(
    body INTEGER PRIMARY KEY, file INTEGER NOT NULL, first_line INTEGER NOT NULL, place TEXT NOT NULL UNIQUE,
    bytes INTEGER NOT NULL, packed INTEGER NOT NULL, analysed INTEGER NOT NULL, at_ms INTEGER NOT NULL);
CREATE INDEX bodies_by_file ON bodies(file);
CREATE TABLE sessions(
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL, file INTEGER NOT NULL,
    weight INTEGER NOT NULL, facts TEXT NOT NULL, digest TEXT NOT NULL, items TEXT NOT NULL, at_ms INTEGER NOT NULL);
CREATE INDEX sessions_by_file ON sessions(file);
CREATE INDEX sessions_by_name ON sessions(name);
CREATE TABLE copies(file INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY(file, key)) WITHOUT ROWID;
CREATE TABLE forgotten(what BLOB PRIMARY KEY, at_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE losses(body INTEGER PRIMARY KEY, path BLOB NOT NULL, bytes INTEGER NOT NULL, at_ms INTEGER NOT NULL);
CREATE TABLE scanned(
    path BLOB PRIMARY KEY, device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    rules INTEGER NOT NULL, facts TEXT NOT NULL) WITHOUT ROWID;
""",
    """
ALTER TABLE copies ADD COLUMN weight INTEGER NOT NULL DEFAULT 0;
""",
)


FOLDER, FILE = "capture", "catalogue.db"
PREFIX_CHARS = 6  # of a session's id that name it, if no other one begins so
_PAGE = 200  # digests read at once
_KNOWN = (
    "SELECT file, device, inode, size, mtime_ns, cursor, lines, hash, state, why, flavour, rules, "
    "(SELECT count(*) FROM bodies WHERE bodies.file=files.file) FROM files"
)


def has_catalogue(home: str) -> bool:
    """Whether anything was ever captured in a home."""
    return os.path.exists(os.path.join(home, FOLDER, FILE))


class Catalogue:
    """One connection to it, for one thread. Use as a context manager, or close it."""

    def __init__(self, home: str) -> None:
        folder = os.path.join(home, FOLDER)
        self._database = LocalDatabase(os.path.join(folder, FILE), MIGRATIONS)
        self._run = self._database.run
        self._bodies = Bodies(os.path.join(folder, BODIES))
        os.makedirs(os.path.join(folder, BODIES), mode=0o700, exist_ok=True)
        self._forgotten = NeverCapture(home)
        self._forgotten.add(row[0] for row in self._run("SELECT what FROM forgotten"))  # of before there was a list

    def close(self) -> None:
        """Release the file. Safe to call twice."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Files

    def known(self, path: str) -> KnownFile | None:
        """A file as it was last read; None if it never was."""
        row = self._run(f"{_KNOWN} WHERE path=?", (os.fsencode(path),)).fetchone()
        return _known(row) if row is not None else None

    def looks(self) -> dict[str, tuple[FileLook, str, int]]:
        """Every file that was read: how it looked, what became of it, by which version of the rules."""
        rows = self._run("SELECT path, device, inode, size, mtime_ns, state, rules FROM files")
        return {os.fsdecode(row[0]): (FileLook(*row[1:5]), row[5], row[6]) for row in rows}

    def stale(self, rules: int) -> list[str]:
        """Files whose body is kept and was analysed by older rules, or could not be."""
        rows = self._run(
            "SELECT path FROM files WHERE rules<? AND state IN (?,?) AND file IN (SELECT file FROM bodies) ORDER BY file",
            (rules, TAKEN, FAILED),
        )
        return [os.fsdecode(row[0]) for row in rows]

    def take(self, takings: Sequence[CapturedFile]) -> list[str]:
        """Keep what was read: bodies on disk first, then all rows in one transaction. Says what became of each file."""
        now_ms = int(time.time() * 1000)
        void: list[str] = []
        with self._database.writing():
            places: list[str] = []
            outcomes = [self._take(taking, now_ms, places, void) for taking in takings]
            self._bodies.settle(places)
        self._bodies.remove(void)
        return outcomes

    def _take(self, taking: CapturedFile, now_ms: int, places: list[str], void: list[str]) -> str:
        if self.known(taking.path) != taking.known:
            return MOVED_ON
        file = self._file(taking, now_ms)
        told = [session for session in taking.sessions if not self._is_forgotten(session)]
        if self._has_forgotten(b"p:" + os.fsencode(taking.path)):
            told = []
        state = FORGOTTEN if taking.state == TAKEN and taking.sessions and len(told) < len(taking.sessions) else ""
        own, losers = [], set[int]()
        for session in told:
            rival = self._run("SELECT file, weight FROM sessions WHERE key=?", (session.key,)).fetchone()
            if rival is not None and rival[0] != file and rival[1] >= session.weight:
                self._note_copy(file, session.key, session.weight)
                continue
            if rival is not None and rival[0] != file:
                losers.add(rival[0])
                self._note_copy(rival[0], session.key, rival[1])
            elif rival is not None and session.weight < rival[1] and self._hand_over(file, session):
                continue
            own.append(session)
        self._replace_sessions(file, own, now_ms)
        if not state and taking.state == TAKEN and told and not own:
            state = COPY
        if not taking.is_continued:
            self._set_aside(file)
        if state or (taking.segment is not None and taking.first_line == 1):
            void += self._unname_bodies([file])
        if not state and taking.segment is not None:
            place, packed = self._bodies.keep(file, taking.segment)
            places.append(place)
            self._run(
                "INSERT INTO bodies(file, first_line, place, bytes, packed, analysed, at_ms) VALUES(?,?,?,?,?,?,?)",
                (file, taking.first_line, place, len(taking.segment), packed, 0, taking.look.mtime_ns // 1_000_000),
            )
        if taking.segment is not None or taking.state == TAKEN:
            self._run("UPDATE bodies SET analysed=? WHERE file=?", (int(taking.is_analysed), file))
        for loser in losers:
            void += self._demote(loser)
        if state:
            self._run("UPDATE files SET state=? WHERE file=?", (state, file))
        return state or taking.state

    def _note_copy(self, file: int, key: str, weight: int) -> None:
        self._run("INSERT OR REPLACE INTO copies VALUES(?,?,?)", (file, key, weight))

    def _hand_over(self, file: int, session: CapturedSession) -> bool:
        """A file was cut: if a copy has more of its session, the copy takes its place, and is read again for its body."""
        found = self._run(
            "SELECT file, weight FROM copies WHERE key=? AND file<>? AND weight>? ORDER BY weight DESC, file LIMIT 1",
            (session.key, file, session.weight),
        ).fetchone()
        if found is None:
            return False
        self._run("UPDATE sessions SET file=?, weight=? WHERE key=?", (*found, session.key))
        self._run("DELETE FROM copies WHERE file=? AND key=?", (found[0], session.key))
        self._run("UPDATE files SET size=-1, state=? WHERE file=? AND state=?", (TAKEN, found[0], COPY))
        self._note_copy(file, session.key, session.weight)
        return True

    def _file(self, taking: CapturedFile, now_ms: int) -> int:
        """Replace the row of a file, under the same number."""
        columns = (*taking.look, taking.cursor, taking.lines, taking.hash, taking.state, taking.why, taking.flavour)
        row = self._run(
            "INSERT INTO files(path, device, inode, size, mtime_ns, cursor, lines, hash, state, why, flavour, rules, at_ms) "
            "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(path) DO UPDATE SET device=excluded.device, inode=excluded.inode, "
            "size=excluded.size, mtime_ns=excluded.mtime_ns, cursor=excluded.cursor, lines=excluded.lines, hash=excluded.hash, "
            "state=excluded.state, why=excluded.why, flavour=excluded.flavour, rules=excluded.rules, at_ms=excluded.at_ms "
            "RETURNING file",
            (os.fsencode(taking.path), *columns, taking.rules, now_ms),
        ).fetchall()[0]
        self._run("DELETE FROM scanned WHERE path=?", (os.fsencode(taking.path),))
        return int(row[0])

    def _replace_sessions(self, file: int, own: list[CapturedSession], now_ms: int) -> None:
        """A file's sessions are those it tells now. What has not changed keeps its number: nobody needs to read it again."""
        before = {row[0]: row[1:] for row in self._run("SELECT key, digest, items FROM sessions WHERE file=?", (file,))}
        self._run("DELETE FROM copies WHERE file=? AND key IN (SELECT value FROM json_each(?))", (file, _keys(own)))
        # A digest is never dropped: a file that was replaced by another session leaves that of the one before.
        for session in own:
            digest, items = _json(session.digest), _json(session.items)
            if before.get(session.key) == (digest, items):
                continue
            self._run("DELETE FROM sessions WHERE key=?", (session.key,))
            self._run(
                "INSERT INTO sessions(key, name, file, weight, facts, digest, items, at_ms) VALUES(?,?,?,?,?,?,?,?)",
                (session.key, session.name, file, session.weight, _json(session.facts), digest, items, now_ms),
            )

    def _set_aside(self, file: int) -> None:
        """A body of what a file was before, and that was never analysed, is kept under a name no file can have."""
        for (body,) in self._run("SELECT body FROM bodies WHERE file=? AND analysed=0", (file,)).fetchall():
            row = self._run(
                "INSERT OR REPLACE INTO files SELECT NULL, CAST(path || ? AS BLOB), device, inode, size, mtime_ns, cursor, "
                "lines, hash, 'failed', why, flavour, rules, at_ms FROM files WHERE file=? RETURNING file",
                (b"\0" + str(body).encode(), file),
            ).fetchall()[0]
            self._run("UPDATE bodies SET file=? WHERE body=?", (row[0], body))

    def _demote(self, file: int) -> list[str]:
        """A file all of whose sessions are told better by others is a copy, and needs no body."""
        run = self._run
        is_needed = run("SELECT 1 FROM sessions WHERE file=?", (file,)).get is not None
        if is_needed or run("SELECT 1 FROM bodies WHERE file=? AND analysed=0", (file,)).get is not None:
            return []
        self._run("UPDATE files SET state=? WHERE file=? AND state=?", (COPY, file, TAKEN))
        return self._unname_bodies([file])

    # Digests

    def digests(self, after: int = 0) -> Iterator[DigestRow]:
        """Every session's digest with a number above `after`, in the order of numbers."""
        while True:
            rows = self._run(
                "SELECT number, name, digest, items, key, path FROM sessions JOIN files USING(file) "
                "WHERE number>? ORDER BY number LIMIT ?",
                (after, _PAGE),
            ).fetchall()
            for number, name, digest, items, key, path in rows:
                yield DigestRow(number, name, json.loads(digest), json.loads(items), key, os.fsdecode(path))
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def keys(self) -> frozenset[str]:
        """Of every session there is: what is not among them was forgotten."""
        return frozenset(row[0] for row in self._run("SELECT key FROM sessions"))

    # Bodies

    def body(self, path: str) -> bytes | None:
        """A file's body as it was kept, its segments joined: line for line like the file. None if no body is kept."""
        rows = self._run(
            "SELECT first_line, place FROM bodies JOIN files USING(file) WHERE path=? ORDER BY body",
            (os.fsencode(path),),
        ).fetchall()
        lines: list[bytes] = []
        for first_line, place in rows:
            lines[first_line - 1 :] = self._bodies.read(place).split(b"\n")
        return b"\n".join(lines) if rows else None

    def kept(self) -> list[KeptBody]:
        """Every body, for who decides what stays."""
        rows = self._run("SELECT file, sum(packed), min(analysed), max(at_ms) FROM bodies GROUP BY file")
        return [KeptBody(file, packed, bool(analysed), at_ms) for file, packed, analysed, at_ms in rows]

    def drop(self, files: Collection[int], *, lost: bool = False) -> int:
        """Drop bodies; `lost`: also such as were never analysed, which is written down. Returns how many files had one."""
        now_ms = int(time.time() * 1000)
        numbers = _json(sorted(files))
        which = "file IN (SELECT value FROM json_each(?))"
        with self._database.writing():
            if not lost:
                which += " AND file NOT IN (SELECT file FROM bodies WHERE analysed=0)"
            self._run(
                "INSERT OR IGNORE INTO losses SELECT body, path, packed, ? FROM bodies JOIN files USING(file) "
                f"WHERE analysed=0 AND {which}",
                (now_ms, numbers),
            )
            chosen = [row[0] for row in self._run(f"SELECT DISTINCT file FROM bodies WHERE {which}", (numbers,))]
            void = self._unname_bodies(chosen)
        self._bodies.remove(void)
        return len(chosen)

    def sweep(self) -> int:
        """Remove bodies that no row names: what a killed process left. Returns how many there were."""
        with self._database.writing():
            return self._bodies.sweep({row[0] for row in self._run("SELECT place FROM bodies")})

    def _unname_bodies(self, files: Collection[int]) -> list[str]:
        rows = self._run(
            "DELETE FROM bodies WHERE file IN (SELECT value FROM json_each(?)) RETURNING place", (_json(sorted(files)),)
        ).fetchall()
        return [row[0] for row in rows]

    # Forgetting

    def forget(self, what: str) -> tuple[list[str], bool]:
        """Take a session, or all of a file's, out for good: digest, items, body; it is not captured again.

        `what`: a session as records name it, a key, or a path. Returns the keys that were forgotten, and whether a body went.
        """
        now_ms = int(time.time() * 1000)
        path = os.path.abspath(what)
        with self._database.writing():
            rows = self._run("SELECT key, file FROM sessions WHERE key=? OR name=?", (what, what)).fetchall()
            file = self._run("SELECT file FROM files WHERE path=?", (os.fsencode(path),)).get
            marks = [b"s:" + what.encode("utf-8", "surrogatepass")] if rows or file is None else []
            if not rows and (file is not None or os.path.lexists(path)):
                marks = [b"p:" + os.fsencode(path)]
                rows = self._run("SELECT key, file FROM sessions WHERE file=?", (file,)).fetchall()
                rows += self._run(
                    "SELECT key, sessions.file FROM sessions JOIN copies USING(key) WHERE copies.file=?", (file,)
                ).fetchall()
            keys = sorted({key for key, _ in rows})
            files = {owner for _, owner in rows} | ({file} if file is not None else set())
            files |= {row[0] for row in self._run(f"SELECT file FROM copies WHERE key IN ({_EACH})", (_json(keys),))}
            marks += [b"s:" + key.encode("utf-8", "surrogatepass") for key in keys]
            self._forgotten.add(marks)
            for mark in marks:
                self._run("INSERT OR IGNORE INTO forgotten VALUES(?,?)", (mark, now_ms))
            self._run(f"DELETE FROM sessions WHERE key IN ({_EACH})", (_json(keys),))
            self._run(f"DELETE FROM copies WHERE key IN ({_EACH})", (_json(keys),))
            numbers = _json(sorted(files))
            self._run(f"UPDATE files SET state=? WHERE file IN ({_EACH})", (FORGOTTEN, numbers))
            self._run(f"DELETE FROM scanned WHERE path IN (SELECT path FROM files WHERE file IN ({_EACH}))", (numbers,))
            self._run("DELETE FROM scanned WHERE path=?", (os.fsencode(path),))
            void = self._unname_bodies(files)
        self._bodies.remove(void)
        self._database.rewrite()
        return keys, bool(void)

    def called(self, what: str) -> list[str]:
        """Captured sessions by a name that is not whole: the id without its agent, or the beginning of either."""
        whole: dict[str, None] = {}
        begun: dict[str, None] = {}
        for names in self._run("SELECT name, key FROM sessions ORDER BY name, key"):
            for found, is_so in ((whole, str.__eq__), (begun, str.startswith)):
                name = next((each for each in names if is_so(each, what) or is_so(each.partition(":")[2], what)), "")
                if name:
                    found[name] = None
        return list(whole or begun)

    def _is_forgotten(self, session: CapturedSession) -> bool:
        return any(
            self._has_forgotten(b"s:" + text.encode("utf-8", "surrogatepass")) for text in (session.key, session.name)
        )

    def _has_forgotten(self, mark: bytes) -> bool:
        return mark in self._forgotten

    # What sampling remembers

    def facts(self) -> dict[str, tuple[FileLook, list[dict[str, Any]]]]:
        """What is known of the sessions of every captured file that still stands for them; and of copies: nothing."""
        found: dict[str, tuple[FileLook, list[dict[str, Any]]]] = {}
        for path, *row in self._run(
            "SELECT path, device, inode, size, mtime_ns, facts FROM files LEFT JOIN sessions USING(file) "
            "WHERE state IN ('taken', 'copy', 'forgotten') ORDER BY path, key"
        ):
            _, sessions = found.setdefault(os.fsdecode(path), (FileLook(*row[:4]), []))
            if row[4] is not None:
                sessions.append(json.loads(row[4]))
        return found

    def scanned(self, rules: int) -> dict[str, tuple[FileLook, list[dict[str, Any]]]]:
        """What sampling found in files that were not captured."""
        rows = self._run("SELECT path, device, inode, size, mtime_ns, facts FROM scanned WHERE rules=?", (rules,))
        return {os.fsdecode(row[0]): (FileLook(*row[1:5]), json.loads(row[5])) for row in rows}

    def remember(self, scans: Sequence[tuple[str, FileLook, list[dict[str, Any]]]], rules: int) -> None:
        """Keep what sampling found, for the next time."""
        with self._database.writing():
            self._database.connection.executemany(
                "INSERT OR REPLACE INTO scanned VALUES(?,?,?,?,?,?,?)",
                [(os.fsencode(path), *look, rules, _json(facts)) for path, look, facts in scans],
            )

    # In all

    def counts(self) -> CatalogueCounts:
        """How full it is."""
        run = self._run
        files: dict[str, int] = dict(run("SELECT state, count(*) FROM files GROUP BY state").fetchall())
        bodies, size, unanalysed = run(
            "SELECT count(*), ifnull(sum(packed), 0), sum(analysed=0) FROM bodies"
        ).fetchone()
        return CatalogueCounts(
            files,
            run("SELECT count(*) FROM sessions").get,
            bodies,
            size,
            unanalysed or 0,
            run("SELECT count(*) FROM losses").get,
            len(self._forgotten),
        )


_EACH = "SELECT value FROM json_each(?)"


def _known(row: tuple[Any, ...]) -> KnownFile:
    return KnownFile(row[0], FileLook(*row[1:5]), *row[5:])


def _keys(sessions: Sequence[CapturedSession]) -> str:
    return _json([session.key for session in sessions])


def _json(value: Any) -> str:
    """As it is kept. Escaped: half a pair of surrogates is JSON, but no UTF-8."""
    return json.dumps(value, separators=(",", ":"))
