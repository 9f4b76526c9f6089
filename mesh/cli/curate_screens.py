"""Curating at a terminal: one screen an item, one key a decision. Decides nothing; text of candidates is made harmless.

Single keys are read with termios; a line (new words, a reason) is read as usual, so that it can be corrected while typing.
"""

import os
import shutil
import sys
import termios
import textwrap
import tty
from select import select
from typing import Self

from clan_learnings.harvest.candidates import HarvestCandidate
from clan_learnings.harvest.review import CandidateReview
from mesh.cli.curate import decided
from mesh.cli.main import EXIT_OK
from mesh.cli.output import clear_screen, plain, put, tell, tell_taken_out
from mesh.core.display import number_of
from mesh.core.errors import MeshError

_KEYS = {"a": "accept", "e": "edit", "r": "reject", "m": "merge", "s": "skip", "q": "quit"}
_HELP = "   ".join(f"{key} {word}" for key, word in _KEYS.items())
_EVIDENCE = 4
_END = "\x04"  # Ctrl-D
_ESCAPE = "\x1b"
_SEQUENCE_SECONDS = 0.05  # in which the rest of a key arrives


def review(curator: CandidateReview) -> int:
    """All that waits, one after the other, until it is over or the person has enough."""
    queue = curator.queue()
    counts: dict[str, int] = {}
    left = len(queue)
    with _Keyboard() as keyboard:
        for number, candidate in enumerate(queue, 1):
            action = _decide(curator, keyboard, candidate, f"{number} of {len(queue)}")
            if action == "quit":
                break
            left -= 1
            counts[action] = counts.get(action, 0) + 1
    clear_screen()
    done = ", ".join(f"{count} {_PAST[action]}" for action, count in counts.items()) or "nothing was decided"
    put(f"{done}; {number_of(left, 'candidate')} left" if queue else "nothing waits for a person")
    return EXIT_OK


_PAST = {"accept": "accepted", "edit": "edited", "reject": "rejected", "merge": "merged", "skip": "skipped"}


def _decide(curator: CandidateReview, keyboard: "_Keyboard", candidate: HarvestCandidate, place: str) -> str:
    """One screen, until something was decided about it."""
    said = ""
    while True:
        linked = curator.linked(candidate)
        clear_screen()
        put(*screen(candidate, linked, place, _width()))
        if said:
            put("", said)
        put("", _HELP)
        sys.stdout.flush()
        action = _KEYS.get(keyboard.key(), "")
        try:
            if action in ("skip", "quit"):
                return action
            if action == "accept":
                tell(*decided(curator.accept(candidate.id), "accept"))
                return action
            if action == "reject":
                tell_taken_out(curator.reject(candidate.id, keyboard.line("why (may be empty): "))["redacted"])
                return action
            if action == "merge":
                into = _chosen(keyboard.line("into which candidate (number above, or an id): "), linked)
                if into:
                    curator.merge(candidate.id, into)
                    return action
                said = "nothing was merged"
            elif action == "edit":
                candidate, said = _edited(curator, keyboard, candidate)
        except MeshError as error:
            said = plain(f"{error}; next: {error.next_step}")


def _edited(
    curator: CandidateReview, keyboard: "_Keyboard", candidate: HarvestCandidate
) -> tuple[HarvestCandidate, str]:
    """Other words; the same screen once more, to accept them."""
    text = keyboard.line("new sentence (empty: as it is): ")
    wrong = keyboard.line("what is wrong (empty: as it is): ") if candidate.wrong else ""
    right = keyboard.line("what is right (empty: as it is): ") if candidate.right else ""
    if not (text or wrong or right):
        return candidate, "nothing was changed"
    redacted = curator.edit(candidate.id, text, wrong, right)["redacted"]
    lost = f", without what is not written ({redacted})" if redacted else ""
    return curator.get(candidate.id), f"changed{lost}; now accept it, or leave it for later"


def _chosen(answer: str, linked: list[HarvestCandidate]) -> str:
    if answer.isdigit() and 0 < int(answer) <= len(linked):
        return linked[int(answer) - 1].id
    return answer


def screen(candidate: HarvestCandidate, linked: list[HarvestCandidate], place: str, width: int) -> list[str]:
    """What is known of a candidate, as lines of at most this width."""
    lines = [
        f"{place}   {candidate.id}   {candidate.kind}, {candidate.category}, confidence {candidate.confidence:g}",
        "",
    ]
    lines += _wrapped(candidate.text, "  ", width)
    for name, text in (("wrong", candidate.wrong), ("right", candidate.right)):
        if text:
            lines += _wrapped(text, f"  {name}  ", width)
    across = ", agents of several sorts" if candidate.is_cross_flavour else ""
    lines += ["", *_wrapped(
        f"{number_of(candidate.frequency, 'time')} in {number_of(candidate.sessions, 'session')} of"
        f" {', '.join(candidate.flavours)}{across}; in {', '.join(repo or 'no repository' for repo in candidate.repos)}", "  ", width,
    )]  # fmt: skip
    lines += _wrapped(f"waits because: {candidate.because}", "  ", width)
    more = [problem for problem in candidate.problems if problem not in candidate.why]
    lines += [line for problem in more for line in _wrapped(problem, "  problem: ", width)]
    for signal in candidate.signals[:_EVIDENCE]:
        quote = f": {signal.item.quote}" if signal.item.quote else ""
        lines += _wrapped(f"{signal.session}, line {signal.item.line}{quote}", "  shown by ", width)[:3]
    for number, other in enumerate(linked, 1):
        lines += _wrapped(f"{other.id} {other.text}", f"  about the same, {number}: ", width)[:2]
    return lines


def _wrapped(text: str, start: str, width: int) -> list[str]:
    made = textwrap.wrap(plain(text, 1000), max(20, width - len(start))) or [""]
    return [start + made[0], *(" " * len(start) + line for line in made[1:])]


def _width() -> int:
    return max(40, min(120, shutil.get_terminal_size((80, 24)).columns))


class _Keyboard:
    """The terminal in a mode that gives single keys, for a `with`; in between, lines as usual."""

    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno()
        self._usual = termios.tcgetattr(self._descriptor)

    def __enter__(self) -> Self:
        tty.setcbreak(self._descriptor, termios.TCSADRAIN)  # before the first screen: whoever is quick loses no key
        return self

    def __exit__(self, *_: object) -> None:
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._usual)

    def key(self) -> str:
        """One key, without waiting for the end of a line. Nothing more to read, or Ctrl-D, means quit."""
        pressed = os.read(self._descriptor, 1).decode("ascii", "replace").lower()
        while pressed == _ESCAPE and select([self._descriptor], [], [], _SEQUENCE_SECONDS)[0]:
            os.read(self._descriptor, 32)  # an arrow key ends in a letter, which means nothing here
        return "q" if pressed in ("", _END) else pressed

    def line(self, question: str) -> str:
        """A line, which can be corrected while typing; empty at the end of input."""
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._usual)
        try:
            return input(question).strip()
        except EOFError:
            return ""
        finally:
            tty.setcbreak(self._descriptor, termios.TCSADRAIN)
