"""Installing into the settings of agents, as people have them: with comments, other hooks, links, read-only, broken."""

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.agents import jsonc
from clan_learnings.agents.agent_files import InstallTarget, PartChange
from clan_learnings.agents.installer import AGENTS, install, uninstall

MESH = "/opt/clan/bin/mesh"
EVERY = tuple(AGENTS)

CLAUDE = """\
{
    // mine, and older than anybody's
    "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "model": "opus", // the best
    "permissions": {
        "allow": [
            "Bash(npm run lint)",
        ],
        "deny": ["Read(./.env)"]
    },
    "hooks": {
        "Stop": [
            { "hooks": [{ "type": "command", "command": "say done" }] } /* loud */
        ],
        "Future": [{ "unknown": true }]
    },
    "unknownKey": { "a": [1, 2.0, null] }
}
"""

CODEX = """\
# my Codex
model = "gpt-5"   # good enough
notify = ["notify-send", "done"]

[mcp_servers.docs]
command = "npx"
args = [
  "-y",  # yes
  "docs",
]

[projects."/home/ada/a b"]
trust_level = "trusted"
"""


def user(home: Path, **more: Any) -> InstallTarget:
    return InstallTarget(MESH, {"HOME": str(home)}, **more)


def tree(folder: Path) -> dict[str, bytes | str]:
    """Every file of a folder with its bytes, every link with where it leads."""
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def did(outcomes: list[PartChange]) -> dict[str, str]:
    return {os.path.basename(outcome.path): outcome.did for outcome in outcomes}


