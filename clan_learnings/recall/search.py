"""Search: records whose words match a question, scoped to a repository before they are ranked. Pure but for the reader it is given.

Keywords find candidates (FTS5), shared words and identifiers order them. What is behind `search` may change; its answer may not.
"""

from __future__ import annotations

from clan_learnings import tiers
from clan_learnings.matching import Reading, compare, similarity
from clan_learnings.recall.question import Question, split_words
from clan_learnings.records import DISCOVERIES, LOGS

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clan_learnings.memory import Memory
    from clan_learnings.records import Note

_CANDIDATES = 60
_COVERED = 0.75  # how sure it must be that a record says the same
_TELLING = 2  # words that count; with fewer, only the same text is the same


class Hit:
    """A record that was found, how well it fits (0 to 1), and why."""

    __slots__ = ("note", "score", "why")

    def __init__(self, note: Note, score: float, why: str) -> None:
        self.note = note
        self.score = score
        self.why = why


def search(
    memory: Memory, query: str, repo: str | None, limit: int, *, logs: Sequence[str] = LOGS, archived: bool = True
) -> list[Hit]:
    """The records that fit a question best. `repo`: only those of this repository and global ones; None: all."""
    question = Question(memory, query)
    terms = question.words
    if not question.expression:
        return []
    repos = None if repo is None else ("", repo)
    hits = []
    also = memory.moved_into(repo)
    for entry, _rank in memory.reader.matching(question.expression, max(_CANDIDATES, limit), repos, logs, also):
        note = memory.read(entry)
        if memory.is_muted(note) or (repo is not None and note.repo not in ("", repo)):
            continue
        if not archived and memory.strength(note) < tiers.DECAYED:
            continue
        shared = [term for term in terms if term in note.text.lower() or term in note.word("topic").lower()]
        coverage = len(shared) / len(terms)
        score = 0.5 * coverage + 0.5 * similarity(query, note.text)
        hits.append(
            Hit(note, round(score, 4), f"has {', '.join(shared[:4])}" if shared else "has other forms of the words")
        )
    hits.sort(key=lambda hit: (-hit.score, -hit.note.stamp, hit.note.tag))
    return hits[:limit]


def covering(memory: Memory, text: str, repo: str) -> Hit | None:
    """A discovery that says the same already, if there is one. Other numbers, names, flags or a negation are not the same."""
    mine = Reading("", text)
    best: Hit | None = None
    for hit in search(memory, text, repo, 20, logs=(DISCOVERIES,)):
        if len(mine.hard) < _TELLING and split_words(text) != split_words(hit.note.text):
            continue  # "written here" and "written there" have one word that counts, and it is the same
        sureness, why = compare(mine, Reading("", hit.note.text))
        if sureness >= _COVERED and (best is None or sureness > best.score):
            best = Hit(hit.note, sureness, why)
    return best
