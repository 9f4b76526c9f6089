"""Which file matched which page, and what both said at that time; and which folders are synced at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mesh.core.errors import UnknownId, UsageError
from mesh.core.ids import digest
from mesh.core.strict_msgpack import pack, unpack
from mesh.store.database import Database, Run


class FileRow(NamedTuple):
    """A file and its page as they were when they were last in step. It must survive a restart."""

    path: str  # relative to the folder
    page: bytes
    page_text: str
    file_text: str | None  # None: the same; another one if something in it may not become part of the page
    style: str  # how the file ends its lines and itself

    @property
    def known(self) -> str:
        """The text the file had."""
        return self.page_text if self.file_text is None else self.file_text


class Renaming(NamedTuple):
    """A file that is about to get another name, or two that trade theirs, with the numbers that their disk has for them: these go along."""

    path: str
    inode: int
    other: str
    other_inode: int  # 0: there is no file of that name


class FileTable:
    """The rows of one folder.

    A file that says something else than its page holds a secret: of its text only a hash is kept. While the file is the
    same, its text is in it; when it is another one, its whole difference to the page is taken again, and redacted again.
    """

    def __init__(self, database: Database, folder: str, read: Callable[[str], str | None] = lambda _: None) -> None:
        """`read`: what a file of the folder says now, if it can be read."""
        self._database = database
        self._run: Run = database.connection.execute
        self._folder = folder
        self._read = read
        self._renaming = f"renaming:{folder}"

    def get(self, path: str) -> FileRow | None:
        """The row of a file."""
        found = self._run(f"{_ROWS} AND path=?", (self._folder, path)).fetchone()
        return None if found is None else self._row(found)

    def all(self) -> list[FileRow]:
        """Every row."""
        return [self._row(found) for found in self._run(f"{_ROWS} ORDER BY path", (self._folder,)).fetchall()]

    def put(self, row: FileRow) -> None:
        """Keep a row, in place of the one with its path."""
        with self._database.writing(durable=False):
            known = None if row.file_text is None else _hash(row.file_text)
            values = (self._folder, row.path, row.page, row.page_text, known, row.style)
            self._run("INSERT OR REPLACE INTO page_files VALUES(?,?,?,?,?,?)", values)

    def drop(self, path: str) -> None:
        """Forget a row, if there is one."""
        with self._database.writing(durable=False):
            self._run("DELETE FROM page_files WHERE folder=? AND path=?", (self._folder, path))

    def move(self, path: str, to: str) -> None:
        """A file has another name. If that was another file's, that one has the old name now. A renaming is over with that.

        All of it is remembered, or nothing.
        """
        names = {path: to, to: path}
        with self._database.writing(durable=False):
            found = self._run(f"{_ROWS} AND path IN (?,?)", (self._folder, path, to)).fetchall()
            self._run("DELETE FROM page_files WHERE folder=? AND path IN (?,?)", (self._folder, path, to))
            for old, *said in found:
                self._run("INSERT INTO page_files VALUES(?,?,?,?,?,?)", (self._folder, names[old], *said))
            self._run("DELETE FROM meta WHERE key=?", (self._renaming,))

    def begin(self, renaming: Renaming) -> None:
        """Files are about to get other names. On disk when this returns: the disk may be sooner done with the names than with rows."""
        with self._database.writing(durable=True):
            self._run("INSERT OR REPLACE INTO meta VALUES(?,?)", (self._renaming, pack([*renaming])))

    def begun(self) -> Renaming | None:
        """A renaming that is not over."""
        found = self._run("SELECT value FROM meta WHERE key=?", (self._renaming,)).get
        return None if found is None else Renaming(*unpack(found))

    def give_up(self) -> None:
        """Nothing came of it."""
        with self._database.writing(durable=False):
            self._run("DELETE FROM meta WHERE key=?", (self._renaming,))

    def _row(self, found: Sequence[Any]) -> FileRow:
        path, page, page_text, known, style = found
        now = None if known is None else self._read(path)
        return FileRow(path, page, page_text, now if now is not None and _hash(now) == known else None, style)


_ROWS = "SELECT path, page, page_text, file_hash, style FROM page_files WHERE folder=?"


def _hash(text: str) -> bytes:
    return digest(text.encode(errors="surrogatepass"))


class Wiped(NamedTuple):
    """Pages, and texts of pages, in which something was erased since their files were last brought in step.

    `erased`: how many bodies were, in all. It only grows.
    """

    ids: frozenset[bytes]
    erased: int


def wiped(database: Database) -> Wiped:
    """As it is now."""
    with database.savepoint():
        ids = frozenset(page for (page,) in database.run("SELECT id FROM page_wiped"))
        return Wiped(ids, _erased(database))


def pay_scrub(database: Database, paid: Wiped, folders: Sequence[str]) -> bool:
    """They are in step: what SQLite has left behind of the old rows is to be cleaned away, and other folders' rows with it.

    False, and nothing is done, if something was erased since `paid` was read: what that left in the rows is still to be seen to.
    """
    with database.writing(durable=True):
        if _erased(database) != paid.erased:
            return False
        others = f"DELETE FROM page_files WHERE folder NOT IN ({','.join('?' * len(folders))})"
        database.run(others, tuple(folders))
        database.run("DELETE FROM page_wiped")
        database.run("INSERT OR REPLACE INTO meta VALUES('scrub', random())")
    return True


def _erased(database: Database) -> int:
    return int(database.run("SELECT count(*) FROM erased_bodies").get)


class Watched(NamedTuple):
    """A folder, and the beginning of the names of the pages in it: `runbooks` for `runbooks/...`, empty for all pages."""

    folder: str
    prefix: str


class Folders:
    """The list of them, of this node alone."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._run: Run = database.connection.execute

    def all(self) -> list[Watched]:
        """Every one, by its path."""
        return [
            Watched(*row) for row in self._run("SELECT folder, prefix FROM page_folders ORDER BY folder").fetchall()
        ]

    def add(self, folder: str, prefix: str = "") -> bool:
        """Keep a folder (a whole path without links) in step. False: it is already. No file may belong to two of them."""
        with self._database.writing(durable=True):
            for known in self.all():
                if known == (folder, prefix):
                    return False
                if known.folder == folder:
                    raise UsageError(
                        f"{folder} is watched already, {_under(known.prefix)}",
                        f"end that first: mesh page unwatch {folder}",
                    )
                if is_inside(folder, known.folder) or is_inside(known.folder, folder):
                    where = "inside" if is_inside(folder, known.folder) else "around"
                    raise UsageError(
                        f"{folder} is {where} {known.folder}, which is watched: a file would be in both",
                        f"choose another folder, or end that first: mesh page unwatch {known.folder}",
                    )
            self._run("INSERT INTO page_folders VALUES(?,?)", (folder, prefix))
            before = self._run("DELETE FROM meta WHERE key=? RETURNING value", (f"watched:{folder}",)).get
            # Its files were those of other pages: they stay, and become pages like any others.
            if before not in (None, prefix):
                self._run("DELETE FROM page_files WHERE folder=?", (folder,))
            # Of an earlier time it was watched. A page that was removed since does not take its file along.
            self._run("DELETE FROM page_files WHERE folder=? AND page IN (SELECT tag FROM removals)", (folder,))
        return True

    def remove(self, folder: str) -> None:
        """Let a folder go. The files stay, and what they said is remembered: taken up again, what changed is an edit."""
        with self._database.writing(durable=True):
            prefix = self._run("DELETE FROM page_folders WHERE folder=? RETURNING prefix", (folder,)).get
            if prefix is None:
                raise UnknownId(f"{folder} is not watched", "see which folders are: mesh page watch")
            self._run("INSERT OR REPLACE INTO meta VALUES(?,?)", (f"watched:{folder}", prefix))


def is_inside(path: str, folder: str) -> bool:
    """Whether a path lies in a folder, at any depth. Both are whole paths without links."""
    return path.startswith(folder.rstrip("/") + "/")


def _under(prefix: str) -> str:
    return f"for the pages under {prefix}/" if prefix else "for all pages"
