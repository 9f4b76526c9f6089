"""Registers: what was last said about records and keys, by everyone together and by each node. What an edit means is for others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mesh.core.limits import SALT_BYTES
from mesh.core.strict_msgpack import unpack
from mesh.store.database import Run
from mesh.store.entries import Assigned, RowReader


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


_REGISTERS = "SELECT target, at, node, body FROM registers JOIN ops USING(op) JOIN feeds USING(feed) WHERE "
_SAID = "SELECT target, at, node, body, said.tag FROM said JOIN ops USING(op) WHERE "


class RegisterReader(RowReader):
    """The registers of one database."""

    def fields(self, target: bytes | str) -> dict[str, Any]:
        """Every register of a record or key: field to value."""
        rows = self._run(
            "SELECT field, body FROM registers JOIN ops USING(op) WHERE target=? ORDER BY field", (target,)
        )
        return {field: unpack(body[SALT_BYTES:])[3] for field, body in rows}

    def register(self, target: bytes | str, field: str) -> Assigned | None:
        """One register of a record or key."""
        rows = self._run(_REGISTERS + "target=? AND field=?", (target, field)).fetchall()
        return Assigned(unpack(rows[0][3][SALT_BYTES:])[3], *rows[0][1:3]) if rows else None

    def assigned(self, field: str) -> dict[bytes | str, Assigned]:
        """Every register of a field, by the record or key it belongs to."""
        rows = self._run(_REGISTERS + "field=? ORDER BY target", (field,))
        return {target: Assigned(unpack(body[SALT_BYTES:])[3], at, node) for target, at, node, body in rows}

    def said(self, field: str) -> dict[bytes | str, list[Assigned]]:
        """What every node said last in each register of a field, by the record or key; in the order of the nodes."""
        found: dict[bytes | str, list[Assigned]] = {}
        for target, at, node, body, tag in self._run(_SAID + "field=? ORDER BY target, node", (field,)):
            found.setdefault(target, []).append(Assigned(unpack(body[SALT_BYTES:])[3], at, node, tag))
        return found

    def said_of(self, target: bytes | str, field: str) -> list[Assigned]:
        """What every node said last in one register, in the order of the nodes."""
        rows = self._run(_SAID + "field=? AND target=? ORDER BY node", (field, target))
        return [Assigned(unpack(body[SALT_BYTES:])[3], at, node, tag) for _, at, node, body, tag in rows]

    def said_about(self, target: bytes | str) -> dict[str, list[Assigned]]:
        """What every node said last in each register of a record or key, by field."""
        rows = self._run("SELECT DISTINCT field FROM said WHERE target=? ORDER BY field", (target,)).fetchall()
        return {field: self.said_of(target, field) for (field,) in rows}

    def said_in(self, tags: Iterable[bytes], fields: Sequence[str]) -> dict[tuple[bytes, str], list[Assigned]]:
        """What every node said last in these fields of some records, in one look."""
        if self._run("SELECT 1 FROM said WHERE target>=x'' LIMIT 1").get is None:
            return {}  # nothing was ever edited
        found: dict[tuple[bytes, str], list[Assigned]] = {}
        wanted = '["' + '","'.join([tag.hex() for tag in tags]) + '"]'
        rows = self._run(
            "SELECT target, field, at, node, body FROM json_each(?) CROSS JOIN said ON target=unhex(value) AND target>=x''"
            f" CROSS JOIN ops USING(op) WHERE field IN ({','.join('?' * len(fields))}) ORDER BY target, field, node",
            (wanted, *fields),
        )
        for target, field, at, node, body in rows:
            found.setdefault((target, field), []).append(Assigned(unpack(body[SALT_BYTES:])[3], at, node))
        return found

    def edits(self, tags: Iterable[bytes]) -> dict[bytes, dict[str, Any]]:
        """The registers of those of some records that have any, in one look."""
        return edits_of(self._run, [*tags])
