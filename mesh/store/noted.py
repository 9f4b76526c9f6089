"""Records that are only noted for the keyword index, by their words: a few hundred at most, read and held in memory."""

from __future__ import annotations

from mesh.store.words import texts

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    import apsw

    from mesh.store.database import Run
    from mesh.store.index import Index

_WRITING = 2  # SQLITE_TXN_WRITE


class Noted:
    """The note of one database as a second, small index."""

    def __init__(self, connection: apsw.Connection, index: Index) -> None:
        self.having: dict[str, set[int]] = {}  # by stem
        self.lengths: dict[int, int] = {}
        self._connection = connection
        self._run: Run = connection.execute
        self._index = index
        self._marks: dict[int, int] = {}
        self._seen: tuple[int, int] | None = None

    def size(self) -> tuple[int, int]:
        """How many records, and how many words in all."""
        return len(self.lengths), sum(self.lengths.values())

    def bring_up(self) -> bool:
        """Read what was noted since the last time. False if nobody has written anything since."""
        now = (int(self._run("PRAGMA data_version").get), self._connection.total_changes())
        if now == self._seen:
            return False
        # What a transaction of our own writes may be taken back, and then nothing tells.
        self._seen = None if self._connection.txn_state() == _WRITING else now
        marks = dict(self._run("SELECT op, mark FROM unindexed").fetchall())
        gone = {op for op, mark in self._marks.items() if marks.get(op) != mark}
        if gone:
            for ops in self.having.values():
                ops.difference_update(gone)
            self.having = {stem: ops for stem, ops in self.having.items() if ops}
            self.lengths = {op: length for op, length in self.lengths.items() if op not in gone}
        fresh = [op for op in marks if op not in self.lengths]
        for op, text in texts(self._run, "(SELECT value AS op FROM json_each(?))", (str(fresh),)) if fresh else ():
            stems = self._index.stems(text)
            self.lengths[op] = len(stems)
            for stem in stems:
                self.having.setdefault(stem, set()).add(op)
        self._marks = marks
        return True