def commands(settings: Any) -> dict[str, list[str]]:
    """The command lines in the hooks of a settings file."""
    return {
        event: [handler["command"] for group in groups for handler in group.get("hooks", [])]
        for event, groups in settings["hooks"].items()
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user who has used agents for a while."""
    folder = tmp_path / "ada"
    for path, text in (
        (".claude/settings.json", CLAUDE),
        (".claude.json", '{"numStartups":7,"mcpServers":{"docs":{"command":"npx"}},"projects":{}}'),
        (".codex/config.toml", CODEX),
        (".gemini/settings.json", '{\n  "theme": "GitHub",\n  "hooks": {}\n}'),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_claude_code_gets_hooks_server_and_skill(home: Path) -> None:
    """Beside what was there, in its own style."""
    assert did(install(["claude-code"], user(home))) == {
        "settings.json": "changed",
        ".claude.json": "changed",
        "SKILL.md": "created",
    }
    text = (home / ".claude/settings.json").read_text()
    settings = jsonc.parse(text).value
    assert commands(settings) == {
        "Stop": ["say done", f"{MESH} hook Stop"],
        "Future": [],
        **{
            event: [f"{MESH} hook {event}"]
            for event in (
                "SessionStart",
                "UserPromptSubmit",
                "PostToolUse",
                "PostToolUseFailure",
                "SubagentStart",
                "SubagentStop",
                "PreCompact",
                "SessionEnd",
            )
        },
    }
    ours = {event: settings["hooks"][event][-1] for event in commands(settings) if event != "Future"}
    assert [event for event, group in ours.items() if "async" in group["hooks"][0]] == ["Stop", "SubagentStop"]
    assert ours["Stop"]["hooks"][0]["async"] is ours["SubagentStop"]["hooks"][0]["async"] is True
    assert {event: group["matcher"] for event, group in ours.items() if "matcher" in group} == {"PostToolUse": "Bash"}
    assert {event: group["hooks"][0]["timeout"] for event, group in ours.items()} == {
        "SessionStart": 10,
        "UserPromptSubmit": 5,
        "PostToolUse": 5,
        "PostToolUseFailure": 5,
        "SubagentStart": 5,
        "Stop": 10,
        "SubagentStop": 10,
        "PreCompact": 10,
        "SessionEnd": 5,
    }
    assert settings["permissions"] == {"allow": ["Bash(npm run lint)"], "deny": ["Read(./.env)"]}
    assert all(line in text.splitlines() for line in CLAUDE.splitlines() if "//" in line)
    assert '            { "hooks": [{ "type": "command", "command": "say done" }] }, /* loud */\n' in text
    servers = json.loads((home / ".claude.json").read_text())
    assert servers["mcpServers"] == {"docs": {"command": "npx"}, "clan-mesh": {"command": MESH, "args": ["mcp"]}}
    assert servers["numStartups"] == 7
    skill = (home / ".claude/skills/clan-mesh/SKILL.md").read_text()
    assert skill.startswith("---\nname: clan-mesh\ndescription: ")
    assert f"{MESH} correct" in skill


def test_codex_gets_hooks_server_and_skill(home: Path) -> None:
    """Hooks in a file of their own, the server as one more table. Every word of a hook is part of the hash that is trusted."""
    install(["codex"], user(home))
    hooks = json.loads((home / ".codex/hooks.json").read_text())
    assert hooks["hooks"] == {
        event: [
            ({"matcher": matcher} if matcher else {})
            | {"hooks": [{"type": "command", "command": f"{MESH} hook {event} --agent codex", "timeout": seconds}]}
        ]
        for event, matcher, seconds in (
            ("SessionStart", "", 10),
            ("UserPromptSubmit", "", 5),
            ("PostToolUse", "Bash", 5),
            ("SubagentStart", "", 5),
            ("Stop", "", 10),
            ("SubagentStop", "", 10),
            ("PreCompact", "", 10),
        )
    }
    text = (home / ".codex/config.toml").read_text()
    assert text.startswith(CODEX)
    assert tomllib.loads(text)["mcp_servers"]["clan-mesh"] == {"command": MESH, "args": ["mcp"]}
    assert (home / ".agents/skills/clan-mesh/SKILL.md").exists()
    assert not (home / ".codex/rules").exists()


def test_gemini_gets_hooks_server_and_skill(home: Path) -> None:
    """With its own names of events, and milliseconds."""
    install(["gemini"], user(home))
    settings = json.loads((home / ".gemini/settings.json").read_text())
    assert commands(settings) == {
        event: [f"{MESH} hook {event} --agent gemini"]
        for event in ("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "PreCompress")
    }
    assert settings["hooks"]["SessionStart"][0]["hooks"][0]["timeout"] == 10_000
    assert settings["hooks"]["BeforeAgent"][0]["hooks"][0]["timeout"] == 5_000
    assert {event: group.get("matcher") for event, (group,) in settings["hooks"].items() if "matcher" in group} == {
        "AfterTool": "run_shell_command"
    }
    assert settings["mcpServers"] == {"clan-mesh": {"command": MESH, "args": ["mcp"]}}
    assert settings["theme"] == "GitHub"
    assert (home / ".gemini/skills/clan-mesh/SKILL.md").exists()


def test_allow_writes_each_agents_own_rules(home: Path) -> None:
    """For everyday calls and the tools of our server; never for the commands that admit, revoke or erase."""
    install(EVERY, user(home, allow=True))
    allow = jsonc.parse((home / ".claude/settings.json").read_text()).value["permissions"]["allow"]
    assert allow[:2] == ["Bash(npm run lint)", "mcp__clan-mesh"]
    assert f"Bash({MESH} correct:*)" in allow
    assert "Bash(mesh search:*)" in allow
    assert "Bash(mesh pattern add:*)" in allow
    config = tomllib.loads((home / ".codex/config.toml").read_text())
    assert config["mcp_servers"]["clan-mesh"]["default_tools_approval_mode"] == "approve"
    rules = (home / ".codex/rules/clan-mesh.rules").read_text()
    assert f'pattern = ["{MESH}", ["context", "correct", ' in rules
    policy = tomllib.loads((home / ".gemini/policies/clan-mesh.toml").read_text())
    assert {rule["decision"] for rule in policy["rule"]} == {"allow"}
    assert f"{MESH} correct" in policy["rule"][1]["commandPrefix"]
    assert 'pattern = ["mesh", "pattern", ["add", "list", "show"]]' in rules
    written = json.dumps(allow) + rules + json.dumps(policy)
    never = (
        "admin",
        "admit",
        "alias",
        "archive",
        "edit",
        "erase",
        "import",
        "invite",
        "mute",
        "op",
        "recover",
        "retract",
    )
    assert not any(re.search(rf"\b{word}\b", written) for word in (*never, "revoke", "supersede", "uninstall"))
    assert "Bash(mesh pattern:*)" not in allow  # it would allow what hides a rule from everybody


def test_rules_of_a_program_that_moved_are_brought_up_to_date(home: Path) -> None:
    """Those of people stay, whatever they allow."""
    settings = home / ".claude/settings.json"
    settings.write_text(CLAUDE.replace("npm run lint", "mesh status"))
    install(["claude-code"], InstallTarget("/old/my place/mesh", {"HOME": str(home)}, allow=True))
    install(["claude-code"], user(home, allow=True))
    text = settings.read_text()
    assert "/old/my place" not in text
    assert text.count(f'"Bash({MESH} correct:*)"') == 1
    uninstall(["claude-code"], user(home))
    assert settings.read_text() == CLAUDE.replace("npm run lint", "mesh status")


@pytest.mark.parametrize("allow", [False, True])
def test_twice_is_once_and_out_gives_every_byte_back(home: Path, allow: bool) -> None:  # noqa: FBT001
    """Files, backups, folders: as if we had never been there."""
    before = tree(home)
    folders = {path for path in home.rglob("*") if path.is_dir()}
    target = user(home, allow=allow)
    install(EVERY, target)
    once = tree(home)
    assert {outcome.did for outcome in install(EVERY, target)} == {"same"}
    assert tree(home) == once
    assert before != once
    uninstall(EVERY, user(home))
    assert tree(home) == before
    assert {path for path in home.rglob("*") if path.is_dir()} == folders
    assert {outcome.did for outcome in uninstall(EVERY, target)} == {"same"}


OTHERS = {
    "hooks": {
        "SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "./greet", "timeout": 3}]}],
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}, {"type": "command", "command": "mesh status"}]}
        ],
        "PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "prettier"}]}],
        "AfterTool": [{"matcher": "write_file", "sequential": True, "hooks": []}],
    },
    "unknown": {"deep": [1, 2.50, {"a": None}], "\u00e9": "\u2028"},
}

SHAPES = {
    "comments": CLAUDE,
    "other hooks and unknown keys": json.dumps(OTHERS, indent=2) + "\n",
    "in one line": json.dumps(OTHERS, separators=(",", ":")),
    "tabs, letters as they are": json.dumps(OTHERS, indent="\t", ensure_ascii=False),
    "lines of another system": CLAUDE.replace("\n", "\r\n"),
    "a byte order mark": "\ufeff" + CLAUDE,
    "both, without an end": "\ufeff" + json.dumps(OTHERS, indent=4).replace("\n", "\r\n"),
    "a key twice": '{"model": "a", "model": "b", "hooks": {"Stop": [{"hooks": []}]}}\n',
    "nothing": "",
    "an empty object": "{}",
    "an empty object with a remark": "{\n  // nothing yet\n}\n",
    "empty containers": '{"hooks": {"SessionStart": [], "BeforeAgent": []}, "mcpServers": {}, "permissions": {"allow": []}}\n',
}

TABLES = {
    "comments": CODEX,
    "lines of another system": CODEX.replace("\n", "\r\n"),
    "a byte order mark": "\ufeff" + CODEX,
    "without an end": CODEX.rstrip("\n"),
    "nothing": "",
    "only a remark": "# mine\n",
    "empty lines at the end": CODEX + "\n\n\n",
    "hooks of its own": CODEX + '\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "say"\n',
}

PLACES = [
    *(
        (agent, file, name, text)
        for agent, file in (
            ("claude-code", ".claude/settings.json"),
            ("claude-code", ".claude.json"),
            ("codex", ".codex/hooks.json"),
            ("gemini", ".gemini/settings.json"),
        )
        for name, text in SHAPES.items()
    ),
    *(("codex", ".codex/config.toml", name, text) for name, text in TABLES.items()),
]


@pytest.mark.parametrize("linked", [False, True], ids=["plain", "linked"])
@pytest.mark.parametrize(
    ("agent", "file", "text"), [(a, f, t) for a, f, _, t in PLACES], ids=[f"{f}, {n}" for _, f, n, _ in PLACES]
)
def test_every_shape_of_every_file(tmp_path: Path, agent: str, file: str, text: str, linked: bool) -> None:  # noqa: FBT001
    """Twice is once; what was there reads as before; out gives the same bytes, with the backup and, if it said anything, without."""
    path = tmp_path / "ada" / file
    path.parent.mkdir(parents=True)
    real = tmp_path / "dotfiles" if linked else path
    real.write_bytes(text.encode())
    if linked:
        path.symlink_to(real)
    before = tree(tmp_path)
    target = user(tmp_path / "ada", allow=True)
    assert "refused" not in {outcome.did for outcome in install([agent], target)}
    once = tree(tmp_path)
    assert text.encode() != real.read_bytes()
    assert {outcome.did for outcome in install([agent], target)} == {"same"}
    assert tree(tmp_path) == once
    uninstall([agent], target)
    assert tree(tmp_path) == before
    if text.strip("\ufeff{} \n") and not text.startswith('{"hooks": {"SessionStart": []'):
        install([agent], target)
        for backup in path.parent.glob("*.bak"):
            backup.unlink()
        uninstall([agent], target)
        if file.endswith(".toml"):  # of the empty lines before our table, only the backup knows how many were theirs
            assert real.read_bytes().rstrip() == text.encode().rstrip()
        else:
            assert real.read_bytes() == text.encode()


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini", "qwen"])
def test_what_an_older_version_wrote_is_brought_up_to_date(tmp_path: Path, agent: str) -> None:
    """With fewer events, other timeouts and no matcher: one handler an event afterwards, and out leaves nothing."""
    target = user(tmp_path)
    file = next(o.path for o in install([agent], target) if o.path.endswith(("settings.json", "hooks.json")))
    whole = Path(file).read_text()
    older = json.loads(whole)
    events = list(older["hooks"])
    for event in events[3:]:
        del older["hooks"][event]
    older["hooks"]["SessionEnd"] = [{"hooks": [{"type": "command", "command": "/old/mesh hook SessionEnd"}]}]
    for (group,) in older["hooks"].values():
        group.pop("matcher", None)
        group["hooks"][0]["timeout"] = 99
    Path(file).write_text(json.dumps(older, indent=2))
    assert did(install([agent], target))[os.path.basename(file)] == "changed"
    now, then = json.loads(Path(file).read_text())["hooks"], json.loads(whole)["hooks"]
    assert {event: groups[0]["hooks"] for event, groups in now.items()} == {
        event: groups[0]["hooks"] for event, groups in then.items()
    }
    uninstall([agent], target)
    assert tree(tmp_path) == {}


def test_nothing_before_is_nothing_after(tmp_path: Path) -> None:
    """On a machine without any agent's settings, all files and folders that were made are taken away."""
    (tmp_path / "new").mkdir()
    outcomes = install(EVERY, user(tmp_path / "new", allow=True))
    assert {outcome.did for outcome in outcomes} == {"created"}
    assert {outcome.did for outcome in uninstall(EVERY, user(tmp_path / "new"))} == {"removed"}
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize("text", ["", "{}", "{ }\n", '{"hooks": {}}', '{\n\t"hooks": {"Stop": []}\n}', "\ufeff{}\r\n"])
def test_empty_settings_come_back_as_they_were(tmp_path: Path, text: str) -> None:
    """An empty container that we filled is empty again, and not gone."""
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(text.encode())
    install(["claude-code"], user(tmp_path))
    install(["claude-code"], user(tmp_path, allow=True))
    assert len(list(file.parent.glob("settings.json.*"))) == 1
    uninstall(["claude-code"], user(tmp_path))
    assert file.read_bytes() == text.encode()
    assert list(file.parent.glob("settings.json.*")) == []


def test_the_backup_holds_the_file_without_us(home: Path) -> None:
    """Beside the file, one at a time, for the eyes of those who could read the file."""
    settings = home / ".claude/settings.json"
    settings.chmod(0o600)
    (first,) = [outcome for outcome in install(["claude-code"], user(home)) if outcome.path == str(settings)]
    assert first.note.startswith(f"backup: {settings}.clan-mesh-")
    (backup,) = settings.parent.glob("settings.json.*.bak")
    assert backup.read_text() == CLAUDE
    assert backup.stat().st_mode & 0o777 == 0o600
    assert settings.stat().st_mode & 0o777 == 0o600
    edited = settings.read_text().replace('"opus"', '"sonnet"')
    settings.write_text(edited)
    install(["claude-code"], user(home, allow=True))
    (backup,) = settings.parent.glob("settings.json.*.bak")
    assert backup.read_text() == CLAUDE.replace('"opus"', '"sonnet"')


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_root_leaves_a_file_to_its_owner(home: Path) -> None:
    """Neither the file nor its backup is root's afterwards."""
    settings = home / ".claude/settings.json"
    os.chown(settings, 12345, 54321)
    install(["claude-code"], user(home))
    owners = {(path.stat().st_uid, path.stat().st_gid) for path in settings.parent.glob("settings.json*")}
    assert owners == {(12345, 54321)}
    uninstall(["claude-code"], user(home))
    assert (settings.stat().st_uid, settings.stat().st_gid) == (12345, 54321)


def test_changes_made_since_stay(home: Path) -> None:
    """What people and agents wrote after us is theirs; only our entries go."""
    install(EVERY, user(home, allow=True))
    settings = home / ".claude/settings.json"
    text = settings.read_text().replace('"opus"', '"sonnet"').replace('"Bash(npm run lint)"', '"Bash(make)"')
    settings.write_text(text)
    config = home / ".codex/config.toml"
    config.write_text(config.read_text() + '\n[hooks.state]\ntrusted = "abc"\n')
    servers = home / ".claude.json"
    servers.write_text(servers.read_text().replace('"numStartups":7', '"numStartups":8'))
    uninstall(EVERY, user(home))
    assert settings.read_text() == CLAUDE.replace('"opus"', '"sonnet"').replace("npm run lint", "make")
    assert config.read_text() == CODEX + '\n[hooks.state]\ntrusted = "abc"\n'
    assert servers.read_text() == '{"numStartups":8,"mcpServers":{"docs":{"command":"npx"}},"projects":{}}'


def test_an_upgrade_from_another_place_leaves_one_hook(home: Path) -> None:
    """The program moved: its hooks and server move along, and uninstalling still gives every byte back."""
    before = tree(home)
    install(EVERY, InstallTarget("/old/place/mesh", {"HOME": str(home)}))
    install(EVERY, user(home))
    text = "".join(data.decode() for data in tree(home).values() if isinstance(data, bytes))
    assert "/old/place" not in text
    uninstall(EVERY, user(home))
    assert tree(home) == before


def test_links_stay_links(home: Path, tmp_path: Path) -> None:
    """Settings kept in a folder of dotfiles are written there, through a linked file and a linked folder."""
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (home / ".claude/settings.json").rename(dotfiles / "claude.json")
    (home / ".claude/settings.json").symlink_to("../../dotfiles/claude.json")
    (home / ".codex").rename(dotfiles / "codex")
    (home / ".codex").symlink_to(dotfiles / "codex")
    before = tree(tmp_path)
    install(EVERY, user(home))
    assert os.readlink(home / ".claude/settings.json") == "../../dotfiles/claude.json"
    assert f"{MESH} hook SessionStart" in (dotfiles / "claude.json").read_text()
    assert (dotfiles / "codex/hooks.json").exists()
    assert sorted(path.name for path in dotfiles.glob("*.json*")) == ["claude.json"]
    uninstall(EVERY, user(home))
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        (".claude/settings.json", '{"hooks": {', "it is not JSON: line 1: a key in double quotes is missing"),
        (".claude/settings.json", "<<<<<<< HEAD\n{}\n", "it is not JSON: line 1: no JSON value"),
        (".claude/settings.json", "[]", "its outermost value is not an object"),
        (".claude/settings.json", '{"hooks": "none"}', "hooks is not an object"),
        (".claude.json", '{"mcpServers": {"clan-mesh": {"url": "x"}}}', "it has another server named clan-mesh"),
        (".codex/config.toml", "model = \n", "it is not TOML: Invalid value (at line 1, column 9)"),
        (
            ".codex/config.toml",
            "mcp_servers = {}\n",
            "mcp_servers.clan-mesh is written in a way that we cannot edit safely",
        ),
        (".gemini/settings.json", "\x00", "it is not JSON: line 1: no JSON value"),
    ],
)
def test_a_broken_file_is_left_alone_with_the_text_to_add(home: Path, file: str, text: str, why: str) -> None:
    """The others are installed all the same."""
    (home / file).write_text(text)
    outcomes = install(EVERY, user(home))
    (refused,) = [outcome for outcome in outcomes if outcome.did == "refused"]
    assert (refused.path, refused.note) == (str(home / file), why)
    assert MESH in refused.by_hand
    assert (home / file).read_text() == text
    assert list((home / file).parent.glob("*.bak")) == [
        path for path in (home / file).parent.glob("*.bak") if not path.name.startswith((home / file).name)
    ]
    assert f"{MESH} hook" in (home / ".codex/hooks.json").read_text()


