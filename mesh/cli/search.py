"""`mesh search`: records that fit a question, best first."""

from __future__ import annotations

from shlex import quote
from typing import Any

from mesh.cli.grammar import ALL, REPO, CommaList, Fraction, Given, Whole, argument, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import plain, print_json, put, tell
from mesh.cli.record_options import application_of, repo_name
from mesh.core.display import number_of

_MOST = 100
_WORDS = 12  # of a long question that are explained
_GLOBAL = "among global records"  # where there is no repository
_FILTERS = ("category", "tags", "agent", "author", "since", "until", "tier", "min_relevance")


@command(
    'mesh search "405 on push" --since 30d',
    more="A word that begins with a hyphen goes behind --, or into the quotes of the whole question.",
    is_filter=True,
    may_be_empty=True,
)
@argument("words", "WORDS", nargs=-1, required=True, may_be_empty=True)
@REPO
@ALL
@option("--category", metavar="NAME", help="only of this category")
@option("--tags", metavar="A,B", type=CommaList(), default="", help="only with one of these tags")
@option("--agent", metavar="NAME", help="only of this agent, like codex")
@option("--author", metavar="NODE", help="only of this node: its name, name·id, or id")
@option(
    "--since", metavar="TIME", help="only from then on: 2026-11-16, 2026-11-16T10:00, 10:02, or how long ago: 45m, 30d"
)
@option("--until", metavar="TIME", help="only until then")
@option("--tier", metavar="TIER", help="only of this tier: hot, warm, bank or archive")
@option("--archived", help="also what is in the archive")
@option(
    "-n",
    "--limit",
    metavar="COUNT",
    type=Whole(1, _MOST),
    default=10,
    help=f"at most so many, up to {_MOST} (default: 10)",
)
@option("--min-relevance", metavar="R", type=Fraction(), help="only what fits so well, from 0 to 1")
@option("--explain", help="also say why each was found: the words, and the parts of the score")
def main(given: Given) -> int:
    """Print them."""
    asked: dict[str, Any] = {name: given.word(name) for name in _FILTERS}
    asked |= {
        "tags": given.tags,
        "repo": given.repo,
        "everywhere": given.has("all"),
        "archived": given.has("archived"),
        "limit": given.limit,
        "min_relevance": given.min_relevance or 0.0,
    }
    query = " ".join(given.words)
    answer = application_of(given).search(query, **asked)
    if given.json:
        print_json(answer)
        return EXIT_OK
    for found in answer["results"]:
        put(line(found))
        if given.has("explain"):
            put(f"          {explained(found)}")
    for page in answer["pages"]:
        put(f"{'page':<8}  {plain(page['name'])}  {plain(page['line'])}")
    if not answer["results"] and not answer["pages"]:
        _tell_nothing(given, answer)
    elif given.has("explain"):
        tell(f"by {answer['by']}")
    return EXIT_OK


def line(found: dict[str, Any]) -> str:
    """A record in one line."""
    tier = "" if found["tier"] == "BANK" else f"  {found['tier']}"
    alike = f"  (+{found['also']} alike)" if found.get("also") else ""
    return f"{found['id']}  {found['at'][:10]}  {plain(found['kind'], 40)}  {plain(found['author'])}{tier}  {plain(found['text'])}{other_words(found)}{alike}"


def other_words(found: dict[str, Any]) -> str:
    """A mark, if what is shown are not the words of the record but those that are told in the name of its pattern."""
    return "  (its own words differ)" if found.get("own_words") is not None else ""


def explained(found: dict[str, Any]) -> str:
    """Why a record was found: its score, the words, and what the score is made of."""
    why = plain(found["why"])
    words = [plain(word, 40) for word in found["words"][:_WORDS]]
    said = [f"score {found['score']:.2f}", f"relevance {found['relevance']:.2f}", why]
    if any(word not in why for word in words):
        said.append(f"words: {', '.join(words)}")
    said.append(", ".join(f"{plain(name, 40)} {value:.2f}" for name, value in found["parts"].items()))
    said.append(f"{number_of(found['age_days'], 'day')} old")
    if found["also_ids"]:
        said.append(f"alike: {', '.join(found['also_ids'])}")
    return "; ".join(part for part in said if part)


def _tell_nothing(given: Given, answer: dict[str, Any]) -> None:
    """What to try, the likeliest first."""
    if answer.get("says"):
        tell(f"{plain(answer['says'])}", "  try words, or a name from the error")
        return
    where = answer["repo"]
    tell("nothing fits" if where is None else f"nothing fits {f'in {repo_name(where)}' if where else _GLOBAL}")
    filters = [f"--{name.replace('_', '-')}" for name in _FILTERS if given.has(name)]
    alike = [plain(tag, 40) for tag in answer.get("tags_alike", ())]
    tries = [f"a tag as it is written: --tags {quote(','.join(alike))}"] if alike else []
    tries += [f"without {' '.join(filters)}"] if filters else []
    tries += ["in every repository: --all"] if where is not None else []
    tries += ["also in the archive: --archived"] if not given.has("archived") and not given.has("tier") else []
    tries += ["other words, fewer of them, or a name from the error"]
    if answer["by"] == "keywords":
        tries += ["by meaning too: mesh index"]
    for text in tries:
        tell(f"  try {text}")
