"""A model of the user's, asked about captured sessions one by one. What goes wrong is collected and told; nothing is lost by it."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from clan_learnings.harvest.bounded_command import ask
from clan_learnings.harvest.items import Item, item_from
from clan_learnings.harvest.model_answer import NoArray, items_in
from clan_learnings.harvest.model_question import clean, question_about
from clan_learnings.sessions.catalogue_rows import Digested
from clan_learnings.sessions.catalogue_table import Catalogue
from clan_learnings.sessions.digest import Digest, Failure
from clan_learnings.sessions.events import Session

_PROBLEMS = 10
_NO_COMMAND = (
    "no model was asked: the command of --extractor is empty; name one, like: mesh harvest --extractor 'claude -p'"
)


class Asked:
    """One command, for one run."""

    def __init__(
        self,
        command: str,
        paths: Collection[str] = (),
        said: Callable[[int], None] = lambda _: None,
        seconds: int | None = None,
    ) -> None:
        """`paths`: transcripts it is asked about also if they were harvested before. `said` is called after each answer.

        `seconds`: how long it may take for one session, if not as long as usual.
        """
        self.paths = frozenset(paths)
        self._command = command
        self._said = said
        self._seconds = seconds
        self._is_nobody = not command.strip()
        self._problems: Counter[str] = Counter([_NO_COMMAND] if self._is_nobody else [])

    def items(self, catalogue: Catalogue, found: Digested) -> list[Item]:
        """What it finds in a session."""
        if self._is_nobody:
            return []
        digest = digest_from(found.digest)
        if digest is None:
            self._problems["a digest could not be read"] += 1
            return []
        known = [item for value in found.items if (item := item_from(value)) is not None]
        return self.items_of(digest, _session(catalogue, found), known)

    def items_of(self, digest: Digest, session: Session | None, known: list[Item]) -> list[Item]:
        """The same for a session that is at hand."""
        if self._is_nobody:
            return []

        items, problems = extract(self._command, digest, session, seconds=self._seconds or SECONDS, known=known)
        self._problems.update(problems)
        self._said(1)
        return items

    def problems(self) -> list[str]:
        """What went wrong, each sort once, with its number."""
        told = self._problems.most_common(_PROBLEMS)
        return [f"{text} ({count} times)" if count > 1 else text for text, count in told]


def digest_from(value: dict[str, Any]) -> Digest | None:
    """A digest that was kept as JSON; None if it is none."""
    try:
        kept = {name: value[name] for name in Digest._fields if name in value}
        failures = [
            Failure(**{name: each[name] for name in Failure._fields if name in each}) for each in kept["failures"]
        ]
        corrections = [(line, text) for line, text in kept["corrections"]]
        return Digest(**kept | {"failures": failures, "corrections": corrections})
    except (KeyError, TypeError, ValueError):
        return None


def _session(catalogue: Catalogue, found: Digested) -> Session | None:
    """The session itself, if its body is still there."""
    from clan_learnings.sessions.recognition import read_transcript

    try:
        body = catalogue.body(found.path)
    except (OSError, ValueError):
        return None
    if body is None:
        return None
    sessions = [each for each in read_transcript(body, found.path).sessions if each.name == found.session]
    return max(sessions, key=lambda each: len(each.events), default=None)


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
