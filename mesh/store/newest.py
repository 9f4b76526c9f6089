"""The newest records of several slices of an index, in one order. Of equal stamps the tag decides, not which arrived first.

So equal roots give equal answers. A slice is read no further than is needed; where it would be cut between records of one
stamp, all of that stamp are looked at.
"""

from __future__ import annotations

from mesh.core.ids import digest, signed_prefix, tag_of

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mesh.store.database import Run

    # A condition on elements that an index with `at` next serves, or that few meet; and its values.
    Slice = tuple[str, tuple[int | str, ...]]
    Place = tuple[int, bytes]  # of a record in the order of writing: its stamp, and its tag


# Some records by their tags, however many, in one look. One with the same first eight bytes is taken for one of them.
AMONG = "op IN (SELECT op FROM ops WHERE kind=1 AND key IN (SELECT value FROM json_each(?)))"


def keys_of(tags: Iterable[bytes]) -> str:
    """Tags as `AMONG` takes them."""
    return str(sorted({signed_prefix(tag) for tag in tags}))


def newest(run: Run, slices: list[Slice], count: int, before: Place | None, least: int) -> list[int]:
    """The numbers of so many records, newest first: of those behind `before`, none with a stamp under `least`."""
    stamps: dict[int, list[int]] = {}
    for where, args in slices if count > 0 else ():
        for at, op in _candidates(run, f"SELECT at, op FROM elements WHERE {where} AND ", args, count, before, least):
            stamps.setdefault(at, []).append(op)
    ops: list[int] = []
    for at in sorted(stamps, reverse=True):
        tied = stamps[at]
        if len(tied) > 1 or (before is not None and at == before[0]):
            tags = sorted(((_tag(run, op), op) for op in tied), reverse=True)
            tied = [op for tag, op in tags if before is None or (at, tag) < before]
        ops += tied[: count - len(ops)]
        if len(ops) == count:
            break
    return ops


def _candidates(
    run: Run, rows: str, args: tuple[int | str, ...], count: int, before: Place | None, least: int
) -> list[tuple[int, int]]:
    """More than enough of one slice: every record of a stamp, or none."""
    tied: list[tuple[int, int]] = []
    found: list[tuple[int, int]]
    if before is None:
        found = run(rows + "at>=? ORDER BY at DESC LIMIT ?", (*args, least, count)).fetchall()
    else:
        if before[0] >= least:
            tied = run(rows + "at=?", (*args, before[0])).fetchall()
        found = run(rows + "at>=? AND at<? ORDER BY at DESC LIMIT ?", (*args, least, before[0], count)).fetchall()
    if len(found) == count:
        last = found[-1][0]
        found = [row for row in found if row[0] > last] + run(rows + "at=?", (*args, last)).fetchall()
    return tied + found


def _tag(run: Run, op: int) -> bytes:
    node, body = run("SELECT node, body FROM ops JOIN feeds USING(feed) WHERE op=?", (op,)).fetchone()
    return tag_of(node, digest(body))
