"""Outputs that say a command failed: an exit code, a refusal, wrong options or arguments. By forms of words; no program is known by name."""

import re

_CHARS = 1_000
_MISUSED = re.compile(
    r"\b(?:unknown|unrecogni[sz]ed|invalid|illegal|unexpected|unsupported|bad|no such) (?:\w+ )?(?:options?|flags?|arguments?|args?|switch|parameters?|fields?|subcommand|directive)\b(?! token)|"
    r"\bunknown command\b|\baccepts (?:\w+ ){0,3}\d+ arg|\brequires? (?:exactly|at least|at most|only) (?:\d+|one|two) arg|\b(?:wrong|invalid|incorrect) number of (?:arg|param)|\btoo (?:many|few) (?:\w+ )?(?:arguments|operands|parameters)\b|"
    r"\bmissing (?:required )?(?:argument|operand|option|flag|parameter)|\b(?:option|flag|argument)\b.{1,60}\b(?:requires|needs|expects) (?:an? )?(?:argument|value|parameter)|\brequired (?:flag|option|argument)|\barguments? (?:is|are) required\b|\bexpects? (?:an? |one )argument|"
    r"\binvalid (?:choice|value|mode)\b|\bmutually exclusive\b|\bcannot be (?:used|combined|specified) (?:together )?with\b|^usage: |"
    r"\bregex parse error|\b(?:parentheses|brackets|braces) not balanced|\bunbalanced (?:parenthes|bracket)|\bunmatched [\[({)\\]|\bun(?:closed|opened) (?:group|character class|counted)|\binvalid (?:regular expression|regexp?|character range|preceding|back reference)|\brepetition-operator operand|\bunterminated (?:address|`s'|substitute)|\binvalid command code|\bbad flag in substitute|"
    r"\bis a directory\b|\beisdir\b|\bstdin (?:is )?(?:closed|not a)|\bnot a (?:tty|terminal)\b|\brequires? (?:an? )?(?:tty|terminal|interactive)\b|\binput device is not a\b",
    re.IGNORECASE | re.MULTILINE,
)
_LANGUAGE_ERROR = re.compile(r"^\w{1,60}(?:Error|Exception)\b: ")  # of a language: what was called there is no program


def is_misuse(error: str) -> bool:
    """Whether an error is about options, arguments or patterns of a program or tool."""
    return bool(_MISUSED.search(error[:_CHARS])) and not _LANGUAGE_ERROR.match(error.lstrip()[:_CHARS])


def says_only_that(output: str, programs: frozenset[str]) -> bool:
    """Whether a whole output is one program's complaint about how it was called."""
    said = output.strip()
    if not said or len(said) > _CHARS:
        return False
    first = said.partition("\n")[0]
    name = first.partition(":")[0].strip().rsplit("/", 1)[-1].lower()
    return (name in programs or name in ("error", "usage", "regex parse error")) and is_misuse(said)


_SHOWS_TEXT = {
    "cat",
    "open",
    "head",
    "tail",
    "less",
    "more",
    "view",
    "grep",
    "rg",
    "sed",
    "awk",
    "nl",
    "find",
    "ls",
    "git",
    "goto",
}
_LINE = 400  # of a line, as much is looked at
_CODES = (
    re.compile(
        r"^\(?(?:Command|Process|The command|\[The command) (?:exited|completed|finished|failed) with (?:exit )?(?:code|status):? (-?\d{1,9})\.?[)\]]?$",
        re.IGNORECASE,
    ),
    re.compile(r"^[\[(]?exit(?: |_)?(?:code|status)? ?[:=] ?(-?\d{1,9})[)\]]?$", re.IGNORECASE),
    re.compile(r"^<returncode>(-?\d{1,9})</returncode>$"),
)
_SHELL = re.compile(
    r"^(?:/(?:usr/)?bin/)?(?:ba|z|da|k)?sh: .*(?:not found|No such file or directory|ermission denied|s a directory|syntax error|cannot execute|unexpected)"
)
_PROGRAM = re.compile(
    r"^[\w./+-]{1,80}: .*: (?:No such file or directory|Permission denied|Is a directory|Not a directory|File exists)$"
)
_RAISED = re.compile(r"^[A-Za-z_][\w.]{0,120}(?:Error|Exception|Interrupt|Failure)\b")
_TRACEBACK = "Traceback (most recent call last):"
_ANSWERED = ("Error: ", "ERROR: ", "error: ", "Error executing ", "Error calling ", "<tool_use_error>", _TRACEBACK)
_TIMED_OUT = ("EXECUTION TIMED OUT", "COMMAND TIMED OUT")


def exit_code_in(text: str) -> int | None:
    """The exit code that stands in the first or the last lines."""
    for line in _edges(text):
        for form in _CODES:
            if match := form.match(line):
                return int(match[1])
    return None


def failed_by(text: str, command: str = "") -> bool | None:
    """True if a command's own words say that it failed; None if they do not tell."""
    code = exit_code_in(text)
    if code is not None:
        return code != 0
    lines = _edges(text)
    if not lines:
        return None
    if any(_SHELL.match(line) for line in (lines[0], lines[-1])) or _PROGRAM.match(lines[-1]):
        return True
    if any(words in line for line in lines for words in _TIMED_OUT):
        return True
    shows = command.split(maxsplit=1)[0] in _SHOWS_TEXT if command.strip() else False
    if not shows and _RAISED.match(lines[-1]) and _TRACEBACK in text:
        return True
    return None


def refused_by(text: str) -> bool | None:
    """True if a tool that is no shell answers with an error and nothing else; None if that cannot be told."""
    return True if text[:_LINE].lstrip().startswith(_ANSWERED) else None


def _edges(text: str) -> list[str]:
    """The first two lines and the last three."""
    head = text[: 2 * _LINE].lstrip().split("\n", 2)[:2]
    tail = text[-4 * _LINE :].rstrip().rsplit("\n", 3)[-3:]
    return [line.strip()[:_LINE] for line in head + tail if line.strip()]
