"""`mesh recover`: a new root key, signed by the recovery key."""

import os

from mesh.cli.grammar import Given, command, option
from mesh.cli.output import print_json, say, tell
from mesh.core.errors import HomePermissions, UsageError
from mesh.core.identity import Identity
from mesh.core.ids import text_id
from mesh.core.limits import STATEMENTS_PER_REVOKE, TEXT_CHARS
from mesh.core.statement import ADMIN, Member, Quota, Recover, Revoke, Signed, Statement, sign
from mesh.core.trust import Trust
from mesh.node.certificates import recovery_cards
from mesh.store import keyfile
from mesh.store.home import Home, open_home
from mesh.store.join_table import Cards
from mesh.store.store import Store


@command("mesh recover --key /media/usb/recovery.key")
@option("--key", metavar="FILE", required=True, help="the recovery key, as `mesh init` made it")
@option("--new-root", metavar="FILE", help="where to write the new root key (default: root.key in this home)")
@option("--reason", metavar="TEXT", default="", help="why; it stays for all to read")
def main(given: Given) -> int:
    """Make the key, sign, and only then let it take the old one's place: killed anywhere, it can be run again."""
    if len(given.reason) > TEXT_CHARS:
        raise UsageError(f"a reason has at most {TEXT_CHARS} characters", "say it shorter")
    home = open_home(given.home)
    author = home.author()
    store = author.store
    recovery = _recovery_key(store, given.key)
    if given.new_root is not None and os.path.exists(given.new_root):
        raise UsageError(f"{given.new_root} is there already", "name a new file with --new-root FILE")
    draft = home.file("root.key.new") if given.new_root is None else given.new_root
    root = _new_key(draft)
    trust = store.trust()
    kept, lost = _kept(trust)
    if root.public != trust.root:  # else it was signed, and then killed
        shelf = Cards(store.database)
        for card in recovery_cards(home, recovery, root.public, store.clock()):  # first: the statement makes them count
            shelf.keep(*card)
        facts = _facts(home, trust, store.clock(), recovery, root, kept, given.reason)
        signers = {recovery.public: recovery, root.public: root}
        author.merge_statements([sign(home.mesh, signers[fact.signer], fact).encode() for fact in facts])
    replaced = _change_places(home, draft if given.new_root is None else None)
    path = home.file("root.key") if given.new_root is None else os.path.abspath(given.new_root)
    if given.json:
        print_json(
            {"root": text_id(root.public), "root_key": path, "replaced": replaced, "kept": len(kept), "lost": lost}
        )
    else:
        say(
            f"the mesh has a new root key, in {path}",
            f"{len(kept)} statements of earlier roots still count; nothing they sign from now on does",
            "next: mesh admin list, and mesh revoke whom a thief has named; a running sidecar tells the others",
        )
    if lost:
        tell(
            f"mesh: {lost} more statements did not fit and count no more",
            "  next: mesh status, and admit whom it shows",
        )
    tell(f"Take the recovery key offline again: {given.key} must not stay where an agent can read it.")
    return 0


def _recovery_key(store: Store, path: str) -> Identity:
    founders = store.founders()
    if founders is None:
        raise UsageError(
            "this node has not heard of the keys its mesh was founded with", "import a bundle first: mesh import FILE"
        )
    key = keyfile.load(path)
    if key.public in store.trust().roots:
        raise UsageError(f"{path} is a root key, not the recovery key", "give the file that was called recovery.key")
    if key.public != founders.recovery:
        raise UsageError(
            f"{path} is not the recovery key of this mesh",
            "give the file recovery.key that `mesh init` made with the mesh",
        )
    return key


def _new_key(path: str) -> Identity:
    """A key that nobody has seen, or the one that an interrupted recovery has made."""
    if os.path.exists(path):
        return keyfile.load(path)
    try:
        return keyfile.create(path)
    except OSError as error:
        raise HomePermissions(
            f"{path} cannot be written: {error.strerror}", "name another with --new-root FILE"
        ) from error


def _kept(trust: Trust) -> tuple[list[Statement], int]:
    """What roots have signed and what counts, and how many had to be left out.

    Revocations first, then what names today's members, then their quotas: if there are too many, the least is lost.
    """
    counting = [
        item
        for item in trust.statements()
        if isinstance(item.fact, Member | Revoke | Quota) and item.fact.signer in trust.roots and trust.counts(item.id)
    ]
    current = set(trust.members.values())

    def order(item: Statement) -> tuple[int, int]:
        if isinstance(item.fact, Revoke):
            return 0, 0
        if isinstance(item.fact, Quota):
            return 3, -item.fact.at
        assert isinstance(item.fact, Member)
        return (1 if item.fact.role == ADMIN else 2 if item.fact in current else 4), -item.fact.at

    counting.sort(key=order)
    return counting[:STATEMENTS_PER_REVOKE], len(counting[STATEMENTS_PER_REVOKE:])


def _facts(
    home: Home, trust: Trust, now_ms: int, recovery: Identity, root: Identity, kept: list[Statement], reason: str
) -> list[Signed]:
    """The recovery, later than any before it, and this node as an admin of the new root if it was one."""
    earlier = [item.fact.at for item in trust.statements() if isinstance(item.fact, Recover)]
    at = max(now_ms, *(time + 1 for time in earlier)) if earlier else now_ms
    facts: list[Signed] = [Recover(recovery.public, at, root.public, tuple(sorted(item.id for item in kept)), reason)]
    if trust.may_certify(home.node):
        member = trust.members[home.node]
        facts.append(Member(root.public, max(at, member.at + 1), home.node, member.name, ADMIN))
    return facts


def _change_places(home: Home, draft: str | None) -> str | None:
    """Move the old root key aside, where there is one, and the new one to its place. Returns where the old one is."""
    old, aside = home.file("root.key"), None
    if os.path.exists(old):
        number = 1
        while os.path.exists(f"{old}.replaced-{number}"):
            number += 1
        aside = f"{old}.replaced-{number}"
        os.rename(old, aside)
    if draft is not None:
        os.rename(draft, old)
    return aside
