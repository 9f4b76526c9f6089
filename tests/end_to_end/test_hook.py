"""`mesh hook` as agents call it: real processes, whatever is wrong with the home, the event or the machine."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.records import spool
from mesh.core.draft import NewRecord
from mesh.store.home import Home, create_home
from tests.end_to_end.commands import MESH, PATIENCE_SECONDS, Finished, asked, bytes_of, done, wait_until

NPM = {
    "repo": "",
    "wrong": "run npm install",
    "right": "run pnpm install",
    "pattern": "pnpm-not-npm",
    "source": "human",
}
EVENTS = [
    ("claude-code", "SessionStart"),
    ("claude-code", "UserPromptSubmit"),
    ("claude-code", "PostToolUseFailure"),
    ("claude-code", "SubagentStart"),
    ("claude-code", "Stop"),
    ("claude-code", "PreCompact"),
    ("codex", "SessionStart"),
    ("codex", "PostToolUse"),
    ("codex", "Stop"),
    ("gemini", "SessionStart"),
    ("gemini", "BeforeAgent"),
    ("gemini", "AfterTool"),
    ("gemini", "AfterAgent"),
]


class Agent:
    """Calls hooks as an agent does: through the installed script, with JSON on stdin."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.queue = folder / "queue"
        self.environ = {
            **os.environ,
            "MESH_SPOOL": str(self.queue),
            "MESH_NO_AUTOSTART": "1",
            "MESH_CONFIG": str(folder / "config"),
        }
        for name in ("MESH_SESSION", "CLAUDE_ENV_FILE", "CODEX_THREAD_ID", "XDG_RUNTIME_DIR"):
            self.environ.pop(name, None)

    def call(self, *words: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [MESH, "hook", *words],
            input=stdin,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
            env=self.environ,
            cwd=self.folder,
        )

    def sent(self, home: str, name: str, agent: str = "claude-code", **fields: Any) -> dict[str, Any]:
        """The answer to a well-formed event."""
        finished = self.call(name, "--agent", agent, "--home", home, stdin=self.event(name, **fields))
        return answer(finished)

    def event(self, name: str, **fields: Any) -> bytes:
        said = {
            "session_id": "s1",
            "cwd": str(self.folder),
            "hook_event_name": name,
            "transcript_path": None,
            "source": "startup",
            "prompt": "shall I run npm install here?",
            "tool_input": {"command": "npm install"},
            "tool_response": {"exit_code": 1, "output": "npm error"},
        }
        if name == "PostToolUseFailure":
            said["error"] = "npm error"
        return json.dumps(said | fields).encode()

    def logged(self, home: str) -> str:
        """What the log says, wherever it is."""
        places = [Path(home, "hook.log"), self.queue / "hook.log"]
        return "".join(place.read_text() for place in places if place.exists())


