"""What failed in a session and what mended it: another way to run it, an edit, a command that prepared it. No opinion whether that is worth knowing.

Equal failures in a row are one: the same check, failing until it passes. Of these the last one the agent was told about stands
for all, since what followed it is what helped.
"""

import re
from bisect import bisect_right
from enum import StrEnum
from typing import NamedTuple

from clan_learnings.capture.attempts import Attempt, State, is_by_shell
from clan_learnings.capture.commands import Command, commands_in, last_of, likeness, plain
from clan_learnings.capture.edits import is_edit
from clan_learnings.capture.events import Event, Kind
from clan_learnings.capture.signature import signature_of, signatures_in, telling_line


class Way(StrEnum):
    """How it was mended."""

    NOT = ""  # nobody did, as far as can be seen
    OTHERWISE = "otherwise"  # the same program, called in another way
    INSTEAD = "instead"  # another program or tool for the same thing
    EDITED = "edited"  # files were changed, then the same passed
    PREPARED = "prepared"  # something else was run first, then the same passed
    AGAIN = "again"  # the same passed, and nothing had changed


class Mended(NamedTuple):
    """A failure, and what helped."""

    attempt: Attempt
    error: str  # the line that tells most
    signature: str
    way: Way
    fix: Attempt | None  # what helped: an edit, or the command that worked
    passed: Attempt | None  # what showed it
    times: int  # how often it failed before
    lines: tuple[int, ...]  # of all these failures


_CHARS = 4_000
_FAR, _NEAR = 80, 8  # attempts ahead that are looked at: for the same check, for another way
_ALIKE = 0.34  # shared words of two ways to do one thing
_ALIKE_BY_SHELL = 0.25  # where only quoting was wrong, the rest of a line may change with it
_SUBSTITUTE = 0.4
_SAME_PROGRAM = 0.1  # where the subcommand is what was wrong
_CLEARLY = 0.5
_SAME_ERROR = 0.6  # shared words of two lines that are one error
_EVERYTHING = frozenset((".", "./...", "...", "*", "--all"))
_NO_PROGRAM = re.compile(
    r"command not found|not recognized|: not found|CommandNotFound|no module named|executable file not found|is not installed",
    re.IGNORECASE,
)
_HELP = frozenset(("--help", "-h", "help", "--version", "-V", "version"))
_INTERPRETERS = frozenset(
    ("python", "python3", "node", "ruby", "perl", "php", "deno", "bun", "pwsh", "bash", "sh", "zsh")
)
_USAGE = re.compile(
    r"unknown (?:option|flag|command|argument|subcommand)|unrecogni[sz]ed|unexpected (?:argument|option|token|eof)|invalid (?:option|argument|flag|usage|value)|usage:|"
    r"illegal option|requires? (?:an? |the )?(?:argument|value)|parse error|no matches found|syntax error|bad substitution|not found|not recognized|ambiguous argument|accepts \d+ arg",
    re.IGNORECASE,
)
_NO_SUBCOMMAND = re.compile(
    r"missing script|unknown (?:command|subcommand|task)|no such (?:command|subcommand|task)|is not an? [\w-]+ command|unrecogni[sz]ed (?:command|subcommand)|no task|task not found|no rule to make target|command .{1,40} not found",
    re.IGNORECASE,
)
_ASSIGNMENT = re.compile(r"\b[A-Za-z_]\w*=\S+")
_READS = frozenset(
    (
        "ls",
        "cat",
        "head",
        "tail",
        "sed",
        "grep",
        "rg",
        "find",
        "nl",
        "wc",
        "tree",
        "stat",
        "file",
        "which",
        "git status",
        "git diff",
        "git log",
        "git show",
        "echo",
        "pwd",
        "cd",
        "go doc",
        "git rev-parse",
        "git branch",
        "type",
        "command",
    )
)


def failures_in(attempts: list[Attempt], events: list[Event]) -> list[Mended]:
    """All failures, each chain of equal ones once, in order."""
    found: list[Mended] = []
    taken: set[int] = set()
    prompts = [at for at, event in enumerate(events) if event.kind is Kind.PROMPT and not event.is_sidechain]
    for number, attempt in enumerate(attempts):
        if number in taken or attempt.state not in (State.FAILED, State.HIDDEN):
            continue
        mended = _of_shell(attempts, number, taken, prompts) if attempt.call.text else _of_tool(attempts, number, taken)
        found.append(mended)
    return found


def _of_shell(attempts: list[Attempt], number: int, taken: set[int], prompts: list[int]) -> Mended:
    other = _other_way(attempts, number, prompts) if _NO_PROGRAM.search(attempts[number].output[:_CHARS]) else None
    if other and other[1] is Way.INSTEAD:
        return _made(attempts[number], [attempts[number].line])._replace(way=other[1], fix=other[0], passed=other[0])
    chain, passed = _chain(attempts, number)
    taken.update(chain)
    told = [place for place in chain if attempts[place].state is State.FAILED] or chain
    last = attempts[told[-1]]
    made = _made(last, [attempts[place].line for place in chain])
    if passed is not None:
        return _passed(made, attempts, chain[-1], passed)
    other = _other_way(attempts, chain[-1], prompts)
    return made._replace(way=other[1], fix=other[0], passed=other[0]) if other else made


