"""Becoming a member: `mesh invite` makes a token, `mesh join` uses it."""

import asyncio
import os
import re
from shutil import rmtree

from mesh.app.client import ask
from mesh.cli.grammar import Given, WrongUsage, argument, command, option
from mesh.cli.init import harmless_name
from mesh.cli.membership import ROLE
from mesh.cli.node_names import a_role
from mesh.cli.output import print_json, put, say, tell, when
from mesh.core.errors import MeshError, NoHome, UsageError
from mesh.core.ids import display_name, text_id
from mesh.core.statement import INVITED, READERS, ROLE_NAMES, THROW_AWAY
from mesh.node.certificates import Certificates
from mesh.store.home import Home, create_home, node_process_id, open_home
from mesh.store.join_table import Cards
from peers.proto.cards import read_contact
from peers.trust.join_client import JoinRefused, join
from peers.trust.join_protocol import Joined
from peers.trust.join_token import JoinToken, parse


@command("mesh join TOKEN --name builder")
@argument("token", "TOKEN", "as `mesh invite` printed it on another node")
@option(
    "--name", metavar="NAME", help="how people see this node, if its home is made now (default: the machine's name)"
)
@option(
    "--ephemeral",
    help="leave the mesh when the sidecar stops, as a node does anyway whose token is of `mesh invite --ephemeral`",
)
def run_join(given: Given) -> int:
    """Make a home if there is none, prove the token, keep what the mesh answers."""
    token = parse(given.token)
    home, is_new = _home(given.home, token, given.name, ephemeral=given.ephemeral)
    asked: list[bool] = []
    try:
        joined = asyncio.run(join(token, home.identity(), home.name, lambda: asked.append(True)))
    except BaseException as error:
        # Nothing was written in it; a home that belongs nowhere is only in the way. But once it was asked for, its key may be
        # a member's, though the answer was lost: who repeats it with that key is answered again.
        if is_new and (not asked or isinstance(error, JoinRefused)):
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


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@command("mesh invite --uses 5 --expires 2h")
@option("--uses", metavar="N", type=int, default=1, help="how many nodes may join with it (default: 1)")
@option(
    "--expires", metavar="TIME", default="1h", help="how long it can be used: 30m, 2h, 7d (default: 1h; at most 30d)"
)
@ROLE
@option("--list", help="show the invitations that can still be used")
@option("--withdraw", metavar="ID", help="take an invitation back")
def run_invite(given: Given) -> int:
    """Make a token, list those outstanding, or take one back."""
    if given.list and given.withdraw:
        raise WrongUsage("--list and --withdraw exclude each other")
    home = open_home(given.home)
    if given.list:
        return _list_invitations(ask(home.path, "GET", "/invites"), as_json=given.json)
    if given.withdraw:
        answer = ask(home.path, "POST", "/withdraw", {"id": given.withdraw})
        print_json(answer) if given.json else put("withdrawn; nodes that have joined with it stay members")
        return 0
    wanted = {"uses": given.uses, "seconds": _seconds(given.expires), "role": given.role, "ephemeral": given.ephemeral}
    made = ask(home.path, "POST", "/invite", wanted)
    if made.get("role") != INVITED[given.role, given.ephemeral]:  # one that knows no roles would let in a writer
        ask(home.path, "POST", "/withdraw", {"id": made["id"]})
        raise UsageError(
            "the running sidecar is of an older version than this command, and knows no roles",
            "start it anew: mesh down, then mesh up --listen HOST:PORT",
        )
    if given.json:
        print_json(made)
        return 0
    put(made["token"])
    nodes = "one node" if made["uses"] == 1 else f"{made['uses']} nodes"
    tell(
        f"good for {nodes} to join as {a_role(made['role'])} until {when(made['expires_ms'])[:16]}Z; whoever has it can join, so pass it on in private"
    )
    tell("next, on the other machine: mesh join TOKEN, then mesh up")
    return 0


def _list_invitations(found: list[dict[str, object]], *, as_json: bool) -> int:
    if as_json:
        print_json(found)
    else:
        for item in found:
            role = ROLE_NAMES.get(str(item["role"]), "writer")
            until = when(int(str(item["expires_ms"])))[:16]
            put(f"{item['id']}  {role}  for {item['uses_left']} more  until {until}Z")
        if not found:
            tell("no invitation is outstanding")
    return 0


def _seconds(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9})([smhd]?)", text)
    if match is None:
        raise UsageError(f"{text!r} is not a length of time", "write it like 30m, 2h or 7d")
    return int(match[1]) * _UNITS[match[2] or "s"]
