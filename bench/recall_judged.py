"""The judged set of this repository: its learnings as records of a home, its questions, prompts and failures. Reads files only."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from bench.recall_home import Item
from clan_learnings.records.record import CORRECTIONS, DISCOVERIES, PATTERNS, SUPERSESSIONS
from mesh.core.draft import Draft, NewRecord

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recall_set")
SPLITS = ("tune", "held")

_LOGS = {"discovery": DISCOVERIES, "learning": DISCOVERIES, "correction": CORRECTIONS, "pattern": PATTERNS}
_DECAYED = 0.2  # the confidence in what is to be in the archive


class Question(NamedTuple):
    """What is asked, where, and which ids are right. For prompts and failures none may be."""

    text: str
    relevant: tuple[str, ...]
    kind: str = ""
    repo: str | None = None  # None: everywhere
    split: str = ""


def rows(name: str, folder: str = FOLDER) -> list[dict[str, Any]]:
    """The lines of one of its files."""
    with open(os.path.join(folder, f"{name}.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def items() -> list[Item]:
    """Every learning as the record it would be. A learning is kept as a discovery: there is no log of its own for it yet."""
    return [
        Item(row["id"], row["text"], _at_ms(row["ts"]), _LOGS[row["kind"]], _fields(row) | {"repo": row["repo"]})
        for row in rows("items")
    ]


def supersessions() -> list[Draft]:
    """What ended the patterns that have a successor. A discovery has no such thing: its successor has to win by itself."""
    kinds = {row["id"]: _LOGS[row["kind"]] for row in rows("items")}
    return [
        NewRecord(SUPERSESSIONS, {"old": slug_of(old), "new": slug_of(new), "repo": row["repo"], "reason": ""})
        for row in rows("items")
        if (new := row.get("superseded_by"))
        and (old := row["id"])
        and {kinds[old], kinds[new]} <= {CORRECTIONS, PATTERNS}
    ]


def groups() -> dict[str, str]:
    """Ids of near-duplicates to the name of their group."""
    return {row["id"]: row["dup"] for row in rows("items") if "dup" in row}


def questions() -> list[Question]:
    """The queries."""
    return [_question(row, row["query"], row.get("repo")) for row in rows("queries")]


def prompts() -> list[Question]:
    """What people typed, each in a repository or in none."""
    return [_question(row, row["prompt"], row["repo"]) for row in rows("prompts")]


def failures() -> list[Question]:
    """Failed calls of tools, as the hook reads them: what was called, and what it said."""
    return [_question(row, f"{row['input']}\n{row['error']}", row["repo"]) for row in rows("failures")]


def slug_of(item: str) -> str:
    """The pattern that a correction or a pattern of this set is written under."""
    return f"set-{item.lower()}"


def _question(row: Mapping[str, Any], text: str, repo: str | None) -> Question:
    return Question(text, tuple(row["relevant"]), row.get("kind", ""), repo, row["split"])


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"category": row["category"], "tags": row["tags"], "session": f"codex:{row['id']}"}
    if row["kind"] in ("correction", "pattern"):
        found["pattern"] = slug_of(row["id"])
    if row["tier"] == "archived":
        found["confidence"] = _DECAYED
    return found


def _at_ms(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)
