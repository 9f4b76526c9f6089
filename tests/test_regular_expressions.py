"""Possessive groups that only a newer Python gets right do not get into the sources. Reads them with `ast`; nothing is run.

Before 3.11.5 `re` loses its place when a possessive group ends: `(?:ab?c)*+` takes the `a` of `ad`, though it is no `ac`. It goes on from
where the last, failed attempt met something of variable length, a choice or a look around. These are right there, too:

- a possessive repeat of one character: `[ab]*+`;
- an atomic group: `(?>(?:ab?c)*)`, which means the same as `(?:ab?c)*+`, but takes memory for every round;
- a possessive group in which nothing can fail after it has lost its place: single characters, or first of all a choice between
  runs of them, and then only repeats of one character that may be empty: `(?:,.[^,]*+)*+`.
"""

import ast
import importlib
import re
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TREE = Path(__file__).parents[1]
PACKAGES = ("mesh", "peers", "clan_learnings", "bench")

parser = importlib.import_module("re._parser")  # the type checker does not know it
ONE_CHARACTER = (parser.LITERAL, parser.NOT_LITERAL, parser.IN, parser.ANY)
REPEATS = (parser.MAX_REPEAT, parser.MIN_REPEAT, parser.POSSESSIVE_REPEAT)

# What stands for a piece that the source does not tell: the worst it could be.
UNKNOWN = "(?:ab?c)"


def loses_its_place(pattern: str) -> bool:
    """Whether some possessive group of a pattern is none of the right ones. What is no pattern at all has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for flags in (0, re.VERBOSE):
            try:
                parsed = parser.parse(pattern, flags)
            except (re.error, OverflowError, RecursionError):
                continue
            if has_wrong_group(parsed):
                return True
    return False


def has_wrong_group(parsed: Any) -> bool:
    return any(
        (code is parser.POSSESSIVE_REPEAT and not keeps_its_place(argument[2]))
        or any(has_wrong_group(inner) for inner in inner_patterns(argument))
        for code, argument in parsed
    )


def inner_patterns(argument: Any) -> Iterator[Any]:
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, list | tuple):
        for each in argument:
            yield from inner_patterns(each)


def keeps_its_place(group: Any) -> bool:
    items = list(without_brackets(group))
    first, rest = items[:1], items[1:]
    if first and first[0][0] is parser.BRANCH:
        if not all(code in ONE_CHARACTER for way in first[0][1][1] for code, _ in without_brackets(way)):
            return False
        items = rest
    else:
        while items and items[0][0] in ONE_CHARACTER:
            items = items[1:]
    return all(code in REPEATS and argument[0] == 0 and is_one_character(argument[2]) for code, argument in items)


def is_one_character(parsed: Any) -> bool:
    items = list(without_brackets(parsed))
    return len(items) == 1 and items[0][0] in ONE_CHARACTER


def without_brackets(parsed: Any) -> Iterator[Any]:
    """The items of a pattern, those in groups that capture nothing among them."""
    for code, argument in parsed:
        if code is parser.SUBPATTERN and argument[0] is None:
            yield from without_brackets(argument[3])
        else:
            yield code, argument


def wrong_patterns(tree: ast.Module) -> list[str]:
    """Every string of a source that is such a pattern, put together from its pieces as far as the source tells them."""
    names = strings(tree)
    texts = (
        written(node, names) for node in ast.walk(tree) if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp)
    )
    return [text for text in texts if "+" in text and loses_its_place(text)]


def strings(tree: ast.Module) -> dict[str, str]:
    """The strings that have a name in a module, its own and those that it imports from us."""
    names: dict[str, str] = {}
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                names[name] = written(value, names)
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in PACKAGES:
                theirs = strings_of(module)
                names |= {alias.asname or alias.name: theirs.get(alias.name, UNKNOWN) for alias in node.names}
    return names


@cache
def strings_of(module: str) -> dict[str, str]:
    path = TREE.joinpath(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return strings(ast.parse(source.read_text(encoding="utf-8"), str(source)))


def written(node: ast.expr, names: dict[str, str]) -> str:
    """The text of an expression."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Constant(value=bytes(data)):
            return data.decode("latin-1")
        case ast.Name(id=name):
            return names.get(name, UNKNOWN)
        case ast.JoinedStr(values=parts):
            return "".join(written(part, names) for part in parts)
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return written(value, names)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return written(left, names) + written(right, names)
    return UNKNOWN


def test_every_pattern_means_the_same_on_every_python() -> None:
    """`X*+` of a group has to be written `(?>X*)`, unless it is simple enough."""
    found = [
        f"{path.relative_to(TREE)}: {pattern}"
        for top in PACKAGES
        for path in sorted((TREE / top).rglob("*.py"))
        for pattern in wrong_patterns(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    ]
    assert not found, "write (?>X*) for X*+ where X is a group:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "X = r'(?:ab?c)*+'",
        "X = r'(?:ab?c)++'",
        "X = r'(?:ab?c)?+'",
        "X = r'(?:ab?c){0,4}+'",
        "X = r'(?:a(?=b)c)*+'",
        "X = r'(?:a(?!b))*+'",
        "X = r'(?:a[bc]++)*+'",
        "X = r'(?:a(?:bc|d))*+'",
        "X = r'(?:ab|acd)*+'",  # read as a(?:b|cd)
        "X = r'(?:(?>ab?)c)*+'",
        "X = r'((a)|b|c)*+'",  # raises SystemError before 3.12.8
        "X = r'x(?=(?i:y(?:ab?c)*+))'",
        "X = rb'(?:ab?c)*+'",
        "X = '''(?: a b? c ) *+  # re.VERBOSE'''",
        "_A = r'(?:ab?c)'\nX = rf'{_A}*+'",
        "_A = r'ab?'\n_B: str = _A + 'c'\nX = '(?:' + _B + ')*+'",
        "from clan_learnings.redaction.compiled_patterns import EDGE as E\nX = rf'(?:{E}a)*+'",
        "def late(piece):\n    return compiled(rf'{piece}*+')",
    ],
)
def test_a_wrong_group_is_found(source: str) -> None:
    """The check itself: each of these sources has one, and most take too much on 3.11.2."""
    assert len(wrong_patterns(ast.parse(source))) == 1


@pytest.mark.parametrize(
    ("pattern", "text", "end"),
    [
        (r"(?>(?:ab?c)*)", "acad", 2),
        (r"(?>(?:ab?c)+)", "acabca", 5),
        (r"(?>(?:ab?c)?)", "ad", 0),
        (r"(?>(?:(?>ab?)c){0,4})", "abcab", 3),
        (r"x(?>(?:a(?=b).)*)", "xababa", 5),
        (r"[ab]*+c", "ababc", 5),
        (r"(?i)[ab]{2,}+c?+", "aBAbC", 5),
        (r"(?:[ab])*+", "abac", 3),
        (r"(?:ab)*+", "ababac", 4),
        (r"(?:\\.[^\\]*+)*+", r"\a b\c\\", 8),
        (r"(?:\\.[^\\]*+)*+", "\\ab\\", 3),
        (r"(?:(?:ab|cd.|e)x*+y?)*+", "abxcd", 3),
        ("C++ and a+b", "C and aab", 9),
    ],
)
def test_what_is_right_everywhere_passes(pattern: str, text: str, end: int) -> None:
    """The check does not cry wolf, and this interpreter, too, takes as much as it should."""
    found = re.match(pattern, text)
    assert found is not None
    assert found.end() == end
    assert not loses_its_place(pattern)
