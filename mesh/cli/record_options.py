"""Options and output of the commands that write records.

Everyday commands come through here, so it imports next to nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from clan_learnings.agents.surroundings import in_sandbox
from mesh.app.application import Application
from mesh.app.record_json import dispute
from mesh.cli.grammar import CommaList, Fraction, Given, Whole, WrongUsage, option, options
from mesh.cli.main import EXIT_OK, EXIT_WAITING
from mesh.cli.output import plain, print_json, put, tell, tell_proposed, tell_taken_out
from mesh.cli.terminal import terminal
from mesh.core.display import number_of
from mesh.core.draft import ID_BYTES, checked_id
from mesh.core.errors import UsageError

ABOUT = options(
    option("--topic", metavar="WORD", help="what it is about, like: docker"),
    option("--tags", metavar="A,B", type=CommaList(), default="", help="more words, with commas"),
    option("--category", metavar="NAME", help="one of the mesh's categories (default: by its words)"),
    option("--severity", metavar="LEVEL", help="low, medium, high or critical (default: medium)"),
    option(
        "--repo",
        metavar="REPO",
        help="the repository it holds in, like github.com/acme/api (default: the one we are in)",
    ),
    option("--global", help="it holds in every repository"),
    option("--agent", metavar="NAME", help="who says it (default: the agent we run in)"),
    option("--session", metavar="ID", help="the session it counts for (default: MESH_SESSION, else the agent's)"),
    option(
        "--confidence",
        metavar="C",
        type=Fraction(),
        help="how sure it is, from 0 to 1 (default: 0.9 of a person, 0.8 of an agent)",
    ),
    option("--evidence", metavar="TEXT", help="where it can be seen: a file, a link, an error message"),
    option("--minutes-lost", metavar="N", type=Whole(0, 100_000), help="what it has cost"),
)
PRIVATE = option("--private", help="keep it on this machine; it counts for nothing that others see")
REQUEST_ID = option(
    "--request-id", metavar="ID", help="for scripts that retry: what was recorded under it is not recorded again"
)


def record_facts(given: Given) -> dict[str, Any]:
    """What was said about a record, by the names that the use cases have."""
    if given.has("repo") and given.has("global"):
        raise WrongUsage("--repo and --global exclude each other")
    words = {name: given.word(name) for name in ("topic", "category", "severity", "agent", "session", "evidence")}
    return words | {
        "tags": given.tags,
        "repo": given.repo,
        "is_global": given.has("global"),
        "confidence": given.confidence,
        "minutes_lost": given.minutes_lost,
    }


def request_id(given: Given) -> str:
    """What makes this command one, whoever writes for it: the id that was given, else a new one."""
    if given.has("request_id"):
        return checked_id(given.word("request_id"))
    return terminal().request_id or os.urandom(ID_BYTES).hex()


def application_of(given: Given, home: str = "") -> Application:
    """The application of the home that a command works on. `home`: if not the usual one for its options."""
    here = terminal()
    return Application(
        home or given.home, here.environ, side=here.side, recall=here.recall, store=here.store, asks_node=not here.home
    )


def from_stdin(*texts: str) -> list[str]:
    """The texts, with stdin in the place of the one that is a hyphen."""
    if texts.count("-") > 1:
        raise WrongUsage("stdin can be read once: only one text can be -")
    return [_read_stdin() if text == "-" else text for text in texts]


def _read_stdin() -> str:
    try:
        text = terminal().read()
    except UnicodeDecodeError:
        text = "\udc80"
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise UsageError("stdin is not UTF-8 text", "give the text as an argument, or convert it: iconv -t UTF-8")
    return text.strip("\n")


def print_answer(given: Given, answer: dict[str, Any], show: Callable[[dict[str, Any]], None]) -> int:
    """Print the answer of an application. What is only queued is never called done."""
    if given.json:
        print_json(answer)
    elif answer["state"] == "queued":
        put("queued")
    else:
        show(answer)
    tell_taken_out(answer.get("redacted", ""))
    is_proposed = tell_proposed(answer)
    if answer.get("kept_here"):
        tell(f"mesh: it stays on this machine, as with --private: {plain(answer['kept_here'])}")
    if answer["state"] == "queued":
        tell(f"mesh: it is not recorded yet, because {plain(answer['because'])}", f"  next: {_taken_in()}")
        return EXIT_WAITING
    if answer.get("counts") is False:
        tell(
            "kept, but it counts only once this node is admitted",
            f"  next: where the root key is: mesh admit {answer['node']}",
        )
    if answer.get("new_epoch"):
        tell(f"a new feed was opened, because {answer['new_epoch']}; nothing is lost by that")
    return EXIT_WAITING if is_proposed else EXIT_OK


def _taken_in() -> str:
    """What becomes of a write that is only queued."""
    if in_sandbox(terminal().environ):
        return "nothing; the next hook of an agent outside the sandbox takes it in"
    return "mend that; the next session of an agent takes it in, or now: echo '{}' | mesh hook SessionStart"


def repo_name(repo: str) -> str:
    """A repository as people read it."""
    return plain(repo, 120) or "every repo"


def missing_witnesses(answer: dict[str, Any]) -> str:
    """What a pattern lacks that one machine alone has needed often enough; empty if nothing."""
    if answer.get("witnesses") is None:
        return ""
    if answer["disputed"]:
        approve = f"an admin can approve the words told: mesh pattern approve {plain(answer['pattern'], 100)}"
        return f"{plain(dispute(answer['disputed']), 2000)}; {approve}"
    machines = f"{number_of(answer['witnesses'], 'machine')} of {answer['witnesses_needed']} needed"
    approve = f"mesh pattern approve {plain(answer['pattern'], 100)}"
    return f"{number_of(answer['sessions'], 'session')}, {machines}; an admin can approve it: {approve}"


def occurrences(answer: dict[str, Any]) -> str:
    """How often, on how many machines and where a pattern was seen."""
    names = ", ".join(repo_name(repo) for repo in answer["repos"][:3])
    more = f" and {len(answer['repos']) - 3} more" if len(answer["repos"]) > 3 else ""
    return f"{number_of(answer['sessions'], 'session')}, {number_of(answer['nodes'], 'node')}, in {names}{more}"