def test_a_broken_file_without_our_entries_needs_no_uninstall(home: Path) -> None:
    """One with them is said, as only a person can mend it."""
    (home / ".gemini/settings.json").write_text('{"hooks": {')
    assert did(uninstall(["gemini"], user(home)))["settings.json"] == "same"
    (home / ".gemini/settings.json").write_text(f'{{"hooks": "{MESH} hook Stop"')
    (refused,) = [outcome for outcome in uninstall(["gemini"], user(home)) if outcome.did == "refused"]
    assert refused.note.startswith("it is not JSON: line 1: ")


def test_bytes_that_are_no_text_a_folder_and_a_pipe_are_left_alone(home: Path) -> None:
    """Nothing hangs, nothing is lost."""
    (home / ".claude/settings.json").write_bytes(b'{"a": "\xff"}')
    (home / ".claude.json").unlink()
    (home / ".claude.json").mkdir()
    (home / ".gemini/settings.json").unlink()
    os.mkfifo(home / ".gemini/settings.json")
    outcomes = install(EVERY, user(home))
    assert [(os.path.basename(o.path), o.note) for o in outcomes if o.did == "refused"] == [
        ("settings.json", "it is not UTF-8"),
        (".claude.json", "it is no plain file"),
        ("settings.json", "it is no plain file"),
    ]
    assert (home / ".claude/settings.json").read_bytes() == b'{"a": "\xff"}'