def _made(attempt: Attempt, lines: list[int]) -> Mended:
    output = attempt.output
    return Mended(attempt, telling_line(output), signature_of(output), Way.NOT, None, None, len(lines), tuple(lines))


def _chain(attempts: list[Attempt], number: int) -> tuple[list[int], int | None]:
    """The same failing again and again, and where it passed at last, or failed for another reason."""
    chain = [number]
    for place in range(number + 1, min(number + _FAR, len(attempts))):
        before, attempt = attempts[chain[-1]], attempts[place]
        if not _may_answer(before, attempt):
            continue
        has_failed = attempt.state in (State.FAILED, State.HIDDEN)
        if not _is_same(before.call.text, attempt.call.text):
            if has_failed and place <= chain[-1] + 2 and _are_both_by_shell(before, attempt):
                chain.append(place)
            continue
        if has_failed and _are_alike(before.output, attempt.output):
            chain.append(place)
        elif has_failed or (attempt.state is State.WORKED and _settles(attempts, chain[-1], place)):
            return chain, place
    return chain, None


def _settles(attempts: list[Attempt], failed: int, passed: int) -> bool:
    """Whether a success says something about the failure: of all that had failed, or after an edit, or of how it was called."""
    failure, success = attempts[failed], attempts[passed]
    if is_by_shell(failure.output) or _USAGE.search(telling_line(failure.output)):
        return True
    last = last_of(failure.call.text)
    left = last.targets - _EVERYTHING if last else frozenset()
    for command in commands_in(success.call.text):
        right = command.targets - _EVERYTHING
        if last is not None and command.key == last.key and (right >= left if left else not right):
            return True
    return any(is_edit(attempt.call) and attempt.state is State.WORKED for attempt in attempts[failed + 1 : passed])


def _may_answer(failed: Attempt, attempt: Attempt) -> bool:
    """Whether a line was run in the knowledge of a failure: not beside it, not by another agent."""
    return (
        bool(attempt.call.text) and attempt.call.is_sidechain == failed.call.is_sidechain and attempt.at >= failed.ended
    )


def _are_alike(one: str, other: str) -> bool:
    """Whether two errors say the same, maybe of other names."""
    if signatures_in(one) & signatures_in(other):
        return True
    left, right = set(signature_of(one).split()), set(signature_of(other).split())
    return left == right or len(left & right) >= _SAME_ERROR * len(left | right)


def _are_both_by_shell(one: Attempt, other: Attempt) -> bool:
    """Whether a shell understood neither of two lines that are about the same."""
    if not (is_by_shell(one.output) and is_by_shell(other.output)):
        return False
    return likeness(one.call.text, other.call.text) >= _ALIKE_BY_SHELL


def _is_same(one: str, other: str) -> bool:
    """Whether another line does what the last program of this one did: the same, of the same, or of more or less of it."""
    last = last_of(one)
    if last is None:
        return False
    if last.program in _INTERPRETERS and last.key == last.program:  # a text of its own each time
        return plain(one) == plain(other)
    return any(
        command.key == last.key and _is_about_the_same(last, command) and not _asks_more_help(last, command)
        for command in commands_in(other)
    )


def _asks_more_help(one: Command, other: Command) -> bool:
    """Whether another line only reads the manual."""
    return bool(_HELP.intersection(other.words)) and not _HELP.intersection(one.words)


def _is_about_the_same(one: Command, other: Command) -> bool:
    left, right = one.targets - _EVERYTHING, other.targets - _EVERYTHING
    return left <= right or right <= left


def _passed(made: Mended, attempts: list[Attempt], failed: int, passed: int) -> Mended:
    """What was done between the last failure and the success."""
    between = [
        attempt
        for attempt in attempts[failed + 1 : passed]
        if attempt.at > attempts[failed].ended and attempt.state in (State.WORKED, State.UNKNOWN, State.HIDDEN)
    ]
    success = attempts[passed]
    edits = [attempt for attempt in between if is_edit(attempt.call)]
    if edits:
        return made._replace(way=Way.EDITED, fix=edits[-1], passed=success)
    if success.state is not State.WORKED:  # it failed for another reason, and nobody can tell whether the first is gone
        return made
    failure = attempts[failed]
    is_other = _is_another_way(failure, success)
    if is_other and (_USAGE.search(made.error) or is_by_shell(failure.output)):
        return made._replace(way=Way.OTHERWISE, fix=success, passed=success)
    prepared = [attempt for attempt in between if attempt.call.text and _changes_something(attempt.call.text)]
    if prepared:
        return made._replace(way=Way.PREPARED, fix=prepared[-1], passed=success)
    return made._replace(way=Way.OTHERWISE if is_other else Way.AGAIN, fix=success, passed=success)


