"""Parsing of shell command lines: their programs and arguments, as far as that can be told without a shell. Runs nothing.

Enough to say that two lines do the same, or one tries another way. Quoting is followed, expansion is not.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from clan_learnings.records.matching_words import word_set

_CHARS = 8_000
_PARTS = 40
_HERE = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w{0,40})\1")
_ASSIGNED = re.compile(r"^[A-Za-z_]\w*\+?=")
_REDIRECTED = re.compile(r"^(?:\d|&)?[<>]{1,2}(?:&\d|&-)?")
_WRAPPERS = word_set("sudo time env nohup command exec nice builtin then do else if while until ! ( {")
_SHELLS = word_set("bash sh zsh dash fish")
# What only prepares, or says something: a line is about something else, if there is anything else in it.
_SMALL = word_set(
    "cd echo printf pwd true false export set sleep source . unset wait fi done esac for pushd popd mkdir :"
)
# What reads another program's output.
_FILTERS = word_set(
    """
    head tail grep egrep fgrep rg sed awk wc tee sort uniq cut tr jq less more cat column xargs nl fold rev
    select-object select-string out-string
    """
)
# Words after which the next one says what is run.
_RUNNERS = word_set("run exec x dlx task compose tool -m")
# Programs that do another thing with each subcommand or script, whatever options come first.
_MANY_SIDED = word_set("git gh docker kubectl npm pnpm yarn cargo go make python python3 node ruby bash sh")
_KEY_WORDS, _SHORT_OPTION = 3, 2
_NAME = re.compile(r"^[A-Za-z@][\w:.@-]*$")


class Command(NamedTuple):
    """One program and its arguments."""

    program: str
    words: tuple[str, ...]  # without the program

    @property
    def key(self) -> str:
        """Program and subcommand: `go test`, `npm run build`, `python setup.py`."""
        return _key_of(self.program, self.words)

    @property
    def sort(self) -> str:
        """The key of a program that does many things, the bare name of one that does one."""
        first = self.words[0] if self.words else ""
        has_subcommand = self.program in _MANY_SIDED or (first.isalpha() and first.islower())
        return self.key if has_subcommand else self.program

    @property
    def targets(self) -> frozenset[str]:
        """What it is about: words that are no options and not in the key."""
        named = self.key.split(" ")
        return frozenset(word for word in self.words if not word.startswith("-") and word not in named)


@lru_cache(maxsize=4096)
def _key_of(program: str, given: tuple[str, ...]) -> str:
    parts, words = [program], list(given)
    while words and len(parts) < _KEY_WORDS:
        word = words.pop(0)
        if word == "-m":
            parts.append(word)
        elif word.startswith("-"):
            if parts[-1] in _RUNNERS:
                break  # what follows may be its value
            if len(words) > 1 and not words[0].startswith("-") and ("/" in words[0] or len(word) == _SHORT_OPTION):
                words.pop(0)  # the value of an option before the subcommand, as in `git -C FOLDER status`
        elif not _NAME.match(word) and ("/" not in word or parts[-1] in _RUNNERS):
            break
        else:
            parts.append(word)
            if word not in _RUNNERS or parts[-2] in _RUNNERS:
                break
    return " ".join(parts)


@lru_cache(maxsize=4096)
def keys_in(line: str) -> frozenset[str]:
    """The keys of a line's programs."""
    return frozenset(command.key for command in commands_in(line))


@lru_cache(maxsize=1024)
def commands_in(line: str) -> tuple[Command, ...]:
    """The programs of a line that matter, in order: no filters behind a pipe, no `cd`, unless there is nothing else."""
    found: list[tuple[Command, bool]] = []
    for part, is_piped in _parts(_without_documents(line[:_CHARS])):
        found += [(command, is_piped) for command in _read(part)]
    main = tuple(
        command
        for command, is_piped in found
        if not (is_piped and command.program in _FILTERS) and command.program not in _SMALL
    )
    return main or tuple(command for command, _ in found)


@lru_cache(maxsize=1024)
def filters_of(line: str) -> str:
    """What a line's output goes through before it is shown, as it was typed, without redirections."""
    parts = [" ".join(_words(part)) for part, is_piped in _parts(_without_documents(line[:_CHARS])) if is_piped]
    return " | ".join(part for part in parts if part.partition(" ")[0].rsplit("/", 1)[-1] in _FILTERS)


