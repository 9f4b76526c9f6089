"""When an agent is asked to record what it is learning: at an objection or a rule, never at the task itself, never twice, and seldom."""

import json
import os
from pathlib import Path

import pytest

from clan_learnings.agents.hook_events import Hook
from clan_learnings.agents.hook_formats import parse
from clan_learnings.agents.hook_side import HookSide
from clan_learnings.agents.quiet import be_quiet, speak
from clan_learnings.agents.record_call import RecordCall, has_tools, program
from tests.clan_learnings.agents.test_hook_events import PUSH, World

OBJECTION = "no, use pnpm here"
CALL = 'mesh correct --wrong "what you did or assumed" --right "what is right, and where" --source human'
TASK = "write the login page"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def succeeded(world: World, command: str, session: str = "s1") -> str:
    return world.sent("PostToolUse", tool_input={"command": command}, tool_response={"stdout": "ok"}, session=session)


def test_an_objection_asks_for_a_correction_with_the_exact_call(world: World) -> None:
    """One line with our mark, which is taken out again where a harvester reads it."""
    world.started()
    assert world.asked(TASK) == ""
    told = world.asked(OBJECTION)
    assert told.startswith("clan-mesh: If the user corrects you here, record it before you reply")
    assert told.endswith(CALL)
    assert "\n" not in told


def test_a_standing_rule_asks_for_the_rule(world: World) -> None:
    """In other words, as nothing was wrong before it."""
    world.asked(TASK)
    assert "sets a rule" in world.asked("from now on run the linter before each commit")


def test_the_first_prompt_is_the_task(world: World) -> None:
    """Whatever it says, and also when it is sent once more; in each session anew."""
    for session in ("s1", "s2"):
        world.started(session=session)
        for _ in range(2):
            assert world.asked("Never use npm. No, really: that was wrong before.", session=session) == ""
        assert "record it" in world.asked(OBJECTION, session=session)


def test_machine_text_is_neither_the_first_prompt_nor_an_objection(world: World) -> None:
    """A queue, a wrapper of a command, a notification."""
    machine = ('{"type":"queue-operation","content":"no, wrong"}', "<command-name>/x</command-name> no, never")
    for text in machine:
        assert world.asked(text) == ""
    assert world.asked("no, that is wrong") == ""  # the first that a person typed
    for text in machine:
        assert world.asked(text) == ""


def test_nobody_is_asked_twice_for_one_prompt(world: World) -> None:
    """Not by a second hook, not after a restart."""
    world.asked(TASK)
    assert "record it" in world.asked(OBJECTION)
    assert world.asked(OBJECTION) == ""
    assert world.asked(f" {OBJECTION}\n") == ""


def test_a_session_is_asked_three_times_at_most(world: World) -> None:
    """Then it is left in peace."""
    world.asked(TASK)
    told = [world.asked(f"no, not file{number}.py, the other one") for number in range(8)]
    assert [bool(text) for text in told] == [True] * 3 + [False] * 5


def test_a_fork_has_been_asked_what_its_origin_has(world: World) -> None:
    """It has the same conversation behind it."""
    world.started(session="first")
    world.asked(TASK, session="first")
    world.asked(OBJECTION, session="first")
    world.started("fork", session="copy")
    assert "record it" in world.asked("that is wrong, take the other one", session="copy")


def test_a_session_hears_six_remarks_of_all_kinds(world: World) -> None:
    """Records, failures and requests together; the context at its start is apart."""
    world.started()
    world.asked(TASK)
    for number in range(9):
        world.write("discoveries", [{"text": f"tool{number}x needs --flag{number}y"}])
    told = [world.asked(f"run tool{number}x with --flag{number}y") for number in range(4)]
    told += [
        world.failed(f"tool{number}x --flag{number}y", f"tool{number}x --flag{number}y failed") for number in (4, 5)
    ]
    assert all(told)
    assert world.asked("run tool6x with --flag6y") == ""
    assert world.asked(OBJECTION) == ""
    assert world.started("clear") != ""


def test_a_request_stands_below_the_records_that_fit(world: World) -> None:
    """One answer has both."""
    world.started()
    world.asked(TASK)
    world.corrected(PUSH, count=1)
    lines = world.asked("no, git push gives me HTTP 405").splitlines()
    assert len(lines) == 2
    assert "open a pull request" in lines[0]
    assert lines[1].endswith(CALL)


