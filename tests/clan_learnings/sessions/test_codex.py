"""Codex's rollouts of every era: nothing twice, and every command with its own end."""

import json
from typing import Any

import pytest
import zstandard

from clan_learnings.sessions.flavours.codex_output import command_of, told
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage
from tests.clan_learnings.sessions import transcripts
from tests.clan_learnings.sessions.transcripts import lines, only
from tests.clan_learnings.sessions.transcripts import told as said

META = {
    "id": "t1",
    "session_id": "t1",
    "cwd": "/home/ada/shop",
    "cli_version": "0.125.0",
    "source": "cli",
    "git": {"branch": "main", "repository_url": "git@github.com:ada/shop.git"},
}
AT = "2026-04-01T10:00:00.000Z"


def wrapped(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload}


def meta(**fields: Any) -> dict[str, Any]:
    return wrapped("session_meta", **(META | fields))


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return wrapped("response_item", type=kind, **payload)


def event(kind: str, **payload: Any) -> dict[str, Any]:
    return wrapped("event_msg", type=kind, **payload)


def message(role: str, *texts: str) -> dict[str, Any]:
    block = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": block, "text": text} for text in texts])


def call(name: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    return item("function_call", name=name, call_id=call_id, arguments=json.dumps(arguments))


def output(call_id: str, text: Any) -> dict[str, Any]:
    return item("function_call_output", call_id=call_id, output=text)


def session(*records: Any) -> Session:
    return transcripts.session_of(lines(*records), "codex")


def results(found: Session) -> list[SessionEvent]:
    return [one for one in found.events if one.kind is Kind.RESULT]


def test_session_knows_its_place() -> None:
    """The first `session_meta` says it; the turn's context says the model."""
    found = session(meta(), wrapped("turn_context", model="gpt-5.4", cwd="/elsewhere"), meta(id="t9", cwd="/copied"))
    assert (found.name, found.folder, found.branch) == ("codex:t1", "/home/ada/shop", "main")
    assert (found.remote, found.version, found.model) == ("git@github.com:ada/shop.git", "0.125.0", "gpt-5.4")


def test_prompt_and_answer_count_once() -> None:
    """Both are in the file twice: as an item for the model, as an event for the person."""
    found = session(
        meta(),
        message("user", "fix it\n"),
        event("user_message", message="fix it\n"),
        event("agent_reasoning", text="**Looking**"),
        item("reasoning", summary=[{"type": "summary_text", "text": "**Looking**"}], encrypted_content="x"),
        event("agent_message", message="Fixed."),
        message("assistant", "Fixed."),
    )
    assert said(found) == [(3, "prompt", "fix it"), (5, "thought", "**Looking**"), (7, "reply", "Fixed.")]
    assert found.messages == 2


def test_events_alone_tell_the_same() -> None:
    """Where the items are missing, the events are what there is."""
    found = session(meta(), event("user_message", message="fix it"), event("agent_message", message="Fixed."))
    assert said(found) == [(2, "prompt", "fix it"), (3, "reply", "Fixed.")]


def test_items_alone_tell_the_same() -> None:
    """Rollouts of the first era have no events at all."""
    found = session(
        {"id": "t0", "timestamp": AT, "instructions": None, "git": {"branch": "main"}},
        {"record_type": "state"},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "<environment_context>\n<cwd>/srv/shop</cwd>\n</environment_context>"}
            ],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fix it"}]},
        {"type": "function_call", "name": "shell", "call_id": "c1", "arguments": '{"command":["bash","-lc","make"]}'},
        {"type": "function_call_output", "call_id": "c1", "output": '{"output":"no rule","metadata":{"exit_code":2}}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Fixed."}]},
    )
    assert (found.id, found.folder, found.messages, found.calls) == ("t0", "/srv/shop", 2, 1)
    assert said(found)[1:] == [
        (4, "prompt", "fix it"),
        (5, "call", "make"),
        (6, "result", "no rule"),
        (7, "reply", "Fixed."),
    ]
    assert (only(found, Kind.RESULT).failed, only(found, Kind.RESULT).exit_code) == (True, 2)


