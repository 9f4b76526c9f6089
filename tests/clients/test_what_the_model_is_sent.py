"""What the model is sent in a session with us: the context, the tools, what fits a prompt or an error."""

import pytest

from mesh.mcp.descriptions import TOOLS
from tests.clients.clients import Client
from tests.clients.first_session import FirstSession
from tests.clients.machine import FITS_FAILURE, FITS_PROMPT, RULE, Machine
from tests.clients.model_server import Step

CONTEXT = "<clan-mesh context"


@pytest.mark.feature("start context in the first request")
def test_the_first_request_has_the_context(worked: FirstSession) -> None:
    """Once, whole, and before the first word of the model."""
    sent = worked.turns[0].text
    assert sent.count(CONTEXT) == 1
    assert sent.count("</clan-mesh>") == 1
    assert RULE in sent


@pytest.mark.feature("our tools in the first request")
def test_the_first_request_has_our_tools(worked: FirstSession, client: Client) -> None:
    """By the names under which this client calls them: some load their schemas later."""
    sent = worked.turns[0].text
    calls = [client.ours(tool.name, {}) for tool in TOOLS]
    assert [call for call in calls if call.tool not in sent or call.namespace not in sent] == []


@pytest.mark.feature("a remark that fits the prompt")
def test_a_prompt_is_sent_with_the_record_that_fits_it(worked: FirstSession) -> None:
    """It was not in the context, which has room for newer records only; and it is alone."""
    sent = worked.turns[0].text
    assert sent.count(FITS_PROMPT) == 1
    assert sent.partition(CONTEXT)[2].partition("</clan-mesh>")[0].count(FITS_PROMPT) == 0
    assert sent.count("clan-mesh: discovery") == 1


@pytest.mark.feature("a remark on a command that failed")
def test_a_failed_command_is_sent_with_the_record_that_knows_it(worked: FirstSession) -> None:
    """In the request that carries the failure."""
    before, after = worked.turns[:2]
    assert FITS_FAILURE not in before.text
    assert "lock is stale" in after.text
    assert after.text.count(FITS_FAILURE) == 1


@pytest.mark.feature("the context, once, in a session that is resumed")
def test_a_resumed_session_has_the_context_once(worked: FirstSession) -> None:
    """In its history, or given anew by a client that leaves it out; and nothing beside it, as nothing is new but its own records."""
    sent = worked.resumed.text
    assert sent.count(RULE) == 1
    assert sent.count(CONTEXT) == 1


@pytest.mark.feature("a subagent is told the rules")
def test_a_subagent_is_sent_the_rules(worked: FirstSession, client: Client) -> None:
    """It starts without the context of the session that it works for."""
    machine = worked.machine
    delegated = client.delegate("Look around. (task subagent)")
    if delegated is None:
        pytest.skip("not tried")
    waiting = client.shell("sleep 3")  # some go on beside it
    machine.model.script("delegating", Step("I ask a subagent.", delegated), Step("", waiting), Step("It has looked."))
    machine.say("Have the place looked at. (task delegating)")
    (sent, *_) = [turn.text for turn in machine.model.turns("subagent")] or [""]
    assert sent, "no subagent was started"
    assert RULE in sent


@pytest.mark.feature("the context, once, after compaction")
def test_after_compaction_the_context_is_sent_again(client: Client, machine: Machine) -> None:
    """What was told at the start is gone with the conversation."""
    if not client.full_tokens:
        pytest.skip("not tried")
    machine.start()
    machine.install()
    machine.model.script("long", Step("", client.shell("echo before"), client.full_tokens))
    machine.say("Please do it all. (task long)")
    if command := client.compaction():
        machine.run(command)
        machine.say("Go on. (task after)", again=True)
    sent = [request.text for request in machine.model.all_requests() if request.has_tools][-1]
    assert "echo before" not in sent, "nothing was compacted"
    assert sent.count(RULE) == 1
