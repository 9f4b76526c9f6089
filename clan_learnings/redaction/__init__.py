"""Redaction: secrets and e-mail addresses are taken out of a text before it is written anywhere. Pure: no files, no logs, no switch to turn it off.

Findings are told by sort and number, never by content. What is not found is listed in ADR 0029. Everyday commands import this package,
so `re` and the rules are loaded by the first text that needs them.
"""

from collections.abc import Iterable
from typing import Any

__all__ = ["Finding", "Redacted", "describe", "redact", "redact_value"]


class _Comparable:
    """Equal by content. Not a dataclass: importing that takes longer than an everyday command has in all."""

    __slots__: tuple[str, ...] = ()

    def _content(self) -> "tuple[Any, ...]":
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._content() == self._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


class SecretCount(_Comparable):
    """So many secrets of one sort. Nothing of the secrets themselves."""

    __slots__ = ("count", "sort")

    def __init__(self, sort: str, count: int) -> None:
        self.sort = sort
        self.count = count


class Redacted(_Comparable):
    """A text without its secrets, and what they were."""

    __slots__ = ("findings", "text")

    def __init__(self, text: str, findings: tuple[SecretCount, ...]) -> None:
        self.text = text
        self.findings = findings


def redact(text: str) -> Redacted:
    """The text with a mark like `[redacted: aws key]` in place of each secret. Doing it twice changes nothing more."""
    from clan_learnings.redaction.passes import without_secrets

    counts: dict[str, int] = {}
    clean = without_secrets(text, counts)
    return Redacted(clean, _findings(counts))


def redact_value(value: "Any") -> "tuple[Any, tuple[SecretCount, ...]]":
    """A JSON-like value with every string redacted, keys included; a value is also judged by the key it stands under.

    Tuples come back as lists. What is neither text nor container is handed through.
    """
    from clan_learnings.redaction.passes import without_secrets, without_secrets_inside

    counts: dict[str, int] = {}
    if type(value) is str:
        return without_secrets(value, counts), _findings(counts)
    return without_secrets_inside(value, counts), _findings(counts)


def describe(findings: "Iterable[SecretCount]") -> str:
    """What was found, in words for stderr: `1 aws key, 2 x e-mail address`; empty if nothing was."""
    return ", ".join(f"1 {each.sort}" if each.count == 1 else f"{each.count} x {each.sort}" for each in findings)


def _findings(counts: dict[str, int]) -> tuple[SecretCount, ...]:
    return tuple(SecretCount(sort, counts[sort]) for sort in sorted(counts))