def test_a_success_after_several_failures_asks_for_a_discovery(world: World) -> None:
    """Of the same command, however its output is cut; once a session, as tests fail every day."""
    world.failed("make image 2>&1 | tail -5", "no space left")
    assert succeeded(world, "make image") == ""
    world.failed("make  image", "no space left")
    assert succeeded(world, "make other") == ""
    told = succeeded(world, "make image | head -3")
    assert told.startswith("clan-mesh: This went well after 2 attempts that failed.")
    assert told.endswith('mesh discover "what made the difference, and when it matters"')
    assert succeeded(world, "make image") == ""
    for _ in range(3):
        world.failed("make docs", "no pandoc")
    assert succeeded(world, "make docs") == ""


def test_failures_of_another_session_are_not_counted(world: World) -> None:
    """Each has its own troubles."""
    for session in ("s1", "s2"):
        world.failed("make image", "no space left", session=session)
    assert succeeded(world, "make image") == ""


def test_a_failure_before_the_first_prompt_makes_what_is_hot_no_news(world: World) -> None:
    """What is noted of failures does not say that the session was shown anything."""
    world.corrected(PUSH)
    world.failed("make image", "no space left")
    assert world.asked("what is for lunch") == ""


def test_what_cannot_be_noted_is_not_asked(world: World) -> None:
    """It would be asked at every prompt."""
    world.asked(TASK)
    folder = os.path.join(world.home.path, "seen")
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    os.rmdir(folder)
    Path(folder).write_text("")
    assert world.sent("UserPromptSubmit", prompt=OBJECTION) == ""
    assert world.problems


def test_no_word_of_a_prompt_is_kept(world: World) -> None:
    """Only a hash, which differs from session to session."""
    for session in ("s1", "s2"):
        world.asked(TASK, session=session)
        world.asked("no, the password is hunter2", session=session)
    texts = [file.read_text() for file in Path(world.home.path, "seen").iterdir()]
    assert len(texts) == 2
    assert not any(word in text for text in texts for word in ("hunter2", "login"))
    first = [{line.split("\t")[3] for line in text.splitlines() if "\tfirst\t" in line} for text in texts]
    assert first[0] != first[1]


# The call


def test_the_tools_are_named_where_our_server_is_installed(world: World, tmp_path: Path) -> None:
    """In each agent's own settings."""
    environ = {"HOME": str(tmp_path)}
    assert not any(has_tools(agent, environ) for agent in ("claude-code", "codex", "gemini", "else"))
    (tmp_path / ".claude.json").write_text(json.dumps({"mcpServers": {"clan-mesh": {"command": "mesh"}}}))
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text('[mcp_servers.clan-mesh]\ncommand = "mesh"\n')
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini" / "settings.json").write_text(json.dumps({"mcpServers": {"clan-mesh": {"command": "mesh"}}}))
    assert all(has_tools(agent, environ) for agent in ("claude-code", "codex", "gemini"))
    event = parse("UserPromptSubmit", "claude-code", json.dumps({"session_id": "s1", "prompt": OBJECTION}).encode())
    world.asked(TASK)
    hook = Hook(event, world.home.path, world.notes, HookSide({}, ()), call=RecordCall("claude-code", environ))
    assert 'mcp__clan-mesh__record_correction(wrong="' in hook.run()


def test_the_command_has_the_options_of_the_hook() -> None:
    """Another home, and the only repository that it may write to."""
    call = RecordCall("codex", {"HOME": "/nowhere"}, "/opt/mesh/bin/mesh", ("--home", "/srv/a b"))
    assert call.discovery("x") == "/opt/mesh/bin/mesh discover --home '/srv/a b' \"x\""
    assert call.correction("w", "r", "human") == (
        '/opt/mesh/bin/mesh correct --home \'/srv/a b\' --wrong "w" --right "r" --source human'
    )


def test_the_program_has_its_full_path_where_a_login_shell_may_not_find_it() -> None:
    """Its name alone only in folders that are on every PATH."""
    assert program("/usr/local/bin/mesh") == "mesh"
    assert program("/home/ada/.local/bin/mesh") == "/home/ada/.local/bin/mesh"
    assert program("/home/ada/my tools/mesh") == "'/home/ada/my tools/mesh'"
    assert program("/lib/mesh/__main__.py").endswith(("/mesh", " -m mesh"))


def test_quiet_hooks_ask_nothing_and_a_failure_is_noted_all_the_same(world: World) -> None:
    """What is said is left out, what is noted for later is not."""
    world.asked(TASK)
    be_quiet(world.home.path)
    assert world.asked(OBJECTION) == ""
    for _ in range(2):
        world.failed("make image", "no space left")
    assert succeeded(world, "make image") == ""
    speak(world.home.path)
    assert "record it" in world.asked(OBJECTION)
    assert "record it" in succeeded(world, "make image")
