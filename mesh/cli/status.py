"""`mesh status`: this node and its state."""

from typing import Any

from clan_learnings.repository.detection import UNCONFIRMED
from mesh.app.caller import CallerSide
from mesh.app.checks.node_checks import (
    clock_sentence,
    held_back_sentence,
    other_protocol_sentence,
    other_protocol_step,
    request_sentence,
    request_step,
    unfinished_sentence,
    unfinished_step,
    worker_sentence,
)
from mesh.app.client import ask
from mesh.app.status import node_status
from mesh.cli.arguments import parser
from mesh.cli.index import state_of
from mesh.cli.main import trust_step
from mesh.cli.output import plain, print_json, say, when
from mesh.cli.terminal import terminal
from mesh.core.display import number_of
from mesh.core.errors import MeshError
from mesh.core.statement import MEMBER, ROLE_NAMES
from mesh.store.acceptance import MAY_ONLY_READ, NO_CERTIFICATE, OVER_QUOTA, TOO_MANY_FEEDS
from mesh.store.home import open_home


def main(argv: list[str]) -> int:
    """Print the status; `--json` is also the vector file that `mesh export --since` takes."""
    arguments = parser("status", "mesh status --json > laptop.vector")
    arguments.add_argument("--feeds", action="store_true", help="also list every feed")
    given = arguments.parse_args(argv)
    home = open_home(given.home)
    status = node_status(home, home.store())
    status["search"] = _search(home.path)
    status["repository"] = _repository()
    told = _told(home.path) if status["sidecar"] else {}
    peers = [peer for peer in told.get("peers", ()) if peer["state"] not in ("left", "revoked")]
    status["worker"] = told.get("worker")
    status["held_back"] = _those(peers, "holds_back")
    status["other_protocol"] = _those(peers, "speaks_protocol")
    if given.json:
        print_json(status)
    else:
        say(*_lines(status, feeds=given.feeds))
    return 0


def _search(home: str) -> str:
    """What search runs on, in a line. A home whose index cannot be read has more to say elsewhere."""
    try:
        return str(state_of(home)["says"])
    except (MeshError, KeyError) as error:
        return f"not to be used: {error}"


def _repository() -> dict[str, Any]:
    """The repository we are in, and the one that its file asks for in vain."""
    here = terminal()
    found = (here.side or CallerSide(here.environ)).repository()
    UNCONFIRMED.clear()  # said here, and not once more
    says = f"{found.warning}; {trust_step(found.root)}" if found.unconfirmed else ""
    return {"repo": found.identity, "unconfirmed": found.unconfirmed or None, "says": says}


def _told(home: str) -> dict[str, Any]:
    """What the sidecar knows: the other members, and its worker."""
    try:
        told: dict[str, Any] = ask(home, "GET", "/peers")
    except MeshError:
        return {}  # it does not answer: mesh doctor has more to say of that
    return told


def _those(peers: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    """Members of which there is something to say under this name."""
    return [{name: peer[name] for name in ("node", "name", field)} for peer in peers if peer.get(field)]


def _lines(status: dict[str, Any], *, feeds: bool) -> list[str]:
    counts = status["counts"]
    records = ", ".join(f"{count} {log}" for log, count in counts["records"].items()) or "none"
    lines = [
        f"node      {status['name']}  {status['node']}{_role(status['role'])}",
        f"mesh      {status['mesh']}  ({counts['members']} members)",
        f"root      {status['root']}  (fold {status['fold_version']})",
        f"records   {records}",
        f"counting  {number_of(counts['operations'], 'operation')} in {number_of(len(status['feeds']), 'feed')}, {number_of(counts['statements'], 'statement')}",
        f"disk      {status['db_bytes']:,} bytes in {status['home']}",
        f"sidecar   {'process ' + str(status['sidecar']) if status['sidecar'] else 'not running; start it with: mesh up'}",
    ]
    if status["worker"]:
        process = status["worker"]["pid"]
        is_well = f"process {process}" if process else "not running"
        lines.append(f"worker    {plain(worker_sentence(status['worker']), 1000) or is_well}")
    lines.append(f"search    {plain(status['search'])}")
    if status["repository"]["says"]:
        lines.append(f"repo      {plain(status['repository']['says'], 1000)}")
    if status["mesh_time"]:
        lines.insert(3, f"mesh time {when(status['mesh_time'])}")
    if not status["certified"]:
        lines.append(f"waiting   this node is not admitted yet; where the root key is: mesh admit {status['node']}")
    lines += [
        f"clock     {what}{'; '.join(clock_sentence(status[name]))}"
        for name, what in (("clock", ""), ("private_clock", "private records: "))
        if status[name] is not None
    ]
    lines += [f"held back {plain(held_back_sentence(peer))}" for peer in status["held_back"]]
    lines += [
        f"apart     {plain(other_protocol_sentence(peer, None))}; {other_protocol_step(peer)}"
        for peer in status["other_protocol"]
    ]
    lines += [
        f"{'clipped' if item['clipped'] else 'waiting':<9} {number_of(item['operations'], 'operation')} of {item['feed']}: {_why(item, status['node'])}"
        for item in status["waiting"]
    ]
    for word, text in (
        ("forks", "feeds ended by a fork: another copy of that node wrote too, or its clock had been ahead"),
        ("ignored", "operations whose content breaks a rule; they change nothing"),
        ("held_statements", "statements of signers without the right"),
        ("strays", "ranges kept until what is missing before them arrives"),
    ):
        if counts[word]:
            lines.append(f"{word.split('_')[0]:<9} {counts[word]} {text}")
    if left := status["unfinished_erases"]:
        step = unfinished_step(has_sidecar=status["sidecar"] is not None)
        lines.append(f"erase     {unfinished_sentence(left, ())}; {step}; who reads: mesh doctor")
    lines += [
        f"asked     {plain(request_sentence(request), 1000)}; {request_step(request)}"
        for request in status["erase_requests"]
    ]
    lines += [
        f"kept      {name}: the damaged file of a repair; delete it once you no longer need it"
        for name in status["damaged_copies"]
    ]
    if feeds:
        lines += [
            f"feed      {feed['id']}  {feed['seq']}  {feed['head'][:16]}  {feed['name'] or 'not admitted'}"
            for feed in status["feeds"]
        ]
    return lines


def _role(role: str | None) -> str:
    """What this node is in the mesh, where that is not just a writer."""
    return "" if role in (None, MEMBER) else f"  ({ROLE_NAMES.get(role or '', role)})"


def _why(item: dict[str, Any], own: str) -> str:
    """Why operations do not count, and the cure, where there is one."""
    if item["written_again"]:
        return f"{item['why']}; its clock had been ahead, and they are written again"
    node = item["node"]
    if item["node"] == own and item["why"] == TOO_MANY_FEEDS:
        return "this node has opened more feeds than may count, so they are only here: mesh doctor"
    cures = {
        NO_CERTIFICATE: f"mesh admit {node}",
        MAY_ONLY_READ: "its node was admitted as a reader, so they count nowhere",
        OVER_QUOTA: f"they count as its quota grows, or, on an admin's node: mesh quota {node[:16]} SIZE",
        TOO_MANY_FEEDS: "its node has opened more feeds than may count: its home is copied or put back again and again",
    }
    return f"{item['why']}; {cures[item['why']]}" if item["why"] in cures else str(item["why"])
