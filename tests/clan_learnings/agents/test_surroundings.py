"""Who writes, in which session: the order in which sources are asked, and what each of them may say."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clan_learnings.agents import session_notes
from clan_learnings.agents.session_notes import Process, ancestors, is_alive
from clan_learnings.agents.surroundings import flavour, look_around, named_session, pseudo_session, session_of
from mesh.core.errors import UsageError

NODE = b"\x07" * 32
DAY = "2026-11-16"
INIT = Process(1, 1, "init")


def alive(name: str) -> Process:
    """A process that runs as long as the test, under any name."""
    text = Path(f"/proc/{os.getpid()}/stat").read_text()
    return Process(os.getpid(), int(text.rpartition(")")[2].split()[19]), name)


@pytest.mark.parametrize(
    ("environ", "agent"),
    [
        ({}, "shell"),
        ({"CLAUDECODE": "1"}, "claude-code"),
        ({"CLAUDECODE": ""}, "shell"),
        ({"CLAUDE_CODE_SESSION_ID": "x"}, "claude-code"),
        ({"CODEX_THREAD_ID": "x"}, "codex"),
        ({"CODEX_SANDBOX_NETWORK_DISABLED": "1"}, "codex"),
        ({"GEMINI_CLI": "1"}, "gemini"),
        ({"OPENCODE": "1"}, "opencode"),
        ({"CURSOR_AGENT": "1"}, "cursor"),
        ({"CLAUDE_CONFIG_DIR": "/x", "CODEX_HOME": "/y"}, "shell"),
    ],
)
def test_the_environment_tells_the_agent(environ: dict[str, str], agent: str) -> None:
    """A setting that a person may have in any shell is no agent."""
    assert flavour(environ) == agent


def test_an_agent_inside_an_agent_is_the_nearest() -> None:
    """The inner one has the variables of both; processes tell them apart, and without them the guest is likelier."""
    both = {"CLAUDE_CODE_SESSION_ID": "c", "CODEX_THREAD_ID": "x"}
    bash, codex, claude = Process(9, 9, "bash"), Process(8, 8, "codex"), Process(7, 7, "claude")
    assert flavour(both, (bash, codex, bash, claude, INIT)) == "codex"
    assert flavour(both, (bash, claude, bash, codex, INIT)) == "claude-code"
    assert flavour(both) == "codex"
    assert session_of(both, tree=(bash, claude, codex)) == "claude-code:c"


def test_sources_are_asked_in_their_order(tmp_path: Path) -> None:
    """By hand, then MESH_SESSION, then the agent's environment, then the note of the start, then the day."""
    notes, agent = str(tmp_path / "notes"), alive("claude")
    session_notes.leave(notes, "claude-code:noted", str(tmp_path), (Process(99, 9, "sh"), agent, INIT))
    environ = {"MESH_SESSION": "mine", "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "told"}

    def session(given: str = "") -> tuple[str, str]:
        around = look_around(
            environ, str(tmp_path), node=NODE, day=DAY, session=given, left=notes, tree=(Process(98, 9, "bash"), agent)
        )
        return around.agent, around.session

    assert session("by-hand") == ("claude-code", "claude-code:by-hand")
    assert session("codex:by-hand") == ("claude-code", "codex:by-hand")
    assert session() == ("claude-code", "claude-code:mine")
    del environ["MESH_SESSION"]
    assert session() == ("claude-code", "claude-code:told")
    del environ["CLAUDE_CODE_SESSION_ID"]
    assert session() == ("claude-code", "claude-code:noted")
    environ.clear()
    assert session() == ("claude-code", "claude-code:noted")
    notes = ""
    assert session() == ("shell", pseudo_session(NODE, "shell", "", DAY))


@pytest.mark.parametrize("text", ["", "has space", "new\nline", "x" * 201, "esc\x1b"])
def test_a_session_that_cannot_be_is_refused_with_a_next_step(text: str) -> None:
    """By hand it is an error; from an agent's environment it is passed over."""
    with pytest.raises(UsageError) as caught:
        named_session(text)
    assert "leave --session out" in caught.value.next_step
    assert session_of({"CODEX_THREAD_ID": text}) == ""


@pytest.mark.parametrize(
    ("text", "session"),
    [
        ("0199-ab", "codex:0199-ab"),
        ("gemini:x", "gemini:x"),
        ("a:b:c", "a:b:c"),
        ("Upper:x", "codex:Upper:x"),
        ("9:x", "codex:9:x"),
        (":x", "codex::x"),
    ],
)
def test_a_session_has_a_flavour(text: str, session: str) -> None:
    """An id alone gets that of the agent at work."""
    assert named_session(text, "codex") == session


def test_the_pseudo_session_is_one_for_node_agent_repo_and_day() -> None:
    """Each of the four makes another, and the same four always the same."""
    ours = pseudo_session(NODE, "codex", "github.com/acme/tool", DAY)
    assert ours == pseudo_session(NODE, "codex", "github.com/acme/tool", DAY)
    assert ours.startswith("codex:day-2026-11-16-")
    others = {
        pseudo_session(b"\x08" * 32, "codex", "github.com/acme/tool", DAY),
        pseudo_session(NODE, "gemini", "github.com/acme/tool", DAY),
        pseudo_session(NODE, "codex", "github.com/acme/other", DAY),
        pseudo_session(NODE, "codex", "github.com/acme/tool", "2026-11-17"),
    }
    assert len(others | {ours}) == 5


def test_a_note_is_for_the_agents_own_commands_only(tmp_path: Path) -> None:
    """Two agents below one terminal do not find each other's note, and the terminal finds none."""
    notes, folder = str(tmp_path / "notes"), str(tmp_path)
    one, two, terminal = alive("claude"), Process(os.getppid(), ancestors()[0].start, "node"), Process(3, 3, "tmux")
    session_notes.leave(notes, "claude-code:one", folder, (Process(90, 9, "sh"), one, terminal))
    session_notes.leave(notes, "gemini:two", folder, (two, terminal))
    shell = Process(91, 9, "bash")
    assert session_notes.find(notes, "/elsewhere", (shell, one, terminal)) == "claude-code:one"
    assert session_notes.find(notes, folder, (shell, shell, two, terminal)) == "gemini:two"
    assert session_notes.find(notes, folder, (shell, terminal)) == ""
    assert session_notes.find(notes, folder, (one._replace(start=1), terminal)) == ""
    session_notes.leave(notes, "claude-code:cleared", folder, (one, terminal))
    assert session_notes.find(notes, folder, (shell, one)) == "claude-code:cleared"


def test_without_a_process_tree_the_folder_decides_if_it_can(tmp_path: Path) -> None:
    """Where the system shows no processes, one session in a folder is found, and of two neither."""
    notes = str(tmp_path / "notes")
    unknown = (Process(os.getppid(), 0, ""),)
    session_notes.leave(notes, "claude-code:one", "/src/tool", unknown)
    assert session_notes.find(notes, "/src/tool", unknown) == "claude-code:one"
    assert session_notes.find(notes, "/src/other", unknown) == ""
    session_notes.leave(notes, "claude-code:two", "/src/tool", (Process(os.getpid(), 0, ""),))
    assert session_notes.find(notes, "/src/tool", unknown) == ""
    os.utime(os.path.join(notes, f"{os.getppid()}-0"), (0, 0))
    assert session_notes.find(notes, "/src/tool", unknown) == "claude-code:two"


def test_notes_of_processes_that_ended_are_swept(tmp_path: Path) -> None:
    """There are never more notes than agents at work; what is not a note is left alone."""
    notes = tmp_path / "notes"
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    session_notes.leave(str(notes), "codex:old", "/", (Process(ended.pid, 5, "codex"),))
    (notes / "README").write_text("hello")
    (notes / "12-x").write_text("a\nb\n")
    session_notes.leave(str(notes), "codex:new", "/", (alive("codex"),))
    assert {path.name for path in notes.iterdir()} == {"README", "12-x", f"{os.getpid()}-{alive('').start}"}
    assert (notes.stat().st_mode & 0o777) == 0o700


def test_a_damaged_note_is_no_note(tmp_path: Path) -> None:
    """Neither an empty file nor a folder nor a missing place ends a command."""
    agent = alive("claude")
    (tmp_path / f"{agent.number}-{agent.start}").write_text("half")
    (tmp_path / "7-7").mkdir()
    assert session_notes.find(str(tmp_path), "/", (agent,)) == ""
    assert session_notes.find(str(tmp_path), "/", (Process(7, 0, ""),)) == ""
    assert session_notes.find(str(tmp_path / "none"), "/", ()) == ""


def test_the_processes_above_are_read_without_starting_one() -> None:
    """The parent comes first; names with spaces and parentheses are read."""
    found = ancestors()
    assert found[0].number == os.getppid()
    assert is_alive(os.getpid(), alive("").start)
    assert not is_alive(os.getpid(), 1)


def test_odd_process_names_and_a_missing_proc(tmp_path: Path) -> None:
    """A program may be called anything; without /proc the parent alone is known."""
    place = tmp_path / str(os.getppid())
    place.mkdir()
    fields = ["S", "0", *["0"] * 17, "4242"]
    (place / "stat").write_text(f"{os.getppid()} (a) b (c) {' '.join(fields)} 0\n")
    assert ancestors(str(tmp_path)) == (Process(os.getppid(), 4242, "a) b (c"),)
    (place / "stat").write_text("nonsense")
    assert ancestors(str(tmp_path)) == (Process(os.getppid(), 0, ""),)


def test_looking_around_imports_nothing_slow() -> None:
    """Every command that writes passes here; each of these modules would cost more than the look."""
    code = (
        "import sys, json, os\n"
        "before = set(sys.modules)\n"
        "from clan_learnings.agents.surroundings import look_around\n"
        "from clan_learnings.agents.session_notes import ancestors\n"
        "look_around(os.environ, os.getcwd(), node=b'', day='', left='/nowhere', tree=ancestors())\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(Path(__file__).parents[3])},
    )
    loaded = set(json.loads(done.stdout))
    assert (
        loaded & {"argparse", "dataclasses", "pathlib", "typing", "tomllib", "subprocess", "fnmatch", "nacl"} == set()
    )
