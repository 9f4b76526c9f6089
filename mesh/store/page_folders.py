"""The folders that are kept in step with pages, beside the home's own. Looks into no folder."""

from __future__ import annotations

from mesh.core.errors import UnknownId, UsageError
from mesh.core.tuples import NamedTuple

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from mesh.store.database import Database, Run


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
