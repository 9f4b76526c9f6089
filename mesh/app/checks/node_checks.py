"""Problems of this node, each with what to do about it. Pure, given what was read."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from mesh.app.record_json import iso
from mesh.core.display import number_of, shown_size
from mesh.core.limits import PROTOCOL_VERSION
from mesh.core.statement import ADMIN
from mesh.store.acceptance import MAY_ONLY_READ, OVER_QUOTA, TOO_MANY_FEEDS
from mesh.store.erasure import WalReader

_LAG_SECONDS = 60  # a neighbour that differs for longer than this is worth a word
_OFFSET_MS = 60_000
_ENDS_TOLD = 2  # one may have been ended by somebody


class Problem(NamedTuple):
    """One thing to look at. `sort` is its name in the operations guide."""

    sort: str
    sentence: str
    next_step: str


def request_sentence(request: dict[str, Any]) -> str:
    """Who asked to erase a record, why, and why the text is still there."""
    now = "it stays as it is until then" if request["is_live"] else "it is in no view any more"
    return (
        f"{request['name']} asked to erase {request['id'][:8]}, which {request['author']} wrote (reason: {request['reason']});"
        f" {now}, and its text is still in this database and in those of the others, because only its author, an admin"
        " or the root key can erase it"
    )


def request_step(request: dict[str, Any]) -> str:
    """What somebody who may erase it can do about it."""
    return (
        f"erase it: mesh erase {request['id'][:16]} --reason REASON;"
        f" or say no: mesh proposals dismiss {request['request'][:16]}"
    )


def unfinished_sentence(left: Sequence[str], readers: Sequence[WalReader]) -> str:
    """Where erased text may still be, and who is in the way of its leaving."""
    who = " and ".join(f"process {reader.pid} ({reader.command or 'not to be seen from here'})" for reader in readers)
    why = f"{who} still reads an older state" if readers else "a reader, or a full disk, is in the way"
    if not any(name.endswith(".db") for name in left):
        why = "the sidecar's worker process has not brought it up to date since"
    return f"erased text may still be in {', '.join(left)}: {why}"


def unfinished_step(*, has_sidecar: bool) -> str:
    """Who finishes it, and how to help."""
    if has_sidecar:
        return "nothing, if it ends soon: the sidecar tries again every second; else end what reads, or make room on the disk"
    return (
        "end what reads, or make room on the disk; then have it finished: mesh up --detach, or any command that writes"
    )


def examine(
    status: dict[str, Any],
    peers: dict[str, Any] | None,
    *,
    recovery_key: str | None,
    readers: Sequence[WalReader] = (),
    shares: Sequence[dict[str, Any]] = (),
) -> Iterator[Problem]:
    """Findings, the gravest first. `peers`: what the sidecar says, if one runs. `recovery_key`: its file, if it lies here.

    `readers`: who is in the way of an erase, if one is not finished. `shares`: of all members, see `mesh.app.status`.
    """
    yield from _home(status, recovery_key, readers)
    yield from _clock(status)
    yield from _waiting(status)
    yield from _shares(status, shares)
    if peers is None:
        yield Problem("no sidecar", "no sidecar is running: nothing comes in or goes out", "mesh up --detach")
    else:
        yield from _worker(peers)
        yield from _peers(peers)


def _home(status: dict[str, Any], recovery_key: str | None, readers: Sequence[WalReader]) -> Iterator[Problem]:
    if status["damaged_copies"]:
        names = ", ".join(status["damaged_copies"])
        yield Problem(
            "damaged copy", f"{names} kept by a repair may hold erased text", "delete it once you no longer need it"
        )
    if status["unfinished_erases"]:
        step = unfinished_step(has_sidecar=status["sidecar"] is not None)
        yield Problem("unfinished erase", unfinished_sentence(status["unfinished_erases"], readers), step)
    for record in status["erased_edits"]:
        yield Problem(
            "edit of what is erased",
            f"{record[:8]} was erased, and an edit that was made at the same time may still have its text",
            f"erase it once more: mesh erase {record[:16]} --reason REASON",
        )
    for request in status["erase_requests"]:
        yield Problem("erase asked", request_sentence(request), request_step(request))
    if not status["certified"]:
        yield Problem(
            "not admitted",
            "this node is not a member: what it writes counts nowhere yet",
            f"mesh join TOKEN, or where the root key is: mesh admit {status['node']}",
        )
    elif not status["can_link"]:
        yield Problem(
            "no certificate",
            "this node is a member but has no certificate, so it can have no links",
            "ask an admin for a token (`mesh invite`), then here: mesh join TOKEN",
        )
    if recovery_key is not None:
        yield Problem(
            "recovery key here",
            f"the recovery key still lies in the home: {recovery_key}",
            "move it to a place no agent can read",
        )


def clock_sentence(found: dict[str, Any]) -> tuple[str, str]:
    """What is known of a clock that is behind the stamps here, and what to do."""
    if found["peers_say"] == "behind":
        times = f"the last operation here is stamped {found['last_stamp']}, and the clock says {found['clock']}"
        return f"{times}; by the clocks of peers this machine's is behind", "set this machine's clock"
    return found["says"], found["next"]


def other_protocol_sentence(peer: dict[str, Any], version: str | None) -> str:
    """A member with which nothing can be exchanged. `version`: of clan-mesh here, if known."""
    there = f" (clan-mesh {peer['version']})" if peer.get("version") else ""
    here = f" (clan-mesh {version})" if version else ""
    return (
        f"{peer['name']} speaks protocol {peer['speaks_protocol']}{there}, this node protocol {PROTOCOL_VERSION}{here}:"
        " nothing is exchanged with it"
    )


def other_protocol_step(peer: dict[str, Any]) -> str:
    """The side to upgrade."""
    return f"upgrade clan-mesh {'there' if peer['speaks_protocol'] < PROTOCOL_VERSION else 'here'}"


def held_back_sentence(peer: dict[str, Any]) -> str:
    """That a peer has operations of ours and does not count them."""
    return (
        f"{peer['name']} holds back {peer['holds_back']} {'operation' if peer['holds_back'] == 1 else 'operations'} of this"
        " node: by its clock their time has not come, or it lacks what they rest on"
    )


def _clock(status: dict[str, Any]) -> Iterator[Problem]:
    for name, what in (("clock", ""), ("private_clock", "private records: ")):
        if status[name] is not None:
            sentence, step = clock_sentence(status[name])
            yield Problem("clock in doubt", what + sentence, step)


def _waiting(status: dict[str, Any]) -> Iterator[Problem]:
    steps = {
        "no certificate": ("unknown author", "if that node belongs here: mesh admit NODE"),
        "ahead of the clock": ("clock ahead", "check the clock of that machine; it counts once its time has come"),
        "fork": (
            "fork",
            "another copy of that node wrote too, or its clock had been ahead; what it lost is written again by itself",
        ),
        "revoked": ("revoked", "nothing: this is what the revocation was for"),
        MAY_ONLY_READ: (
            "reader",
            "nothing: it was admitted as a reader; to let it write, it has to join anew as a writer",
        ),
        OVER_QUOTA: (
            "over quota",
            "nothing, if that is well: they count as the quota grows; or at once, on an admin's node: mesh quota NODE SIZE",
        ),
        TOO_MANY_FEEDS: (
            "feeds left out",
            "give each copy of that home a home of its own, on an admin's node: mesh invite --ephemeral --uses N",
        ),
    }
    left_out: list[dict[str, Any]] = []
    for item in status["waiting"]:
        if item.get("written_again"):
            continue  # its clock had been ahead: that is in order again
        if item["why"] == TOO_MANY_FEEDS and item["node"] == status["node"]:
            left_out.append(item)
            continue
        sort, step = steps.get(item["why"], ("waiting", "mesh status"))
        is_one = item["operations"] == 1
        verb = ("does" if is_one else "do") + " not count" if item["clipped"] else "waits" if is_one else "wait"
        yield Problem(
            sort, f"{number_of(item['operations'], 'operation')} of {item['feed']} {verb}: {item['why']}", step
        )
    if left_out:
        yield _left_out(left_out)
    counts = status["counts"]
    if counts["strays"]:
        yield Problem(
            "gap",
            f"{counts['strays']} pieces wait for what comes before them",
            "they are completed from peers: mesh peers",
        )
    if counts["held_statements"]:
        yield Problem(
            "held statements",
            f"{counts['held_statements']} statements wait for their signer's right to make them",
            "if an admin was named lately, mesh peers; else they are someone's mistake and harmless",
        )
    if counts["ignored"]:
        yield Problem(
            "ignored",
            f"{counts['ignored']} operations have content that breaks a rule; they change nothing",
            "a newer clan-mesh may understand them; else leave them",
        )


def _left_out(items: Sequence[dict[str, Any]]) -> Problem:
    count = sum(item["operations"] for item in items)
    lost = (
        "1 operation of this node counts nowhere, and is"
        if count == 1
        else f"{count:,} operations of this node count nowhere, and are"
    )
    which = "is one feed" if len(items) == 1 else f"and {number_of(len(items) - 1, 'other')} are {len(items)} feeds"
    return Problem(
        "feeds left out",
        f"{lost} only here: {items[0]['feed']} {which} too many, because copies of this home have opened others",
        "keep a copy of them (mesh export FILE), join anew with a home of its own (mesh join TOKEN --home DIR), and record there"
        " what is missing",
    )


def _shares(status: dict[str, Any], shares: Sequence[dict[str, Any]]) -> Iterator[Problem]:
    """Who comes near what a member may write. Of others only admins are told: nobody else can do anything about it."""
    for share in shares:
        if share["revoked"]:
            continue
        if share["node"] == status["node"]:
            yield from _own_share(share)
        elif status["role"] == ADMIN:
            yield from _other_share(share)


def _own_share(share: dict[str, Any]) -> Iterator[Problem]:
    if share["feeds"] * 4 >= share["feed_limit"] * 3:
        yield Problem(
            "many feeds",
            f"this node has opened {share['feeds']} of the {share['feed_limit']} feeds that may count by now; a home that is copied"
            " for every CI job, or put back from a backup again and again, opens one each time",
            "give each job a throw-away node of its own: on an admin's node mesh invite --ephemeral --uses N, in the job mesh join TOKEN",
        )
    left = share["allowance"] - share["written"]
    if share["quota"] and left * 4 <= share["quota"]:
        yield Problem(
            "quota",
            f"this node may write {shown_size(max(0, left))} more until its quota of {shown_size(share['quota'])} is added again,"
            f" at {iso(share['grows_ms'])}",
            f"nothing, if that is enough; else have it raised on an admin's node: mesh quota {share['node'][:16]} SIZE",
        )
    if share["forked_too_often"]:
        yield _forked(share, "this node")


def _other_share(share: dict[str, Any]) -> Iterator[Problem]:
    node = share["node"][:16]
    if share["waiting"]:
        yield Problem(
            "member over quota",
            f"{share['name']} has written {shown_size(share['written'])}, more than the {shown_size(share['allowance'])} it may by now:"
            " the rest waits",
            f"if it is to write so much: mesh quota {node} SIZE; if it was taken over: mesh revoke {node}",
        )
    if share["feeds"] >= share["feed_limit"]:
        yield Problem(
            "feeds of a member",
            f"{share['name']} has opened all {share['feeds']} feeds that may count of it by now: what it writes in more of them is"
            " left out",
            f"have each copy of its home join by itself: mesh invite --ephemeral --uses N; if it was taken over: mesh revoke {node}",
        )
    if share["forked_too_often"]:
        yield _forked(share, share["name"])


def _forked(share: dict[str, Any], name: str) -> Problem:
    return Problem(
        "forked too often",
        f"{name} has forked more feeds than may count of it, so nothing it wrote does",
        f"on an admin's node: mesh revoke {share['node'][:16]}; then let it join anew, each copy with a home of its own",
    )


def worker_sentence(worker: dict[str, Any]) -> str:
    """How the worker process is, in words; empty if there is nothing to say."""
    times = worker.get("ended", 0)
    if times and worker.get("pid") is None:
        return f"the worker process does not run, so indexes and rendered files are late: it {worker.get('says')}"
    if times < _ENDS_TOLD:
        return ""
    return (
        f"the worker process has ended {number_of(times, 'time')} in the last hour: indexes and rendered files are late"
    )


def _worker(report: dict[str, Any]) -> Iterator[Problem]:
    worker = report.get("worker")  # an older node has none
    if isinstance(worker, dict) and (sentence := worker_sentence(worker)):
        yield Problem(
            "worker",
            sentence,
            "nothing, if it was ended from outside: the sidecar starts it again; why it ended is in the log of the sidecar",
        )


def _peers(report: dict[str, Any]) -> Iterator[Problem]:
    members = [peer for peer in report["peers"] if peer["state"] not in ("left", "revoked")]
    is_met = any(peer.get("speaks_protocol") is not None for peer in members)  # the network is not what is wrong
    if members and not report["links"] and not is_met:
        yield Problem(
            "alone",
            f"none of {len(members)} other members can be reached",
            "check the network and that one of them runs with --listen: mesh peers",
        )
    for peer in members:
        if (peer["lag_seconds"] or 0) > _LAG_SECONDS:
            yield Problem(
                "behind",
                f"{peer['name']} has differed for {peer['lag_seconds']:.0f} s: it lacks {peer['they_lack']} operations, we lack {peer['we_lack']}",
                "if clocks are wrong it waits for time to pass; else see the log of both nodes",
            )
        if peer.get("holds_back"):
            yield Problem(
                "held back",
                held_back_sentence(peer),
                "compare the clocks of both machines; on the other machine, see what waits: mesh status",
            )
        if peer["state"] == "dead" and peer.get("speaks_protocol") is None:  # else the cure is an upgrade
            yield Problem(
                "dead", f"{peer['name']} has not been heard of", f"start it there, or: mesh revoke {peer['node'][:8]}"
            )
        if abs(peer["clock_offset_ms"] or 0) > _OFFSET_MS:
            seconds = peer["clock_offset_ms"] / 1000
            yield Problem(
                "clock",
                f"the clock of {peer['name']} differs from ours by {seconds:+.0f} s",
                "set the one that is wrong",
            )
        if peer.get("speaks_protocol") is not None:
            yield _other_protocol(peer, report)
        elif peer.get("version") and report.get("version") and peer["version"] != report["version"]:
            yield Problem(
                "versions",
                f"{peer['name']} runs clan-mesh {peer['version']}, this node {report['version']}",
                "upgrade the older one when it suits: both speak one protocol, so they work together",
            )


def _other_protocol(peer: dict[str, Any], report: dict[str, Any]) -> Problem:
    step = f"{other_protocol_step(peer)}, and start the sidecar anew; a minute later they are linked: mesh peers"
    return Problem("other protocol", other_protocol_sentence(peer, report.get("version")), step)
