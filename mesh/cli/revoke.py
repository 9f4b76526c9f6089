"""`mesh revoke`: end a node."""

from datetime import UTC, datetime
from typing import NamedTuple

from mesh.cli.grammar import Given, argument, command, option
from mesh.cli.node_names import admins_to_ask, find_node, node_name
from mesh.cli.output import print_json, put, say
from mesh.core.display import number_of
from mesh.core.errors import UsageError
from mesh.core.identity import Identity
from mesh.core.ids import text_id
from mesh.core.limits import HEADS_PER_REVOKE, STATEMENTS_PER_REVOKE, TEXT_CHARS
from mesh.core.statement import Member, Quota, Revoke, sign
from mesh.store.home import Home, open_home
from mesh.store.store import Store

_ALWAYS_MS = 2**47 - 1


class _Counting(NamedTuple):
    """How many operations count: of one node, and of all others."""

    own: int
    others: int


@command('mesh revoke builder --reason "the machine was stolen"')
@argument("node", "NODE", "the node's id, its name, or the beginning of its id")
@option(
    "--keep-until",
    metavar="TIME",
    help="keep only what it wrote, and as an admin signed, up to this time, such as 2026-10-01T12:00 (UTC if no zone is given); "
    "without it all that counts now is kept",
)
@option("--reason", metavar="TEXT", may_be_empty=True, default="", help="why; it stays for all to read")
def main(given: Given) -> int:
    """Sign the revocation with the root key if it is here, else with our own if we are an admin."""
    if len(given.reason) > TEXT_CHARS:
        raise UsageError(f"a reason has at most {TEXT_CHARS} characters", "say it shorter")
    until = _ALWAYS_MS if given.keep_until is None else _time(given.keep_until)
    home = open_home(given.home)
    author = home.author()
    store = author.store
    node = find_node(store, given.node, known=True)
    name = node_name(store, node)
    if node == home.node:
        raise UsageError(
            "this is the node you are on: what it writes would count nowhere",
            "revoke it from another admin's machine, or where else the root key is",
        )
    new = node not in store.trust().revoked or given.keep_until is not None
    before = _count(store, node)
    if new:
        signer = _signer(home, store, node)
        heads, kept = _heads(store, node, until), _statements(store, node, until)
        fact = Revoke(signer.public, store.clock(), node, heads, kept, given.reason)
        author.merge_statements([sign(home.mesh, signer, fact).encode()])
    after = _count(store, node)
    stopped, others = before.own - after.own, before.others - after.others
    if given.json:
        print_json(
            {
                "node": text_id(node),
                "name": name,
                "new": new,
                "kept": after.own,
                "stopped": stopped,
                "stopped_of_others": others,
            }
        )
    elif not new:
        say(
            f"{name} was revoked before; {number_of(after.own, 'operation')} of it {'counts' if after.own == 1 else 'count'}",
            f"next: to keep less of it: mesh revoke {text_id(node)[:16]} --keep-until TIME",
        )
    else:
        put(
            f"revoked {name}: {number_of(stopped, 'operation')} of it {'stops' if stopped == 1 else 'stop'} counting, {number_of(after.own, 'operation')} kept"
        )
        if others:
            say(
                f"{number_of(others, 'operation')} of nodes that it had admitted {'waits' if others == 1 else 'wait'}; admit those nodes anew: mesh status"
            )
        say("next: mesh peers; a running sidecar tells the others (without one: mesh export FILE, and import it there)")
    return 0


def _signer(home: Home, store: Store, node: bytes) -> Identity:
    trust = store.trust()
    if home.has_root_key:
        root = home.root_identity()
        if root.public == trust.root:
            return root
    if node in trust.admins:
        raise UsageError(
            f"{node_name(store, node)} is an admin, and only the root key revokes an admin",
            "run the command where the root key is, which is where the mesh was made or recovered",
        )
    if not trust.may_certify(home.node):
        raise UsageError("this node is no admin, so it may revoke nobody", admins_to_ask(store))
    return home.identity()


def _heads(store: Store, node: bytes, until_ms: int) -> tuple[tuple[int, int, bytes], ...]:
    """Up to where each feed of the node goes on counting; a feed that is not named is void."""
    stamp = min((until_ms + 1 << 16) - 1, 2**63 - 1)
    heads = []
    for row in sorted(store.feeds.of_node(node), key=lambda row: -row.accepted_hlc)[:HEADS_PER_REVOKE]:
        head = store.feeds.accepted_until(row, stamp)
        if head.seq:
            heads.append((row.feed.epoch, head.seq, head.hash))
    return tuple(sorted(heads))


def _statements(store: Store, node: bytes, until_ms: int) -> tuple[bytes, ...]:
    """What the node signed as an admin and what of it goes on counting: the newest, if there are too many."""
    trust = store.trust()
    signed = [
        (item.fact.at, item.id)
        for item in trust.statements()
        if isinstance(item.fact, Member | Revoke | Quota)
        and item.fact.signer == node
        and item.fact.at <= until_ms
        and trust.counts(item.id)
    ]
    return tuple(sorted(identity for _, identity in sorted(signed)[-STATEMENTS_PER_REVOKE:]))


def _count(store: Store, node: bytes) -> _Counting:
    rows = store.feeds.all()
    own = sum(row.accepted.seq for row in rows if row.feed.node == node)
    return _Counting(own, sum(row.accepted.seq for row in rows) - own)


def _time(text: str) -> int:

    try:
        time = datetime.fromisoformat(text)
        time = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        milliseconds = int(time.timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!r} is not a time", "write it like 2026-10-01T12:00, or 2026-10-01T12:00+02:00"
        ) from error
    if not 0 <= milliseconds <= _ALWAYS_MS:
        raise UsageError(
            f"{text!r} is not a time that any clock here could have shown", "write it like 2026-10-01T12:00"
        )
    return milliseconds
