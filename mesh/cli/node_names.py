"""Nodes by what a person types: an id, its beginning, or a name."""

from mesh.core.errors import AmbiguousId, UnknownId
from mesh.core.ids import ID_CHARS, display_name, fitting, parse_id, text_id
from mesh.core.statement import ADMIN, ROLE_NAMES
from mesh.store.store import Store


def find_node(store: Store, text: str, *, known: bool = False) -> bytes:
    """The node meant. A whole id may be of a node nobody has heard of, unless it has to be `known`."""
    members = store.trust().members
    nodes = {row.feed.node for row in store.feeds.all()} | set(members)
    if len(text) == ID_CHARS and not known:
        return parse_id(text.lower(), "node id")
    matches = fitting(text, {node: members[node].name if node in members else "" for node in nodes})
    if not matches or not text:
        raise UnknownId(
            f"no node that is known here has the name {text!r}, or an id beginning so",
            "list those known: mesh status --feeds" if known else "give the whole id, as `mesh init` printed it there",
        )
    if len(matches) > 1:
        raise AmbiguousId(
            f"{text} fits several nodes", [f"{text_id(node)}  {node_name(store, node)}" for node in matches]
        )
    return matches[0]


def a_role(role: str) -> str:
    """A role within a sentence."""
    return f"{'an' if role == ADMIN else 'a'} {ROLE_NAMES[role]}"


def admins_to_ask(store: Store) -> str:
    """Where a command can be run that only the root key or an admin may sign."""
    trust = store.trust()
    admins = ", ".join(node_name(store, admin) for admin in sorted(trust.admins) if trust.may_certify(admin))
    return f"run the command where the root key is{', or on an admin: ' + admins if admins else ''}"


def node_name(store: Store, node: bytes) -> str:
    """How people see a node."""
    member = store.trust().members.get(node)
    return display_name(member.name if member is not None else "", node)
