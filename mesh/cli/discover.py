"""`mesh discover`: record a discovery."""

from __future__ import annotations

from typing import Any

from mesh.cli.grammar import Given, argument, command, option
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


@command(
    'mesh discover "HTTP 405 on push means branch protection" --topic git',
    more="TEXT is one sentence in quotes; - reads it from stdin.",
    may_be_empty=True,
)
@argument("text", "TEXT|-", may_be_empty=True)
@ABOUT
@PRIVATE
@option("--anyway", help="record it also if a record covers it already")
@REQUEST_ID
def main(given: Given) -> int:
    """Record it, or say which record covers it."""
    about = record_facts(given)
    (text,) = from_stdin(given.text)
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
