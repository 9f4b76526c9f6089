"""`mesh admin`: name an admin, or list them. Taking the role away is `mesh revoke`."""

from typing import Any

from mesh.cli.arguments import parser
from mesh.cli.node_names import a_role, find_node, node_name
from mesh.cli.output import print_json, put, tell
from mesh.core.errors import UsageError
from mesh.core.ids import text_id
from mesh.core.statement import ADMIN, READERS, THROW_AWAY, Member, sign
from mesh.store.home import Home, open_home
from mesh.store.store import Store


def main(argv: list[str]) -> int:
    """`mesh admin add NODE`, or `mesh admin list`."""
    arguments = parser("admin", "mesh admin add builder")
    arguments.add_argument("action", metavar="add|list", choices=("add", "list"), help="name an admin, or list them")
    arguments.add_argument(
        "node",
        metavar="NODE",
        nargs="?",
        help="for add: a member's id, its name, or the beginning of its id. An admin is removed with `mesh revoke`",
    )
    given = arguments.parse_args(argv)
    if (given.action == "add") != (given.node is not None):
        arguments.error("give a NODE with add, and none with list")
    home = open_home(given.home)
    return _add(given, home) if given.action == "add" else _list(given, home)


def _add(given: Any, home: Home) -> int:
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


def _list(given: Any, home: Home) -> int:
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