def answer(finished: "subprocess.CompletedProcess[bytes]") -> dict[str, Any]:
    """What a hook said: exit code 0, one line of JSON on stdout, nothing on stderr."""
    assert finished.returncode == 0
    assert finished.stderr == b""
    assert finished.stdout.endswith(b"\n")
    assert finished.stdout.count(b"\n") == 1
    said: dict[str, Any] = json.loads(finished.stdout)
    return said


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with one HOT pattern."""
    return hot_home(tmp_path / "home")


def hot_home(path: Path) -> Home:
    made = create_home(str(path), "node")
    author = made.author()
    author.append([NewRecord("corrections", NPM | {"session": f"codex:{number}"}) for number in range(3)])
    author.store.close()
    return made


@pytest.mark.parametrize(("name_of_agent", "name"), EVENTS)
def test_every_event_is_answered_in_valid_json(agent: Agent, home: Home, name_of_agent: str, name: str) -> None:
    """With nothing but what the agent allows, and with what it is to know where it listens."""
    said = agent.sent(home.path, name, name_of_agent)
    if name in (
        "SessionStart",
        "SubagentStart",
        "PostToolUse",
        "AfterTool",
        "PostToolUseFailure",
        "UserPromptSubmit",
        "BeforeAgent",
    ):
        assert said["hookSpecificOutput"].pop("hookEventName") == name
        assert "pnpm" in said["hookSpecificOutput"].pop("additionalContext")
        assert said == {"hookSpecificOutput": {}}
    else:
        assert said == {}
    assert agent.logged(home.path) == ""


def test_the_home_is_that_of_the_folder_in_the_event(agent: Agent, home: Home, tmp_path: Path) -> None:
    """Several teams on one machine: the list of homes decides, by the repository that the agent works in."""
    repo = tmp_path / "shop"
    (repo / ".git" / "objects").mkdir(parents=True)
    (repo / ".git" / "refs").mkdir()
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (repo / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:ada/shop.git\n')
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "homes").write_text(f"github.com/ada/* = {home.path}\n")
    (tmp_path / "config" / "homes").chmod(0o600)
    said = answer(agent.call("SessionStart", stdin=agent.event("SessionStart", cwd=str(repo))))
    assert "pnpm" in said["hookSpecificOutput"]["additionalContext"]
    assert answer(agent.call("SessionStart", stdin=agent.event("SessionStart"))) == {}


def test_the_home_may_be_given_by_the_environment(agent: Agent, home: Home) -> None:
    """As for every command."""
    agent.environ["MESH_HOME"] = home.path
    said = answer(agent.call("SessionStart", stdin=agent.event("SessionStart")))
    assert "pnpm" in said["hookSpecificOutput"]["additionalContext"]


# Failing open


def nothing_there(home: str) -> None:
    shutil.rmtree(home)


def a_file_there(home: str) -> None:
    shutil.rmtree(home)
    Path(home).write_text("no folder")


def an_empty_folder(home: str) -> None:
    shutil.rmtree(home)
    os.mkdir(home)


def garbage(home: str) -> None:
    without_wal(home)
    Path(home, "mesh.db").write_bytes(b"this is no database. " * 5000)


def truncated(home: str) -> None:
    without_wal(home)
    os.truncate(os.path.join(home, "mesh.db"), 5000)


def emptied(home: str) -> None:
    without_wal(home)
    os.truncate(os.path.join(home, "mesh.db"), 0)


def half_repaired(home: str) -> None:
    Path(home, "mesh.db.repaired").write_text("")


def a_folder_for_a_database(home: str) -> None:
    without_wal(home)
    os.unlink(os.path.join(home, "mesh.db"))
    os.mkdir(os.path.join(home, "mesh.db"))


def of_a_newer_format(home: str) -> None:
    path = Path(home, "home.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))


def of_a_newer_schema(home: str) -> None:
    without_wal(home)
    with open(os.path.join(home, "mesh.db"), "r+b") as file:
        file.seek(60)
        file.write((9999).to_bytes(4, "big"))


def without_wal(home: str) -> None:
    for end in ("-wal", "-shm"):
        path = os.path.join(home, "mesh.db" + end)
        if os.path.exists(path):
            os.unlink(path)


@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "Stop"])
@pytest.mark.parametrize(
    "spoil",
    [
        nothing_there,
        a_file_there,
        an_empty_folder,
        garbage,
        truncated,
        emptied,
        half_repaired,
        a_folder_for_a_database,
        of_a_newer_format,
        of_a_newer_schema,
    ],
)
def test_a_home_that_cannot_be_used_keeps_nobody_from_working(
    agent: Agent, home: Home, spoil: Callable[[str], None], name: str
) -> None:
    """Exit code 0, an empty answer, the reason in the log, and the database as it was."""
    spoil(home.path)
    path = os.path.join(home.path, "mesh.db")
    before = Path(path).read_bytes() if os.path.isfile(path) else None
    assert agent.sent(home.path, name) == {}
    after = Path(path).read_bytes() if os.path.isfile(path) else None
    assert after == before
    if name != "Stop" or spoil not in (garbage, truncated, emptied, half_repaired, of_a_newer_schema):
        assert f"{name} of claude-code: " in agent.logged(home.path)


@pytest.mark.parametrize("spoil", [nothing_there, a_file_there, an_empty_folder, of_a_newer_format])
def test_a_home_that_is_not_ours_to_use_is_not_touched(agent: Agent, home: Home, spoil: Callable[[str], None]) -> None:
    """The log goes to the temporary folder then."""
    spoil(home.path)
    before = bytes_of(home.path)
    for name in ("SessionStart", "UserPromptSubmit", "Stop"):
        agent.sent(home.path, name)
    assert bytes_of(home.path) == before
    assert len((agent.queue / "hook.log").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"garbage",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\x00\x01",
        b'{"session_id": 7, "cwd": [], "prompt": {}, "source": 1}',
        b"[" * 1_000_000,
        b'{"session_id": "s1", "prompt": "' + b"x" * 20_000_000,
    ],
    ids=["empty", "line end", "garbage", "cut", "list", "null", "bytes", "types", "deep", "huge"],
)
@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "PostToolUseFailure", "Stop"])
def test_an_event_that_cannot_be_read_keeps_nobody_from_working(
    agent: Agent, home: Home, data: bytes, name: str
) -> None:
    """What is not JSON is answered with nothing; JSON with wrong types is a start all the same."""
    said = answer(agent.call(name, "--home", home.path, stdin=data))
    if name == "SessionStart" and b'"source": 1' in data:
        assert "pnpm" in said["hookSpecificOutput"]["additionalContext"]
    else:
        assert said == {}


@pytest.mark.parametrize(
    "words",
    [[], ["--agent"], ["SessionStart", "--agent", "clippy"], ["SessionStart", "--verbose"], ["SessionStart", "--home"]],
)
def test_wrong_usage_is_said_to_people_and_forbids_nothing(agent: Agent, words: list[str]) -> None:
    """To an agent, exit code 2 would mean: do not let it happen."""
    finished = agent.call(*words)
    assert (finished.returncode, finished.stdout) == (0, b"{}\n")
    sentence, step = finished.stderr.decode().splitlines()
    assert sentence.startswith("mesh hook: ")
    assert step == "  next: mesh hook --help"


def test_an_option_without_its_value_does_not_reach_another_home(agent: Agent, home: Home) -> None:
    """A home that was to be given is not guessed."""
    agent.environ["MESH_HOME"] = home.path
    finished = agent.call("SessionStart", "--home", stdin=agent.event("SessionStart"))
    assert (finished.returncode, finished.stdout) == (0, b"{}\n")
    assert not os.path.exists(home.file("seen"))


def test_older_versions_of_codex_tell_by_the_command_line(agent: Agent, home: Home) -> None:
    """The last word is the event; stdin is whatever it was."""
    said = json.dumps({"type": "agent-turn-complete", "thread-id": "t1", "turn-id": "1", "cwd": str(agent.folder)})
    assert answer(agent.call("agent-turn-complete", "--home", home.path, said)) == {}
    (line,) = Path(home.path, "spool", "pointers.jsonl").read_text().splitlines()
    assert (json.loads(line)["session"], json.loads(line)["event"]) == ("codex:t1", "agent-turn-complete")


@pytest.mark.parametrize(("flavour", "name"), EVENTS)
def test_the_session_of_an_extractor_is_none_of_the_users(agent: Agent, home: Home, flavour: str, name: str) -> None:
    """A model that we ask is told nothing, and no pointer to its transcript, nor anything else, is left."""
    before = bytes_of(Path(home.path))
    agent.environ["MESH_EXTRACTING"] = "1"
    assert agent.sent(home.path, name, flavour, transcript_path="/t/1.jsonl", prompt="run npm install") == {}
    assert bytes_of(Path(home.path)) == before


def test_a_command_that_failed_in_codex_is_looked_up_in_its_rollout(agent: Agent, home: Home, tmp_path: Path) -> None:
    """Its hooks are told what the command printed, and not how it ended."""
    rollout = tmp_path / "rollout-1.jsonl"
    said = {
        "transcript_path": str(rollout),
        "tool_use_id": "call_1",
        "tool_name": "Bash",
        "tool_response": "npm error: a lockfile of pnpm is here\n",
    }
    for code, is_told in ((0, False), (1, True)):
        item = {"type": "CommandExecution", "id": "call_1", "exit_code": code}
        rollout.write_text(json.dumps({"type": "event_msg", "payload": {"type": "item_completed", "item": item}}))
        told = agent.sent(home.path, "PostToolUse", "codex", session_id=f"exit-{code}", **said)
        assert ("pnpm install" in json.dumps(told)) is is_told


def test_an_event_nobody_knows_is_silence(agent: Agent, home: Home) -> None:
    """Agents grow new events."""
    assert agent.sent(home.path, "TeammateIdle") == {}
    assert agent.logged(home.path) == ""


def test_a_home_that_cannot_be_written_gives_its_context(agent: Agent, home: Home) -> None:
    """Files stand where folders should be made, which holds for root, too; the reason is in the log."""
    for name in ("sessions", "seen", "hooks", "spool"):
        Path(home.file(name)).write_text("")
    said = agent.sent(home.path, "SessionStart")
    assert "pnpm" in said["hookSpecificOutput"]["additionalContext"]
    assert agent.sent(home.path, "Stop") == {}
    log = agent.logged(home.path)
    assert "SessionStart of claude-code: the session: " in log
    assert "Stop of claude-code: the pointer: " in log


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Eight megabytes of memory, where a test may mount them: modes of folders do not keep root from writing."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small disk needs root and mount(8)")
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", path], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def make_read_only(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)


def fill_up(disk: Path) -> None:
    with open(disk / "filler", "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)


@pytest.mark.parametrize("spoil", [make_read_only, fill_up])
def test_a_disk_that_takes_nothing_keeps_nobody_from_working(
    agent: Agent, small_disk: Path, spoil: Callable[[Path], None]
) -> None:
    """Read-only or full: an answer for every event, the reason in the temporary folder, nothing started."""
    home = hot_home(small_disk / "home")
    del agent.environ["MESH_NO_AUTOSTART"]
    spoil(small_disk)
    for name in ("SessionStart", "UserPromptSubmit", "PostToolUseFailure", "SubagentStart", "Stop"):
        agent.sent(home.path, name)
    log = (agent.queue / "hook.log").read_text()
    assert "SessionStart of claude-code: " in log
    assert "Stop of claude-code: the pointer: " in log
    assert asked(home.path, "status")["sidecar"] is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to any folder")
def test_a_read_only_home_keeps_nobody_from_working(agent: Agent, home: Home) -> None:
    """The log goes to the temporary folder."""
    os.chmod(home.path, 0o500)
    try:
        for name in ("SessionStart", "UserPromptSubmit", "Stop"):
            agent.sent(home.path, name)
    finally:
        os.chmod(home.path, 0o700)
    assert (agent.queue / "hook.log").exists()


def test_a_database_that_is_being_written_is_read(agent: Agent, home: Home) -> None:
    """Readers need no lock."""
    author = home.author()
    with author.store.database.writing(durable=False):
        said = agent.sent(home.path, "SessionStart")
    author.store.close()
    assert "pnpm" in said["hookSpecificOutput"]["additionalContext"]


def test_a_database_that_is_locked_for_everyone_is_not_waited_for(agent: Agent, home: Home) -> None:
    """Somebody holds it as no program of ours does."""
    author = home.author()
    run = author.store.database.run
    run("PRAGMA wal_checkpoint(TRUNCATE)")
    run("PRAGMA locking_mode=EXCLUSIVE")
    run("BEGIN EXCLUSIVE")
    try:
        assert agent.sent(home.path, "SessionStart") == {}
    finally:
        run("ROLLBACK")
        author.store.close()
    assert "SessionStart of claude-code: the context: " in agent.logged(home.path)


def test_an_agent_that_never_ends_its_event_is_not_waited_for_for_ever(agent: Agent, home: Home) -> None:
    """After three seconds the session goes on without us."""
    process = subprocess.Popen(
        [MESH, "hook", "Stop", "--home", home.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=agent.environ | {"MESH_PATIENCE": "1"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"session_id": "s1"')
    process.stdin.flush()
    assert process.wait(PATIENCE_SECONDS) == 0
    assert process.stdout.read() == b"{}\n"
    process.stdin.close()
    process.stdout.close()
    assert "gave up after 3 s" in agent.logged(home.path)


def test_an_agent_that_does_not_read_the_answer_does_no_harm(agent: Agent, home: Home) -> None:
    """Its end of the pipe is closed before we speak."""
    process = subprocess.Popen(
        [MESH, "hook", "SessionStart", "--home", home.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=agent.environ,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, said = process.communicate(agent.event("SessionStart"), timeout=PATIENCE_SECONDS)
    assert (process.returncode, said) == (0, b"")


def test_an_exit_from_below_is_no_exit_of_ours(agent: Agent, home: Home) -> None:
    """Whatever raises what: here a library that wants to end the process."""
    program = (
        "import sys; import clan_learnings.agents.hook_events as hooks; from mesh.cli.main import run\n"
        "def leave(*_): sys.exit(2)\n"
        "hooks.Hook.run = leave\n"
        "sys.exit(run(['hook', 'SessionStart', '--home', sys.argv[1]]))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program, home.path], input=b"{}", capture_output=True, env=agent.environ, check=False
    )
    assert answer(finished) == {}
    assert "SystemExit: 2" in agent.logged(home.path)


# Many at once


def whole_event(process: "subprocess.Popen[bytes]", event: bytes) -> None:
    """An event to its end: a hook does not wait long for that, also while others are still being answered."""
    assert process.stdin is not None
    process.stdin.write(event)
    process.stdin.close()
    process.stdin = None  # so that nobody writes to it again


def test_ten_hooks_at_once_lose_no_pointer(agent: Agent, home: Home, tmp_path: Path) -> None:
    """Agents run in parallel, and their pauses fall together."""
    processes = [
        subprocess.Popen(
            [MESH, "hook", "Stop", "--home", home.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=agent.environ,
        )
        for _ in range(10)
    ]
    for number, process in enumerate(processes):
        whole_event(process, agent.event("Stop", session_id=f"s{number}", transcript_path=f"/t/{number}.jsonl"))
    said = [process.communicate(timeout=PATIENCE_SECONDS)[0] for process in processes]
    assert said == [b"{}\n"] * 10
    lines = Path(home.path, "spool", "pointers.jsonl").read_text().splitlines()
    assert {json.loads(line)["session"] for line in lines} == {f"claude-code:s{number}" for number in range(10)}
    assert len(lines) == 10


def sidecars_of(home: str) -> set[int]:
    """The processes that run as a sidecar of a home, by their command lines."""
    found = set()
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", number, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"up" in words and home.encode() in words and b"--detach" not in words:
            found.add(int(number))
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="counts processes in /proc")
def test_ten_starts_at_once_start_one_sidecar(agent: Agent, home: Home) -> None:
    """Without waiting for it; and a start while it runs starts no second one."""
    del agent.environ["MESH_NO_AUTOSTART"]
    processes = [
        subprocess.Popen(
            [MESH, "hook", "SessionStart", "--home", home.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=agent.environ,
        )
        for _ in range(10)
    ]
    try:
        for number, process in enumerate(processes):
            whole_event(process, agent.event("SessionStart", session_id=f"s{number}"))
        for process in processes:
            out, _ = process.communicate(timeout=PATIENCE_SECONDS)
            assert "hookSpecificOutput" in json.loads(out)
        wait_until(lambda: asked(home.path, "status")["sidecar"] is not None)
        running = asked(home.path, "status")["sidecar"]
        wait_until(lambda: sidecars_of(home.path) == {running})
        agent.sent(home.path, "SessionStart")
        assert asked(home.path, "status")["sidecar"] == running
        assert sidecars_of(home.path) == {running}
    finally:
        done(home.path, "down")
    wait_until(lambda: sidecars_of(home.path) == set())


def test_a_sidecar_that_cannot_start_says_why_in_the_log(agent: Agent, home: Home) -> None:
    """The session has its context, and nobody waited."""
    del agent.environ["MESH_NO_AUTOSTART"]
    os.unlink(home.file("node.key"))
    said = agent.sent(home.path, "SessionStart")
    assert "pnpm" in said["hookSpecificOutput"]["additionalContext"]
    wait_until(lambda: "node.key" in agent.logged(home.path))


@pytest.mark.parametrize("told_by", ["variable", "file"])
def test_no_sidecar_is_started_where_none_is_wanted(agent: Agent, home: Home, told_by: str) -> None:
    """By the environment, or by a file in the home."""
    if told_by == "file":
        del agent.environ["MESH_NO_AUTOSTART"]
        Path(home.file("no-autostart")).write_text("")
    agent.sent(home.path, "SessionStart")
    assert not os.path.exists(home.file("starting.lock"))
    assert asked(home.path, "status")["sidecar"] is None


def test_a_dead_sidecar_is_no_reason_to_say_nothing(agent: Agent, home: Home) -> None:
    """Killed in the middle of its work: its socket and lock file are still there."""
    process = subprocess.Popen(
        [MESH, "up", "--json", "--home", home.path],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=agent.environ,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE_SECONDS)
    said = agent.sent(home.path, "SessionStart")
    assert "pnpm" in said["hookSpecificOutput"]["additionalContext"]


# Queued writes


def recorded(home: Home) -> list[str]:
    """What every discovery says."""
    lines = done(home.path, "op", "list", "discoveries", "--json").splitlines()
    return [json.loads(line)["record"]["text"] for line in lines]


@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "Stop"])
def test_the_next_hook_takes_queued_writes_in(agent: Agent, home: Home, name: str) -> None:
    """Whatever its event; with the session and repository of whoever queued them, and once."""
    note = {
        "text": "the cache key needs the lock file",
        "session": "codex:boxed",
        "agent": "codex",
        "repo": "github.com/ada/shop",
    }
    spool.queue("discover", note, home.path, agent.environ)
    agent.sent(home.path, name)
    agent.sent(home.path, name)
    (line,) = done(home.path, "op", "list", "discoveries", "--json").splitlines()
    record = json.loads(line)["record"]
    assert {field: record[field] for field in note} == note
    assert not spool.is_waiting(home.path, agent.environ)
    assert agent.logged(home.path) == ""


def test_a_queued_correction_counts_as_its_own_session(agent: Agent, home: Home) -> None:
    """Not as that of the hook that took it in."""
    spool.queue(
        "correct",
        {"wrong": "run npm install", "right": "run pnpm install", "session": "codex:boxed"},
        home.path,
        agent.environ,
    )
    agent.sent(home.path, "Stop")
    (item,) = asked(home.path, "hot")["hot"]
    assert item["sessions"] == 4


def test_a_queued_write_that_is_no_record_is_put_aside(agent: Agent, home: Home) -> None:
    """The log says why, the others are taken in, and a stranger's file changes nothing."""
    spool.queue(
        "discover",
        {"text": "of no category", "category": "nonsense", "repo": "github.com/a/b"},
        home.path,
        agent.environ,
    )
    Path(spool.queue("discover", {"text": "x"}, home.path, agent.environ)).write_text(
        '{"kind": "erase", "arguments": {}}'
    )
    spool.queue("discover", {"text": "a good one", "repo": "github.com/a/b"}, home.path, agent.environ)
    agent.sent(home.path, "Stop")
    assert recorded(home) == ["a good one"]
    assert "a queued write was rejected: " in agent.logged(home.path)
    assert spool.SpoolState(home.path, agent.environ).rejected == 2
    assert not spool.is_waiting(home.path, agent.environ)


