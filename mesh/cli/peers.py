"""`mesh peers`: is everyone in step, and if not, who lacks what?"""

import time
from typing import Any

from mesh.app.client import ask
from mesh.cli.grammar import Given, command, option
from mesh.cli.main import EXIT_WAITING
from mesh.cli.output import clear_screen, flush, print_json, put, put_table, say, tell
from mesh.cli.terminal import terminal
from mesh.core.ids import display_name, text_id
from mesh.core.limits import PROTOCOL_VERSION
from mesh.core.statement import ROLE_NAMES
from mesh.store.home import Home, node_process_id, open_home

_WATCH_SECONDS = 1.0
_COLUMNS = ("name", "role", "state", "in step", "it lacks", "we lack", "round trip", "last seen", "bytes/s", "address")


@command("mesh peers --watch")
@option("--watch", help="go on until Ctrl-C, once a second")
def main(given: Given) -> int:
    """One table, or one that is drawn again and again."""
    if given.watch:
        terminal().require_own_process()
    home = open_home(given.home)
    while True:
        report = ask(home.path, "GET", "/peers") if node_process_id(home) else _alone(home)
        if given.json:
            print_json(report)
        else:
            if given.watch:
                clear_screen()
            if report["peers"]:
                put_table(_COLUMNS, [_row(peer) for peer in report["peers"]])
            else:
                put("")
            say(_verdict(report))
        if not given.watch:
            return 0 if not report["behind"] else EXIT_WAITING
        flush()
        time.sleep(_WATCH_SECONDS)


def _alone(home: Home) -> dict[str, Any]:
    """Without a sidecar nobody is asked: only who belongs is known."""
    tell("mesh: no sidecar is running, so nobody was asked", "  next: mesh up --detach")
    store = home.store()
    trust = store.trust()
    peers = [
        {
            "node": text_id(node),
            "name": display_name(trust.members[node].name if node in trust.members else "", node),
            "role": trust.role(node) if node in trust.members else None,
            "state": "revoked" if node in trust.revoked else "unseen",
            "linked": False,
            "in_step": None,
        }
        for node in sorted(set(trust.members) | set(trust.revoked))
        if node != home.node
    ]
    store.close()
    return {"name": display_name(home.name, home.node), "peers": peers, "links": 0, "in_step": 0, "behind": 0}


def _row(peer: dict[str, Any]) -> tuple[str, ...]:
    trip, seen = peer.get("round_trip_ms"), peer.get("seen_seconds")
    return (
        peer["name"],
        ROLE_NAMES.get(peer.get("role") or "", "-"),
        peer["state"],
        {True: "yes", False: "no", None: "-"}[peer["in_step"]],
        _number(peer.get("they_lack")),
        _number(peer.get("we_lack")),
        "-" if trip is None else f"{trip:.1f} ms",
        "-" if seen is None else _ago(seen),
        _number(peer.get("bytes_per_second")),
        (peer.get("address") or "-") + _missing_link(peer),
    )


def _missing_link(peer: dict[str, Any]) -> str:
    """Why there is no link, as far as that is known."""
    protocol = peer.get("speaks_protocol")
    if protocol is not None:
        return f" (no link: it speaks protocol {protocol}; upgrade {'it' if protocol < PROTOCOL_VERSION else 'here'})"
    return "" if peer["linked"] or not peer.get("address") else " (no link)"


def _verdict(report: dict[str, Any]) -> str:
    others = [peer for peer in report["peers"] if peer["state"] not in ("left", "revoked")]
    if not others:
        return "no other members yet; let one join: mesh invite"
    away = sum(peer["state"] in ("suspect", "dead") for peer in others)
    said = f"{report['in_step']} of {report['links']} neighbours in step, {len(others)} other members"
    if away:
        said += f", {away} away"
    apart = sum(peer.get("speaks_protocol") is not None for peer in others)
    if apart:
        said += f", {apart} of another protocol"
    behind = [peer["name"] for peer in others if peer["in_step"] is False]
    return f"{said}; catching up: {', '.join(behind)}" if behind else said


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _ago(seconds: float) -> str:
    for limit, unit, name in ((100, 1, "s"), (6000, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86_400:.0f} d"
