"""What every text passes before it is written: secrets and private passages are taken out and counted. The rules are in the other modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from clan_learnings.records.record import About, required_text
from clan_learnings.redaction import SecretCount, describe, redact
from clan_learnings.redaction.private_passages import without_private, without_private_values
from mesh.core.errors import UsageError

_PRIVATE = "private passage"


class TextCleaner:
    """Takes secrets and private passages out of every text that goes through it, and remembers what sorts there were."""

    def __init__(self, categories: Callable[[], Iterable[str]] = tuple) -> None:
        """`categories`: those that the repository adds to the mesh's; asked only for one that the mesh does not know."""
        self.categories = categories
        self._counts: dict[str, int] = {}

    def clean(self, text: str) -> str:
        """The text as it may be written."""
        if not text:
            return text
        public = _public(text)
        if public != text:
            text = public.strip()
            self._count(_PRIVATE, 1)
        done = redact(text)
        for finding in done.findings:
            self._count(finding.sort, finding.count)
        return done.text

    def clean_all(self, texts: Iterable[str]) -> list[str]:
        """Several words as they may be written, those that are private all over left out: a mark may reach over some of them."""
        texts = list(texts)
        if any(_public(text) != text for text in texts):
            texts = [kept for text in without_private_values(texts) if (kept := text.strip())]
            self._count(_PRIVATE, 1)
        return [self.clean(text) for text in texts]

    def sentence(self, text: str, what: str, example: str) -> str:
        """The same of a text that must say something."""
        kept = self.clean(required_text(text, what, example))
        if not kept.strip():
            raise UsageError(f"all of {what} is private: nothing is left to write", f"like this: {example}")
        return kept

    def about(self, about: About) -> About:
        """The same facts, cleaned in place."""
        about.topic, about.evidence = self.clean(about.topic), self.clean(about.evidence)
        about.tags = self.clean_all(about.tags)
        for what in ("session", "agent", "repo"):
            if redact(getattr(about, what)).findings:
                raise UsageError(
                    f"the name of the {what} looks like a secret",
                    f"give another with --{what}, or find out who gave it that",
                )
        return about

    @property
    def found(self) -> str:
        """What was taken out, in words; empty if nothing was."""
        return describe(SecretCount(sort, count) for sort, count in sorted(self._counts.items()))

    def _count(self, sort: str, number: int) -> None:
        self._counts[sort] = self._counts.get(sort, 0) + number


def _public(text: str) -> str:
    """The text without its private passages. A plain look first: every text that is written is asked, and hardly one has any."""
    if "<" not in text or "private" not in text.lower():
        return text

    return without_private(text)
