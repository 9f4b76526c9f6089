"""Claude Code's transcripts: who typed what, which calls failed and why, and nothing twice."""

import json
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.sessions.recognition import read_transcript
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage
from tests.clan_learnings.sessions import transcripts
from tests.clan_learnings.sessions.transcripts import lines, only, told

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). "
)
STOP = REJECTED + "STOP what you are doing and wait for the user to tell you how to proceed."
SAID = REJECTED + "To tell you how to proceed, the user said:\n"


def envelope(kind: str, uuid: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": None,
        "sessionId": "s1",
        "cwd": "/home/ada/shop",
        "gitBranch": "main",
        "version": "2.1.30",
        "isSidechain": False,
        "timestamp": "2026-03-01T10:00:00.000Z",
    } | fields


def user(uuid: str, content: Any, **fields: Any) -> dict[str, Any]:
    return envelope("user", uuid, message={"role": "user", "content": content}, **fields)


def assistant(uuid: str, *blocks: Any, answer: str = "", usage: Any = None, model: str = "opus", **fields: Any) -> Any:
    message = {"role": "assistant", "id": answer or f"msg_{uuid}", "model": model, "content": list(blocks)}
    return envelope("assistant", uuid, message=message | ({"usage": usage} if usage else {}), **fields)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def use(call: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def result(call: str, content: Any = "", *, is_error: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": is_error}


def session(*records: Any, path: str = "") -> Session:
    return transcripts.session_of(lines(*records), "claude-code", path)


def outcome(words: str, *, tool: str = "Bash", is_error: bool = True, **fields: Any) -> SessionEvent:
    """What becomes of a call that was answered like this."""
    told_session = session(
        assistant("a", use("c1", tool, command="make")), user("u", [result("c1", words, is_error=is_error)], **fields)
    )
    return told_session.events[-1]


def test_session_knows_where_and_when_it_ran() -> None:
    """The envelope of its records says folder, branch, version, model and times."""
    found = session(
        user("u1", "hello"), assistant("a1", text("hi"), timestamp="2026-03-01T10:05:00Z", model="claude-opus-4-6")
    )
    assert found.name == "claude-code:s1"
    assert (found.folder, found.branch, found.version) == ("/home/ada/shop", "main", "2.1.30")
    assert found.model == "claude-opus-4-6"
    assert found.ended_ms is not None
    assert found.started_ms is not None
    assert found.ended_ms - found.started_ms == 300_000


def test_one_answer_in_several_lines_is_one_message_with_its_tokens_once() -> None:
    """Each block of an answer has a line, and each line repeats the usage, which grows."""
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 2}
    found = session(
        user("u1", "add a licence"),
        assistant("a1", {"type": "thinking", "thinking": "hm"}, answer="m1", usage=usage),
        assistant("a2", text("I will."), answer="m1", usage=usage | {"output_tokens": 40}),
        assistant("a3", use("c1", "Write", file_path="LICENSE"), answer="m1", usage=usage | {"output_tokens": 40}),
        user("u2", [result("c1", "done")]),
        assistant("a4", text("Done."), answer="m2", usage=usage),
    )
    assert (found.messages, found.calls) == (3, 1)
    assert found.usage == Usage(input=30, output=42, cached=200)
    assert [event.message for event in found.events if event.kind is not Kind.RESULT][1:] == ["m1", "m1", "m1", "m2"]


def test_command_and_what_it_answered_are_joined() -> None:
    """The result knows its tool, and the exit code that its text begins with."""
    found = session(
        assistant("a1", use("c1", command="make test")),
        user("u1", [result("c1", "Exit code 2\nmake: no rule", is_error=True)]),
    )
    call, answer = found.events
    assert (call.text, call.tool, call.arguments) == ("make test", "Bash", {"command": "make test"})
    assert (answer.call, answer.tool, answer.failed, answer.exit_code) == ("c1", "Bash", True, 2)


def test_result_made_of_blocks_is_their_text() -> None:
    """Images in it say nothing."""
    answer = outcome([text("one"), {"type": "image", "source": {"data": "AAAA"}}, text("two")], is_error=False)  # type: ignore[arg-type]
    assert (answer.text, answer.failed) == ("one\ntwo", False)


def test_refusal_has_the_persons_words() -> None:
    """A person who refuses a call may say what to do instead; only that is the reason."""
    refusal = outcome(SAID + "use the other name", tool="Edit")
    assert (refusal.kind, refusal.text, refusal.tool) == (Kind.REFUSAL, "use the other name", "Edit")
    older = outcome(REJECTED + "The user provided the following reason for the rejection:  the other name")
    assert (older.kind, older.text) == (Kind.REFUSAL, "the other name")
    of_a_subagent = outcome("Permission for this tool use was denied. It was rejected. The user said:\nnot there")
    assert (of_a_subagent.kind, of_a_subagent.text) == (Kind.REFUSAL, "not there")
    assert outcome("Permission for this tool use was denied. Try a different approach").kind is Kind.RESULT
    assert outcome("Exit code 1\n" + SAID + "quoted from a log").kind is Kind.RESULT


def test_refusal_without_words_has_none() -> None:
    """The agent's own words about the refusal are nobody's reason."""
    assert outcome(STOP)[1:3] == (Kind.REFUSAL, "")
    assert outcome(STOP + "\n\nNote: The user's next message may contain a correction or preference.").text == ""
    assert outcome("Permission prompt was aborted.").kind is Kind.REFUSAL


def test_question_that_is_not_answered_is_a_refusal_without_a_reason() -> None:
    """What the agent writes when somebody wants to clarify first was typed by no person."""
    refusal = outcome(SAID + "The user wants to clarify these questions.\nStart by asking.", tool="AskUserQuestion")
    assert (refusal.kind, refusal.text, refusal.tool) == (Kind.REFUSAL, "", "AskUserQuestion")


def test_permission_rule_is_no_person() -> None:
    """A call that a rule or a hook denied has failed; nobody refused it."""
    denied = outcome("Use the Read tool", toolDenialKind="permission-rule")
    assert (denied.kind, denied.failed) == (Kind.RESULT, True)
    assert outcome("whatever it says", toolDenialKind="user-rejected").kind is Kind.REFUSAL


@pytest.mark.parametrize(
    "words",
    [
        "The user doesn't want to take this action right now. STOP what you are doing",
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        "<tool_use_error>Cancelled: parallel tool call Bash(x) errored</tool_use_error>",
    ],
)
def test_call_that_fell_with_another_is_collateral(words: str) -> None:
    """It says nothing about the call itself."""
    answer = outcome(words)
    assert (answer.kind, answer.failed, answer.is_collateral) == (Kind.RESULT, True, True)


def test_interrupt_is_no_prompt() -> None:
    """The line that marks it is the agent's; the correction is what the person types next."""
    found = session(user("u1", [text("[Request interrupted by user for tool use]")]), user("u2", "no, the other one"))
    assert told(found) == [(1, "interrupt", ""), (2, "prompt", "no, the other one")]


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        ("<command-name>/init</command-name>\n<command-args></command-args>", {}),
        ("<command-message>pr</command-message>\n<command-name>/pr</command-name>", {}),
        ("<local-command-stdout>Bye!</local-command-stdout>", {}),
        ("<bash-input>ls</bash-input>", {}),
        ("<task-notification>done</task-notification>\nRead the output file", {}),
        ("Caveat: The messages below were generated by the user while running local commands.", {}),
        ("Base directory for this skill: ~/.claude/skills/ship", {}),
        ("Operation stopped by hook: busy", {}),
        ("<system-reminder>be brief</system-reminder>", {}),
        ("Please analyse this codebase", {"isMeta": True}),
        ("an agent has ended", {"origin": {"kind": "task-notification"}}),
        ("Stop hook feedback:\n[stop.sh]: tests fail", {"isMeta": True}),
    ],
)
def test_what_no_person_typed_is_injected(content: str, fields: dict[str, Any]) -> None:
    """It stands in a person's place, and counts as no message."""
    found = session(user("u1", content, **fields))
    assert told(found) == [(1, "injected", content)]
    assert found.messages == 0