def test_packed_rollout_is_the_same_rollout() -> None:
    """Old ones are kept as zstd."""
    plain = lines(meta(), event("user_message", message="fix it"))
    packed = zstandard.ZstdCompressor().compress(plain)
    assert transcripts.session_of(packed, "codex") == transcripts.session_of(plain, "codex")


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>",
        "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nalways use tabs\n</INSTRUCTIONS>",
        "<user_instructions>\nalways use tabs\n</user_instructions>",
        "<something_new>\nalways use tabs\n</something_new>",
    ],
)
def test_what_no_person_typed_is_injected(text: str) -> None:
    """Instructions and surroundings have the person's role."""
    found = session(meta(), message("user", text), message("developer", "be brief"))
    assert said(found) == [(2, "injected", text), (3, "injected", "be brief")]
    assert found.messages == 0


def test_prompt_has_nothing_of_the_editor() -> None:
    """The words follow a heading; the files that were open are no words."""
    text = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nrename it\n"
    found = session(meta(), message("user", text), event("user_message", message=text))
    assert said(found) == [(3, "prompt", "rename it")]


def test_interrupt_counts_once() -> None:
    """The event says it; the text that the model gets about it is injected."""
    found = session(
        meta(),
        message("user", "<turn_aborted>\nThe user interrupted\n</turn_aborted>"),
        event("turn_aborted", reason="interrupted"),
        event("turn_aborted", reason="replaced"),
    )
    assert [kind for _, kind, _ in said(found)] == ["injected", "interrupt"]


def test_interrupt_without_an_event_is_one_too() -> None:
    """Then the text is all there is."""
    found = session({"id": "t0", "timestamp": AT}, message("user", "<turn_aborted>stopped</turn_aborted>"))
    assert [kind for _, kind, _ in said(found)] == ["interrupt"]


@pytest.mark.parametrize(
    ("printed", "text", "exit_code"),
    [
        ('{"output":"no rule\\n","metadata":{"exit_code":2,"duration_seconds":0.1}}', "no rule\n", 2),
        ("Chunk ID: 3b\nWall time: 0.4 seconds\nProcess exited with code 1\nOriginal token count: 3\nOutput:\nFAIL\n", "FAIL\n", 1),
        ('Command: /bin/zsh -lc "make"\nChunk ID: 3b\nProcess exited with code 0\nOutput:\nok', "ok", 0),
        ("Exit code: 127\nWall time: 0.1 seconds\nOutput:\nnot found", "not found", 127),
        ("failed in sandbox MacosSeatbelt with execution error: sandbox denied exec error, exit code: 1, stdout: , stderr: x", None, 1),
        ([{"type": "input_text", "text": "Script completed\nWall time 0.1 seconds\nOutput:\n"}, {"type": "input_text", "text": "zsh: not found"}], "zsh: not found", None),
        ([{"type": "input_text", "text": "Script completed\nOutput:\n"}, {"type": "input_text", "text": '{"exit_code":3,"output":"x"}'}, {"type": "input_text", "text": '{"exit_code":0,"output":"y"}'}], "x\ny", 3),
        ({"content": "plain", "success": True}, "plain", None),
        ("the program said: exit code 4\nOutput:\nno", "the program said: exit code 4\nOutput:\nno", None),
        ("Plan updated", "Plan updated", None),
        (None, "", None),
    ],
)  # fmt: skip
def test_exit_code_is_found_in_every_era(printed: Any, text: str | None, exit_code: int | None) -> None:
    """As JSON, in the words before the output, or not at all."""
    found = told(printed)
    assert found.exit_code == exit_code
    if text is not None:
        assert found.text == text


def test_exit_code_that_a_program_prints_is_not_its_own() -> None:
    """Only the words before the output speak of the process."""
    assert told("Wall time: 1 s\nProcess exited with code 0\nOutput:\nProcess exited with code 9").exit_code == 0


