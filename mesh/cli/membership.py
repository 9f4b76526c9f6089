"""Who belongs to a mesh: `mesh admit` signs the certificate of a node, `mesh admin` names an admin, `mesh leave` says goodbye."""

import asyncio
import logging
import time

import click

from mesh.app.client import ask
from mesh.cli.grammar import Given, WrongUsage, argument, command, option, options
from mesh.cli.node_names import a_role, find_node, node_name
from mesh.cli.output import print_json, put, say, tell
from mesh.core.display import number_of
from mesh.core.errors import HomeBusy, UsageError
from mesh.core.ids import display_name, text_id
from mesh.core.limits import TEXT_CHARS
from mesh.core.statement import ADMIN, INVITED, READERS, THROW_AWAY, Member, sign
from mesh.node.log_lines import start_logs
from mesh.node.node_settings import NodeSettings
from mesh.store.file_access import patience
from mesh.store.home import Home, node_process_id, open_home
from mesh.store.store import Store

ROLE = options(
    option(
        "--role",
        metavar="writer|reader",
        type=click.Choice(("writer", "reader")),
        default="writer",
        help="what the node may do: a reader is sent everything, and nothing it writes counts (default: writer)",
    ),
    option(
        "--ephemeral",
        help="for throw-away nodes, as of a CI job: each leaves when its sidecar stops, and may write little",
    ),
)


@command("mesh admit mfzwizltoq --name builder")
@argument(
    "node", "NODE", "the node's id as `mesh init` printed it; its beginning will do once something of it waits here"
)
@option("--name", metavar="TEXT", default="node", help="how people see the node")
@ROLE
def run_admit(given: Given) -> int:
    """Certify a node; what waited of it counts from now on."""
    if not given.name or len(given.name) > TEXT_CHARS or not given.name.isprintable():
        raise UsageError("a node's name is a short printable text", "choose another with --name NAME")
    home = open_home(given.home)
    author = home.author()
    store = author.store
    node = find_node(store, given.node)
    before = store.trust()
    known = before.members.get(node)
    if known is None:
        root = home.root_identity(before)
        fact = Member(root.public, store.clock(), node, given.name, INVITED[given.role, given.ephemeral])
        author.merge_statements([sign(home.mesh, root, fact).encode()])
    counting = sum(row.accepted.seq for row in store.feeds.of_node(node))
    role = store.trust().role(node)
    name = display_name(given.name if known is None else known.name, node)
    if given.json:
        print_json({"node": text_id(node), "name": name, "role": role, "new": known is None, "operations": counting})
    elif known is not None:
        put(f"{name} is a member already, as {a_role(role)}; that stays as it is")
    else:
        say(
            f"admitted {name} as {a_role(role)}; {number_of(counting, 'operation')} of it {'counts' if counting == 1 else 'count'} now",
            "next: mesh export FILE, and import FILE on that node",
        )
    return 0


@command("mesh admin add builder")
@argument("action", "add|list", "name an admin, or list them", type=click.Choice(("add", "list")))
@argument(
    "node",
    "[NODE]",
    "for add: a member's id, its name, or the beginning of its id. An admin is removed with `mesh revoke`",
    required=False,
)
def run_admin(given: Given) -> int:
    """`mesh admin add NODE`, or `mesh admin list`."""
    if (given.action == "add") != (given.node is not None):
        raise WrongUsage("give a NODE with add, and none with list")
    home = open_home(given.home)
    return _add(given, home) if given.action == "add" else _list_admins(given, home)


