"""Homes, bundles, agents' settings and hooks of version 0.2, used with the build of today: whoever upgrades notices nothing.

All of it is in `tests/fixtures/home_0_2.tar.xz`, with what that version answered; beside it lies the script that made it with that
build. Paths in it are substituted here. Where an answer depends on the age of a record, the clock says what it said then.
"""

import hashlib
import json
import os
import shlex
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import msgpack
import pytest

from clan_learnings.agents import jsonc
from tests.end_to_end.commands import MESH, PATIENCE_SECONDS, REPOSITORY, Finished, bytes_of, wait_until
from tests.end_to_end.fleet import Sidecar, sidecars
from tests.fixtures.home_0_2 import ADDRESS, EXPECTED, PLACE, SECRET, SHOP, Ada, answers

ARCHIVE = Path(__file__).parents[1] / "fixtures" / "home_0_2.tar.xz"
AGENTS = ("claude-code", "codex", "gemini")
SETTINGS_FOLDERS = (".agents", ".claude", ".codex", ".gemini")
BACKUP = ".clan-mesh-"  # stands before the hash in a backup's name
DAY_SECONDS = 86_400


def _expected() -> dict[str, Any]:
    with tarfile.open(ARCHIVE) as archive:
        content = archive.extractfile(EXPECTED)
        assert content is not None
        said: dict[str, Any] = json.load(content)
        return said


SAID = _expected()
ANSWERS: dict[str, Any] = SAID["answers"]


