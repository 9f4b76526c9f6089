"""Whether a program says that it was called in a way it does not take: its options, its arguments, its patterns. By forms of words, no program is known by name."""

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