def test_prompt_is_what_was_typed_and_nothing_around_it() -> None:
    """What the editor and reminders add is taken away, in blocks of their own or around the words."""
    found = session(
        user("u1", [text("<ide_opened_file>The user opened a.py</ide_opened_file>"), text("rename it")]),
        user("u2", "fix this\n<system-reminder>Today is Monday.</system-reminder>"),
    )
    assert told(found) == [(1, "prompt", "rename it"), (2, "prompt", "fix this")]


def test_prompt_typed_while_the_model_was_busy_counts_once() -> None:
    """It is queued, taken from the queue, and handed over as a record or as an attachment."""
    queue = {"type": "queue-operation", "sessionId": "s1", "timestamp": "2026-03-01T10:00:01Z"}
    found = session(
        user("u1", "begin"),
        queue | {"operation": "enqueue", "content": "and the tests"},
        queue | {"operation": "remove"},
        envelope(
            "attachment",
            "t1",
            attachment={"type": "queued_command", "prompt": "and the tests", "commandMode": "prompt"},
        ),
        queue | {"operation": "enqueue", "content": "never handed over"},
        queue | {"operation": "enqueue", "content": "as a record"},
        user("u2", "as a record"),
        queue | {"operation": "enqueue", "content": "/exit"},
    )
    assert told(found, Kind.PROMPT) == [
        (1, "prompt", "begin"),
        (4, "prompt", "and the tests"),
        (5, "prompt", "never handed over"),
        (7, "prompt", "as a record"),
    ]
    assert found.messages == 4


