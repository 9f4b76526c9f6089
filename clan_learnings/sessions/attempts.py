"""The attempts of the model: each call with its result, and whether it failed. Says nothing about what would have worked.

"Failed" is not what an exit code says. A search that finds nothing, a look whether something is there, a call that fell with
another one: none of them failed. And a command may fail although its tool says success, behind a pipe or in a shell that
always succeeds.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from clan_learnings.sessions.command_lines import Command, commands_in, last_of
from clan_learnings.sessions.error_signature import telling_line
from clan_learnings.sessions.failed_output import is_misuse, says_only_that
from clan_learnings.sessions.transcript_events import Kind, SessionEvent


class AttemptState(StrEnum):
    """How an attempt ended."""

    WORKED = "worked"
    FAILED = "failed"
    HIDDEN = "hidden"  # it failed visibly, and counts as a success for the agent
    ANSWERED = "answered"  # failed as a way to say no: nothing found, there is a difference
    GUESSED = "guessed"  # looked for something that is not there
    REFUSED = "refused"  # by a person
    COLLATERAL = "collateral"
    UNKNOWN = "unknown"  # nobody can tell, or not yet


class Attempt(NamedTuple):
    """One call and what came of it."""

    at: int  # of the call among the events
    ended: int  # of the result among them; of the call, if there is none
    call: SessionEvent
    result: SessionEvent | None
    state: AttemptState

    @property
    def line(self) -> int:
        """What shows how it ended."""
        return self.result.line if self.result else self.call.line

    @property
    def output(self) -> str:
        """What the tool printed."""
        return self.result.text if self.result else ""


_HEAD, _TAIL = 2_000, 4_000
# Programs whose exit code is an answer: nothing found, not equal, not there.
_ASKING = frozenset(
    (
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "ack",
        "diff",
        "cmp",
        "test",
        "[",
        "[[",
        "pgrep",
        "pidof",
        "which",
        "where",
        "whereis",
        "type",
        "hash",
        "expr",
        "select-string",
        "findstr",
        "git grep",
        "git diff",
        "git config",
        "git check-ignore",
        "git merge-base",
        "git rev-parse",
        "git ls-files",
        "git ls-remote",
        "git show-ref",
        "git cat-file",
        "git symbolic-ref",
        "git branch",
        "gofmt",
        "command",
        "pkill",
        "lsof",
        "systemctl status",
        "systemctl is-active",
        "npm ls",
        "npm outdated",
        "pip show",
        "brew list",
    )
)
# Programs that only look.
_LOOKING = frozenset(
    (
        "ls",
        "cat",
        "stat",
        "head",
        "tail",
        "less",
        "more",
        "file",
        "find",
        "tree",
        "du",
        "wc",
        "sed",
        "awk",
        "nl",
        "readlink",
        "realpath",
        "xxd",
        "od",
        "bat",
        "lsd",
        "eza",
        "get-content",
        "get-childitem",
        "dir",
        "open",
        "jq",
    )
)
# Commands whose output is what somebody else's program said.
_QUOTING = frozenset(
    (
        "git log",
        "git show",
        "git diff",
        "git blame",
        "gh run",
        "gh pr",
        "gh issue",
        "gh api",
        "docker logs",
        "kubectl logs",
        "journalctl",
        "curl",
        "wget",
        "strings",
        "echo",
        "printf",
    )
)
_BY_SHELL = re.compile(
    r"(?:^|\n|stderr: )(?:Output: )?(?:\(eval\):\d+: |(?:[\w/.-]{0,40}sh: ?)?(?:-c: )?(?:line \d+: |\d+: )?)(?:parse error|no matches found|syntax error|bad substitution|unexpected (?:EOF|token)|unknown file attribute|bad pattern|event not found|.{1,80}: unbound variable|.{1,80}: command not found|command not found: |.{1,80}: event not found)|is not recognized as (?:an internal|the name)|CommandNotFoundException|(?:^|\n)(?:Output: )?[\w/.-]{0,40}sh: (?:\d+: )?[^\n:]{1,80}: not found"
)
_UNMATCHED = re.compile(r"no matches found: (?!-)\S{0,200}[*?]")  # a wildcard; other characters only needed quotes
_ABSENT = re.compile(
    r"no such file or directory|file does not exist|path does not exist|file not found|not found: /|cannot find the (?:path|file)|does not exist|cannot access|enoent|path not found|no files? found",
    re.IGNORECASE,
)
# How programs say that they were called in a way they do not take, or could not work at all.
_MISUSED = re.compile(
    r"(?:^|\n)\W{0,4}(?:[\w./-]{1,60}: )?(?:usage:|error: |fatal: |regex parse error|unrecogni[sz]ed|unknown option|invalid option|illegal option|unexpected argument|option requires)",
    re.IGNORECASE,
)
_SOME_LINES = 4
_VISIBLE = re.compile(
    r"Traceback \(most recent call last\)|(?:^|\n)(?:error|fatal): |npm ERR!|\[?ELIFECYCLE\]?|[Cc]ommand failed with exit code [1-9]|exited with (?:code|status) [1-9]|"
    r"Exit Code: [1-9]|(?:^|\n)FAIL(?:ED)?\b|(?:^|\n)panic: |error\[E\d+\]|BUILD FAILED|(?:^|\n)E   \w|externally-managed-environment|\bTask failed\b|: error TS\d+"
)
_CUT_SHORT = re.compile(r"session id \d+|still running|running in (?:the )?background|timed out|timeout", re.IGNORECASE)
_DIFF = re.compile(r"(?:^|\n)(?:diff |--- |@@ )")
_LEAST_TO_SAY = 3  # letters; below it an output says nothing


def attempts_in(events: list[SessionEvent]) -> list[Attempt]:
    """All calls in order, with their results."""
    results: dict[str, int] = {}
    nameless: list[int] = []
    for at, event in enumerate(events):
        if event.kind in (Kind.RESULT, Kind.REFUSAL):
            if event.call:
                results.setdefault(event.call, at)
            else:
                nameless.append(at)
    nameless.reverse()
    found = []
    for at, event in enumerate(events):
        if event.kind is not Kind.CALL:
            continue
        ended = results.get(event.call) if event.call else None
        if not event.call:
            while nameless and nameless[-1] < at:
                nameless.pop()
            ended = nameless.pop() if nameless else None
        result = None if ended is None else events[ended]
        found.append(Attempt(at, at if ended is None else ended, event, result, state_of(event, result)))
    return found


def state_of(call: SessionEvent, result: SessionEvent | None) -> AttemptState:
    """How a call ended."""
    if result is None:
        return AttemptState.UNKNOWN
    if result.kind is Kind.REFUSAL:
        return AttemptState.REFUSED
    if result.is_collateral:
        return AttemptState.COLLATERAL
    text = _shown(result.text)
    if result.failed:
        return _of_failed(call, result, text)
    if call.text and (result.failed is False or text) and _is_visible(call, text):
        return AttemptState.HIDDEN
    return AttemptState.WORKED if result.failed is False or (result.failed is None and text) else AttemptState.UNKNOWN


def is_by_shell(text: str) -> bool:
    """Whether the shell itself did not understand a line, or knew no such program."""
    return bool(_BY_SHELL.search(_shown(text)))


def only_looks(line: str) -> bool:
    """Whether no program of a line does more than look, ask, or show what another one said."""
    return all(
        _is_of(command, _LOOKING) or _is_of(command, _ASKING) or _is_of(command, _QUOTING)
        for command in commands_in(line)
    )


def _of_failed(call: SessionEvent, result: SessionEvent, text: str) -> AttemptState:
    if not call.text:
        return AttemptState.GUESSED if _ABSENT.search(telling_line(text)) else AttemptState.FAILED
    if _BY_SHELL.search(text):
        unmatched = _UNMATCHED.search(text)
        is_guess = unmatched is not None and _is_of(last_of(call.text), _LOOKING)
        return AttemptState.GUESSED if is_guess else AttemptState.FAILED
    last = last_of(call.text)
    commands = commands_in(call.text)
    if all(_is_of(command, _LOOKING) or _is_of(command, _ASKING) for command in commands) and _ABSENT.search(text):
        return AttemptState.GUESSED
    if _is_of(last, _ASKING):
        is_misused = len(text) < _HEAD and (_MISUSED.search(text) or is_misuse(text)) and not _DIFF.search(text)
        return AttemptState.FAILED if is_misused else AttemptState.ANSWERED
    if _is_of(last, _LOOKING) and text.count("\n") > _SOME_LINES and not _MISUSED.search(text[:_HEAD]):
        return AttemptState.ANSWERED  # most of it was there
    if (
        result.exit_code == 1
        and _says_little(text)
        and any(_is_of(command, _ASKING) or _is_of(command, _LOOKING) for command in commands)
    ):
        return AttemptState.ANSWERED
    if _is_of(last, _LOOKING) and _ABSENT.search(text):
        return AttemptState.GUESSED
    return AttemptState.FAILED


def _is_visible(call: SessionEvent, text: str) -> bool:
    if says_only_that(text, frozenset(command.program for command in commands_in(call.text))):
        return True
    if _BY_SHELL.search(text[:_HEAD]):
        return not all(
            _is_of(command, _LOOKING) or _is_of(command, _QUOTING) for command in commands_in(call.text)
        ) or text.startswith("(eval)")
    if any(
        _is_of(command, _LOOKING) or _is_of(command, _ASKING) or _is_of(command, _QUOTING)
        for command in commands_in(call.text)
    ):
        return False
    return bool(_VISIBLE.search(text)) and not _CUT_SHORT.search(text[:200])


def _is_of(command: Command | None, programs: frozenset[str]) -> bool:
    return command is not None and (command.program in programs or command.key in programs)


def _says_little(text: str) -> bool:
    said = re.sub(r"(?:Exit code|exited with code) \d+|[^A-Za-z]", "", text, flags=re.IGNORECASE)
    return len(said) < _LEAST_TO_SAY


def _shown(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"
