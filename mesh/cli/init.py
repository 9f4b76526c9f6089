"""`mesh init`: make a home."""

import os

from clan_learnings.redaction import describe, redact
from mesh.cli.grammar import Given, command, option
from mesh.cli.output import print_json, say, tell
from mesh.core.errors import UsageError
from mesh.core.ids import display_name, parse_id, text_id
from mesh.store.home import Home, create_home
from mesh.store.join_table import Cards


@command("mesh init --name laptop")
@option(
    "--name",
    metavar="TEXT",
    default=os.uname().nodename.split(".")[0] or "node",
    help="how people see this node (default: the machine's name)",
)
@option("--mesh", metavar="ID", help="the mesh to ask to belong to; without it a new mesh is made")
def main(given: Given) -> int:
    """Make a node and say what to do next."""
    mesh = None if given.mesh is None else parse_id(given.mesh.lower(), "mesh id")
    home = create_home(given.home, harmless_name(given.name), mesh)
    if mesh is None:
        found(home)
    if given.json:
        print_json(
            {
                "home": home.path,
                "node": text_id(home.node),
                "name": display_name(home.name, home.node),
                "mesh": text_id(home.mesh),
                "recovery_key": home.file("recovery.key") if mesh is None else None,
            }
        )
    else:
        say(*welcome(home))
    if mesh is None:
        tell(*advice(home))
    return 0


def harmless_name(name: str) -> str:
    """A node's name goes to every member, for ever: what looks like a secret or an address is refused."""
    findings = redact(name).findings
    if findings:
        raise UsageError(
            f"that name has something in it that others should not see: {describe(findings)}",
            "choose another: --name laptop",
        )
    return name


def found(home: Home) -> None:
    """Make the certificates of the founding keys while both are here: the recovery key is about to be taken away."""
    from mesh.node.certificates import founding_cards

    store = home.store()
    shelf = Cards(store.database)
    for card in founding_cards(home, store.clock()):
        shelf.keep(*card)
    store.close()


def advice(home: Home) -> list[str]:
    """What whoever made a mesh should do at once."""
    return [
        f"Take the recovery key offline now: move {home.file('recovery.key')} to a place no agent can read.",
        "It is what a lost or stolen root key can be replaced with, and good for nothing else.",
    ]


def welcome(home: Home) -> list[str]:
    """What a new node is told about itself."""
    lines = [
        f"made {display_name(home.name, home.node)} in {home.path}",
        f"  node  {text_id(home.node)}",
        f"  mesh  {text_id(home.mesh)}",
    ]
    if home.has_root_key:
        lines.append('next: mesh discover "what you found out"')
    else:
        lines.append("What it writes counts once it is admitted.")
        lines.append(f"next: where the root key is: mesh admit {text_id(home.node)} --name {home.name}")
    return lines
