"""How many records each tier has in a scope. Counts the newest, up to a limit, and says whether these were all."""

from __future__ import annotations

from clan_learnings import tiers
from clan_learnings.records import CORRECTIONS, LOGS, PATTERNS

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clan_learnings.memory import Memory
    from clan_learnings.records import Note

MOST = 20_000  # of each log: about a second
_PAGE = 1000


class Census:
    """Records by tier. `is_whole`: nothing older was left uncounted."""

    def __init__(self, memory: Memory, repo: str | None, most: int = MOST) -> None:
        self.counts = dict.fromkeys((tiers.HOT, tiers.WARM, tiers.BANK, tiers.ARCHIVE), 0)
        self.is_whole = True
        warm = {note.tag for note in memory.warm(repo)}
        ended: dict[str, bool] = {}
        for note in self._all(memory, repo, most):
            slug = note.pattern if note.log in (CORRECTIONS, PATTERNS) else ""
            if slug and slug not in ended:
                ended[slug] = memory.patterns.has_ended(slug)
            tier = tiers.tier_of(
                hot=bool(slug) and memory.is_hot(slug),
                warm=note.tag in warm,
                gone=ended.get(slug, False),
                left=memory.strength(note),
            )
            self.counts[tier] += 1

    def _all(self, memory: Memory, repo: str | None, most: int) -> Iterator[Note]:
        repos = None if repo is None else ("", repo)
        for log in LOGS:
            before: tuple[int, bytes] | None = None
            seen = 0
            while True:
                entries = memory.reader.newest(log, _PAGE, repos, before)
                for entry in entries:
                    note = memory.read(entry)
                    if repo is None or note.repo in ("", repo):
                        yield note
                seen += len(entries)
                if len(entries) < _PAGE:
                    break
                if seen >= most:
                    self.is_whole = False
                    break
                before = (entries[-1].at, entries[-1].tag)
