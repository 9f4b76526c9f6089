"""`mesh invite`: let another machine join."""

import re

from mesh.app.client import ask
from mesh.cli.arguments import add_role, parser
from mesh.cli.node_names import a_role
from mesh.cli.output import print_json, put, tell, when
from mesh.core.errors import UsageError
from mesh.core.statement import INVITED, ROLE_NAMES
from mesh.store.home import open_home

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def main(argv: list[str]) -> int:
    """Make a token, list those outstanding, or take one back."""
    arguments = parser("invite", "mesh invite --uses 5 --expires 2h")
    arguments.add_argument(
        "--uses", type=int, default=1, metavar="N", help="how many nodes may join with it (default: 1)"
    )
    arguments.add_argument(
        "--expires",
        default="1h",
        metavar="TIME",
        help="how long it can be used: 30m, 2h, 7d (default: 1h; at most 30d)",
    )
    add_role(arguments)
    other = arguments.add_mutually_exclusive_group()
    other.add_argument("--list", action="store_true", help="show the invitations that can still be used")
    other.add_argument("--withdraw", metavar="ID", help="take an invitation back")
    given = arguments.parse_args(argv)
    home = open_home(given.home)
    if given.list:
        return _list(ask(home.path, "GET", "/invites"), as_json=given.json)
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


def _list(found: list[dict[str, object]], *, as_json: bool) -> int:
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
