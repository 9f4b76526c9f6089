"""Who edited a page last, and when. Answers from the newest operations alone: a page may have a hundred thousand."""

from __future__ import annotations

from mesh.core.ids import signed_prefix
from mesh.core.operation import PAGE, Page, parse
from mesh.core.tuples import NamedTuple

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
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