class Then(Ada):
    """Ada, with everything she had: two homes, clones, settings of agents."""

    def __init__(self, place: Path) -> None:
        super().__init__(place / "ada")
        self.place = place
        self.builder = self.user / ".clan-mesh-builder"
        self.ben = Ada(place / "ben")
        self.earlier = SAID["at"] - int(time.time())  # seconds; once, so that no clock goes back
        unpack(place)

    def then(self, *words: str) -> str:
        """What a command prints when the clock says what it said as the archive was made. Its paths are those of then."""
        finished = subprocess.run(
            [*self.clock(), MESH, *words, *self.named(words)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            cwd=self.user,
            env=self.environ | {"PYTHONPATH": REPOSITORY},
            check=False,
        )
        assert finished.returncode == 0, f"mesh {' '.join(words)}: {finished.stdout}{finished.stderr}"
        return finished.stdout.replace(str(self.place), PLACE)

    def shell(self, line: str, *, stdin: str = "") -> Finished:
        """A command line as an agent runs it."""
        return subprocess.run(
            ["/bin/sh", "-c", line],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            cwd=self.user,
            env=self.environ,
            check=False,
        )

    def node(self, listen: str | None = None) -> Sidecar:
        """The home as one that can run, at the time of the archive."""
        return Sidecar(self.home, listen=listen, within=self.clock())

    def clock(self) -> list[str]:
        """What stands before a command that runs when the archive was made."""
        return [sys.executable, "-m", "tests.end_to_end.wrong_clock", str(self.earlier)]


def unpack(place: Path) -> None:
    """Everything in the archive as if it had been made here, on this machine, a day before it was packed."""
    with tarfile.open(ARCHIVE) as archive:
        for entry in archive:  # by hand: Python 3.11.2 knows no filters, and later ones want one
            path, content = place / entry.name, archive.extractfile(entry)
            if content is None:
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.write_bytes(_moved(content.read(), place))
                os.utime(path, (SAID["at"] - DAY_SECONDS,) * 2)
            path.chmod(entry.mode)
    for database in place.rglob("*.db"):
        _move_database(database, place)
    _rename_backups(place)
    _rename_queued(place)
    _take_markers(place)


def _moved(data: bytes, place: Path) -> bytes:
    """A text with the paths of here. What is no text stays as it is."""
    try:
        return data.decode().replace(PLACE, str(place)).encode() if b"\0" not in data else data
    except UnicodeDecodeError:
        return data


def _move_database(path: Path, place: Path) -> None:
    """Paths in it, whatever table they are in: those of watched folders, of files of pages, of transcripts."""
    connection = apsw.Connection(str(path))
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type='table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
    for (table,) in tables.fetchall():
        for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall():
            for kind, value in (("text", "?1"), ("blob", "CAST(?1 AS BLOB)")):
                connection.execute(
                    f'UPDATE "{table}" SET "{column}"=CAST(replace(CAST("{column}" AS TEXT), ?1, ?2) AS {kind}) '
                    f'WHERE typeof("{column}")=?3 AND instr("{column}", {value})',
                    (PLACE, str(place), kind),
                )
    connection.close()


def _rename_backups(place: Path) -> None:
    """A backup's name has the hash of the bytes that were written over it."""
    for backup in place.rglob(f"*{BACKUP}*.bak"):
        written = backup.with_name(backup.name.partition(BACKUP)[0])
        found = hashlib.blake2b(written.read_bytes(), digest_size=6).hexdigest()
        backup.rename(f"{written}{BACKUP}{found}.bak")


def _rename_queued(place: Path) -> None:
    """A queued write begins with the hash of the home it is for."""
    home = os.path.realpath(place / "ada" / "user" / ".clan-mesh")
    for queued in (place / "ada" / "queue").iterdir():
        mark = hashlib.blake2b(os.fsencode(home), digest_size=32).hexdigest()[:16]
        queued.rename(queued.with_name(f"{mark}-{queued.name.partition('-')[2]}"))


def _take_markers(place: Path) -> None:
    """A marker has the id of the machine in it, and in its name the hash of its node and its home's path."""
    for marker in (place / "ada" / "state").iterdir():
        data = marker.read_bytes()
        node, _, epoch, seq = msgpack.unpackb(data[2 : 2 + int.from_bytes(data[:2], "big")])
        (then,) = [path for path in _marked(Path(PLACE)) if _marker_name(node, path) == marker.name]
        here = Path(os.path.realpath(place)) / then.relative_to(PLACE)
        packed = msgpack.packb([node, _machine(), epoch, seq])
        marker.unlink()
        made = marker.with_name(_marker_name(node, here))
        made.write_bytes((len(packed).to_bytes(2, "big") + packed).ljust(512, b"\0"))
        made.chmod(0o600)


def _marked(place: Path) -> list[Path]:
    user = place / "ada" / "user"
    return [user / ".clan-mesh", user / ".clan-mesh" / "private.db", user / ".clan-mesh-builder"]


def _marker_name(node: bytes, path: Path) -> str:
    data = node + os.fsencode(path)
    return hashlib.blake2b(data, digest_size=32, person=b"clan-mesh marker").hexdigest()[:24]


def _machine() -> bytes:
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        if os.path.exists(path):
            found = Path(path).read_bytes()[:64].strip()
            if found:
                return found
    return f"{sys.platform}:{os.uname().nodename}".encode()


@pytest.fixture
def ada(tmp_path: Path) -> Iterator[Then]:
    """Her machine, to change."""
    made = Then(tmp_path)
    try:
        yield made
    finally:
        made.leave()


@pytest.fixture(scope="module")
def said_now(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the build of today answers, to the same questions in the same order."""
    return answers(Then(tmp_path_factory.mktemp("asked")).then)


def assert_has(found: object, wanted: object, place: str = "") -> None:
    """All that was said then is said now. A later build may say more in an object, and nothing else may differ."""
    if isinstance(wanted, dict):
        assert isinstance(found, dict), place
        for key, value in wanted.items():
            assert key in found, f"{place}.{key} is gone"
            assert_has(found[key], value, f"{place}.{key}")
    elif isinstance(wanted, list):
        assert isinstance(found, list), place
        assert len(found) == len(wanted), f"{place}: {found} instead of {wanted}"
        for index, value in enumerate(wanted):
            assert_has(found[index], value, f"{place}[{index}]")
    else:
        assert found == wanted, place


def assert_clean(ada: Then, home: Path) -> None:
    """`mesh verify` finds nothing: in the shared records, the private ones, and the pages."""
    said = [json.loads(line) for line in ada.done("verify", "--home", str(home), "--json").splitlines()]
    assert said
    assert [part for part in said if part["clean"] is not True] == []


def texts(printed: str) -> list[str]:
    """The texts of records that `--json` printed."""
    return [str(json.loads(line)["record"].get("text")) for line in printed.splitlines()]


# Homes


def test_the_archive_has_what_these_tests_are_about() -> None:
    """Otherwise they would prove nothing: a HOT pattern, candidates, a proposal, what is muted, pages, private records."""
    assert [item["pattern"] for item in ANSWERS["hot"][0]["hot"]] == ["pnpm-install"]
    assert ANSWERS["status"][0]["counts"]["members"] == 2
    assert ANSWERS["status"][0]["counts"]["erased"] == 1
    assert {item["state"] for item in ANSWERS["all candidates"][0]["candidates"]} == {
        "provisional",
        "recorded",
        "rejected",
    }
    assert len(ANSWERS["proposals"][0]["proposals"]) == 1
    assert len(ANSWERS["muted"][0]["muted"]) == 2
    assert len(ANSWERS["page list"]) == 3
    assert len(ANSWERS["tail of the private"]) == 2
    assert len(ANSWERS["learnings"][0]["learnings"]) == 1
    assert len(ANSWERS["homes"][0]["homes"]) == 1
    assert len(ANSWERS["trusted"][0]["trusted"]) == 1
    assert SAID["invitations"]


@pytest.mark.parametrize("question", ANSWERS)
def test_every_question_is_answered_as_before(said_now: dict[str, Any], question: str) -> None:
    """Records, tiers, searches, pages, candidates, settings, and the name of the whole state."""
    assert_has(said_now.get(question), ANSWERS[question], question)


def test_both_homes_hold_what_they_should(ada: Then) -> None:
    """`mesh verify` finds every chain, signature and view in order, and both members have the same root."""
    for home in (ada.home, ada.builder):
        assert_clean(ada, home)
    roots = {json.loads(ada.done("status", "--home", str(home), "--json"))["root"] for home in (ada.home, ada.builder)}
    assert roots == {ANSWERS["status"][0]["root"]}


def test_the_doctor_finds_nothing_that_the_upgrade_would_have_done(ada: Then) -> None:
    """What it finds was so before: a key lies where it was made, a write waits, Gemini was never started."""
    found = json.loads(ada.mesh("doctor", "--json").stdout)
    sorts = {item["sort"] for item in found}
    assert sorts <= {
        "recovery key here",
        "queued writes",
        "proposals",
        "broken link",
        "hooks never fired",
        "hooks outdated",  # there are more of them now; the old ones go on working
        "no sidecar",
    }


def test_writing_goes_on_in_the_same_feeds(ada: Then) -> None:
    """The markers are understood: no home is taken for one that was restored from a backup."""
    before = len(ANSWERS["status"][0]["feeds"])
    for words in (["--home", str(ada.home)], ["--home", str(ada.builder)], ["--private"]):
        said = json.loads(ada.done("discover", f"written after the upgrade {words}", "--global", "--json", *words))
        assert said["state"] == "recorded"
        assert said["counts"] is True
        assert not said["new_epoch"]
    assert len(ada.asked("status", "--feeds")["feeds"]) == before
    assert len(texts(ada.done("tail", "--private", "--json"))) == len(ANSWERS["tail of the private"]) + 1


def test_what_was_said_of_records_can_be_taken_back(ada: Then) -> None:
    """Mutes, aliases, archives, trust, shares and homes are undone by the commands of today."""
    ada.done("mute", SAID["muted"], "--undo")
    ada.done("mute", "ticket-branches", "--undo")
    assert ada.asked("mute", "--list")["muted"] == []
    ada.done("pattern", "unalias", "new-token")
    assert ada.asked("pattern", "show", "fresh-token")["names"] == ["fresh-token"]
    ada.done("pattern", "archive", "wiki-notes", "--undo")
    assert ada.asked("pattern", "show", "wiki-notes")["archived"] is None
    ada.done("share", "github.com/acme/*", "--off")
    assert ada.asked("share")["shared"] == []
    ada.done("homes", "remove", "github.com/team/*")
    assert ada.asked("homes")["homes"] == []
    ada.done("trust-repo", str(ada.folder / "code" / "fork"), "--forget")
    assert ada.asked("trust-repo", "--list")["trusted"] == []
    ada.done("settings", "category", "data-quality", "--remove")
    assert "data-quality" not in ada.asked("settings")["categories"]
    (proposal,) = ada.asked("proposals")["proposals"]
    ada.done("proposals", "grant", proposal["id"])
    assert SAID["record"] not in ada.done("tail", "-n", "1000")


def test_one_more_correction_is_counted_with_those_of_before(ada: Then) -> None:
    """In its own words, which are matched with the pattern that is HOT already."""
    said = json.loads(
        ada.done(
            "correct", "--wrong", "npm install", "--right", "pnpm install in this repository", "--repo", SHOP,
            "--session", "codex:new", "--json",
        )
    )  # fmt: skip
    (hot,) = ANSWERS["hot"][0]["hot"]
    assert (said["pattern"], said["sessions"], said["tier"]) == ("pnpm-install", hot["sessions"] + 1, "HOT")


def test_what_was_erased_is_in_no_file(ada: Then) -> None:
    """Nor does an upgrade bring it back."""
    ada.done("verify")
    found = bytes_of(ada.user)
    assert found
    assert [name for name, content in found.items() if SECRET.encode() in content] == []
    why = json.loads(ada.done("why", SAID["erased"], "--json"))
    assert why["record"] is None


def test_a_checkout_that_was_trusted_names_its_repository(ada: Then) -> None:
    """And one of another team uses that team's home, as the list says."""
    fork = ada.asked("status", at=ada.folder / "code" / "fork")["repository"]
    assert (fork["repo"], fork["unconfirmed"]) == (SHOP, None)
    team = ada.clone("team", "https://github.com/team/tool.git")
    assert ada.asked("status", at=team)["home"] == str(ada.builder)


def test_a_candidate_that_waits_can_be_accepted_and_a_rejected_one_stays_away(ada: Then) -> None:
    """Captured sessions, what was made of them, and what a person has decided are understood."""
    (first, *rest) = ada.asked("curate", "--list")["candidates"]
    edited = ada.asked(
        "curate", "--edit", first["id"], "--text", "Services are started with make.", "--right", "use make NAME"
    )
    assert edited["state"] == "approved"
    accepted = ada.asked("curate", "--accept", first["id"])
    assert accepted["state"] == "recorded"
    assert [item["repo"] for item in accepted["recorded"]] == [SHOP]
    again = ada.asked("harvest", str(ada.folder / "sessions" / "captured"))
    assert again["recorded"] == []
    assert [item["id"] for item in ada.asked("curate", "--list")["candidates"]] == [item["id"] for item in rest]


def test_the_rendered_files_are_written_again_in_their_place(ada: Then) -> None:
    """They are known as ours: none is put aside as a person's."""
    folder = ada.home / "rendered"
    before = sorted(path.name for path in folder.iterdir())
    ada.then("render")
    assert sorted(path.name for path in folder.iterdir()) == before
    assert ada.mesh("render", "--check").returncode == 0


# Bundles


def test_the_bundles_bring_a_new_member_to_the_same_state(ada: Then, tmp_path: Path) -> None:
    """Shared records with the same root, private ones too; and what it exports is nothing new to the old home."""
    home = tmp_path / "newcomer"
    ada.done("init", "--name", "newcomer", "--mesh", ANSWERS["status"][0]["mesh"], "--home", str(home))
    ada.done("import", str(tmp_path / "shared.bundle"), "--home", str(home))
    assert ada.asked("status", "--home", str(home))["root"] == ANSWERS["status"][0]["root"]
    ada.done("import", "--private", str(tmp_path / "private.bundle"), "--home", str(home))
    private = texts(ada.done("tail", "--private", "--json", "--home", str(home)))
    assert private == [str(item["record"].get("text")) for item in ANSWERS["tail of the private"]]
    assert_clean(ada, home)
    bundle = tmp_path / "back.bundle"
    ada.done("export", str(bundle), "--home", str(home))
    ada.done("import", str(bundle))
    assert ada.asked("status")["root"] == ANSWERS["status"][0]["root"]


def test_a_bundle_of_what_a_vector_lacks_goes_both_ways(ada: Then, tmp_path: Path) -> None:
    """The vector file is the `mesh status --json` that version 0.2 printed."""
    vector = tmp_path / "vector"
    vector.write_text(json.dumps(ANSWERS["status"][0]))
    ada.done("discover", "written after the upgrade", "--global")
    bundle = tmp_path / "new.bundle"
    ada.done("export", str(bundle), "--since", str(vector))
    assert bundle.stat().st_size < (tmp_path / "shared.bundle").stat().st_size
    ada.done("import", str(bundle), "--home", str(ada.builder))
    assert ada.asked("status", "--home", str(ada.builder))["root"] == ada.asked("status")["root"]


# What waited outside the databases


def test_a_queued_write_is_taken_in_by_the_next_hook(ada: Then) -> None:
    """With the session of the shell that could only queue it, and once."""
    for _ in range(2):
        ada.done("hook", "Stop", "--home", str(ada.home), stdin="{}")
    records = [json.loads(line)["record"] for line in ada.done("tail", "-n", "1000", "--json").splitlines()]
    (queued,) = [record for record in records if record.get("text") == "queued while the home was read-only"]
    assert queued["session"] == "codex:boxed"
    assert list((ada.folder / "queue").glob("*.write")) == []


def test_a_running_node_takes_in_the_pointer_that_a_hook_left(ada: Then) -> None:
    """It reads the transcript, makes a candidate of it, and forgets the pointer."""
    node = ada.node()
    with sidecars(node):
        node.up()
        wait_until(lambda: ada.asked("capture", "--status")["kept"]["sessions"] == 5)
        wait_until(lambda: not (ada.home / "spool" / "pointers.jsonl").exists())
        wait_until(lambda: "poetry add" in ada.done("curate", "--list", "--all"))


def test_a_running_node_leaves_pages_and_their_files_as_they_are(ada: Then) -> None:
    """Files of before are known as those of the pages, also in a watched folder, and an edit of one arrives."""
    files = page_files(ada.home / "pages")
    assert sorted(files) == ["runbooks/deploy.md", "runbooks/rollback.md", "words/glossary.md"]
    watched = ada.folder / "runbooks"
    node = ada.node()
    with sidecars(node):
        node.up()
        with (ada.home / "pages" / "runbooks" / "deploy.md").open("a") as file:
            file.write("Then wait.\n")
        wait_until(lambda: "Then wait." in ada.done("page", "show", "runbooks/deploy"))
        wait_until(lambda: "Then wait." in (watched / "deploy.md").read_text())
    names = [json.loads(line)["name"] for line in ada.done("page", "list", "--json").splitlines()]
    assert names == [page["name"] for page in ANSWERS["page list"]]
    changed = files["runbooks/deploy.md"] + b"Then wait.\n"
    assert page_files(ada.home / "pages") == files | {"runbooks/deploy.md": changed}
    assert page_files(watched) == {"deploy.md": changed, "rollback.md": files["runbooks/rollback.md"]}


def page_files(folder: Path) -> dict[str, bytes]:
    """The files of pages in a folder; none of them may be one that found no place."""
    found = {name: content for name, content in bytes_of(folder).items() if not name.startswith(".")}
    assert [name for name in found if not name.endswith(".md")] == []
    return found


def test_an_invitation_that_is_outstanding_can_be_used(ada: Then, tmp_path: Path) -> None:
    """The token says where the node listened: somebody else may have that port now, and then nothing can be said."""
    node, newcomer = ada.node(ADDRESS), Sidecar(tmp_path / "newcomer", within=ada.clock())
    with sidecars(node, newcomer):
        try:
            node.up()
        except AssertionError:
            pytest.skip(f"{ADDRESS} is taken")
        assert_has(json.loads(ada.then("invite", "--list", "--json")), SAID["invitations"])
        said = newcomer.join(SAID["token"], "newcomer")
        assert (said["mesh"], said["members"], said["role"]) == (ANSWERS["status"][0]["mesh"], 3, "reader")
        newcomer.up()
        wait_until(lambda: newcomer.root() == node.root())


# Agents


def hook_lines(folder: Path) -> list[tuple[str, str]]:
    """Every hook's command line in somebody's settings, with the event that it stands under."""
    found = []
    for name in (".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json"):
        lines = [line for line in (folder / name).read_text().splitlines() if not line.strip().startswith("//")]
        hooks = json.loads("\n".join(lines).replace("],}", "]}"))["hooks"]
        for event, groups in hooks.items():
            commands = [hook["command"] for group in groups for hook in group["hooks"]]
            found += [(event, command) for command in commands if " hook " in command]
    return found


def event(name: str, folder: Path) -> str:
    """An event as agents send it, with all that any of them says."""
    said = {
        "session_id": "new",
        "cwd": str(folder),
        "hook_event_name": name,
        "transcript_path": None,
        "source": "startup",
        "prompt": "shall I run npm install here?",
        "tool_input": {"command": "npm install"},
        "tool_response": {"exit_code": 1, "output": "npm error"},
    }
    return json.dumps(said | ({"error": "npm error"} if name == "PostToolUseFailure" else {}))


@pytest.mark.parametrize("whose", ["ada", "ben"])
def test_every_hook_in_old_settings_still_answers(ada: Then, whose: str) -> None:
    """As it stands there, run by a shell: exit code 0, one line of JSON, and what the agent should know at a start."""
    someone = ada if whose == "ada" else ada.ben
    lines = hook_lines(someone.user)
    assert len(lines) == 6 + 6 + 5, lines
    told = set()
    for name, line in lines:
        finished = ada.shell(line, stdin=event(name, ada.folder / "code" / "shop"))
        assert (finished.returncode, finished.stderr) == (0, ""), line
        (answer,) = [json.loads(said) for said in finished.stdout.splitlines()]
        said = answer.get("hookSpecificOutput", {})
        assert answer == ({"hookSpecificOutput": said} if said else {}), line
        if said:
            assert said["hookEventName"] == name
            assert "pnpm install" in said["additionalContext"]
            told.add(name)
    assert {"SessionStart", "SubagentStart"} <= told
    assert not (ada.home / "hook.log").exists()


def test_a_session_that_began_before_is_not_told_the_same_again(ada: Then) -> None:
    """What it was shown then is remembered: resumed, it hears nothing; asked the same, nothing."""
    shop = ada.folder / "code" / "shop"
    for name, more in (("SessionStart", {"source": "resume"}), ("UserPromptSubmit", {"prompt": "push gives 405?"})):
        said = json.loads(event(name, shop)) | {"session_id": "later"} | more
        assert ada.done("hook", name, at=shop, stdin=json.dumps(said)) == "{}\n", name


@pytest.mark.parametrize("whose", ["ada", "ben"])
def test_every_registered_server_still_speaks(ada: Then, whose: str) -> None:
    """The words in the agents' settings start one; it names its tools, and finds the records of before."""
    someone = ada if whose == "ada" else ada.ben
    server = json.loads((someone.user / ".claude.json").read_text())["mcpServers"]["clan-mesh"]
    gemini = json.loads((someone.user / ".gemini" / "settings.json").read_text())["mcpServers"]["clan-mesh"]
    codex = (someone.user / ".codex" / "config.toml").read_text()
    words = [server["command"], *server["args"]]
    assert words == [gemini["command"], *gemini["args"]]
    assert all(json.dumps(word) in codex for word in words)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "hot", "arguments": {}}},
    ]
    answered = speak(ada, shlex.join(words), asked)
    tools = {tool["name"] for tool in answered[2]["result"]["tools"]}
    assert tools >= {"record_correction", "record_discovery", "search_memory", "read_record", "list_hot", "list_recent"}
    assert "pnpm-install" in json.dumps(answered[3])


