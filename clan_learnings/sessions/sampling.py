"""Which sessions to harvest first: a score of each, and the best of them. Pure: no files; the time is an argument.

Recency: 3 up to 7 days, 2 up to 30, else 1. Length: 3 above 50 messages, 2 above 20, else 1. Repository: 5 for the first
session there ever was of it, else 1. Outcome: failure 3, success 2, unknown 1. And 2 for more than 10 calls of tools. Equal
scores stand newest first, then by name: the same sessions give the same order everywhere.
"""

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from clan_learnings.sessions.cleaning import homeless

_DAY_MS = 86_400_000
_OUTCOMES = {"failure": 3, "success": 2}


class Candidate(NamedTuple):
    """A session that could be harvested."""

    path: str
    key: str  # equal in every copy of it
    session: str  # as records name it
    flavour: str
    messages: int
    calls: int
    outcome: str
    repo: str  # its identity; of a folder that is gone, the folder; empty: none
    started_ms: int
    ended_ms: int
    is_subagent: bool = False


class Scored(NamedTuple):
    """A candidate, its score, and what that is made of."""

    candidate: Candidate
    score: int
    parts: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {**self.candidate._asdict(), "score": self.score, "parts": self.parts}


def score_all(candidates: Iterable[Candidate], now_ms: int) -> list[Scored]:
    """Every session once, the best first."""
    once = _once(candidates)
    firsts = _firsts(once)
    scored = [_scored(candidate, now_ms, is_first=candidate.key in firsts) for candidate in once]
    scored.sort(key=lambda each: (-each.score, -each.candidate.ended_ms, each.candidate.key, each.candidate.path))
    return scored


def best(
    scored: list[Scored], *, count: int, min_score: int = 0, top_percent: float = 0, repo: str = "", since_ms: int = 0
) -> list[Scored]:
    """Those that were asked for. `top_percent` takes the place of `count`."""
    found = [
        each
        for each in scored
        if each.score >= min_score
        and each.candidate.ended_ms >= since_ms
        and (not repo or _is_of(each.candidate.repo, repo))
    ]
    return found[: max(1, int(len(found) * top_percent / 100)) if top_percent else count]


def _once(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Of several files that tell the same session, the one that tells most."""
    found: dict[str, Candidate] = {}
    for each in candidates:
        other = found.get(each.key)
        if other is None or (-each.messages, each.path) < (-other.messages, other.path):
            found[each.key] = each
    return list(found.values())


def _firsts(candidates: list[Candidate]) -> set[str]:
    """The first session of each repository. A subagent's is none: it began in another."""
    found: dict[str, Candidate] = {}
    for each in candidates:
        if each.repo and not each.is_subagent:
            other = found.get(each.repo)
            if other is None or (each.started_ms, each.key) < (other.started_ms, other.key):
                found[each.repo] = each
    return {each.key for each in found.values()}


def _scored(candidate: Candidate, now_ms: int, *, is_first: bool) -> Scored:
    days = (now_ms - candidate.ended_ms) // _DAY_MS
    parts = {
        "recency": 3 if days <= 7 else 2 if days <= 30 else 1,
        "length": 3 if candidate.messages > 50 else 2 if candidate.messages > 20 else 1,
        "repo": 5 if is_first else 1,
        "outcome": _OUTCOMES.get(candidate.outcome, 1),
        "calls": 2 if candidate.calls > 10 else 0,
    }
    return Scored(candidate, sum(parts.values()), parts)


def _is_of(repo: str, asked: str) -> bool:
    """`host/owner/name`, or its end: `owner/name`, `name`."""
    asked = asked.lower().strip("/")
    return repo.lower() == asked or repo.lower().endswith("/" + asked)


def project_of(repo: str, folder: str) -> str:
    """A repository's identity. A folder that is not there any more stands for itself: it was somebody's project."""
    if repo or not folder or os.path.isdir(folder):
        return repo
    return homeless(folder)
