"""`mesh admit`: sign the certificate of a node."""

from mesh.cli.arguments import add_role, parser
from mesh.cli.node_names import a_role, find_node
from mesh.cli.output import print_json, put, say
from mesh.core.display import number_of
from mesh.core.errors import UsageError
from mesh.core.ids import display_name, text_id
from mesh.core.limits import TEXT_CHARS
from mesh.core.statement import INVITED, Member, sign
from mesh.store.home import open_home


def main(argv: list[str]) -> int:
    """Certify a node; what waited of it counts from now on."""
    arguments = parser("admit", "mesh admit mfzwizltoq --name builder")
    arguments.add_argument(
        "node",
        metavar="NODE",
        help="the node's id as `mesh init` printed it; its beginning will do once something of it waits here",
    )
    arguments.add_argument("--name", default="node", help="how people see the node")
    add_role(arguments)
    given = arguments.parse_args(argv)
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