def speak(ada: Then, line: str, messages: Sequence[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Run a server, say something, wait for each answer; returns the answers by number."""
    answered: dict[int, dict[str, Any]] = {}
    with subprocess.Popen(
        ["/bin/sh", "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ada.environ, cwd=ada.user
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in messages:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            while "id" in message and message["id"] not in answered:
                said = process.stdout.readline()
                assert said, f"it ended before it answered {message}"
                answer = json.loads(said)
                answered[answer.get("id", 0)] = answer
        process.stdin.close()
        assert process.wait(PATIENCE_SECONDS) == 0
    return answered


def test_every_call_that_is_allowed_without_asking_is_a_command(ada: Then) -> None:
    """The rules that `mesh install --allow` wrote name programs and words which are still there."""
    rules = json.loads((ada.ben.user / ".claude" / "settings.json").read_text())["permissions"]["allow"]
    calls = [rule.removeprefix("Bash(").removesuffix(":*)") for rule in rules if rule.startswith("Bash(")]
    own = [call for call in calls if call.startswith(str(ada.place))]
    assert len(own) == len(calls) - len(own) == 14
    for call in own:
        finished = ada.shell(f"{call} --help")
        assert (finished.returncode, finished.stderr) == (0, ""), call


@pytest.mark.parametrize("whose", ["ada", "ben"])
def test_installing_again_adds_hooks_and_changes_none(ada: Then, whose: str) -> None:
    """Codex trusts a hook by its hash. The second time not a byte of anybody's settings changes."""
    someone = ada if whose == "ada" else ada.ben
    before = settings_of(someone)
    options = [] if whose == "ada" else ["--allow", "--home", str(ada.home)]
    said = json.loads(someone.done("install", "--all", *options, "--json"))
    assert {item["agent"] for item in said["files"]} == set(AGENTS)
    changed = {item["path"] for item in said["files"] if item["did"] != "same"}
    assert {os.path.basename(path) for path in changed} <= {"settings.json", "hooks.json", "SKILL.md"}
    for path in (path for path in changed if path.endswith(".json")):
        old = jsonc.parse(before[os.path.relpath(path, someone.user)].decode()).value["hooks"]
        new = jsonc.parse(Path(path).read_text()).value["hooks"]
        assert {event: groups[: len(old[event])] for event, groups in new.items() if event in old} == old
        assert new.keys() - old.keys() | {"PostToolUse"} <= {"PostToolUse", "SubagentStop", "SessionEnd"}
    after = settings_of(someone)
    said = json.loads(someone.done("install", "--all", *options, "--json"))
    assert {item["did"] for item in said["files"]} == {"same"}
    assert settings_of(someone) == after


def test_uninstalling_gives_back_the_files_byte_for_byte(ada: Then) -> None:
    """What was there before is there again, and what was made is gone, with its folders."""
    ada.done("uninstall", "--all")
    files = bytes_of(ada.place / "before")
    kept = {name: content for name, content in settings_of(ada).items() if not name.startswith(".claude/projects/")}
    assert kept == files
    ada.ben.done("uninstall", "--all")
    assert settings_of(ada.ben) == {}
    assert not any((ada.ben.user / folder).exists() for folder in SETTINGS_FOLDERS)


def test_settings_that_were_changed_since_keep_the_change(ada: Then) -> None:
    """Only our entries are taken out of them."""
    path = ada.user / ".claude" / "settings.json"
    path.write_text(path.read_text().replace('"opus"', '"sonnet"'))
    ada.done("uninstall", "claude-code")
    before = (ada.place / "before" / ".claude" / "settings.json").read_text()
    assert path.read_text() == before.replace('"opus"', '"sonnet"')


def test_the_doctor_takes_the_old_settings_for_ours(ada: Then) -> None:
    """Hooks of before are not missing, though there are more of them now."""
    found = json.loads(ada.mesh("doctor", "--json").stdout)
    sorts = {item["sort"] for item in found}
    assert not sorts & {"hooks not installed", "hooks twice", "settings broken"}, found


def settings_of(someone: Ada) -> dict[str, bytes]:
    """Every file in the folders of agents, with its content."""
    found = {
        f"{folder}/{name}": content
        for folder in SETTINGS_FOLDERS
        for name, content in bytes_of(someone.user / folder).items()
    }
    server = someone.user / ".claude.json"
    backups = {path.name: path.read_bytes() for path in someone.user.glob(".claude.json*.bak")}
    return found | backups | ({server.name: server.read_bytes()} if server.exists() else {})
