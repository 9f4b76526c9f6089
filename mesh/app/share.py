"""What waits for `mesh share`, counted: by repository, and how much of it is free to go by now. Reads only."""

from collections import Counter
from typing import Any

from clan_learnings.harvest.candidate_table import CandidateStore, CandidateTable, has_candidates
from clan_learnings.harvest.candidates import APPROVED, FOR_SHARE, RECORDED
from clan_learnings.repository.consent import is_shared, read_shared


def waiting_for_share(home: str) -> dict[str, Any]:
    """Candidates by the repository they wait in, and how many of them may go."""
    repos: Counter[str] = Counter()
    free = 0
    if has_candidates(home):
        globs = read_shared(home)
        with CandidateTable(home) as kept:
            for candidate in CandidateStore(kept).every(APPROVED, RECORDED):
                held = {signal.repo for signal in candidate.waiting if signal.held == FOR_SHARE}
                repos.update(repo for repo in held if not is_shared(repo, globs))
                free += any(is_shared(repo, globs) for repo in held)
    return {"repos": dict(repos.most_common()), "free": free}
