"""`mesh join`: become a member of a mesh with a token."""

import asyncio
import os

from mesh.cli.arguments import parser
from mesh.cli.init import harmless_name
from mesh.cli.node_names import a_role
from mesh.cli.output import print_json, put, say, tell
from mesh.core.errors import MeshError, NoHome, UsageError
from mesh.core.ids import display_name, text_id
from mesh.core.statement import READERS, THROW_AWAY
from mesh.store.home import Home, create_home, node_process_id, open_home
from peers.trust.join_client import JoinRefused, join
from peers.trust.join_protocol import Joined
from peers.trust.join_token import JoinToken, parse


def main(argv: list[str]) -> int:
    """Make a home if there is none, prove the token, keep what the mesh answers."""
    arguments = parser("join", "mesh join TOKEN --name builder")
    arguments.add_argument("token", metavar="TOKEN", help="as `mesh invite` printed it on another node")
    arguments.add_argument(
        "--name", metavar="NAME", help="how people see this node, if its home is made now (default: the machine's name)"
    )
    arguments.add_argument(
        "--ephemeral",
        action="store_true",
        help="leave the mesh when the sidecar stops, as a node does anyway whose token is of `mesh invite --ephemeral`",
    )
    given = arguments.parse_args(argv)
    token = parse(given.token)
    home, is_new = _home(given.home, token, given.name, ephemeral=given.ephemeral)
    asked: list[bool] = []
    try:
        joined = asyncio.run(join(token, home.identity(), home.name, lambda: asked.append(True)))
    except BaseException as error:
        # Nothing was written in it; a home that belongs nowhere is only in the way. But once it was asked for, its key may be
        # a member's, though the answer was lost: who repeats it with that key is answered again.
        if is_new and (not asked or isinstance(error, JoinRefused)):
            from shutil import rmtree

            rmtree(home.path)
        raise
    members, role = _learn(home, joined)
    if given.json:
        print_json(
            {
                "home": home.path,
                "node": text_id(home.node),
                "name": display_name(home.name, home.node),
                "mesh": text_id(home.mesh),
                "admitted_by": text_id(joined.server),
                "members": members,
                "role": role,
            }
        )
    else:
        name = display_name(home.name, home.node)
        put(f"{name} is a member of the mesh now, as {a_role(role)}, with {members - 1} others")
        if role in READERS:
            put("a reader is sent everything; what it writes counts nowhere, unless it is private")
        if role in THROW_AWAY:
            put("a throw-away node leaves the mesh when its sidecar stops")
        say("next: mesh up, or mesh up --listen HOST:PORT if others can reach this machine")
    if given.ephemeral and role not in THROW_AWAY:
        tell(
            "mesh: this node leaves when its sidecar stops, but its invitation was an ordinary one: it counts as an ordinary member",
            "  next: give throw-away nodes tokens of their own, on an admin's node: mesh invite --ephemeral",
        )
    return 0


def _home(path: str, token: JoinToken, name: str | None, *, ephemeral: bool) -> tuple[Home, bool]:
    try:
        home = open_home(path)
    except NoHome:
        chosen = harmless_name(name or os.uname().nodename.split(".")[0] or "node")
        return create_home(path, chosen, token.mesh, ephemeral=ephemeral), True
    if home.mesh != token.mesh:
        raise UsageError(
            f"the node in {home.path} belongs to another mesh than the token",
            "join with a home of its own: mesh join TOKEN --home DIR",
        )
    if ephemeral and not home.ephemeral:
        raise UsageError(
            "a home that exists stays as it is", "join with a new one: mesh join TOKEN --ephemeral --home DIR"
        )
    if node_process_id(home):
        raise UsageError("the sidecar of this home is running", "stop it first: mesh down; then join, then mesh up")
    return home, False


def _learn(home: Home, joined: Joined) -> tuple[int, str]:
    """Keep founders, statements, certificates and contacts. Returns how many members there are, and our role among them."""
    from mesh.node.certificates import Certificates
    from mesh.store.join_table import Cards
    from peers.proto.cards import read_contact

    author = home.author()
    store = author.store
    store.learn_founders(*joined.founders)
    author.merge_statements(list(joined.welcome.statements))
    shelf = Cards(store.database)
    notary = Certificates(home, (), store.trust, store.clock)
    waiting = list(joined.welcome.certificates)
    while waiting:  # those of the root and of admins make those below them readable
        left = []
        for data in waiting:
            card = notary.read(data)
            if card is None:
                left.append(data)
            else:
                notary.keep(card)
                shelf.keep(*card)
        if len(left) == len(waiting):
            break
        waiting = left
    for data in joined.welcome.contacts:
        shelf.keep(*read_contact(home.mesh, data)[0])
    with store.database.writing(durable=True):
        store.database.run("DELETE FROM meta WHERE key='left'")
    trust, credentials = store.trust(), notary.credentials()
    store.close()
    if credentials is None:
        raise MeshError(
            "this node is a member now, but the certificates of the mesh begin in the future by this machine's clock",
            "set the clock, here or on the node that invited you, and repeat: mesh join TOKEN",
        )
    return len(trust.members), trust.role(home.node)
