"""`mesh settings`: what the whole mesh has agreed on. A change reaches every node, and the latest of an admin counts."""

from __future__ import annotations

from typing import Any

from clan_learnings.harvest.evidence_bar import bar_of, draft_setting
from clan_learnings.records.memory import Memory
from clan_learnings.records.pattern_drafts import (
    draft_category,
    draft_hot_at,
    draft_hot_nodes,
    draft_moderation,
    draft_quiet,
    draft_recall_weight,
)
from clan_learnings.records.record import CATEGORIES
from clan_learnings.records.shared_settings import KEY, USUAL_NODES, machines, require_admin
from mesh.cli.grammar import Given, WrongUsage, argument, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import print_json, put, tell
from mesh.cli.record_options import application_of, print_answer
from mesh.core.display import number_of
from mesh.core.draft import Draft
from mesh.store.home import open_home

_HARVEST = ("keep-signals", "share-sessions", "share-confidence", "hot-a-run")
_NAMES = ("hot-at", "hot-nodes", "recall-weight", "category", "moderation", "quiet", *_HARVEST)


def _alike(_context: object, _param: object, incomplete: str) -> list[str]:
    """For a shell."""
    return [name for name in _NAMES if name.startswith(incomplete)]


@command(
    "mesh settings hot-at 4",
    more="Only admins change settings, and what they set holds on every node.",
    usage="[NAME VALUE]",
    may_be_empty=True,
    tables={
        "settings": {
            "hot-at N": "in how many sessions a mistake makes its pattern HOT",
            "hot-nodes N": "of how many machines these must be, in a mesh of three or more",
            "recall-weight W": "what meaning counts in a search beside words, from 0 to 1, where there are vectors",
            "category NAME": "one more category",
            "moderation guarded": "what others recorded is changed or taken back by its author, an admin, or two nodes that say"
            " the same (mesh proposals)",
            "moderation open": "by anybody; so it is by itself",
            "quiet on": "the hooks of every node say nothing to agents, until: quiet off",
            "keep-signals N": "how many signals keep a harvested candidate",
            "share-sessions N": "in how many sessions it must have come up to be shared",
            "share-confidence C": "how sure it must be to be shared, from 0 to 1",
            "hot-a-run N": "how many patterns one harvest may make HOT",
        }
    },
)
@argument("name", "NAME", required=False, shell_complete=_alike)
@argument("value", "VALUE", required=False)
@option("--remove", help="take a category of the mesh's own away again")
def main(given: Given) -> int:
    """List them, or change one."""
    name, value = given.name, given.value
    if given.has("remove") and name != "category":
        raise WrongUsage("--remove goes with: mesh settings category NAME")
    if not name:
        return _list(given)
    if name not in _NAMES:
        raise WrongUsage(f"there is no setting {name!r}; there are {', '.join(_NAMES)}")
    if not value:
        raise WrongUsage(f"{name} needs a value")

    def write(memory: Memory, *_: object) -> tuple[list[Draft], dict[str, Any]]:

        command = f"mesh settings {name} {value}{' --remove' if given.has('remove') else ''}"
        require_admin(memory.reader.members(), open_home(given.home).node, command)
        if name == "hot-at":
            return draft_hot_at(value), {"hot_at": int(value)}
        if name == "hot-nodes":
            return draft_hot_nodes(value), {"hot_nodes": int(value), "machines": machines(memory.reader.members())}
        if name == "recall-weight":
            return draft_recall_weight(value), {"recall_weight": float(value)}
        if name == "moderation":
            return draft_moderation(value), {"moderation": value}
        if name == "quiet":
            return draft_quiet(value), {"quiet": value == "on"}
        if name in _HARVEST:
            return draft_setting(name, value), {"setting": name, "value": float(value)}
        return draft_category(memory, value, remove=given.has("remove")), {
            "category": value,
            "removed": given.has("remove"),
        }

    return print_answer(given, application_of(given).write(write, is_change=True), _print)


def _print(answer: dict[str, Any]) -> None:

    if "hot_at" in answer:
        put(f"{answer['id']}  HOT at {answer['hot_at']} sessions, on every node")
    elif "hot_nodes" in answer:
        needed = number_of(answer["hot_nodes"], "machine")
        put(f"{answer['id']}  HOT by sessions of {needed}, on every node of a mesh of three or more")
        if answer["hot_nodes"] > answer["machines"]:
            tell(
                f"mesh: of this mesh {number_of(answer['machines'], 'machine')} can be heard, so only what an admin approves is HOT"
                " once it has three members or more",
                f"  next: mesh settings hot-nodes {min(USUAL_NODES, answer['machines'])}",
            )
    elif "moderation" in answer:
        put(f"{answer['id']}  the mesh is {answer['moderation']} from now on, on every node")
    elif "quiet" in answer:
        said = "say nothing to agents" if answer["quiet"] else "speak to agents again"
        put(f"{answer['id']}  hooks {said}, on every node")
    elif "setting" in answer:
        put(f"{answer['id']}  {answer['setting']} is {answer['value']:g}, on every node")
    elif "recall_weight" in answer:
        put(f"{answer['id']}  meaning counts {answer['recall_weight']:g} of a search, on every node")
    else:
        put(f"{answer['id']}  category {answer['category']} {'removed' if answer['removed'] else 'added'}")


def _list(given: Given) -> int:
    answer = application_of(given).ask(_current)
    if given.json:
        print_json(answer)
        return EXIT_OK
    put(f"hot-at            {answer['hot_at']} sessions")
    put(f"hot-nodes         {answer['hot_nodes']}, in a mesh of three or more")
    put(f"recall-weight     {answer['recall_weight']:g} for meaning, {1 - answer['recall_weight']:g} for words")
    put(f"moderation        {answer['moderation']}")
    put(f"quiet             {'on' if answer['quiet'] else 'off'}")
    for name, value in answer["harvest"].items():
        put(f"{name:<16}  {value:g}")
    for category in answer["categories"]:
        put(f"category          {category}{'' if category in answer['built_in'] else '  (of this mesh)'}")
    return EXIT_OK


def _current(memory: Memory) -> dict[str, Any]:

    bar = bar_of(memory.reader.fields(KEY))._asdict()
    return {
        "hot_at": memory.settings.hot_at,
        "hot_nodes": memory.settings.hot_nodes,
        "recall_weight": memory.settings.recall_weight,
        "moderation": "guarded" if memory.settings.is_guarded else "open",
        "quiet": memory.settings.is_quiet,
        "categories": list(memory.settings.categories),
        "built_in": list(CATEGORIES),
        "harvest": {name: bar[name.replace("-", "_")] for name in _HARVEST},
    }
