"""Items by a model, if the user has one: `--extractor "COMMAND"`. Nothing here can fail a harvest; what went wrong is told.

The command gets a question on its stdin and answers with a JSON array. What is asked stands in `extractor_question`, how an
answer is judged in `extractor_answer`, how a program is run in `bounded_command`.
"""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clan_learnings.harvest.bounded_command import ask
from clan_learnings.harvest.extractor_answer import NoArray, items_in
from clan_learnings.harvest.extractor_question import clean, question_about
from clan_learnings.harvest.items import Item
from clan_learnings.sessions.digest import Digest
from clan_learnings.sessions.events import Session

# Our hooks stay silent where this is set: the model's own session is none of the user's.
EXTRACTING = "MESH_EXTRACTING"
SECONDS = 180.0  # for one session, unless somebody says otherwise
_COMPLAINT_CHARS = 200


class Extracted(NamedTuple):
    """What a model found in one session, and what went wrong. With problems there may still be items."""

    items: list[Item]
    problems: list[str]  # sentences for a person, safe to print and to log


def extract(
    command: str,
    digest: Digest,
    session: Session | None,
    *,
    seconds: float = SECONDS,
    known: Sequence[Item] = (),
    environ: Mapping[str, str] = os.environ,
) -> Extracted:
    """Ask a command about a session. Never raises for what the command does; blocks for `seconds` and a little at most.

    `session`: without it (its raw body is gone) only the digest is asked about, and only lines of the digest may be cited.
    `known`: what rules found in it; a model that found the same may be as sure as they are.
    """
    answer = ask(command, question_about(digest, session), seconds=seconds, environ={**environ, EXTRACTING: "1"})
    if answer.problem:
        return Extracted([], [_told(command, answer.problem, answer.complaint)])
    try:
        read = items_in(answer.text, digest, session, known)
    except NoArray:
        return Extracted([], [_told(command, "its answer has no JSON array in it", answer.complaint)])
    return Extracted(read.items, [_told(command, problem) for problem in read.problems])


def _told(command: str, problem: str, complaint: str = "") -> str:
    """A sentence about the command, which may hold a key in its arguments: only its name is told."""
    words = command.split()
    name = os.path.basename(words[0]) if words else "nothing"
    last = complaint.rsplit("\n", 1)[-1]
    said = "".join(char for char in clean(" ".join(last.split())) if char.isprintable())[:_COMPLAINT_CHARS]
    return f"extractor {name}: {problem}" + (f"; it said: {said}" if said else "")
