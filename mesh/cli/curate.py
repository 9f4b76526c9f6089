"""`mesh curate`: decide about harvested items, on one screen each or by options for scripts."""

from __future__ import annotations

import os
import shutil
import sys
import termios
import textwrap
import tty
from select import select
from typing import Any, Self

from clan_learnings.harvest.candidates import HarvestCandidate
from clan_learnings.harvest.harvest import open_harvest, told
from clan_learnings.harvest.review import CandidateReview
from mesh.cli.detect import lines_of
from mesh.cli.grammar import Given, WrongUsage, argument, command, option
from mesh.cli.main import EXIT_OK, EXIT_WAITING, complain
from mesh.cli.output import clear_screen, plain, print_json, put, say, tell, tell_taken_out
from mesh.core.display import number_of
from mesh.core.errors import MeshError

_ACTIONS = ("list", "accept", "reject", "edit", "merge", "auto")


@command(
    "mesh curate --reject mi3ljo4o --reason 'only true for that branch'",
    more="Without an option: one screen an item, and a key for each decision: accept, edit, reject, merge, skip, quit.",
    may_be_empty=True,
)
@argument("into", "[INTO]", required=False)
@option("--list", help="list what waits for a person")
@option("--all", help="with --list: everything that is kept, whatever its state")
@option("--accept", metavar="ID", help="let a candidate in, whatever the bar says")
@option("--repo", metavar="REPO", help="with --accept: the repository it is about, where its sessions do not tell")
@option("--reject", metavar="ID", help="never again, also when the same comes again")
@option("--reason", metavar="TEXT", help="with --reject: why")
@option("--edit", metavar="ID", help="say it in other words: with --text, --wrong or --right")
@option("--text", metavar="TEXT", help="the new sentence")
@option("--wrong", metavar="TEXT", help="of a correction or fix: what is wrong")
@option("--right", metavar="TEXT", help="and what is right")
@option("--merge", metavar="ID", help="what speaks for ID speaks for INTO from now on")
@option("--auto", help="write what passes the bar by itself")
def main(given: Given) -> int:
    """Show what waits, or decide."""
    chosen = [name for name in _ACTIONS if given.has(name)]
    if len(chosen) > 1:
        raise WrongUsage(f"--{chosen[0]} and --{chosen[1]} exclude each other")
    action = chosen[0] if chosen else ""
    if (action == "merge") != given.has("into"):
        raise WrongUsage("two candidates are merged like this: mesh curate --merge ID INTO")
    if given.has("reason") and action != "reject":
        raise WrongUsage("--reason goes with --reject")
    if action != "edit" and any(given.has(name) for name in ("text", "wrong", "right")):
        raise WrongUsage("--text, --wrong and --right go with --edit")
    if given.has("repo") and action != "accept":
        raise WrongUsage("--repo goes with --accept")
    if given.has("all") and action != "list":
        raise WrongUsage("--all goes with --list")
    if not action and (not sys.stdin.isatty() or given.json):
        raise WrongUsage("without a terminal: --list, --accept ID, --reject ID, --edit ID, --merge ID INTO or --auto")

    with open_harvest(given.home) as harvest:
        curator = CandidateReview(harvest)
        if not action:
            return review(curator)
        if action == "list":
            return _list(given, curator, everything=given.has("all"))
        if action == "auto":
            return _auto(given, curator)
        return _decide(given, curator, action)


def _list(given: Given, curator: CandidateReview, *, everything: bool) -> int:

    found = [told(each) for each in (curator.all() if everything else curator.queue())]
    if given.json:
        print_json({"candidates": found})
        return EXIT_OK
    for each in found:
        put(*lines_of(each))
        if each["text"]:  # else it was erased, which its line says
            put(f"          {_why(each)}")
    if not found:
        tell(*(["nothing is kept yet", "  next: mesh harvest"] if everything else ["nothing waits for a person"]))
    return EXIT_OK


