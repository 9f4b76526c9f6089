"""`mesh quota`: how much each member has written and may write, and letting one write more."""

from __future__ import annotations

import re
from typing import Any

from mesh.app.status import member_shares
from mesh.cli.grammar import Given, WrongUsage, argument, command
from mesh.cli.node_names import admins_to_ask, find_node, node_name
from mesh.cli.output import plain, print_json, put, put_table, say, tell, when
from mesh.core.display import SIZES, shown_size
from mesh.core.errors import UsageError
from mesh.core.identity import Identity
from mesh.core.ids import text_id
from mesh.core.limits import QUOTA_MOST
from mesh.core.statement import READERS, ROLE_NAMES, Quota, sign
from mesh.store.home import Home, open_home
from mesh.store.store import Store

_DIGITS = 15  # more of them are too much of any unit
_COLUMNS = ("name", "role", "written", "may write", "of that free", "quota", "feeds")
_EXAMPLE = "mesh quota builder 128MB"


@command(_EXAMPLE)
@argument("node", "[NODE]", "a member's id, its name, or the beginning of its id", required=False)
@argument(
    "size",
    "[SIZE]",
    "what it may add each day from now on, like 128MB or 2GB; of a throw-away node in 30 days. It can only be raised",
    required=False,
)
def main(given: Given) -> int:
    """`mesh quota`, or `mesh quota NODE SIZE`."""
    if (given.node is None) != (given.size is None):
        raise WrongUsage("give a NODE and a SIZE, or neither")
    home = open_home(given.home)
    return _show(given, home) if given.node is None else _raise(given, home)


def _show(given: Given, home: Home) -> int:
    store = home.store()
    try:
        shares = member_shares(store)
    finally:
        store.close()
    if given.json:
        print_json(shares)
        return 0
    put_table(_COLUMNS, [_row(share) for share in shares])
    if any(share["waiting"] for share in shares):
        tell("mesh: what is beyond a quota waits until it grows\n  next: let a member write more: mesh quota NODE SIZE")
    return 0


def _row(share: dict[str, Any]) -> tuple[str, ...]:
    name, role = plain(share["name"]), ROLE_NAMES[share["role"]] + (", revoked" if share["revoked"] else "")
    if share["role"] in READERS or share["revoked"]:
        return name, role, shown_size(share["written"]), "nothing", "-", "-", "-"
    days = "a day" if share["days"] == 1 else f"in {share['days']} days"
    return (
        name,
        role,
        shown_size(share["written"]),
        shown_size(share["allowance"]),
        shown_size(max(0, share["allowance"] - share["written"])),
        f"{shown_size(share['quota'])} {days}",
        f"{share['feeds']} of {share['feed_limit']}",
    )


def _raise(given: Given, home: Home) -> int:
    size = parse_size(given.size)
    author = home.author()
    store = author.store
    node = find_node(store, given.node, known=True)
    name, trust = node_name(store, node), store.trust()
    if node not in trust.members:
        raise UsageError(f"{name} is not a member", f"first: mesh admit {text_id(node)} --name NAME")
    if node in trust.revoked:
        raise UsageError(f"{name} was revoked: what it writes counts nowhere", "let it join anew, with another home")
    if not trust.may_write(node):
        raise UsageError(f"{name} is a reader: what it writes counts nowhere", "see who may write: mesh quota")
    if size <= trust.quota(node):
        raise UsageError(
            f"the quota of {name} is {shown_size(trust.quota(node))} already, and it can only be raised",
            f"give more: mesh quota {plain(given.node)} {shown_size(2 * trust.quota(node)).replace(' ', '')}; or end the node: mesh revoke {text_id(node)[:16]}",
        )
    signer = _signer(home, store)
    fact = Quota(signer.public, store.clock(), node, size)
    author.merge_statements([sign(home.mesh, signer, fact).encode()])
    (share,) = (item for item in member_shares(store) if item["node"] == text_id(node))
    store.close()
    if given.json:
        print_json(share)
        return 0
    grows = f"; it grows again at {when(share['grows_ms'])[:16]}Z"
    put(
        f"{name} may write {shown_size(share['allowance'])} by now, and has written {shown_size(share['written'])}{grows}"
    )
    say("a running sidecar tells the others (without one: mesh export FILE, and import it there)")
    return 0


def _signer(home: Home, store: Store) -> Identity:
    trust = store.trust()
    if home.has_root_key:
        root = home.root_identity()
        if root.public == trust.root:
            return root
    if not trust.may_certify(home.node):
        raise UsageError("this node is no admin, so it may raise nobody's quota", admins_to_ask(store))
    return home.identity()


def parse_size(text: str) -> int:
    """A size as people write it. A megabyte has 1024 times 1024 bytes."""
    match = re.fullmatch(r"([0-9]+)(KB|MB|GB|TB)", text)
    digits = match[1].lstrip("0") if match else ""
    if match is None or not digits:
        raise UsageError(f"{text[:40]!r} is not a size", "write it like 500KB, 128MB or 2GB")
    size = int(digits[:_DIGITS]) * SIZES[match[2]]
    if len(digits) > _DIGITS or size > QUOTA_MOST:
        raise UsageError(f"{text[:40]} is too large", f"at most {shown_size(QUOTA_MOST).replace(' ', '')}")
    return size
