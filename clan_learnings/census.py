"""How many records each tier has in a scope. Counts the newest, up to a limit, and says whether these were all."""

from __future__ import annotations

from itertools import islice

from clan_learnings.records import LOGS
from clan_learnings.tiers import ARCHIVE, BANK, HOT, WARM

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from clan_learnings.memory import Memory

MOST = 20_000  # of each log: about a second
_PAGE = 1000


class Census:
    """Records by tier. `is_whole`: nothing older was left uncounted."""

    def __init__(self, memory: Memory, repo: str | None, most: int = MOST) -> None:
        self.counts = dict.fromkeys((HOT, WARM, BANK, ARCHIVE), 0)
        self.is_whole = True
        for log in LOGS:
            notes = memory.newest(log, repo, _PAGE)
            for note in islice(notes, most):
                self.counts[memory.tier_in(note, repo)] += 1
            self.is_whole = self.is_whole and next(notes, None) is None
