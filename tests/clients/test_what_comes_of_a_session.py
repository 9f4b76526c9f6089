"""What a session with us leaves: records that know where they come from, a pointer, a captured session, and settings given back."""

from pathlib import Path

import pytest

from tests.clients.clients import Client
from tests.clients.first_session import BY_COMMAND, BY_TOOL, OBJECTION, FirstSession
from tests.clients.machine import REPO, RULE, Machine, tool_that_takes
from tests.clients.model_server import Step
from tests.end_to_end.commands import MESH, bytes_of

_CALLS = ("PostToolUse", "PostToolUseFailure", "AfterTool")


@pytest.mark.feature("a call of our tools is recorded with session, agent and repository")
def test_a_tool_call_lands_with_session_agent_and_repository(worked: FirstSession, client: Client) -> None:
    """The server runs for the session, and is not told which that is by the model."""
    (record,) = worked.machine.records(BY_TOOL)
    assert (record["agent"], record["repo"]) == (client.name, REPO)
    assert record["session"].startswith(f"{client.name}:")
    assert ":day-" not in record["session"]


@pytest.mark.feature("a command of ours in its shell counts for the same session")
def test_a_command_counts_for_the_same_session(worked: FirstSession) -> None:
    """So that one session is one session, whichever way it records."""
    (by_tool,), (by_command,) = worked.machine.records(BY_TOOL), worked.machine.records(BY_COMMAND)
    assert [by_command[name] for name in ("agent", "repo", "session")] == [
        by_tool[name] for name in ("agent", "repo", "session")
    ]


@pytest.mark.feature("a session that pauses is pointed at")
def test_the_end_of_a_turn_leaves_a_pointer(worked: FirstSession) -> None:
    """To the transcript, by an event that comes in every session; a failed call does not count."""
    paths = [each["path"] for each in worked.pointers if each["event"] not in _CALLS]
    assert paths
    assert all(Path(path).is_file() for path in paths)


@pytest.mark.feature("its sessions are captured and harvested, a resumed one once")
def test_the_session_is_captured_once_and_teaches_what_was_said(worked: FirstSession, client: Client) -> None:
    """By the command that takes everything in; both runs are one session."""
    said = worked.machine.asked("harvest", "--agent", client.name)
    found = [item for item in said["learned"] if OBJECTION in str(item)]
    assert len(found) == 1
    assert found[0]["sessions"] == 1
    assert {each["repo"] for each in found[0]["evidence"]} == {REPO}
    (record,) = worked.machine.records(BY_TOOL)
    assert {each["session"] for each in found[0]["evidence"]} == {record["session"]}


@pytest.mark.feature("a forked session and its origin are counted once")
def test_a_fork_counts_once(client: Client, machine: Machine) -> None:
    """It begins with all that was said before, which must not be heard twice."""
    fork = client.fork("Go on. (task forked)")
    if not fork:
        pytest.skip("not tried")
    machine.start()
    machine.install()
    machine.model.script("one", Step("I ran npm install."))
    machine.model.script("two", Step("You are right.", client.shell("echo pnpm install")), Step("Done with pnpm."))
    machine.say("Install what is missing. (task one)")
    machine.say(f"{OBJECTION} (task two)", again=True)
    machine.run(fork)
    said = machine.asked("harvest", "--agent", client.name)
    found = [item for item in said["learned"] if OBJECTION in str(item)]
    assert [(item["sessions"], item["frequency"]) for item in found] == [(1, 1)]


@pytest.mark.feature("with mesh install --allow nobody is asked, and a sandbox is no obstacle")
def test_what_is_allowed_runs_where_all_else_is_refused(client: Client, machine: Machine) -> None:
    """A tool and a command of ours are recorded; a command that no rule allows is not run."""
    machine.start()
    machine.install("--allow")
    forbidden = machine.user / "forbidden"
    machine.model.script(
        "careful",
        Step("", client.ours(tool_that_takes("text"), {"text": BY_TOOL})),
        Step("", client.shell(f"{MESH} discover '{BY_COMMAND}'")),
        Step("", client.shell(f"touch {forbidden}")),
    )
    machine.say("Please record it. (task careful)", careful=True)
    assert not forbidden.exists(), "nothing was refused"
    assert machine.records(BY_TOOL)
    assert machine.records(BY_COMMAND)


@pytest.mark.feature("mesh uninstall gives every byte back")
def test_uninstalling_gives_every_byte_back(client: Client, machine: Machine) -> None:
    """Of settings that this very version of the client has written, and of those that a person has."""
    machine.say("Say hello. (task hello)")
    before = bytes_of(machine.user)
    machine.install()
    assert bytes_of(machine.user) != before
    machine.mesh("uninstall", client.name)
    assert bytes_of(machine.user) == before


@pytest.mark.feature("after mesh uninstall the model is sent nothing of ours")
def test_after_uninstalling_nothing_of_ours_is_sent(client: Client, machine: Machine) -> None:
    """Though the program and the node are still there."""
    machine.start()
    machine.install()
    machine.say("Say hello. (task with)")
    machine.mesh("uninstall", client.name)
    machine.say("Say hello. (task without)")
    (sent, *_), (free, *_) = machine.model.turns("with"), machine.model.turns("without")
    assert "clan-mesh" in sent.text
    assert RULE not in free.text
    assert "clan-mesh" not in free.text.replace(str(machine.user), "")


@pytest.mark.feature("plugin and mesh install together: the context is sent once")
def test_plugin_and_installation_together_send_the_context_once(client: Client, machine: Machine) -> None:
    """Somebody has both: each session is told once."""
    commands = client.bundle_commands()
    if not commands:
        pytest.skip("not tried")
    machine.start()
    machine.install()
    for command in commands:
        machine.run(command, typed="y\n")
    machine.say("Say hello. (task both)")
    (sent, *_) = machine.model.turns("both")
    assert sent.text.count(RULE) == 1