def _add(given: Given, home: Home) -> int:
    author = home.author()
    store = author.store
    trust = store.trust()
    node = find_node(store, given.node, known=True)
    member = trust.members.get(node)
    if member is None:
        raise UsageError(f"{given.node} is not a member yet", f"first: mesh admit {text_id(node)} --name NAME")
    if node in trust.revoked:
        raise UsageError(
            f"{node_name(store, node)} was revoked, and that is for ever", "let it join anew, with another home"
        )
    was, new = trust.role(node), node not in trust.admins
    if new:
        root = home.root_identity(trust)
        fact = Member(root.public, max(store.clock(), member.at + 1), node, member.name, ADMIN)
        author.merge_statements([sign(home.mesh, root, fact).encode()])
    name = node_name(store, node)
    if given.json:
        print_json({"node": text_id(node), "name": name, "new": new, "was": was})
    else:
        put(f"{name} is an admin{' now' if new else ' already'}: it may admit and revoke nodes and erase records")
        if new and was in READERS | THROW_AWAY:
            tell(*_what_follows(name, node, was))
    return 0


def _what_follows(name: str, node: bytes, was: str) -> tuple[str, str]:
    """An admin is a full member, whatever it was admitted as."""
    changes = ["what it writes counts from now on"] if was in READERS else []
    changes += (
        ["it is no throw-away node any more, and may write as much as a full member"] if was in THROW_AWAY else []
    )
    return (
        f"mesh: {name} was {a_role(was)}, and the role of an admin takes that place: {', and '.join(changes)}",
        f"  next: if you did not mean that, end the node: mesh revoke {text_id(node)[:16]}",
    )


def _list_admins(given: Given, home: Home) -> int:
    store = home.store()
    trust = store.trust()
    for node in sorted(trust.admins):
        revoked = node in trust.revoked
        if given.json:
            print_json(
                {
                    "node": text_id(node),
                    "name": node_name(store, node),
                    "revoked": revoked,
                    "named_by": _named_by(store, node),
                }
            )
        else:
            notes = [word for word, fits in (("this node", node == home.node), ("revoked", revoked)) if fits]
            put(f"{text_id(node)}  {node_name(store, node)}{'  ' + ', '.join(notes) if notes else ''}")
    return 0


def _named_by(store: Store, node: bytes) -> str:
    """The root that named an admin: the one in force, or an earlier one whose word was kept."""
    trust = store.trust()
    signers = {
        item.fact.signer
        for item in trust.statements()
        if isinstance(item.fact, Member) and item.fact.node == node and trust.counts(item.id)
    }
    return "root" if trust.root in signers else "earlier root"


_STOP_SECONDS = 10.0


@command("mesh leave")
def run_leave(given: Given) -> int:
    """Tell the others, stop the sidecar, and remember it."""
    home = open_home(given.home)
    if home.has_root_key:
        raise UsageError(
            "the root key of the mesh is in this home: without it nobody can name admins",
            "replace it first, on another machine: mesh recover; then move root.key out of this home",
        )
    told = _running(home) if node_process_id(home) else _alone(home)
    store = home.store()
    with store.database.writing(durable=True):
        store.database.run("INSERT OR REPLACE INTO meta VALUES('left', 1)")
    store.close()
    if given.json:
        print_json({"left": True, "told": told})
    else:
        put("left the mesh; what this node has can still be read here, and what it wrote stays with the others")
        if not told:
            tell(
                "mesh: nobody could be told; the others will see it as dead",
                "  next: on an admin's node: mesh revoke NODE",
            )
    return 0


def _running(home: Home) -> bool:
    told = bool(ask(home.path, "POST", "/leave")["told"])
    deadline = time.monotonic() + patience(_STOP_SECONDS)
    while node_process_id(home):
        if time.monotonic() > deadline:
            raise HomeBusy("the sidecar does not stop", "mesh down, then mesh leave again")
        time.sleep(0.02)
    return told


def _alone(home: Home) -> bool:
    """No sidecar runs: be one for a moment, to tell someone."""
    from mesh.node.node import RunningNode, run_node

    start_logs(None, logging.ERROR)
    nodes: list[RunningNode] = []
    asyncio.run(run_node(home, NodeSettings(leave=True), nodes.append))
    return nodes[0].told