def test_read_only_settings_are_left_alone(home: Path) -> None:
    """A file or a folder that may not be written is not replaced behind its owner's back."""
    (home / ".claude/settings.json").chmod(0o444)
    (home / ".gemini").chmod(0o555)
    before = tree(home / ".claude") | tree(home / ".gemini")
    outcomes = install(["claude-code", "gemini"], user(home))
    (home / ".gemini").chmod(0o755)
    refused = {os.path.relpath(o.path, home): o.note for o in outcomes if o.did == "refused"}
    assert refused == {
        ".claude/settings.json": "it is read-only",
        ".gemini/settings.json": f"the folder {home}/.gemini is read-only",
        ".gemini/skills/clan-mesh/SKILL.md": f"the folder {home}/.gemini is read-only",
    }
    after = tree(home / ".claude") | tree(home / ".gemini")
    assert {path: data for path, data in after.items() if "SKILL" not in path} == before


def test_a_file_that_changes_meanwhile_is_left_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that writes its settings between our look and our write keeps what it wrote."""
    from clan_learnings.agents import agent_files

    file = home / ".claude/settings.json"
    back_up = agent_files.back_up

    def slow(path: str, without_us: bytes, written: bytes) -> str:
        if path == str(file):
            file.write_text('{"model": "haiku"}')
        return back_up(path, without_us, written)

    monkeypatch.setattr(agent_files, "back_up", slow)
    outcomes = install(["claude-code"], user(home))
    assert outcomes[0].note == "another program changed it just now"
    assert file.read_text() == '{"model": "haiku"}'
    assert list(file.parent.glob("*.bak")) == []


def test_two_installs_at_once_lose_no_backup(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes second finds the file changed, by the same bytes: the backup is that of the first."""
    from clan_learnings.agents import agent_files

    file, before = home / ".claude/settings.json", '{\n  "hooks": {\n  },\n  "permissions": {"allow": [ ]}\n}\n'
    file.write_text(before)
    back_up, is_second = agent_files.back_up, [False]

    def overtaken(path: str, without_us: bytes, written: bytes) -> str:
        if path == str(file) and not is_second[0]:
            is_second[0] = True
            install(["claude-code"], user(home))
        return back_up(path, without_us, written)

    monkeypatch.setattr(agent_files, "back_up", overtaken)
    outcomes = install(["claude-code"], user(home))
    assert outcomes[0].note == "another program changed it just now"
    uninstall(["claude-code"], user(home))
    assert file.read_text() == before


