"""What linters, compilers and type checkers print about a place in a file, each as one finding. Forms only; no tool is known by name.

What tests print is not read here: an assertion that fails is a test at work. Nor are lines that only look alike: logs, stacks.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from clan_learnings.capture.excerpt import without_colours
from clan_learnings.capture.signature import signed

_CHARS, _LINES, _MOST, _LINE = 24_000, 600, 40, 400
_BELOW = 3  # lines below an error that may say where
_FILE = r"[^\s:()\[\]\"'|<>]{1,200}\.[A-Za-z][\w+]{0,9}"
_TAG = r"^\s{0,2}(?:\[[\w:.-]{1,40}\] ?)?(?:[ew]: )?(?:file://)?"  # who ran it, as task runners write it, and how bad it is
# file:3:7: message; without a column only if it says that it is an error.
_PLACED = re.compile(
    _TAG + rf"(?:\./)?({_FILE}):\d{{1,7}}(?::\d{{1,6}}:?\s|:\s(?=(?:fatal )?error\b|[A-Z]{{1,4}}\d{{2,5}}\b))\s?(\S.*)$"
)
_IN_BRACKETS = re.compile(
    _TAG + rf"(?:\./)?({_FILE}):? ?\(\d{{1,7}}(?:, ?\d{{1,6}})?\): ?(\S.*)$"
)  # file(3,7): message
_ABOVE_PLACE = re.compile(
    r"^\s{0,4}(?:(?:error|warning)(?:\[\w{1,12}\])?: |[x×✖✗⚠] ?|[A-Z]{1,4}\d{2,5}\b ?)(\S.*)$"  # noqa: RUF001 (as linters print it)
)  # the message, and below it an arrow to the place
_ARROW = re.compile(rf"^\s{{0,12}}(?:-->|,-\[|╭─\[|┌─|at )\s?(?:\./)?({_FILE}):\d{{1,7}}")
_ANY_PLACE = re.compile(r"\.[A-Za-z][\w+]{0,9}(?::? ?\(|:)\d|^\s{1,8}\d{1,7}:\d", re.MULTILINE)
_NAMED_FILE = re.compile(rf"^\s{{0,2}}(?:[A-Za-z]:)?(?:\./)?({_FILE})$")
_UNDER_FILE = re.compile(r"^\s{1,8}\d{1,7}:\d{1,6}\s{1,10}(?:error|✖|×)\s{1,10}(\S.*)$")  # noqa: RUF001
_RULED = re.compile(r"(?:\s{2,}FIXABLE)?\s*[━─]{3,}\s*$")  # a line that fills the rest of the row
_NOTE = re.compile(r"^(?:note|help|info|debug|hint)\b:?", re.IGNORECASE)
_SUMMARY = re.compile(
    r"^(?:could not compile|aborting due to|\d+ (?:errors?|problems?|warnings?)\b|too many errors|test failed|build failed|process .{1,80} exited)",
    re.IGNORECASE,
)
_ASSERTS = re.compile(
    r"\bassert\w*|\bexpected\b.{0,160}\b(?:received|to (?:equal|be|have|contain|match))\b|\bgot\b.{0,80}\bwant\b|\bwant\b.{0,80}\bgot\b|^\w{0,60}(?:Error|Exception)$",
    re.IGNORECASE,
)
# Slips of the moment: whoever wrote the line knows better.
_SLIP = re.compile(
    r"imported and not used|imported but unused|declared and not used|declared but (?:never|its value is never)|is (?:defined|assigned|declared) but never|never (?:used|read)\b|unused (?:import|variable)|is unused|"
    r"^(?:error TS\d+: )?cannot find name\b|undefined: \w+$|undefined name|is not defined|cannot find value|syntax ?error|unexpected token|expected .{1,30}, found|missing return|redeclared|already declared|undeclared|"
    r"not (?:properly )?formatted|would (?:be )?reformat|trailing (?:white)?space|no newline|line too long",
    re.IGNORECASE,
)


class Finding(NamedTuple):
    """An error at a place."""

    file: str  # as it was printed
    message: str
    signature: str
    is_slip: bool  # says nothing that the next person would not know


@lru_cache(maxsize=256)
def findings_in(text: str) -> tuple[Finding, ...]:
    """Of an output, in order, each message of each file once."""
    if len(text) > _CHARS:
        text = f"{text[: _CHARS // 2]}\n{text[-_CHARS // 2 :]}"
    if not _ANY_PLACE.search(text):
        return ()
    lines = [line.rstrip()[:_LINE] for line in without_colours(text).splitlines()[:_LINES]]
    found: dict[tuple[str, str], Finding] = {}
    above = ""
    for number, line in enumerate(lines):
        named = _NAMED_FILE.match(line)
        above = named[1] if named else above if line.strip() else ""
        file, message = _read(lines, number, above)
        if not message or _NOTE.match(message) or _SUMMARY.match(message) or _ASSERTS.search(message):
            continue
        signature = signed(message) or message.lower()[:_LINE]
        if signature and (file, signature) not in found:
            found[file, signature] = Finding(file, message, signature, bool(_SLIP.search(message)))
            if len(found) == _MOST:
                break
    return tuple(found.values())


def _read(lines: list[str], number: int, above: str) -> tuple[str, str]:
    line = lines[number]
    for form in (_PLACED, _IN_BRACKETS):
        if placed := form.match(line):
            return placed[1], _RULED.sub("", placed[2]).lstrip("- ").strip()
    if above and (under := _UNDER_FILE.match(line)):
        return above, under[1].strip()
    if said := _ABOVE_PLACE.match(line):
        for below in lines[number + 1 : number + 1 + _BELOW]:
            if arrow := _ARROW.match(below):
                return arrow[1], said[1].strip()
    return "", ""