def test_queued_notification_is_no_prompt() -> None:
    """The agent queues messages of its own too."""
    attachment = {"type": "queued_command", "prompt": "an agent has ended", "commandMode": "task-notification"}
    found = session(user("u1", "begin"), envelope("attachment", "t1", attachment=attachment))
    assert told(found)[1] == (2, "injected", "an agent has ended")


def test_what_hooks_and_skills_add_is_injected() -> None:
    """Attachments carry it, in fields of many names."""
    found = session(
        envelope("attachment", "t1", attachment={"type": "hook_success", "stdout": "notes of the clan"}),
        envelope("attachment", "t2", attachment={"type": "file", "content": {"file": {"content": "text of a file"}}}),
        envelope("attachment", "t3", attachment={"type": "date_change"}),
    )
    assert told(found) == [(1, "injected", "notes of the clan"), (2, "injected", "text of a file")]


def test_repeated_record_counts_once() -> None:
    """A resumed session may hold its history twice."""
    history = [
        user("u1", "hello"),
        assistant("a1", text("hi"), use("c1", command="ls")),
        user("u2", [result("c1", "a")]),
    ]
    once, twice = session(*history), session(*history, *history)
    assert twice.events == once.events
    assert (twice.messages, twice.calls, twice.usage) == (once.messages, once.calls, once.usage)


def test_damaged_copy_does_not_hide_the_whole_one() -> None:
    """Only what was understood makes its repetition superfluous."""
    broken = user("u1", "x") | {"message": "torn"}
    assert told(session(broken, user("u1", "hello"))) == [(2, "prompt", "hello")]


def test_call_copied_under_another_uuid_counts_once() -> None:
    """Forks give records new names, but calls keep theirs."""
    found = session(assistant("a1", use("c1"), answer="m1"), assistant("a2", use("c1"), answer="m1"))
    assert (found.calls, found.messages) == (1, 1)


def test_session_that_continues_another_counts_as_that_one() -> None:
    """One file, two ids: the last is its own."""
    found = session(user("u1", "hello", sessionId="old"), assistant("a1", text("hi"), sessionId="new"))
    assert (found.id, found.parent, found.name) == ("new", "old", "claude-code:old")


def test_fork_counts_as_the_session_it_came_from() -> None:
    """Newer records say so themselves."""
    found = session(user("u1", "hello", forkedFrom={"sessionId": "trunk", "messageUuid": "x"}))
    assert (found.id, found.parent) == ("s1", "trunk")


COPIED = (
    {"type": "mode", "mode": "normal", "sessionId": "fork"},
    {"type": "tools-used", "tools": ["Bash"], "sessionId": "fork"},
    user("u1", "hello", sessionId="fork"),
    assistant("a1", text("yes?"), sessionId="fork", requestSessionId="trunk"),
    user("u2", "go on", sessionId="fork"),
)