def test_a_skill_without_our_mark_is_a_persons(home: Path) -> None:
    """It is neither overwritten nor taken away; one with the mark is written anew."""
    install(["claude-code"], user(home))
    skill = home / ".claude/skills/clan-mesh/SKILL.md"
    text = skill.read_text()
    skill.write_text(text + "more\n")
    install(["claude-code"], user(home))
    assert skill.read_text() == text
    own = "".join(line for line in text.splitlines(keepends=True) if "<!-- clan-mesh" not in line) + "mine\n"
    skill.write_text(own)
    install(["claude-code"], user(home))
    uninstall(["claude-code"], user(home))
    assert skill.read_text() == own


def test_a_dry_run_says_it_all_and_does_nothing(home: Path) -> None:
    """Only the lines that would come or go are shown: the others may hold secrets."""
    before = tree(home)
    outcomes = install(EVERY, user(home, allow=True), dry_run=True)
    assert tree(home) == before
    assert did(outcomes)["hooks.json"] == "created"
    (settings,) = [outcome for outcome in outcomes if outcome.path.endswith(".claude/settings.json")]
    assert f'+                        "command": "{MESH} hook SessionStart",' in settings.diff.splitlines()
    assert "unknownKey" not in settings.diff
    install(EVERY, user(home))
    installed = tree(home)
    assert did(uninstall(EVERY, user(home), dry_run=True))["config.toml"] == "restored"
    assert tree(home) == installed


