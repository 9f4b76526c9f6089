"""What whoever keeps an index of his own beside the database asks it: what has come, and which records he means. Reads only."""

from __future__ import annotations

from mesh.core.ids import digest, signed_prefix, tag_of

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mesh.store.database import Run
    from mesh.store.reading import Reader

Mark = tuple[object, ...]


class Followed:
    """Asks one database, within whatever transaction its connection is in. A place is where a record stands here, by arrival."""

    def __init__(self, reader: Reader) -> None:
        self._run: Run = reader.connection.execute

    def mark(self) -> Mark:
        """Another one whenever a record may be another: cheap to ask for. Only for comparing within one database."""
        feeds = self._run("SELECT feed, seq FROM feeds").fetchall()
        erased = self._run("SELECT count(*) FROM erased_bodies").get
        return (erased, *feeds)

    def places(self, tags: Iterable[bytes]) -> dict[bytes, int]:
        """Where live records stand; what is not live is left out."""
        found = {}
        for tag in tags:
            rows = self._run(
                "SELECT op, node, body FROM ops JOIN feeds USING(feed) JOIN elements USING(op) WHERE key=? AND kind=1",
                (signed_prefix(tag),),
            )
            for place, node, body in rows.fetchall():
                if tag_of(node, digest(body)) == tag:
                    found[tag] = place
        return found

    def left(self, place: int, most: int) -> int:
        """How many live records stand behind a place, no further than this."""
        rows = "SELECT count(*) FROM (SELECT 1 FROM elements WHERE op>? LIMIT ?)"
        return int(self._run(rows, (place, most)).get)
