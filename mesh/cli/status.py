"""`mesh status`: this node and its state."""

import time
from typing import Any

from clan_learnings.agents.quiet import quiet_sentence, quiet_until
from clan_learnings.records.shared_settings import KEY, SharedSettings
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
from mesh.cli.grammar import Given, command, option
from mesh.cli.index import state_of
from mesh.cli.main import trust_step
from mesh.cli.output import plain, print_json, say_labelled, when
from mesh.cli.terminal import terminal
from mesh.core.display import number_of
from mesh.core.errors import MeshError
from mesh.core.statement import MEMBER, ROLE_NAMES
from mesh.store.acceptance import MAY_ONLY_READ, NO_CERTIFICATE, OVER_QUOTA, TOO_MANY_FEEDS
from mesh.store.home import open_home
from mesh.store.reader import Reader
from mesh.store.store import Store

_AWAY = ("suspect", "dead")
_LABEL = 10  # columns
_NAMED = 5  # machines, in a line


@command(
    "mesh status --json > laptop.vector",
    more="With --json it is also the vector file that `mesh export --since` takes.",
)
@option("-v", "--verbose", help="also ids, roots, what is counted, and every feed")
@option("--feeds", help="the same")
def main(given: Given) -> int:
    """Print the status, what a person wants to know first."""
    home = open_home(given.home)
    store = home.store()
    status = node_status(home, store)
    status["quiet"] = _quiet(home.path, store)
    status["search"] = _search(home.path)
    status["repository"] = _repository()
    told = _told(home.path) if status["sidecar"] else None
    peers = None if told is None else [peer for peer in told["peers"] if peer["state"] not in ("left", "revoked")]
    status["worker"] = None if told is None else told.get("worker")
    status["machines"] = _machines(peers, status["counts"]["members"])
    status["held_back"] = _those(peers or [], "holds_back")
    status["other_protocol"] = _those(peers or [], "speaks_protocol")
    if given.json:
        print_json(status)
        return 0
    needs, notes = _needs(status), _notes(status)
    say_labelled(_LABEL, *_first_lines(status), *needs, *notes, _last_line(status, len(needs)))
    if given.verbose or given.feeds:
        say_labelled(_LABEL, "", *_facts(status))
    return 0


def _quiet(home: str, store: Store) -> dict[str, Any]:
    """Whether hooks say nothing: here until a time (0: without an end; null: they speak), or on every node."""
    settings = SharedSettings(Reader(store.database.connection).fields(KEY))
    return {"until_ms": quiet_until(home, int(time.time() * 1000)), "fleet": settings.is_quiet}


def _machines(peers: list[dict[str, Any]] | None, members: int) -> dict[str, Any]:
    """How many there are, and who is not in step, as far as a running node knows."""
    others = peers or []
    return {
        "count": members if peers is None else len(others) + 1,
        "known": peers is not None,
        "behind": [peer["name"] for peer in others if peer["in_step"] is False],
        "away": [peer["name"] for peer in others if peer["state"] in _AWAY],
    }


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


def _told(home: str) -> dict[str, Any] | None:
    """What the sidecar knows: the other members, and its worker; None if it does not answer."""
    try:
        told: dict[str, Any] = ask(home, "GET", "/peers")
    except MeshError:
        return None  # mesh doctor has more to say of that
    return told