def test_a_projects_settings_are_in_its_folder(home: Path, tmp_path: Path) -> None:
    """Nothing of the user's is touched; texts that others read name the program without a path."""
    before, project = tree(home), tmp_path / "tool"
    project.mkdir()
    install(EVERY, user(home, project=str(project), allow=True))
    assert sorted(tree(project)) == [
        ".agents/skills/clan-mesh/SKILL.md",
        ".claude/settings.json",
        ".claude/skills/clan-mesh/SKILL.md",
        ".codex/config.toml",
        ".codex/hooks.json",
        ".codex/rules/clan-mesh.rules",
        ".cursor/mcp.json",
        ".cursor/skills/clan-mesh/SKILL.md",
        ".gemini/policies/clan-mesh.toml",
        ".gemini/settings.json",
        ".gemini/skills/clan-mesh/SKILL.md",
        ".github/hooks/clan-mesh.json",
        ".github/skills/clan-mesh/SKILL.md",
        ".mcp.json",
        ".opencode/skills/clan-mesh/SKILL.md",
        ".qwen/settings.json",
        ".qwen/skills/clan-mesh/SKILL.md",
        "opencode.json",
    ]
    assert MESH not in (project / ".claude/skills/clan-mesh/SKILL.md").read_text()
    assert tree(home) == before
    uninstall(EVERY, user(home, project=str(project)))
    assert list(project.iterdir()) == []


