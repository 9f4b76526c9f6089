"""Pairs of shell commands: whether the second does what the first failed to do, and in which way. Knows commands and outputs, no session."""

import re
from enum import StrEnum

from clan_learnings.sessions.attempts import Attempt, AttemptState, is_by_shell
from clan_learnings.sessions.command_lines import Command, commands_in, keys_in, last_of, plain
from clan_learnings.sessions.error_signature import telling_line


class FixKind(StrEnum):
    """How a failed command was mended."""

    NOT = ""  # nobody did, as far as can be seen
    OTHERWISE = "otherwise"  # the same program, called in another way
    INSTEAD = "instead"  # another program or tool for the same thing
    EDITED = "edited"  # files were changed, then the same passed
    PREPARED = "prepared"  # something else was run first, then the same passed
    HELPED = "helped"  # a person did something, then the same passed
    AGAIN = "again"  # the same passed, and nothing had changed


_CHARS = 4_000
_ALIKE = 0.34  # shared words of two ways to do one thing
ALIKE_BY_SHELL = 0.25  # where only quoting was wrong, the rest of a line may change with it
_SUBSTITUTE = 0.4
_SAME_PROGRAM = 0.1  # where the subcommand is what was wrong
EVERYTHING = frozenset((".", "./...", "...", "*", "--all"))
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
_MISSING = re.compile(
    r"(?:command not found: |no module named )['\"]?([\w.-]{1,60})|([\w.-]{1,60}): (?:command )?not found",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"in this (?:directory|folder)|not a git repository|cannot find main module|no (?:such )?(?:package\.json|go\.mod|pom|cargo\.toml|pyproject|makefile)|could not find .{0,20}(?:package\.json|cargo\.toml|pyproject|makefile|pom)|no configuration file|any parent (?:directory|up to)",
    re.IGNORECASE,
)
_GOES = re.compile(r"^\s*cd ([^&;|\n]{1,300})(?:&&|;|\n)")
_ASSIGNMENT = re.compile(r"\b[A-Za-z_]\w*=\S+")
# What only somebody outside of the session can give: keys, logins, permissions, something that has to run.
_OUTSIDE = re.compile(
    r"\brefused operation|\b(?:couldn't|could not|failed to|unable to) (?:sign|unlock|authenticate|log ?in)|\bauthenticat(?:e|ion)\b|\bunauthori[sz]ed\b|\bpermission denied\b|\baccess denied\b|\bforbidden\b|\bcredentials?\b|\bexpired\b|"
    r"\b(?:not |be |must be )logged in\b|\blog ?in (?:to|first|again|with)\b|\b(?:is|are) locked\b|\bpassphrase\b|\bapi key\b|\bis the .{1,40} running\b|\b(?:daemon|server|emulator|device) (?:is )?not (?:running|found|connected|available)\b",
    re.IGNORECASE,
)
READING = frozenset(
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


def is_usage(output: str) -> bool:
    """Whether an error is about how something was called."""
    return bool(_USAGE.search(telling_line(output))) or is_by_shell(output)


def needs_a_person(output: str) -> bool:
    """Whether an output says that something is missing which no command of the model gives."""
    return bool(_OUTSIDE.search(output[-_CHARS:]))


def is_unknown_program(output: str) -> bool:
    """Whether an output says that there is no such program or module."""
    return bool(_NO_PROGRAM.search(output[:_CHARS]))


def is_same(one: str, other: str) -> bool:
    """Whether another line does what the last program of this one did: the same, of the same, or of more or less of it."""
    last = last_of(one)
    if last is None:
        return False
    if last.program in _INTERPRETERS and last.key == last.program:  # a text of its own each time
        return plain(one) == plain(other)
    if last.key not in keys_in(other):
        return False
    return any(
        command.key == last.key and _is_about_the_same(last, command) and not _asks_more_help(last, command)
        for command in commands_in(other)
    )


def are_one_check(one: str, other: str) -> bool:
    """Whether two lines run one program for the same, in the same folder as far as they say, whatever else they do."""
    folders = {folder for folder in (_folder(one), _folder(other)) if folder}
    if len(folders) > 1 or not keys_in(one) & keys_in(other):
        return False
    return any(
        left.key == right.key
        and left.program not in _INTERPRETERS
        and not (left.program in READING or left.key in READING)
        and _is_about_the_same(left, right)
        for left in commands_in(one)
        for right in commands_in(other)
    )


def _asks_more_help(one: Command, other: Command) -> bool:
    """Whether another line only reads the manual."""
    return bool(_HELP.intersection(other.words)) and not _HELP.intersection(one.words)


def _is_about_the_same(one: Command, other: Command) -> bool:
    left, right = one.targets - EVERYTHING, other.targets - EVERYTHING
    return left <= right or right <= left


def is_another_way(failure: Attempt, success: Attempt) -> bool:
    """Whether the line that passed differs in more than where it was run and what was done with its output."""
    line, other = failure.call.text, success.call.text
    before, after = plain(line), plain(other)
    if before != after and not before.endswith(after):
        return True
    if is_by_shell(failure.output) or ("sudo " in other and "sudo " not in line):
        return True
    if _quotes(line) != _quotes(other) and before.partition(" ")[0] == after.partition(" ")[0]:
        return True
    if _ELSEWHERE.search(telling_line(failure.output)) and _folder(line) != _folder(other):
        return True
    return bool(set(_ASSIGNMENT.findall(other[:_CHARS])) - set(_ASSIGNMENT.findall(line[:_CHARS])))


def _quotes(line: str) -> int:
    return line.count("'") + line.count('"')


def _folder(line: str) -> str:
    """Where a line goes first, if it does."""
    found = _GOES.match(line)
    return found[1].strip() if found else ""


def way_of(line: str, other: str, output: str, *, is_shells: bool) -> tuple[FixKind, float]:
    """How another line does what one failed to do, and how many words they must share for that to be believed."""
    one, last = last_of(line), last_of(other)
    if one is None or last is None or plain(line) == plain(other) or _asks_more_help(one, last):
        return FixKind.NOT, 1.0
    mine, its = {command.program for command in commands_in(line)}, {command.program for command in commands_in(other)}
    said = telling_line(output)
    is_unknown = bool(_NO_PROGRAM.search(said)) and not mine & its
    if is_unknown and (_is_for_the_same(line, other) or _is_wrapped(line, other, _missing(said))):
        return FixKind.INSTEAD, 0.0
    if not mine & its and (_is_unknown(line, output) or _has_same_words(line, other)):
        return FixKind.INSTEAD, _SUBSTITUTE
    if is_shells:
        return (FixKind.OTHERWISE, ALIKE_BY_SHELL) if mine & its else (FixKind.NOT, 1.0)
    if one.sort in {command.sort for command in commands_in(other)}:
        return FixKind.OTHERWISE, _ALIKE
    if one.program == last.program and _NO_SUBCOMMAND.search(telling_line(output)):
        return FixKind.OTHERWISE, _SAME_PROGRAM
    return (FixKind.INSTEAD, _SUBSTITUTE) if _is_unknown(line, output) else (FixKind.NOT, 1.0)


def _is_unknown(line: str, output: str) -> bool:
    """Whether it is a program of this line that nobody knew, and not one that it starts itself."""
    said = telling_line(output)
    if not _NO_PROGRAM.search(said):
        return False
    return _missing(said) in line.split() or any(command.program in said for command in commands_in(line))


def _missing(said: str) -> str:
    """The name of a program or module that nobody knew."""
    found = _MISSING.search(said)
    return next((name for name in found.groups() if name), "") if found else ""


def _is_wrapped(line: str, other: str, name: str) -> bool:
    """Whether another line lets somebody else start the missing program, for the same."""
    before, after = line.split(), other.split()
    if not name or name not in before or name not in after:
        return False
    one, last = before[before.index(name) + 1 :], after[after.index(name) + 1 :]
    return one[:1] == last[:1]


def _is_for_the_same(line: str, other: str) -> bool:
    """Whether another program works on the same file or folder."""
    one, last = last_of(line), last_of(other)
    if one is None or last is None or last.program in READING or last.key in READING:
        return False
    return any("/" in word or "." in word for word in set(one.words) & set(last.words) - EVERYTHING)


def is_past(failed: Attempt, attempt: Attempt) -> bool:
    """Whether a line got further than one that knew no such program: it failed too, but for another reason."""
    if not _NO_PROGRAM.search(failed.output[:_CHARS]) or attempt.state is not AttemptState.FAILED:
        return False
    return not _NO_PROGRAM.search(attempt.output[:_CHARS])


def _has_same_words(line: str, other: str) -> bool:
    """Whether another program is asked for just the same."""
    one, last = last_of(line), last_of(other)
    return one is not None and last is not None and len(one.words) > 1 and one.words == last.words