def test_command_that_ran_on_has_one_result_where_it_ended() -> None:
    """What was waited for belongs to the command, not to the call that waited."""
    found = session(
        meta(),
        call("exec_command", "c1", cmd="make test"),
        output("c1", "Chunk ID: 1\nWall time: 1\nProcess running with session ID 42\nOutput:\ncompiling"),
        call("write_stdin", "c2", session_id=42, chars=""),
        output("c2", "Chunk ID: 2\nWall time: 1\nProcess running with session ID 42\nOutput:\nlinking"),
        call("write_stdin", "c3", session_id=42, chars=""),
        output("c3", "Chunk ID: 3\nWall time: 1\nProcess exited with code 1\nOutput:\nFAIL"),
    )
    (ended,) = [one for one in results(found) if one.call == "c1"]
    assert (ended.line, ended.exit_code, ended.failed, ended.tool) == (7, 1, True, "exec_command")
    assert ended.text == "compiling\nlinking\nFAIL"
    assert [(one.call, one.text, one.failed) for one in results(found) if one.call != "c1"] == [
        ("c2", "", None),
        ("c3", "", None),
    ]
    assert found.calls == 3


def test_command_whose_end_nobody_saw_is_left_open() -> None:
    """Its result stands where it was left."""
    found = session(
        meta(),
        call("exec_command", "c1", cmd="make serve"),
        output("c1", "Chunk ID: 1\nProcess running with session ID 42\nOutput:\nlistening"),
    )
    assert results(found)[0][:3] == (3, Kind.RESULT, "listening")
    assert (results(found)[0].failed, results(found)[0].exit_code) == (None, None)


def test_call_that_could_not_wait_has_failed_and_the_command_goes_on() -> None:
    """A tool that says that it failed says nothing about the process."""
    found = session(
        meta(),
        call("exec_command", "c1", cmd="make test"),
        output("c1", "Chunk ID: 1\nWall time: 1\nProcess running with session ID 42\nOutput:\ncompiling"),
        call("write_stdin", "c2", session_id=42, chars="q"),
        output("c2", "write_stdin failed: stdin is closed; start it with tty"),
        call("write_stdin", "c3", session_id=42, chars=""),
        output("c3", "Chunk ID: 3\nWall time: 1\nProcess exited with code 0\nOutput:\nok"),
    )
    told_by = {one.call: (one.text, one.failed) for one in results(found)}
    assert told_by["c2"] == ("write_stdin failed: stdin is closed; start it with tty", True)
    assert told_by["c1"] == ("compiling\nok", False)


def test_script_that_ran_on_has_one_result_where_it_ended() -> None:
    """Scripts are waited for by cell, and processes in scripts by session."""
    found = session(
        meta(),
        item("custom_tool_call", name="exec", call_id="c1", input='await tools.exec_command({cmd:"make","workdir":"/x"})'),
        item("custom_tool_call_output", call_id="c1", output="Script running with cell ID 8\nWall time 10.0 seconds\nOutput:\n"),
        call("wait", "c2", cell_id="8"),
        output("c2", [{"type": "input_text", "text": "Script completed\nOutput:\n"}, {"type": "input_text", "text": '{"session_id":7,"output":"a"}'}]),
        item("custom_tool_call", name="exec", call_id="c3", input="await tools.write_stdin({session_id:7,chars:''})"),
        item("custom_tool_call_output", call_id="c3", output=[{"type": "input_text", "text": "Script completed\nOutput:\n"}, {"type": "input_text", "text": '{"exit_code":1,"output":"b"}'}]),
    )  # fmt: skip
    (ended,) = [one for one in results(found) if one.call == "c1"]
    assert (ended.line, ended.text, ended.exit_code) == (7, "a\nb", 1)
    assert next(one for one in found.events if one.call == "c1").text == "make"


def test_event_about_the_end_of_a_command_is_believed() -> None:
    """It has the exit code where the output has none, and stands in for an output that is missing."""
    found = session(
        meta(),
        call("shell", "c1", command=["ls"]),
        event("exec_command_end", call_id="c1", exit_code=3, stdout="", stderr="no"),
        output("c1", "no"),
        call("shell", "c2", command=["pwd"]),
        event("exec_command_end", call_id="c2", exit_code=0, stdout="/x"),
        event("exec_command_end", call_id="unheard", exit_code=0),
    )
    assert [(one.line, one.call, one.exit_code, one.text) for one in results(found)] == [
        (4, "c1", 3, "no"),
        (6, "c2", 0, "/x"),
    ]