def test_a_queued_write_waits_until_it_can_be_taken_in(agent: Agent, home: Home) -> None:
    """The database is damaged today; tomorrow it may be repaired."""
    spool.queue("discover", {"text": "patience", "repo": "github.com/a/b"}, home.path, agent.environ)
    path = Path(home.file("mesh.db"))
    without_wal_after_checkpoint(home)
    good = path.read_bytes()
    path.write_bytes(b"garbage " * 5000)
    assert agent.sent(home.path, "Stop") == {}
    assert spool.is_waiting(home.path, agent.environ)
    path.write_bytes(good)
    agent.sent(home.path, "Stop")
    assert recorded(home) == ["patience"]


def without_wal_after_checkpoint(home: Home) -> None:
    author = home.author()
    author.store.database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    author.store.close()
    without_wal(home.path)


# The way to the agent's own commands


def test_a_correction_after_the_start_belongs_to_the_session_that_started(agent: Agent, home: Home) -> None:
    """Hook and command have the agent's process in common, and nothing else."""
    agent.environ["CLAUDECODE"] = "1"
    agent.sent(home.path, "SessionStart", session_id="the-session")
    subprocess.run(
        [MESH, "discover", "sessions are found by their process", "--home", home.path],
        check=True,
        capture_output=True,
        env=agent.environ,
        cwd=agent.folder,
    )
    (line,) = done(home.path, "op", "list", "discoveries", "--json").splitlines()
    assert json.loads(line)["record"]["session"] == "claude-code:the-session"