def _why(told: dict[str, Any]) -> str:
    """Why it waits; of what is recorded, as what."""
    records = list(dict.fromkeys(each["record"] for each in told["evidence"] if each["record"]))
    said = f"recorded as {', '.join(records[:3])}" + (f" and {len(records) - 3} more" if len(records) > 3 else "")
    if not records:
        return plain(told["why"])
    return said if not told["waits_for"] else f"{said}; the rest waits: {plain(told['why'])}"


def _auto(given: Given, curator: CandidateReview) -> int:

    written = curator.auto()
    if given.json:
        stopped = None if written.stopped is None else written.stopped.facts()
        told = {"recorded": written.records, "known": written.known, "hot": list(written.hot), "stopped": stopped}
        print_json(told)
        return EXIT_OK if stopped is None else EXIT_WAITING
    for record in written.records:
        put(f"{record['id']}  {record['kind']}  {plain(record['text'])}")
    for problem in written.problems:
        tell(plain(problem))
    tell(f"{number_of(len(written.records), 'record')} written, {written.known} known already")
    if written.stopped is not None:
        complain(written.stopped)
        return EXIT_WAITING
    return EXIT_OK


def _decide(given: Given, curator: CandidateReview, action: str) -> int:
    name = given.word(action)
    match action:
        case "accept":
            answer = curator.accept(name, given.word("repo"))
        case "reject":
            answer = curator.reject(name, given.word("reason"))
        case "edit":
            answer = curator.edit(name, given.word("text"), given.word("wrong"), given.word("right"))
        case _:
            answer = curator.merge(name, given.into)
    if given.json:
        print_json(answer)
    else:
        say(*decided(answer, action))
    tell_taken_out(answer.get("redacted", ""))
    return EXIT_OK


def decided(answer: dict[str, Any], action: str) -> list[str]:
    """What a decision has made of a candidate, and the next step if there is one."""
    if action == "accept":
        records = answer["recorded"]
        if records:
            return [f"{answer['id']}  accepted, recorded as {', '.join(record['id'] for record in records)}"]
        if answer["known"]:
            return [f"{answer['id']}  accepted; a record says it already"]
        if answer["trouble"]:
            return [f"{answer['id']}  accepted, but {plain(answer['trouble'][0])}"]
        if answer["state"] == "rejected":  # somebody took it back meanwhile
            return [
                f"{answer['id']}  not accepted: {answer['why']}",
                "  next: say it anew: mesh discover, mesh correct",
            ]
        if answer["waits_for"] == "unshared":
            why = "its repository forbids sharing in .clan-mesh.toml (share = false, or not understood)"
            return [
                f"{answer['id']}  accepted; but it stays here: {why}, which `mesh share` does not undo",
                "  next: change that line there, then mesh share REPO",
            ]
        repo = plain(next((each["repo"] for each in answer["evidence"] if each["held"] == "share"), "")) or "'*'"
        return [f"{answer['id']}  accepted; it leaves this node once its repository is shared: mesh share {repo}"]
    if action == "merge":
        return [f"{answer['id']}  has it all now: {number_of(answer['sessions'], 'session')}, {answer['state']}"]
    return [f"{answer['id']}  {answer['state']}: {plain(answer['text'] if action == 'edit' else answer['why'])}"]


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
            action = _decide_item(curator, keyboard, candidate, f"{number} of {len(queue)}")
            if action == "quit":
                break
            left -= 1
            counts[action] = counts.get(action, 0) + 1
    clear_screen()
    done = ", ".join(f"{count} {_PAST[action]}" for action, count in counts.items()) or "nothing was decided"
    put(f"{done}; {number_of(left, 'candidate')} left" if queue else "nothing waits for a person")
    return EXIT_OK


_PAST = {"accept": "accepted", "edit": "edited", "reject": "rejected", "merge": "merged", "skip": "skipped"}


def _decide_item(curator: CandidateReview, keyboard: _Keyboard, candidate: HarvestCandidate, place: str) -> str:
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


def _edited(curator: CandidateReview, keyboard: _Keyboard, candidate: HarvestCandidate) -> tuple[HarvestCandidate, str]:
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
    often = f"{number_of(candidate.frequency, 'time')} in {number_of(candidate.sessions, 'session')}"
    lines += ["", *_wrapped(
        f"{often if candidate.sessions else 'imported, out'} of"
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
