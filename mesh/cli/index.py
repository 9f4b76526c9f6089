"""`mesh index`: the state of the search indexes, rebuilding them, and choosing an embedder."""

from __future__ import annotations

import os
from typing import Any

from clan_learnings.search.index_files import choose, drop_indexes
from clan_learnings.search.keywords.word_table import reindex
from mesh.app.application import Application
from mesh.app.client import ask
from mesh.cli.grammar import Given, WrongUsage, argument, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import Progress, plain, print_json, put, say, tell
from mesh.core.display import number_of
from mesh.core.errors import MeshError
from mesh.store.home import open_home

_WORDS = {"": 1, "rebuild": 1, "use": 3}


@command(
    "mesh index use http://localhost:11434/v1 nomic-embed-text",
    more="Without a word: how the indexes stand. use: which model makes vectors here; auto is minilm, if it is installed.",
    may_be_empty=True,
    usage="[rebuild | use minilm|URL MODEL|DIR|none|auto]",
)
@argument("words", "WORD", nargs=-1)
@option("--vectors", help="with rebuild: make the vectors anew too, which takes long")
def main(given: Given) -> int:
    """Say how they stand, or change it."""
    action = given.words[0] if given.words else ""
    if action not in _WORDS:
        raise WrongUsage(f"there is no {action!r}; there are rebuild and use")
    if action == "use" and len(given.words) == 1:
        raise WrongUsage("use needs a choice: minilm, an address and a model, a folder, none or auto")
    if len(given.words) > _WORDS[action]:
        raise WrongUsage(f"{given.words[_WORDS[action]]!r} is too much")
    if given.has("vectors") and action != "rebuild":
        raise WrongUsage("--vectors goes with: mesh index rebuild")
    if action == "use":
        return _use(given)
    return _rebuild(given) if action else _show(given)


def state_of(home: str) -> dict[str, Any]:
    """How the indexes stand: as a running sidecar says, else as a command finds them."""
    try:
        answer = ask(home, "GET", "/index")
    except MeshError:
        answer = None
    return answer if isinstance(answer, dict) else Application(home, os.environ).index()


def _show(given: Given) -> int:
    state = state_of(given.home)
    if given.json:
        print_json(state)
        return EXIT_OK
    say(f"search    {plain(state['says'])}")
    put(
        f"keywords  {number_of(state['keywords']['records'], 'record')} in the database ({state['keywords']['engine']})"
    )
    for text in _sidecar(state["sidecar"]):
        say(text)
    put(f"embedder  {plain(state['embedder']['choice'])}: {plain(state['embedder']['says'])}")
    sizes = ", ".join(f"{name} {size:,} bytes" for name, size in state["bytes"].items())
    put(f"folder    {plain(state['folder'])}: {sizes or 'nothing yet'}")
    return EXIT_OK


def _sidecar(status: dict[str, Any] | None) -> list[str]:
    if status is None:
        return ["sidecar   not running: commands search the database; start it with: mesh up --detach"]
    behind = f", {status['behind']} behind" if status.get("behind") else ", up to date"
    lines = [f"words     {plain(status.get('words', ''))}: {number_of(status.get('records', 0), 'record')}{behind}"]
    vectors = status.get("vectors")
    if isinstance(vectors, dict):
        lines.append(f"vectors   {vectors['made']} of {vectors['of']} made by {plain(vectors['embedder'], 100)}")
    lines += [f"trouble   {plain(text)}" for text in status.get("trouble") or ()]
    return lines


def _use(given: Given) -> int:

    done = choose(open_home(given.home).path, given.words[1:])
    if given.json:
        print_json(done)
        return EXIT_OK
    put(f"embedder  {plain(done['choice'])}: {plain(done['says'])}")
    if done["usable"]:
        tell("a running sidecar makes the vectors in the background; see how far it is: mesh index")
    return EXIT_OK


def _rebuild(given: Given) -> int:

    home = open_home(given.home)
    records: dict[str, int] = {}
    for private in (False, True) if home.has_private else (False,):
        store = home.store(private=private)
        progress = Progress("records")
        try:
            records["private" if private else "shared"] = reindex(store.database, progress)
        finally:
            progress.done()
            store.close()
    dropped = drop_indexes(home.path, vectors=given.has("vectors"))
    if given.json:
        print_json({"records": records, "dropped": dropped})
        return EXIT_OK
    for name, count in records.items():
        put(f"keywords  {number_of(count, f'{name} record')} indexed anew")
    if dropped:
        put(f"sidecar   {' and '.join(dropped)} dropped: a sidecar makes them anew, in the background")
    return EXIT_OK
