"""`mesh search`: records that fit some words, best first."""

from __future__ import annotations

from mesh.cli.hot import ALL
from mesh.cli.main import EXIT_OK
from mesh.cli.options import REPO, Given, Option, Shape, run
from mesh.cli.output import plain, print_json, tell
from mesh.cli.telling import desk_of, place_name

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

_MOST = 100
SHAPE = Shape(
    "search",
    "WORDS",
    (REPO, ALL, Option("-n", "COUNT", f"at most so many, up to {_MOST} (default: 10)")),
    'mesh search "405 on push"',
    words=(1, 1000),
)


def main(argv: list[str]) -> int:
    """Print them."""
    return run(argv, SHAPE, _search)


def _search(given: Given) -> int:
    count = given.number("n", 10, 1, _MOST) or 10
    query = " ".join(given.words)
    answer = desk_of(given).search(query, repo=given.maybe("repo"), everywhere=given.has("all"), limit=count)
    if given.as_json:
        print_json(answer)
        return EXIT_OK
    for found in answer["results"]:
        print(line(found))
    if not answer["results"]:
        where = "" if answer["repo"] is None else f" in {place_name(answer['repo'])}; --all looks in every repository"
        tell(f"nothing fits{where}")
    return EXIT_OK


def line(found: dict[str, Any]) -> str:
    """A record in one line."""
    tier = "" if found["tier"] == "BANK" else f"  {found['tier']}"
    return f"{found['id']}  {found['at'][:10]}  {plain(found['kind'], 40)}  {plain(found['author'])}{tier}  {plain(found['text'])}"