# What it costs

SLOW = ("aiohttp", "argparse", "asyncio", "http.client", "nacl", "numpy", "pycrdt", "subprocess")
REPORT = """
import sys
from mesh.cli.main import run
code = run(sys.argv[1:])
print(" ".join(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("name", ["PostToolUse", "Stop"])
def test_what_needs_no_record_opens_no_store(agent: Agent, home: Home, name: str) -> None:
    """Codex and Gemini tell of every command that they run, and every reply ends in a pause: no database is opened."""
    never = "import apsw\ndef never(*_, **__): raise SystemExit('a database was opened')\napsw.Connection = never\n"
    finished: Finished = subprocess.run(
        [sys.executable, "-c", never + REPORT, "hook", name, "--agent", "codex", "--home", home.path],
        input=agent.event(name, tool_response="Exit code: 0\nfine").decode(),
        capture_output=True,
        text=True,
        check=True,
        env=agent.environ,
    )
    assert finished.stdout == "{}\n"
    assert set(finished.stderr.split()) & set(SLOW) == set()


@pytest.mark.parametrize(("name_of_agent", "name"), EVENTS)
def test_a_hook_imports_nothing_slow(agent: Agent, home: Home, name_of_agent: str, name: str) -> None:
    """Each of these takes longer to import than most hooks take to run."""
    finished: Finished = subprocess.run(
        [sys.executable, "-c", REPORT, "hook", name, "--agent", name_of_agent, "--home", home.path],
        input=agent.event(name).decode(),
        capture_output=True,
        text=True,
        check=True,
        env=agent.environ,
    )
    assert set(finished.stderr.split()) & set(SLOW) == set()