def test_a_copied_answer_names_the_session_that_a_fork_counts_as() -> None:
    """As 2.1.326 writes it: all records have the fork's id, and `forkedFrom` is gone."""
    found = session(*COPIED, assistant("a2", text("done"), sessionId="fork"))
    assert (found.id, found.parent, found.name) == ("fork", "trunk", "claude-code:trunk")


def test_the_fork_of_a_fork_counts_as_the_first_origin() -> None:
    """So that all of them are one session."""
    found = session(*COPIED, assistant("a2", text("done"), sessionId="fork", requestSessionId="branch"))
    assert found.name == "claude-code:trunk"


def test_an_answer_that_the_session_itself_asked_for_makes_no_fork() -> None:
    found = session(user("u1", "hello"), assistant("a1", text("yes?"), requestSessionId="s1"))
    assert (found.parent, found.name) == ("", "claude-code:s1")


def test_branch_that_a_rewind_left_stays() -> None:
    """Its commands ran, and the person said it."""
    found = session(
        user("u1", "hello"),
        assistant("a1", text("first"), parentUuid="u1"),
        user("u2", "another way", parentUuid="u1"),
        assistant("a2", text("second"), parentUuid="u2"),
    )
    assert [words for _, _, words in told(found)] == ["hello", "first", "another way", "second"]


def test_inline_subagent_is_a_sidechain_of_its_parent() -> None:
    """Its task is the model's text; its calls and answers count."""
    found = session(
        user("u1", "look around"),
        assistant("a1", use("c1", "Task", prompt="count files")),
        user("u2", "count files", isSidechain=True),
        assistant("a2", use("c2", command="ls"), isSidechain=True),
        user("u3", [result("c2", "a")], isSidechain=True),
        user("u4", [result("c1", "one file")]),
    )
    assert not found.is_subagent
    assert (found.messages, found.calls) == (3, 2)
    assert [(event.kind.value, event.is_sidechain) for event in found.events] == [
        ("prompt", False),
        ("call", False),
        ("injected", True),
        ("call", True),
        ("result", True),
        ("result", False),
    ]


def test_subagents_file_belongs_to_its_parent() -> None:
    """All of it is a sidechain; the session's id is the parent's, its own is the agent's."""
    aside: Any = {"isSidechain": True, "agentId": "a7"}
    found = session(user("u1", "count files", **aside), assistant("a1", text("one"), **aside))
    assert (found.id, found.parent, found.is_subagent, found.title) == ("a7", "s1", True, "count files")
    assert found.name == "claude-code:s1"
    assert found.messages == 1


def test_subagents_title_may_stand_beside_it(tmp_path: Path) -> None:
    """What is private there is private too, and what is no JSON says nothing."""
    aside: Any = {"isSidechain": True, "agentId": "a7"}
    records, path = [user("u1", "count files", **aside)], tmp_path / "agent-a7.jsonl"
    (tmp_path / "agent-a7.meta.json").write_text(
        '{"agentType": "Explore", "description": "Count <private>x</private>files"}'
    )
    assert session(*records, path=str(path)).title == "Count files"
    (tmp_path / "agent-a7.meta.json").write_text("torn")
    assert session(*records, path=str(path)).title == "count files"


def test_subagent_that_names_only_itself_has_its_parent_in_the_path() -> None:
    """Its folder lies in one that is called like the parent."""
    aside: Any = {"isSidechain": True, "agentId": "a7", "sessionId": "agent-a7"}
    found = session(user("u1", "count files", **aside), path="/x/projects/-shop/s9/subagents/agent-a7.jsonl")
    assert (found.id, found.parent) == ("a7", "s9")


def test_compaction_is_a_summary_and_what_came_before_stays() -> None:
    """Nothing of it was typed."""
    found = session(
        user("u1", "begin"),
        envelope("system", "b1", subtype="compact_boundary", content="Conversation compacted"),
        user(
            "u2", "This session is being continued from a previous conversation. always use tabs", isCompactSummary=True
        ),
        envelope("system", "w1", subtype="away_summary", content="While you were away"),
    )
    assert [kind for _, kind, _ in told(found)] == ["prompt", "summary", "summary"]
    assert found.messages == 1


