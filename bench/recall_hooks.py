"""The bar of the hooks: what a session is told about a prompt or a failed call, against what it should be told. Judges ids.

Asks as the hooks do, each time in a session that was told nothing yet, and reads the ids that are cited in the answer.
"""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.recall_judged import Question
from clan_learnings.agents.hook_context import HookContext, SessionMemory
from clan_learnings.records.shown_to_session import ShownRecords
from mesh.core.ids import text_id
from mesh.store.reader import open_reading

_CITED_CHARS = 8


class Bar(NamedTuple):
    """How a hook did on some prompts or failures; every share is None where there is nothing to count."""

    asked: int
    silence: float | None  # of those that must be told nothing, the share that was
    precision: float | None  # of the lines that were told, the share that is right
    recall: float | None  # of those that something helps, the share that was told some of it
    told: int  # lines


def told(home: str, ids: Mapping[bytes, str], questions: Sequence[Question], *, failures: bool) -> list[list[str]]:
    """What each of them is told: ids, in their order."""
    cited = {text_id(tag)[:_CITED_CHARS]: name for tag, name in ids.items()}
    reader = open_reading(home)
    reader.connection.execute("BEGIN")
    found = []
    try:
        for number, question in enumerate(questions):
            session = ShownRecords(home, f"codex:bench-{os.getpid()}-{failures}-{number}")
            teller = HookContext(SessionMemory(reader), session, question.repo or "", 0, _raise)
            say = teller.about_failure if failures else teller.about_prompt
            found.append(_read(say(question.text), cited))
    finally:
        reader.connection.close()
    return found


def judge(questions: Sequence[Question], answers: Sequence[Sequence[str]], groups: Mapping[str, str]) -> Bar:
    """Near-duplicates count as one: whichever of a group is told."""
    silent = [not answer for question, answer in zip(questions, answers, strict=True) if not question.relevant]
    right, helped = [], []
    for question, answer in zip(questions, answers, strict=True):
        wanted = {groups.get(one, one) for one in question.relevant}
        good = [groups.get(one, one) in wanted for one in answer]
        right += good
        if wanted:
            helped.append(any(good))
    return Bar(len(questions), _share(silent), _share(right), _share(helped), len(right))


def _share(good: Sequence[bool]) -> float | None:
    return sum(good) / len(good) if good else None


def _read(text: str, cited: Mapping[str, str]) -> list[str]:
    """The ids in a text, by where they stand in it."""
    places = {name: text.find(short) for short, name in cited.items() if text and short in text}
    return sorted(places, key=lambda name: places[name])


def _raise(what: str, error: Exception) -> None:
    raise RuntimeError(what) from error
