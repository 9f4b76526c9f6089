"""`mesh discover`: record a discovery."""

from __future__ import annotations

from typing import Any

from mesh.cli.options import CommandSyntax, Given, Option, run
from mesh.cli.output import plain, put
from mesh.cli.record_options import (
    ABOUT,
    PRIVATE,
    REQUEST_ID,
    application_of,
    from_stdin,
    print_answer,
    record_facts,
    repo_name,
    request_id,
)

SYNTAX = CommandSyntax(
    "discover",
    "TEXT|-",
    (*ABOUT, PRIVATE, Option("--anyway", "", "record it also if a record covers it already"), REQUEST_ID),
    'mesh discover "HTTP 405 on push means branch protection" --topic git',
    words=(1, 1),
    more="TEXT is one sentence in quotes; - reads it from stdin.",
    takes_text=True,
)


def main(argv: list[str]) -> int:
    """Record it, or say which record covers it."""
    return run(argv, SYNTAX, _discover)


def _discover(given: Given) -> int:
    about = record_facts(given)
    (text,) = from_stdin(given.words[0])
    words: dict[str, Any] = {"anyway": given.has("anyway"), "request_id": request_id(given)}
    answer = application_of(given).discover(text, private=given.has("private"), **words, **about)
    return print_answer(given, answer, _show)


def _show(answer: dict[str, Any]) -> None:
    known = answer.get("covered_by")
    if known is not None:
        put(f"{known['id']}  already known: {plain(known['text'])}")
        put(
            f"  by {plain(known['author'])} on {known['at'][:10]}, in {repo_name(known['repo'])}; nothing was added,"
            " --anyway adds it"
        )
        return
    put(f"{answer['id']}  recorded")
