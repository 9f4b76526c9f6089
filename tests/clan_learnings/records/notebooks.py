"""A notebook for tests: a real home with a clock of its own, written to record by record."""

from pathlib import Path
from typing import Any

from clan_learnings.records.memory import Memory
from clan_learnings.records.notebook import draft_correction, draft_discovery
from clan_learnings.records.pattern_drafts import (
    draft_alias,
    draft_archive,
    draft_restoration,
    draft_supersession,
    draft_unalias,
)
from clan_learnings.records.patterns import Pattern
from clan_learnings.records.record import About
from clan_learnings.redaction.text_cleaner import TextCleaner
from clan_learnings.search.finder import Finder
from mesh.core.draft import Assignment, Draft, NewRecord, Removal
from mesh.store.home import create_home
from mesh.store.reader import Reader

REPO, OTHER = "github.com/acme/api", "github.com/acme/web"
DAY_MS = 86_400_000


class Notebook:
    """One node's records, and what they amount to."""

    def __init__(self, folder: Path, name: str = "laptop") -> None:
        self.now_ms = 1_800_000_000_000
        self.home = create_home(str(folder / name), name, now_ms=self.now_ms)
        self.author = self.home.author(clock=lambda: self.now_ms)
        self.muted: set[str] = set()

    def memory(self) -> Memory:
        """A fresh look."""
        return Memory(Reader(self.author.store.database.connection), muted=frozenset(self.muted))

    def memory_with(self, finder: Finder) -> Memory:
        """A fresh look, with another index."""
        return Memory(Reader(self.author.store.database.connection), muted=frozenset(self.muted), finder=finder)

    def wait(self, days: float) -> None:
        """Time passes; mesh time passes with the next record."""
        self.now_ms += int(days * DAY_MS)

    def write(self, *drafts: Draft) -> bytes:
        """Drafts as they are; returns the first one's tag."""
        self.now_ms += 1
        return self.author.append(drafts).tags[0]

    def add(self, log: str, **record: Any) -> bytes:
        """A record as a peer might have written it."""
        return self.write(NewRecord(log, record))

    def correction(self, pattern: str, session: str, repo: str = REPO, **more: Any) -> bytes:
        """A correction under a pattern."""
        record = {"wrong": "npm install", "right": "pnpm install", "pattern": pattern, "repo": repo, "session": session}
        return self.add("corrections", **record | more)

    def sessions(self, pattern: str, count: int, repo: str = REPO, first: int = 1) -> list[bytes]:
        """Corrections of so many sessions."""
        return [self.correction(pattern, f"codex:{number}", repo) for number in range(first, first + count)]

    def set(self, target: bytes | str, field: str, value: Any) -> None:
        """A register."""
        self.write(Assignment(target, field, value))

    def retract(self, tag: bytes) -> None:
        """A record is taken back."""
        self.write(Removal((tag,), "wrong"))

    def alias(self, one: str, other: str) -> None:
        """Two names for one pattern."""
        self.write(*draft_alias(self.memory(), one, other))

    def unalias(self, slug: str) -> None:
        """A name for itself."""
        self.write(*draft_unalias(self.memory(), slug))

    def supersede(self, old: str, new: str) -> None:
        """One in the place of another."""
        self.write(*draft_supersession(self.memory(), old, new, About(repo=REPO), "", TextCleaner()))

    def archive(self, slug: str) -> None:
        """A pattern ends."""
        self.write(*draft_archive(self.memory(), slug, "over", TextCleaner()))

    def restore(self, slug: str) -> None:
        """It never ended."""
        self.write(*draft_restoration(self.memory(), slug))

    def correct(self, wrong: str, right: str, session: str = "codex:1", repo: str = REPO, **more: Any) -> str:
        """A correction as the command writes it; returns the pattern it was counted under."""
        about = About(repo=repo, session=session)
        drafts, found = draft_correction(self.memory(), wrong, right, about, TextCleaner(), **more)
        self.write(*drafts)
        return found.slug

    def discover(self, text: str, repo: str = REPO, **about: Any) -> bytes:
        """A discovery as the command writes it."""
        drafts, _ = draft_discovery(self.memory(), text, About(repo=repo, **about), TextCleaner())
        return self.write(*drafts)

    def hot(self, repo: str | None = REPO) -> list[str]:
        """The names of what is HOT."""
        return [item.slug for item in self.memory().hot(repo)]

    def standing(self, slug: str) -> Pattern:
        """A pattern that must be there."""
        found = self.memory().patterns.standing(slug)
        assert found is not None
        return found

    def tier(self, tag: bytes) -> str:
        """The tier of a live record."""
        memory = self.memory()
        note = memory.note(tag)
        assert note is not None
        return memory.tier_of(note)
