"""Who may change a pattern in a guarded mesh: the only writer under its names, an admin, or two nodes that say the same. Reads only.

Not the founder: a record's time is set by its writer, so anybody could claim to have written the oldest one. Being the only writer
cannot be faked: adding a record can only take that right away from others, never gain it.

Rights over single records are checked by the fold (`mesh.store.moderation_judge`), which knows no patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from clan_learnings.records.record import CORRECTIONS, PATTERNS
from mesh.core.moderation import RegisterWord, is_agreed, standing
from mesh.store.reader import Assigned, MemberRow, Reader

_LOGS = (CORRECTIONS, PATTERNS)
_ADMIN, _THROW_AWAY = "admin", ("ephemeral", "ephemeral-reader")  # as in `mesh.core.statement`, which is slow to load


class EditRights:
    """The rights of one snapshot."""

    def __init__(self, reader: Reader, moved_to: Mapping[str, Sequence[bytes]]) -> None:
        """`moved_to`: the records that were moved under each name."""
        members: list[MemberRow] = reader.members()
        self._reader = reader
        self._moved_to = moved_to
        self._writers: dict[str, set[bytes]] = {}
        self.admins = frozenset(row.node for row in members if row.role == _ADMIN and not row.is_revoked)
        self.passing = frozenset(row.node for row in members if row.role in _THROW_AWAY)

    def alone(self, names: Iterable[str]) -> frozenset[bytes]:
        """Who may change a pattern alone."""
        writers = {node for name in names for node in self._of(name)}
        return self.admins | writers if len(writers) == 1 else self.admins

    def word(self, field: str, said: Iterable[Assigned], names: Iterable[str]) -> Assigned | None:
        """The value that counts among those written to a register of a pattern."""
        words = [RegisterWord((one.at, one.tag), one.node, same(field, one.value), one) for one in said]
        if max(words).node in self.admins:  # the usual case, and no lookup is needed for it
            return max(words).value  # type: ignore[no-any-return]
        found = standing(words, self.alone(names), self.passing)
        return None if found is None else found.value

    def are_enough(self, nodes: Iterable[bytes], names: Iterable[str]) -> bool:
        """Whether these nodes together may change a pattern."""
        return is_agreed(nodes, self.alone(names), self.passing)

    def _of(self, name: str) -> set[bytes]:
        found = self._writers.get(name)
        if found is None:
            moved = self._reader.live(self._moved_to.get(name, ())).values()
            found = self._writers[name] = self._reader.writers(name, _LOGS) | {entry.node for entry in moved}
        return found


def same(field: str, value: object) -> object:
    """The part of a value that two nodes must agree on: why something is archived may differ."""
    return bool(value) if field == "archived" else repr(value)
