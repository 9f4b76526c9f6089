"""Registers of records, read for many at once. What an edit means is for others."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.core.limits import SALT_BYTES
from mesh.core.strict_msgpack import unpack

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

    from mesh.store.database import Run


def edits_of(run: Run, tags: Sequence[bytes]) -> dict[bytes, dict[str, Any]]:
    """The registers of those of some records that have any, in one look."""
    if run("SELECT 1 FROM registers WHERE target>=x'' LIMIT 1").get is None:
        return {}  # nothing was ever edited
    found: dict[bytes, dict[str, Any]] = {}
    wanted = '["' + '","'.join([tag.hex() for tag in tags]) + '"]'
    rows = run(
        "SELECT target, field, body FROM json_each(?) CROSS JOIN registers ON target=unhex(value)"
        " CROSS JOIN ops USING(op) WHERE body IS NOT NULL ORDER BY target, field",
        (wanted,),
    )
    for target, field, body in rows:
        found.setdefault(target, {})[field] = unpack(body[SALT_BYTES:])[3]
    return found