def _is_another_way(failure: Attempt, success: Attempt) -> bool:
    """Whether the line that passed differs in more than where it was run and what was done with its output."""
    line, other = failure.call.text, success.call.text
    before, after = plain(line), plain(other)
    if before != after and not before.endswith(after):
        return True
    if is_by_shell(failure.output) or ("sudo " in other and "sudo " not in line):
        return True
    return bool(set(_ASSIGNMENT.findall(other[:_CHARS])) - set(_ASSIGNMENT.findall(line[:_CHARS])))


def _other_way(attempts: list[Attempt], number: int, prompts: list[int]) -> tuple[Attempt, Way] | None:
    """A line soon after that does it differently."""
    failed = attempts[number]
    line, is_shells = failed.call.text, is_by_shell(failed.output)
    later = bisect_right(prompts, failed.at)
    until = prompts[later] if later < len(prompts) else None
    best: tuple[float, Attempt, Way] | None = None
    for attempt in attempts[number + 1 : number + 1 + _NEAR]:
        if until is not None and attempt.at > until:
            break
        if not _may_answer(failed, attempt):
            continue
        if attempt.state is not State.WORKED and not _is_past(failed, attempt):
            continue
        if attempt.state is State.WORKED and _is_same(line, attempt.call.text):
            continue  # which did not settle it
        way, least = _way(line, attempt.call.text, failed.output, is_shells=is_shells)
        share = likeness(line, attempt.call.text) + (0.1 if attempt.output.strip() else 0.0)
        if way is not Way.NOT and share >= least and (best is None or share > best[0]):
            best = (share, attempt, way)
            if share >= _CLEARLY or is_shells:
                break
    return (best[1], best[2]) if best else None


def _way(line: str, other: str, output: str, *, is_shells: bool) -> tuple[Way, float]:
    one, last = last_of(line), last_of(other)
    if one is None or last is None or plain(line) == plain(other) or _asks_more_help(one, last):
        return Way.NOT, 1.0
    mine, its = {command.program for command in commands_in(line)}, {command.program for command in commands_in(other)}
    if not mine & its and (_is_unknown(line, output) or _has_same_words(line, other)):
        return Way.INSTEAD, _SUBSTITUTE
    if not mine & its and _NO_PROGRAM.search(telling_line(output)) and _is_for_the_same(line, other):
        return Way.INSTEAD, 0.0
    if is_shells:
        return (Way.OTHERWISE, _ALIKE_BY_SHELL) if mine & its else (Way.NOT, 1.0)
    if one.sort in {command.sort for command in commands_in(other)}:
        return Way.OTHERWISE, _ALIKE
    if one.program == last.program and _NO_SUBCOMMAND.search(telling_line(output)):
        return Way.OTHERWISE, _SAME_PROGRAM
    return (Way.INSTEAD, _SUBSTITUTE) if _is_unknown(line, output) else (Way.NOT, 1.0)


def _is_unknown(line: str, output: str) -> bool:
    """Whether it is a program of this line that nobody knew, and not one that it starts itself."""
    said = telling_line(output)
    return bool(_NO_PROGRAM.search(said)) and any(command.program in said for command in commands_in(line))


def _is_for_the_same(line: str, other: str) -> bool:
    """Whether another program works on the same file or folder."""
    one, last = last_of(line), last_of(other)
    if one is None or last is None or last.program in _READS or last.key in _READS:
        return False
    return any("/" in word or "." in word for word in set(one.words) & set(last.words) - _EVERYTHING)


def _is_past(failed: Attempt, attempt: Attempt) -> bool:
    """Whether a line got further than one that knew no such program: it failed too, but for another reason."""
    if not _NO_PROGRAM.search(failed.output[:_CHARS]) or attempt.state is not State.FAILED:
        return False
    return not _NO_PROGRAM.search(attempt.output[:_CHARS])


def _has_same_words(line: str, other: str) -> bool:
    """Whether another program is asked for just the same."""
    one, last = last_of(line), last_of(other)
    return one is not None and last is not None and len(one.words) > 1 and one.words == last.words


def _of_tool(attempts: list[Attempt], number: int, taken: set[int]) -> Mended:
    """The same tool soon after, with other arguments and the same target if it has one."""
    failed = attempts[number]
    lines = [failed.line]
    for place in range(number + 1, min(number + 1 + _NEAR, len(attempts))):
        attempt = attempts[place]
        if attempt.call.tool != failed.call.tool or attempt.at < failed.ended:
            continue
        if attempt.state is State.WORKED:
            way = Way.AGAIN if attempt.call.arguments == failed.call.arguments else Way.OTHERWISE
            return _made(failed, lines)._replace(way=way, fix=attempt, passed=attempt)
        if attempt.state is State.FAILED and signature_of(attempt.output) == signature_of(failed.output):
            taken.add(place)
            lines.append(attempt.line)
    return _made(failed, lines)


def _changes_something(line: str) -> bool:
    return any(command.program not in _READS and command.key not in _READS for command in commands_in(line))