def _those(peers: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    """Members of which there is something to say under this name."""
    return [{name: peer[name] for name in ("node", "name", field)} for peer in peers if peer.get(field)]


def _first_lines(status: dict[str, Any]) -> list[str]:
    """Does it run, who is there, what is there."""
    process, counts = status["sidecar"], status["counts"]
    runs = f"is running, as process {process}" if process else "is not running; start it with: mesh up --detach"
    records = ", ".join(f"{count:,} {log}" for log, count in counts["records"].items()) or "none"
    lines = [
        f"node      {status['name']}{_role(status['role'])} {runs}",
        f"machines  {_fleet(status['machines'], runs=bool(process))}",
        f"records   {records}",
    ]
    until = status["quiet"]["until_ms"]
    if until is not None:
        lines.append(f"quiet     {quiet_sentence(until)}; to end that: mesh quiet --off")
    if status["quiet"]["fleet"]:
        lines.append("quiet     the hooks of every node say nothing, as an admin has set")
    return lines


def _fleet(machines: dict[str, Any], *, runs: bool) -> str:
    count = machines["count"]
    if count <= 1:
        return "this one alone; let another join: mesh invite"
    if not machines["known"]:
        return f"{count}; {'the node does not say who is in step: mesh doctor' if runs else 'who is in step, only a running node knows'}"
    apart = [
        f"{what}: {plain(', '.join(machines[kind][:_NAMED]))}{_more(len(machines[kind]) - _NAMED)}"
        for kind, what in (("behind", "catching up"), ("away", "away"))
        if machines[kind]
    ]
    return f"{count}; {'; '.join(apart)}" if apart else f"{count}, all in step"


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


def _needs(status: dict[str, Any]) -> list[str]:
    """What somebody has to do something about, and what."""
    lines = []
    if not status["certified"]:
        lines.append(f"waiting   this node is not admitted yet; where the root key is: mesh admit {status['node']}")
    if status["worker"] and (says := worker_sentence(status["worker"])):
        lines.append(f"worker    {plain(says, 1000)}")
    lines += [
        f"clock     {what}{'; '.join(clock_sentence(status[name]))}"
        for name, what in (("clock", ""), ("private_clock", "private records: "))
        if status[name] is not None
    ]
    if status["repository"]["says"]:
        lines.append(f"repo      {plain(status['repository']['says'], 1000)}")
    lines += [f"held back {plain(held_back_sentence(peer))}" for peer in status["held_back"]]
    lines += [
        f"apart     {plain(other_protocol_sentence(peer, None))}; {other_protocol_step(peer)}"
        for peer in status["other_protocol"]
    ]
    lines += [
        f"{'clipped' if item['clipped'] else 'waiting':<9} {number_of(item['operations'], 'operation')} of {item['feed']}: {_why(item, status['node'])}"
        for item in status["waiting"]
    ]
    if left := status["unfinished_erases"]:
        step = unfinished_step(has_sidecar=status["sidecar"] is not None)
        lines.append(f"erase     {unfinished_sentence(left, ())}; {step}; who reads: mesh doctor")
    lines += [
        f"asked     {plain(request_sentence(request), 1000)}; {request_step(request)}"
        for request in status["erase_requests"]
    ]
    return lines + [
        f"kept      {name}: the damaged file of a repair; delete it once you no longer need it"
        for name in status["damaged_copies"]
    ]


def _notes(status: dict[str, Any]) -> list[str]:
    """What is worth knowing, and nobody can change."""
    return [
        f"{word.split('_')[0]:<9} {status['counts'][word]} {text}"
        for word, text in (
            ("forks", "feeds ended by a fork: another copy of that node wrote too, or its clock had been ahead"),
            ("ignored", "operations whose content breaks a rule; they change nothing"),
            ("held_statements", "statements of signers without the right"),
            ("strays", "ranges kept until what is missing before them arrives"),
        )
        if status["counts"][word]
    ]


def _last_line(status: dict[str, Any], needs: int) -> str:
    """How much waits for a person, and what to do next."""
    if needs:
        return f"needs you {number_of(needs, 'thing')}, above; all there is to mend: mesh doctor"
    return f"needs you nothing{'' if status['sidecar'] else ' else'}; what is new: mesh tail"


def _facts(status: dict[str, Any]) -> list[str]:
    """Ids, roots, counts and feeds."""
    counts = status["counts"]
    lines = [
        f"id        {status['node']}",
        f"mesh      {status['mesh']}  ({number_of(counts['members'], 'member')})",
        f"root      {status['root']}  (fold {status['fold_version']})",
        f"counting  {number_of(counts['operations'], 'operation')} in {number_of(len(status['feeds']), 'feed')}, {number_of(counts['statements'], 'statement')}",
        f"disk      {status['db_bytes']:,} bytes in {status['home']}",
        f"search    {plain(status['search'])}",
    ]
    if status["worker"]:
        process = status["worker"]["pid"]
        lines.append(f"worker    {f'process {process}' if process else 'not running'}")
    if status["mesh_time"]:
        lines.insert(3, f"mesh time {when(status['mesh_time'])}")
    return lines + [
        f"feed      {feed['id']}  {feed['seq']}  {feed['head'][:16]}  {feed['name'] or 'not admitted'}"
        for feed in status["feeds"]
    ]


def _role(role: str | None) -> str:
    """What this node is in the mesh, where that is not just a writer."""
    return "" if role in (None, MEMBER) else f" ({ROLE_NAMES.get(role or '', role)})"


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