def test_title_is_of_this_session() -> None:
    """Lines at the top of a file often tell about others."""
    found = session(
        {"type": "summary", "summary": "of another", "leafUuid": "elsewhere"},
        {"type": "summary", "summary": "of this one", "leafUuid": "u1"},
        user("u1", "hello"),
    )
    assert found.title == "of this one"


def test_file_that_only_tells_of_others_has_no_session() -> None:
    """It is known, and said to hold none."""
    transcript = read_transcript(lines({"type": "summary", "summary": "x", "leafUuid": "elsewhere"}))
    assert (transcript.flavour, transcript.sessions) == ("claude-code", [])
    assert sum(transcript.skipped.values()) == 1


def test_what_the_provider_could_not_do_is_a_fault() -> None:
    """It is no answer of the model, and costs nothing."""
    found = session(
        user("u1", "hello"),
        assistant("a1", text("API Error: 529"), model="<synthetic>", isApiErrorMessage=True),
        envelope("system", "e1", subtype="api_error", error={"message": "overloaded"}),
        assistant("a2", text("No response requested."), model="<synthetic>"),
    )
    assert told(found)[1:] == [
        (2, "fault", "API Error: 529"),
        (3, "fault", "overloaded"),
        (4, "injected", "No response requested."),
    ]
    assert (found.messages, found.model) == (1, "")


def test_accepted_plan_is_a_prompt_without_the_plan() -> None:
    """The plan is the model's text. Its name stays, so that the task can be told."""
    found = session(user("u1", "Implement the following plan:\n\n# Fix the hook\n\nAlways use tabs."))
    assert told(found) == [(1, "prompt", "Implement the following plan: Fix the hook")]


def test_states_and_progress_are_no_events_and_the_unknown_is_counted() -> None:
    """What repeats messages, and what only the agent needs, is passed over in silence; the rest is said."""
    transcript = read_transcript(
        lines(
            user("u1", "hello"),
            envelope("progress", "p1", data={"type": "agent_progress", "message": {"content": "again"}}),
            {"type": "mode", "mode": "normal", "sessionId": "s1"},
            {"type": "from-the-future", "sessionId": "s1"},
        )
    )
    assert told(transcript.sessions[0]) == [(1, "prompt", "hello")]
    assert (
        transcript.skipped
        == {"a record of a sort that is not known: from-the-future": 1}
        == transcript.sessions[0].skipped
    )


def test_glued_and_torn_lines_cost_only_themselves() -> None:
    """Two records on one line are both read; what is no JSON is counted."""
    first, second, third = (json.dumps(user(f"u{number}", f"hello {number}")) for number in range(3))
    data = f"\ufeff{first}{second}\r\n\n42\n{third[:50]}\n{third}".encode()
    transcript = read_transcript(data)
    assert told(transcript.sessions[0]) == [
        (1, "prompt", "hello 0"),
        (1, "prompt", "hello 1"),
        (5, "prompt", "hello 2"),
    ]
    assert transcript.skipped == {"a value that is no object": 1, "a line, or the rest of one, is no JSON": 1}


def test_repository_is_known_from_a_pull_request() -> None:
    """Nothing else in the file has its address."""
    link = {"type": "pr-link", "sessionId": "s1", "prUrl": "https://github.com/ada/shop/pull/7"}
    assert session(user("u1", "hello"), link).remote == "https://github.com/ada/shop"


def test_stopped_command_is_collateral() -> None:
    """The person stopped it; it did not fail by itself."""
    answer = outcome("partly", is_error=False, toolUseResult={"stdout": "partly", "interrupted": True})
    assert answer.is_collateral


def test_bare_uses_of_tools_are_read() -> None:
    """Some versions wrote calls and results as records of their own."""
    found = session(
        user("u1", "hello"),
        {"type": "tool_use", "uuid": "t1", "sessionId": "s1", "name": "bash", "input": {"command": "cat a"}},
        {"type": "tool_result", "uuid": "r1", "sessionId": "s1", "name": "bash", "output": "text"},
    )
    assert told(found, Kind.CALL, Kind.RESULT) == [(2, "call", "cat a"), (3, "result", "text")]
    assert only(found, Kind.RESULT).tool == "bash"