def last_of(line: str) -> Command | None:
    """The program whose success a line's exit code tells."""
    found = commands_in(line)
    return found[-1] if found else None


def plain(line: str) -> str:
    """A line as it is compared with another: what is run, without where, and without what is done with its output."""
    return " && ".join(" ".join((command.program, *command.words)) for command in commands_in(line))


def likeness(one: str, other: str) -> float:
    """How many words two lines share, 0 to 1."""
    left, right = _bag(one), _bag(other)
    return len(left & right) / len(left | right) if left and right else 0.0


@lru_cache(maxsize=1024)
def _bag(line: str) -> frozenset[str]:
    return frozenset(
        word for command in commands_in(line) for word in (command.program, *command.words) if len(word) > 1
    )


def _without_documents(line: str) -> str:
    """Without the texts that are given to a program in place of a file."""
    for _ in range(_PARTS):
        found = _HERE.search(line)
        if not found:
            break
        body = line.find("\n", found.end())
        end = re.search(rf"^\s*{found[2]}\s*$", line[body:], re.MULTILINE) if body >= 0 else None
        rest = line[body + end.end() :] if end else ""
        line = line[: found.start()] + (line[found.end() : body] if body >= 0 else "") + rest
    return line


def _parts(line: str) -> list[tuple[str, bool]]:
    """What stands between `&&`, `||`, `;`, `|` and line ends outside of quotes; whether a pipe leads into it."""
    parts: list[tuple[str, bool]] = []
    start, quote, is_piped, at, depth = 0, "", False, 0, 0
    while at < len(line) and len(parts) < _PARTS:
        char = line[at]
        if char == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif line.startswith("$(", at):
            depth += 1
            at += 1
        elif char == ")" and depth:
            depth -= 1
        elif not depth and (char in ";\n|" or line.startswith("&&", at)):
            parts.append((line[start:at], is_piped))
            is_double = line[at : at + 2] in ("&&", "||")
            is_piped = char == "|" and not is_double
            at += is_double
            start = at + 1
        at += 1
    parts.append((line[start:], is_piped))
    return parts


def _read(part: str) -> list[Command]:
    words = _words(part)
    if words[:2] in (["command", "-v"], ["command", "-V"]):  # asks whether there is such a program
        return [Command("command", tuple(words[1:]))]
    while words and (words[0] in _WRAPPERS or _ASSIGNED.match(words[0]) or words[0] == "timeout"):
        if words.pop(0) == "timeout" and words and not words[0].startswith("-"):
            words.pop(0)
    if not words or not words[0]:
        return []
    program = words[0].rsplit("/", 1)[-1] if not words[0].startswith("./") else words[0]
    program = program.lstrip("(").lower() if program.lstrip("(") else program
    if program in _SHELLS and len(words) > 2 and words[1] in ("-c", "-lc", "-ic"):
        return [command for inner, is_piped in _parts(words[2]) for command in _read_plain(inner) if not is_piped]
    return [Command(program, tuple(words[1:]))]


def _read_plain(part: str) -> list[Command]:
    words = [word for word in _words(part) if not _ASSIGNED.match(word)]
    return [Command(words[0].rsplit("/", 1)[-1].lower(), tuple(words[1:]))] if words else []


def _words(part: str) -> list[str]:
    """Words outside and inside of quotes, the quotes taken off; redirections left out."""
    words: list[str] = []
    word, quote, was_quoted, at, depth = "", "", False, 0, 0
    while at <= len(part):
        char = part[at] if at < len(part) else " "
        if at == len(part):
            quote = ""
        if quote:
            if char == quote:
                quote = ""
            else:
                word += char
        elif char in "'\"":
            quote, was_quoted = char, True
        elif char in "()" and (depth or word.endswith("$")):  # what another command prints is part of a word
            depth += 1 if char == "(" else -1
            word += char
        elif char.isspace() and (not depth or at == len(part)):
            if word or was_quoted:
                words.append(word)
            word, was_quoted = "", False
        elif char == "\\" and at + 1 < len(part):
            at += 1
            word += part[at]
        else:
            word += char
        at += 1
    kept, skip = [], False
    for one in words:
        redirected = _REDIRECTED.match(one)
        if skip:
            skip = False
        elif redirected:
            skip = redirected.end() == len(one) and "&" not in one
        else:
            kept.append(one)
    return kept
