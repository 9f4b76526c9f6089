"""Many agents' sessions with one node, which gossips, answers hooks, and may be killed meanwhile."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.test_mcp_client import Agent, call, message
from tests.end_to_end.commands import MESH, PATIENCE_SECONDS, wait_until
from tests.end_to_end.fleet import Sidecar, mesh_of, wait_until_in_step, wait_until_linked

SESSIONS = 50


@contextmanager
def sessions_of(node: Sidecar, count: int) -> Iterator[list[Agent]]:
    made = [Agent(node.home, "--agent=codex", f"--session=codex:{number}") for number in range(count)]
    try:
        yield made
    finally:
        for session in made:
            session.process.kill()
        for session in made:
            session.process.communicate()


def hook(node: Sidecar, event: str, **told: str) -> str:
    """What an agent is answered."""
    finished = subprocess.run(
        [MESH, "hook", event, "--home", node.home],
        input=json.dumps({"hook_event_name": event, "session_id": "s", "cwd": "/"} | told),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    json.loads(finished.stdout)
    return finished.stdout


def test_fifty_sessions_at_once_while_gossip_and_hooks_go_on(tmp_path: Path) -> None:
    """All are answered, all they record is on both nodes, and what the other node writes meanwhile comes in."""
    with mesh_of(2, tmp_path) as (first, second), sessions_of(first, SESSIONS) as sessions:
        wait_until_linked([first, second])
        for number, session in enumerate(sessions):
            session.send(
                message("initialize", "i", protocolVersion="2025-06-18"),
                message("tools/list", "l"),
                call("record_discovery", "r", text=f"session {number} found this out", is_global=True, anyway=True),
                call("search", "s", query="what was found out"),
            )
            if number % 10 == 0:
                second.tell(f"the other node says {number}")
                hook(first, "PostToolUse")
        hook(first, "SessionStart", source="startup")
        for session in sessions:
            heard = {said["id"]: said for said in (session.hear() for _ in range(4))}
            assert set(heard) == {"i", "l", "r", "s"}
            assert heard["r"]["result"]["structuredContent"]["state"] == "recorded"
            assert heard["s"]["result"]["isError"] is False
        wait_until_in_step([first, second])
        said = {f"session {number} found this out" for number in range(SESSIONS)}
        said |= {f"the other node says {number}" for number in range(0, SESSIONS, 10)}
        assert second.texts() == said
        for session in sessions:
            assert session.leave() == []


def test_sessions_outlive_their_node(tmp_path: Path) -> None:
    """Killed in the middle and started again: every call is answered, and each record is there once."""
    with mesh_of(1, tmp_path) as (node,), sessions_of(node, 5) as sessions:
        for number, session in enumerate(sessions):
            session.send(
                call("record_discovery", "1", text=f"before, in session {number}", is_global=True, anyway=True)
            )
        node.kill()
        for number, session in enumerate(sessions):
            assert session.hear()["result"]["structuredContent"]["state"] == "recorded"
            said = session.ask(
                call("record_discovery", "2", text=f"meanwhile, in session {number}", is_global=True, anyway=True)
            )
            assert said["result"]["structuredContent"]["state"] == "recorded"
        node.up()
        for number, session in enumerate(sessions):
            said = session.ask(
                call("record_discovery", "3", text=f"after, in session {number}", is_global=True, anyway=True)
            )
            assert said["result"]["structuredContent"]["state"] == "recorded"
            assert session.leave() == []
        when = ("before", "meanwhile", "after")
        wait_until(lambda: node.texts() == {f"{each}, in session {number}" for each in when for number in range(5)})
