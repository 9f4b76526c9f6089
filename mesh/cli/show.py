"""`mesh show`: a record with all its fields."""

from __future__ import annotations

from mesh.cli.main import EXIT_OK
from mesh.cli.options import CommandSyntax, Given, run
from mesh.cli.output import plain, print_json, put
from mesh.cli.record_options import application_of

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

SYNTAX = CommandSyntax("show", "ID", (), "mesh show 7k3qmzpa", words=(1, 1))
_CHARS = 2000


def main(argv: list[str]) -> int:
    """Print it."""
    return run(argv, SYNTAX, _show)


def _show(given: Given) -> int:
    answer = application_of(given).show(given.words[0])
    print_json(answer) if given.as_json else print_record(answer)
    return EXIT_OK


def print_record(answer: dict[str, Any]) -> None:
    """A record, one field a line."""
    put(f"{answer['id']}  {plain(answer['kind'], 64)}, {answer['tier']}")
    put(f"  by: {plain(answer['author'])} on {answer['at']}")
    if answer.get("own_words") is not None:
        put(f"  told as: {plain(answer['text'], _CHARS)}", "  what it says itself is not agreed:")
    for field, value in answer["record"].items():
        put(f"  {plain(field, 64)}: {_in_words(field, value)}")


def _in_words(field: str, value: Any) -> str:
    if isinstance(value, list):
        return plain(", ".join(plain(item) for item in value), _CHARS)
    return "every repo" if field == "repo" and value == "" else plain(value, _CHARS)