def test_patch_that_did_not_apply_has_failed() -> None:
    """The event says so, whatever the output says."""
    found = session(
        meta(),
        item("custom_tool_call", name="apply_patch", call_id="c1", input="*** Begin Patch"),
        event("patch_apply_end", call_id="c1", success=False, stderr="context not found"),
        item("custom_tool_call_output", call_id="c1", output="done"),
    )
    assert only(found, Kind.RESULT).failed is True
    assert only(found, Kind.CALL).arguments == {"input": "*** Begin Patch"}


def test_refused_command_is_a_refusal() -> None:
    """The agent says so in a few words; a long output that has them is an output."""
    found = session(
        meta(),
        call("shell", "c1", command=["rm", "x"]),
        output("c1", "exec command rejected by user"),
        call("shell", "c2", command=["cat", "log"]),
        output("c2", "rejected by user " * 100),
        call("shell", "c3", command=["sleep", "9"]),
        output("c3", "aborted by user after 3.2s"),
    )
    assert [(one.kind.value, one.is_collateral) for one in found.events if one.kind is not Kind.CALL] == [
        ("refusal", False),
        ("result", False),
        ("result", True),
    ]


def test_compaction_repeats_nothing() -> None:
    """The history that replaces what was said was said before."""
    found = session(
        meta(),
        event("user_message", message="fix it"),
        wrapped("compacted", message="so far", replacement_history=[{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fix it"}]}]),
        event("context_compacted"),
    )  # fmt: skip
    assert said(found) == [(2, "prompt", "fix it"), (3, "summary", "so far")]


def test_tokens_are_the_last_total() -> None:
    """Totals grow; an event without one takes nothing back."""
    found = session(
        meta(),
        event(
            "token_count",
            info={"total_token_usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 1}},
        ),
        event(
            "token_count",
            info={"total_token_usage": {"input_tokens": 30, "cached_input_tokens": 20, "output_tokens": 5}},
        ),
        event("token_count", info=None),
    )
    assert found.usage == Usage(input=10, output=5, cached=20)


def test_subagent_counts_as_its_parent_and_nobody_prompts_it() -> None:
    """What it is told comes from another agent."""
    found = session(
        meta(id="t2", session_id="t1", source={"subagent": "review"}),
        event("user_message", message="Review the changes"),
    )
    assert (found.name, found.id, found.is_subagent, found.messages) == ("codex:t1", "t2", True, 0)
    assert said(found) == [(2, "injected", "Review the changes")]


def test_fork_counts_as_the_session_it_copies() -> None:
    """The copied history has its own `session_meta`, which is not the file's."""
    found = session(meta(id="t2", session_id="t2", forked_from_id="t1"), meta(id="t1"))
    assert (found.id, found.parent, found.is_subagent) == ("t2", "t1", False)


def test_searches_and_faults_are_told() -> None:
    """A search is a use of a tool, an error of the stream is none of the model."""
    found = session(
        meta(),
        item("web_search_call", id="w1", status="completed", action={"query": "tabs"}),
        event("web_search_end", call_id="w1", query="tabs"),
        event("stream_error", message="retrying"),
        event("thread_name_updated", thread_name="Tabs"),
    )
    assert (found.calls, found.title) == (1, "Tabs")
    assert said(found) == [(2, "call", ""), (4, "fault", "retrying")]


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ({"command": ["bash", "-lc", "ls -l"]}, "ls -l"),
        ({"command": ["git", "status"]}, "git status"),
        ({"command": "ls"}, "ls"),
        ({"cmd": "ls", "workdir": "/x"}, "ls"),
        ({"input": 'a({cmd:"echo \\"hi\\""}); b({"cmd": \'pwd\'}); c({command: `ls`})'}, 'echo "hi"\npwd\nls'),
        ({"input": 'a({cmd:"torn'}, ""),
        ({"command": [1, None]}, ""),
        ({}, ""),
    ],
)
def test_command_is_what_the_shell_was_told(arguments: dict[str, Any], command: str) -> None:
    """Without the shell around it, out of a script too."""
    assert command_of(arguments) == command
