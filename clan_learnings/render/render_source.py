"""What rendering asks of a store beside reading records: what has changed since, and all records in order. Types only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mesh.store.reading import Entry


class Was(Protocol):
    """What a record said when it was written."""

    @property
    def log(self) -> str:
        """Its log."""

    @property
    def at(self) -> int:
        """Its stamp."""

    @property
    def pattern(self) -> str:
        """The pattern it was written under."""


class Touched(Protocol):
    """Everything that is another now, or may be."""

    @property
    def records(self) -> Mapping[bytes, Was]:
        """Records that came, went or were edited."""

    @property
    def keys(self) -> list[tuple[str, str, Any]]:
        """Registers of keys that were set, or not any more: key, field, value."""

    @property
    def erased(self) -> set[bytes]:
        """Records of which nothing but the tag is known any more."""


class Source(Protocol):
    """One snapshot of a store. A state of it can be remembered, as a value for JSON."""

    def progress(self) -> dict[str, Any]:
        """The state as it is."""

    def since(self, before: dict[str, Any]) -> Touched | None:
        """What has changed since then; None if that cannot be said."""

    def edited(self) -> set[bytes]:
        """Every record of which a field was ever set."""

    def count(self, log: str) -> int:
        """How many live records a log has."""

    def oldest_first(self, log: str) -> Iterator[Entry]:
        """Every live record of a log."""