def test_agents_may_keep_their_settings_elsewhere(tmp_path: Path) -> None:
    """Each agent's own variable is followed."""
    environ = {
        "HOME": str(tmp_path / "ada"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "CODEX_HOME": str(tmp_path / "codex"),
        "GEMINI_CLI_HOME": str(tmp_path / "gemini"),
    }
    install(EVERY, InstallTarget(MESH, environ))
    found = set(tree(tmp_path))
    assert {"claude/settings.json", "claude/.claude.json", "codex/hooks.json", "gemini/.gemini/settings.json"} <= found
    uninstall(EVERY, InstallTarget(MESH, environ))
    assert tree(tmp_path) == {}


def test_a_path_with_spaces_and_another_home_are_quoted(tmp_path: Path) -> None:
    """The shell reads one word where we mean one."""
    target = InstallTarget("/opt/my tools/mesh", {"HOME": str(tmp_path)}, home="/srv/my node", allow=True)
    install(["claude-code"], target)
    settings = json.loads((tmp_path / ".claude/settings.json").read_text())
    assert commands(settings)["Stop"] == ["'/opt/my tools/mesh' hook Stop --home '/srv/my node'"]
    servers = json.loads((tmp_path / ".claude.json").read_text())["mcpServers"]
    assert servers["clan-mesh"] == {"command": "/opt/my tools/mesh", "args": ["mcp", "--home", "/srv/my node"]}
    assert "Bash('/opt/my tools/mesh' search:*)" in settings["permissions"]["allow"]
    (tmp_path / ".claude/settings.json").write_text(json.dumps(settings))
    uninstall(["claude-code"], InstallTarget(MESH, {"HOME": str(tmp_path)}))
    assert tree(tmp_path) == {}


@pytest.mark.parametrize(
    ("agent", "hooks", "server"),
    [
        ("claude-code", ".claude/settings.json", ".claude.json"),
        ("codex", ".codex/hooks.json", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
    ],
)
def test_an_installation_sets_nothing_free_that_a_person_has_bound(
    home: Path, agent: str, hooks: str, server: str
) -> None:
    """One hook and the server are bound by hand: after an upgrade from another place all are, and that is up to date."""
    install([agent], user(home))
    text = (home / hooks).read_text()
    (home / hooks).write_text(
        text.replace(f"{MESH} hook SessionStart", f"{MESH} hook SessionStart --repo x.org/a/b", 1)
    )
    text = (home / server).read_text()
    bound = re.sub(r"\[\s*\"mcp\"\s*\]", '["mcp", "--read-only", "--repo=x.org/a/b"]', text)
    assert bound != text
    (home / server).write_text(bound)
    moved = InstallTarget("/usr/bin/mesh", {"HOME": str(home)})
    install([agent], moved)
    found = [line for lines in commands(jsonc.parse((home / hooks).read_text()).value).values() for line in lines]
    ours = [line for line in found if " hook " in line]
    assert len(ours) > 4
    assert all(line.startswith("/usr/bin/mesh hook ") and line.endswith(" --repo x.org/a/b") for line in ours)
    said = (home / server).read_text()
    values = tomllib.loads(said)["mcp_servers"] if agent == "codex" else jsonc.parse(said).value["mcpServers"]
    assert values["clan-mesh"]["args"] == ["mcp", "--read-only", "--repo", "x.org/a/b"]
    assert set(did(install([agent], moved)).values()) == {"same"}
