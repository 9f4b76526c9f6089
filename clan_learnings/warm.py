"""Which records of a scope are WARM: the last discoveries, and what is of the last two days. Reads through a memory, and remembers."""

from __future__ import annotations

from itertools import islice

from clan_learnings import tiers
from clan_learnings.records import DISCOVERIES, LOGS
from mesh.core.limits import TEXT_CHARS

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable

    from clan_learnings.memory import Memory
    from clan_learnings.records import Note

# The newest records are gone through in pages for those that may be WARM. Most stay, so one page that is a little longer is enough.
_PAGE, _PAGES = tiers.WARM_MOST + 14, 4


class Warm:
    """Of one snapshot. A scope is a repository and what holds everywhere; None: all repositories."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._notes: dict[str | None, list[Note]] = {}
        self._tags: dict[str | None, frozenset[bytes]] = {}
        self._last_stamps: dict[str | None, int] = {}
        self._full_stamps: dict[str | None, int] = {}

    def notes(self, repo: str | None) -> list[Note]:
        """Those that are shown, newest first."""
        if repo not in self._notes:
            self._notes[repo] = self._find(repo, self._memory.is_shown)
        return self._notes[repo]

    def has(self, note: Note, repo: str | None) -> bool:
        """Whether a record that is neither HOT nor over is WARM: by stamps alone, unless it is a close thing."""
        if note.log not in LOGS or not self._memory.in_scope(note, repo):
            return False
        is_sure = note.stamp >= (self._memory.now_ms - tiers.WARM_MS) << 16
        if not is_sure:
            if note.log != DISCOVERIES or note.stamp < self._last(repo):
                return False
            is_sure = note.stamp > self._last(repo) and not self._moved(repo)
        said = note.record.get("repo")  # what does not say where it holds is in the list of all, and in no other
        is_there = repo is None or (type(said) is str and len(said) <= TEXT_CHARS)
        if is_sure and is_there and note.stamp > self._full(repo):
            return True
        return note.tag in self._all(repo)

    def _find(self, repo: str | None, may_stay: Callable[[Note], bool]) -> list[Note]:
        newest = self._memory.newest
        after = (self._memory.now_ms - tiers.WARM_MS) << 16
        looked_at = 0
        found: list[Note] = []
        for note in newest(LOGS, repo, _PAGE, after, pages=_PAGES):
            looked_at += 1
            found += [note] if may_stay(note) else []
            if len(found) == tiers.WARM_MOST:
                return found
        every = {note.tag: note for note in found}
        may_be_cut = looked_at + self._moved(repo) > (_PAGES - 1) * _PAGE
        if may_be_cut:  # a busy pattern, which is HOT or over, must not hide the other logs
            for log in LOGS:
                late = (note for note in newest(log, repo, _PAGE, after, pages=_PAGES) if may_stay(note))
                every |= {note.tag: note for note in islice(late, tiers.WARM_MOST)}
        last = islice(newest(DISCOVERIES, repo, tiers.WARM_DISCOVERIES), tiers.WARM_DISCOVERIES)
        every |= {note.tag: note for note in last if may_stay(note)}
        return sorted(every.values(), key=lambda note: (note.stamp, note.tag), reverse=True)[: tiers.WARM_MOST]

    def _all(self, repo: str | None) -> frozenset[bytes]:
        """Also what is hidden here: that changes no tier."""
        if repo not in self._tags:
            notes = self._find(repo, self._memory.stays) if self._memory.has_muted else self.notes(repo)
            self._tags[repo] = frozenset(note.tag for note in notes)
        return self._tags[repo]

    def _last(self, repo: str | None) -> int:
        """The stamp before which nothing is one of the last discoveries of a scope."""
        if repo not in self._last_stamps:
            count = tiers.WARM_DISCOVERIES + self._moved(repo)  # as many may have been edited to be elsewhere
            stamps = self._stamps(DISCOVERIES, count, repo)
            self._last_stamps[repo] = stamps[-1] if len(stamps) == count else 0
        return self._last_stamps[repo]

    def _full(self, repo: str | None) -> int:
        """The stamp after which there are fewer records in a scope than may be WARM: none of them is left out."""
        if repo not in self._full_stamps:
            stamps = [at for log in LOGS for at in self._stamps(log, tiers.WARM_MOST, repo)]
            self._full_stamps[repo] = sorted(stamps)[-tiers.WARM_MOST] if len(stamps) >= tiers.WARM_MOST else 0
        return self._full_stamps[repo]

    def _stamps(self, log: str, count: int, repo: str | None) -> list[int]:
        repos = None if repo is None else ("", repo)
        return self._memory.reader.stamps(log, count, repos, self._memory.moved_into(repo))

    def _moved(self, repo: str | None) -> int:
        """How many records are elsewhere than they were written for; where all are looked at, that makes no difference."""
        return 0 if repo is None else len(self._memory.moved())
