"""`mesh hot`: the patterns that are in every context of their scope."""

from __future__ import annotations

from typing import Any

from mesh.cli.grammar import ALL, REPO, Given, command
from mesh.cli.main import EXIT_OK
from mesh.cli.output import plain, print_json, put, tell
from mesh.cli.record_options import application_of, repo_name
from mesh.core.display import number_of


@command("mesh hot", may_be_empty=True)
@REPO
@ALL
def main(given: Given) -> int:
    """Print them, those of most sessions first."""
    answer = application_of(given).hot(repo=given.repo, everywhere=given.has("all"))
    if given.json:
        print_json(answer)
        return EXIT_OK
    for item in answer["hot"]:
        put(line(item))
    for item in answer["seen_here"]:
        put(f"{line(item)}  (seen here only)")
    if not answer["hot"] and not answer["seen_here"]:
        of = f" of {answer['witnesses_needed']} machines" if answer["witnesses_needed"] > 1 else ""
        where = "anywhere" if given.has("all") else f"in {repo_name(answer['repo'])}"
        tell(f"nothing is HOT {where}: a pattern is, once {answer['hot_at']} sessions{of} were corrected under it")
    return EXIT_OK


def line(item: dict[str, Any]) -> str:
    """A HOT pattern in one line: the rule; not what; how often, when last; the id to cite; its name."""
    wrong = f"; not {plain(item['wrong'], 200)}" if item["wrong"] else ""
    counts = f"{number_of(item['sessions'], 'session')}, {number_of(item['nodes'], 'node')}, last {item['last']}"
    scope = "" if item["repo"] else "  (every repo)"
    return f"{item['id']}  {plain(item['rule'])}{wrong}; {counts}  {plain(item['pattern'], 100)}{scope}"
