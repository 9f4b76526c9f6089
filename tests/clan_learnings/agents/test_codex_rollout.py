"""How a command of Codex ended: by the exit code in the rollout; where that has none, by the form of what was printed."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.agents.codex_rollout import settle
from clan_learnings.agents.hook_formats import HookEvent, parse

CALL = "call_7"
FAILED = "frobnicate: E_LOCKSTALE lock is stale\n"
SHELL = "/bin/bash: line 1: frobnicate: command not found\n"


def ended(code: Any, call: str = CALL, printed: str = FAILED) -> dict[str, Any]:
    """What Codex 0.169 writes when a command has ended, before it calls our hook."""
    item = {
        "type": "CommandExecution",
        "id": call,
        "process_id": "55382",
        "command": ["/bin/bash", "-lc", "frobnicate"],
        "cwd": "file:///src/shop",
        "source": "unified_exec_startup",
        "status": "failed" if code else "completed",
        "aggregated_output": printed,
        "exit_code": code,
        "duration": {"secs": 0, "nanos": 47211},
    }
    return {"type": "event_msg", "payload": {"type": "item_completed", "thread_id": "t", "turn_id": "u", "item": item}}


def older(code: int) -> dict[str, Any]:
    """The same in versions 0.118 to 0.128."""
    return {"type": "event_msg", "payload": {"type": "exec_command_end", "call_id": CALL, "exit_code": code}}


CALLED = {
    "type": "response_item",
    "payload": {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "frobnicate"}', "call_id": CALL},
}


def told(
    path: Path | str | None, printed: str = FAILED, command: str = "frobnicate", agent: str = "codex"
) -> HookEvent:
    """An event as Codex sends it: a bare string, whatever came of the command."""
    said = {
        "session_id": "01a1f230",
        "turn_id": "u",
        "transcript_path": None if path is None else str(path),
        "cwd": "/src/shop",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_response": printed,
        "tool_use_id": CALL,
    }
    event = parse("PostToolUse", agent, json.dumps(said).encode())
    settle(event)
    return event


def rollout(folder: Path, *lines: dict[str, Any] | str) -> Path:
    path = folder / "rollout-1.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("line", [ended(7), older(7)], ids=["item_completed", "exec_command_end"])
def test_the_rollout_says_that_a_command_failed(tmp_path: Path, line: dict[str, Any]) -> None:
    event = told(rollout(tmp_path, CALLED, line))
    assert event.is_failure
    assert event.error == FAILED


@pytest.mark.parametrize("line", [ended(0, printed=SHELL), older(0)], ids=["item_completed", "exec_command_end"])
def test_the_rollout_counts_more_than_words_that_look_like_a_failure(tmp_path: Path, line: dict[str, Any]) -> None:
    """Whoever prints a log prints failures of other commands."""
    path = rollout(tmp_path, CALLED, line)
    for printed in (SHELL, "Exit code: 1\nof another command", '{"error": "an answer of some server"}'):
        event = told(path, printed)
        assert (event.is_failure, event.error) == (False, "")


def test_another_call_says_nothing_of_this_one(tmp_path: Path) -> None:
    other = ended(1, call="call_8", printed=f"mentions {CALL}")
    assert not told(rollout(tmp_path, ended(0), other)).is_failure
    assert not told(rollout(tmp_path, other)).is_failure


def test_the_newest_line_of_a_call_counts(tmp_path: Path) -> None:
    assert told(rollout(tmp_path, ended(0), ended(1))).is_failure


def test_only_the_end_of_a_long_rollout_is_read(tmp_path: Path) -> None:
    long = {"type": "response_item", "payload": {"text": "x" * 3_000_000}}
    assert told(rollout(tmp_path, long, ended(1))).is_failure
    assert not told(rollout(tmp_path, ended(1), long)).is_failure


@pytest.mark.parametrize("code", [None, True, "1", 1.0, [1], {"code": 1}])
def test_what_is_no_exit_code_is_none(tmp_path: Path, code: object) -> None:
    assert not told(rollout(tmp_path, ended(code))).is_failure


@pytest.mark.parametrize(
    "spoilt",
    [
        "",
        "[" * 100_000 + CALL + "exit_code",
        f'"{CALL} exit_code"',
        json.dumps({"payload": [CALL, "exit_code"]}),
        json.dumps({"payload": {"item": [CALL], "exit_code": 1}}),
        json.dumps(ended(1))[:-9],
    ],
)
def test_a_spoilt_line_costs_only_itself(tmp_path: Path, spoilt: str) -> None:
    assert told(rollout(tmp_path, ended(1), spoilt)).is_failure
    assert not told(rollout(tmp_path, spoilt)).is_failure


@pytest.mark.parametrize(("printed", "failed"), [(SHELL, True), (FAILED, False), ("", False)])
def test_without_a_rollout_the_form_of_the_output_decides(tmp_path: Path, printed: str, failed: bool) -> None:  # noqa: FBT001
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(rollout(tmp_path, ended(7)))
    for path in (None, tmp_path / "gone", tmp_path, pipe, link):
        event = told(path, printed)
        assert event.is_failure is failed
        assert event.error == (printed if failed else "")


def test_a_program_that_shows_text_has_not_failed_by_what_it_shows() -> None:
    shown = "Traceback (most recent call last):\n  File 'a.py', line 1\nValueError: of another run\n"
    assert not told(None, shown, "cat old.log").is_failure
    assert told(None, shown, "python a.py").is_failure


def test_other_agents_are_not_judged_by_words(tmp_path: Path) -> None:
    """They say how a command ended."""
    for agent in ("claude-code", "gemini"):
        assert not told(rollout(tmp_path, ended(7)), SHELL, agent=agent).is_failure
