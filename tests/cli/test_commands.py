"""The commands as a person types them, run in this process: what they print, where, and their exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from mesh.cli.main import run
from mesh.core.ids import HASH_BYTES
from mesh.store.bundles import FRAME_HEAD_BYTES, MAGIC, frame_head
from tests.clan_learnings.redaction.redaction_examples import fake


class Shell:
    """Types commands for one home."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capsys = capsys
        self.err = ""

    def __call__(self, *words: str, code: int = 0) -> str:
        """Run a command, check its exit code, return its stdout without the last newline."""
        self._capsys.readouterr()
        try:
            with mock.patch.dict(os.environ, MESH_HOME=str(self.home)):
                got = run([*words])
        except SystemExit as stop:
            got = int(str(stop.code))
        out, self.err = self._capsys.readouterr()
        assert got == code, (words, got, out, self.err)
        assert "Traceback" not in self.err
        return out.removesuffix("\n")

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self(*words, "--json", code=code))


@pytest.fixture
def alpha(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """A node with a mesh of its own."""
    shell = Shell(tmp_path / "alpha", capsys)
    shell("init", "--name", "alpha")
    return shell


@pytest.fixture
def beta(alpha: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """A node that asks to belong to it."""
    shell = Shell(tmp_path / "beta", capsys)
    shell("init", "--name", "beta", "--mesh", alpha.json("status")["mesh"])
    return shell


def carry(source: Shell, target: Shell, tmp_path: Path, *options: str, code: int = 0) -> Any:
    """A bundle from one node to another."""
    source("export", str(tmp_path / "bundle"), *options)
    return target.json("import", str(tmp_path / "bundle"), code=code)


def test_a_new_home_is_closed_to_others_and_says_where_the_recovery_key_is(alpha: Shell) -> None:
    """Keys are for their owner only, and the recovery key is to be taken away."""
    assert {path.name: path.stat().st_mode & 0o777 for path in alpha.home.glob("*.key")} == {
        "node.key": 0o600,
        "root.key": 0o600,
        "recovery.key": 0o600,
    }
    assert alpha.home.stat().st_mode & 0o777 == 0o700
    alpha("op", "add", "notes", "hush", "--private")
    assert {path.stat().st_mode & 0o777 for path in alpha.home.glob("*.db*") if "shm" not in path.name} == {0o600}
    alpha("init", code=1)
    assert "already" in alpha.err
    assert "next: look at it: mesh status" in alpha.err


def test_status_has_what_machines_rely_on(alpha: Shell) -> None:
    """The documented fields are there, also before the first write."""
    alpha("op", "add", "notes", "one")
    status = alpha.json("status")
    assert {"node", "name", "mesh", "root", "feeds", "counts", "db_bytes"} <= set(status)
    (feed,) = status["feeds"]
    assert {"id", "epoch", "seq", "head"} <= set(feed)
    assert feed["seq"] == 1
    assert status["counts"]["records"] == {"notes": 1}
    assert "1 notes" in alpha("status")


def test_every_crdt_can_be_driven_from_a_shell(alpha: Shell) -> None:
    """Add, list, set, get, remove; count and total."""
    first = alpha("op", "add", "notes", "first")
    second = alpha.json("op", "add", "notes", "--record", '{"text": "second", "tags": ["x"]}')["ids"][0]
    assert [line.split("  ")[2] for line in alpha("op", "list", "notes").splitlines()] == ["first", "second"]
    alpha("op", "set", second[:9], "severity", "high")
    assert alpha.json("op", "get", second)["fields"] == {"severity": "high"}
    alpha("op", "set", "--key", "threshold", "value", "3")
    assert alpha.json("op", "get", "--key", "threshold") == {"value": 3}
    alpha("op", "remove", first, "--reason", "wrong")
    assert "first" not in alpha("op", "list")
    assert "removed" in alpha("why", first)
    alpha("op", "get", first, code=1)
    assert "mesh why" in alpha.err
    alpha("op", "count", "opened", "--by", "2")
    alpha("op", "count", "opened")
    assert alpha("op", "total", "opened") == "3"


def test_lines_from_stdin_become_one_batch(alpha: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """All in one transaction, in their order."""
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("one\n\ntwo\n"))
    assert len(alpha.json("op", "add", "notes", "--lines")["ids"]) == 2
    assert alpha.json("status")["feeds"][0]["seq"] == 2


def test_operations_of_a_node_wait_until_it_is_admitted(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """They are kept where they arrive, and count as soon as the certificate does."""
    beta("op", "add", "notes", "from beta")
    assert "mesh admit" in beta.err
    assert beta("tail") == ""
    report = carry(beta, alpha, tmp_path, code=3)
    assert (report["waiting"], report["operations"], report["refused"]) == (1, 0, 0)
    assert alpha("tail") == ""
    node = alpha.json("status")["waiting"][0]["node"]
    assert alpha.json("admit", node[:6], "--name", "beta")["operations"] == 1
    assert "from beta" in alpha("tail")
    assert alpha.json("admit", node)["new"] is False
    carry(alpha, beta, tmp_path)
    assert "from beta" in beta("tail")
    assert alpha.json("status")["root"] == beta.json("status")["root"]


def test_a_bad_bundle_prints_no_counts(alpha: Shell, tmp_path: Path) -> None:
    """Not those of a success: what is no bundle, what is of another mesh, what cannot be read."""
    other = tmp_path / "other.mesh"
    with mock.patch.dict(os.environ, MESH_HOME=str(tmp_path / "other")):
        assert run(["init"]) == run(["export", str(other)]) == 0
    (tmp_path / "text").write_text("no bundle")
    (tmp_path / "empty").touch()
    for file, code in (
        (tmp_path / "text", 4),
        (tmp_path / "empty", 4),
        (other, 4),
        (tmp_path, 1),
        (tmp_path / "no", 1),
    ):
        assert alpha("import", str(file), code=code) == ""
        assert alpha.err.startswith(f"mesh: {file}: ")
        assert "; nothing of it was merged\n  next: " in alpha.err


@pytest.mark.parametrize("fault", ["cut short", "too long", "altered", "two headers"])
def test_what_was_merged_before_the_fault_of_a_bundle_is_said(
    alpha: Shell, beta: Shell, tmp_path: Path, fault: str
) -> None:
    """On stderr, in the sentence about the fault: it is no success."""
    for number in range(3):
        alpha("op", "add", "notes", f"note {number}")
    alpha("admit", beta.json("status")["node"])
    bundle = tmp_path / "bundle"
    alpha("export", str(bundle))
    data = bundle.read_bytes()
    end = len(data) - FRAME_HEAD_BYTES - HASH_BYTES
    _, length = frame_head(data[len(MAGIC) : len(MAGIC) + FRAME_HEAD_BYTES])
    header = data[len(MAGIC) : len(MAGIC) + FRAME_HEAD_BYTES + length]
    bad = {
        "cut short": data[:end],
        "too long": data + b"more",
        "altered": data[:-1] + bytes([data[-1] ^ 1]),
        "two headers": data[:end] + header + data[end:],
    }[fault]
    bundle.write_bytes(bad)
    assert beta("import", str(bundle), code=4) == ""
    assert "; what came before that: 3 operations and " in beta.err
    assert "  next: " in beta.err
    assert [line.split("  ")[2] for line in beta("op", "list").splitlines()] == ["note 0", "note 1", "note 2"]


def test_only_the_root_key_admits(alpha: Shell, beta: Shell) -> None:
    """Elsewhere the command says where to go."""
    beta("admit", alpha.json("status")["node"], code=1)
    assert "root key" in beta.err
    alpha("admit", "zzz", code=1)
    assert "whole id" in alpha.err


def test_bundles_merge_in_any_order_and_twice(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """Part two before part one, then both again: one root."""
    alpha("admit", beta.json("status")["node"])
    alpha("op", "add", "notes", "one")
    alpha("export", str(tmp_path / "part1"))
    (tmp_path / "vector").write_text(alpha("status", "--json"))
    alpha("op", "add", "notes", "two")
    alpha("export", str(tmp_path / "part2"), "--since", str(tmp_path / "vector"))
    assert beta.json("import", str(tmp_path / "part2"), code=3)["waiting"] == 1
    assert beta.json("import", str(tmp_path / "part1"))["operations"] == 2
    beta("import", str(tmp_path / "part2"), str(tmp_path / "part1"))
    assert [line.split()[-1] for line in beta("tail").splitlines()] == ["one", "two"]
    assert alpha.json("status")["root"] == beta.json("status")["root"]


def test_an_export_since_a_vector_has_only_what_lacks(alpha: Shell, tmp_path: Path) -> None:
    """The vector file is another node's status."""
    alpha("op", "add", "notes", "one")
    (tmp_path / "vector").write_text(alpha("status", "--json"))
    alpha("op", "add", "notes", "two")
    assert alpha.json("export", str(tmp_path / "bundle"), "--since", str(tmp_path / "vector"))["operations"] == 1
    (tmp_path / "broken").write_text('{"feeds": [{}]}')
    alpha("export", str(tmp_path / "bundle"), "--since", str(tmp_path / "broken"), code=1)
    assert "mesh status --json" in alpha.err


def test_an_export_replaces_nothing_but_files(alpha: Shell, tmp_path: Path) -> None:
    """As root it would take a device's place. A link stays, and what it leads to is replaced."""
    alpha("op", "add", "notes", "one")
    pipe, folder, real, link = (tmp_path / name for name in ("pipe", "folder", "real", "link"))
    os.mkfifo(pipe)
    folder.mkdir()
    for place in (pipe, folder):
        before = place.stat()
        alpha("export", str(place), code=1)
        assert "is not a file that could be replaced" in alpha.err
        assert "mesh export -" in alpha.err
        assert (place.stat().st_ino, place.stat().st_mode) == (before.st_ino, before.st_mode)
    real.write_text("old")
    link.symlink_to(real)
    alpha("export", str(link))
    assert link.is_symlink()
    assert real.read_bytes() != b"old"
    assert sorted(path.name for path in tmp_path.iterdir() if "part" in path.name) == []


def test_an_erased_correction_leaves_no_word_of_it(alpha: Shell, tmp_path: Path) -> None:
    """Its words made the name of a pattern, under which it was counted, and of which something was said."""
    told = alpha.json("correct", "--wrong", "guessed it", "--right", "the door code is 482913 for Fleischmann")
    alpha("pattern", "edit", told["pattern"], "--rule", "ask Fleischmann first", "--topic", "fleischmanns")
    alpha("pattern", "archive", told["pattern"], "--reason", "482913 is over")
    alpha("erase", told["id"], "--reason", "a code got in")
    alpha("export", str(tmp_path / "bundle"))
    places = [path for path in [*alpha.home.rglob("*"), tmp_path / "bundle"] if path.is_file()]
    for word in (b"482913", b"fleischmann", b"Fleischmann"):
        assert [path.name for path in places if word in path.read_bytes()] == []


def test_an_erase_says_that_others_have_the_name_that_its_words_made(alpha: Shell) -> None:
    """Until those are erased as well."""
    wording = ("--wrong", "guessed it", "--right", "the door code is 482913 for Fleischmann")
    first = alpha.json("correct", *wording, "--session", "codex:1")
    second = alpha.json("correct", *wording, "--session", "codex:2")
    assert first["pattern"] == second["pattern"]
    alpha("erase", first["id"], "--reason", "a code got in", code=3)
    assert f"{first['pattern']}, and 1 other record still has that name" in alpha.err
    assert alpha.json("erase", second["id"], "--reason", "a code got in")["pattern_left"] == ""


_LOADING = """
import sys
from mesh import cli
from mesh.cli.command_list import COMMANDS, Entry
from mesh.cli.main import run
cli.__path__.append(sys.argv[1])
COMMANDS["slow"] = Entry("loaded_slowly", "Is interrupted.")
try:
    run(["slow"])
except KeyboardInterrupt:
    print("interrupted", hasattr(sys.modules["mesh.cli.loaded_slowly"], "main"))
"""


def test_a_command_is_not_interrupted_while_it_is_loaded(tmp_path: Path) -> None:
    """But right after it. In a process that has no other threads, as a command has none."""
    (tmp_path / "loaded_slowly.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nmain = lambda argv: 0\n"
    )
    command = [sys.executable, "-c", _LOADING, str(tmp_path)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert finished.stdout == "interrupted True\n"


def test_an_edit_that_an_eraser_had_not_heard_of_is_said_and_erased_by_a_second_erase(
    alpha: Shell, beta: Shell, tmp_path: Path
) -> None:
    """Both were written at the same time; the edit repeats the text."""
    alpha("admit", beta.json("status")["node"])
    made = alpha.json("discover", "the pin is 4711zebra, aks bob")["id"]
    carry(alpha, beta, tmp_path)
    beta("edit", made, "--text", "the pin is 4711zebra, ask bob")
    alpha("erase", made, "--reason", "a pin got in")
    assert alpha.json("status")["erased_edits"] == []
    carry(beta, alpha, tmp_path)
    assert [item[:8] for item in alpha.json("status")["erased_edits"]] == [made[:8]]
    assert "edit of what is erased" in alpha("doctor", code=3)
    alpha("erase", made, "--reason", "a pin got in")
    assert alpha.json("status")["erased_edits"] == []
    assert [path.name for path in alpha.home.rglob("*") if path.is_file() and b"4711zebra" in path.read_bytes()] == []


def test_private_records_leave_only_when_asked(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """They are in no bundle, vector or root, and may not be mixed with shared ones."""
    alpha("op", "add", "notes", "shared")
    before = alpha.json("status")
    secret = alpha("op", "add", "notes", "for my eyes", "--private")
    after = alpha.json("status")
    assert (before["root"], before["feeds"], before["counts"]) == (after["root"], after["feeds"], after["counts"])
    alpha("export", str(tmp_path / "bundle"))
    assert b"for my eyes" not in (tmp_path / "bundle").read_bytes()
    assert "for my eyes" not in alpha("tail")
    assert "for my eyes" in alpha("tail", "--private")
    alpha("op", "set", secret, "severity", "high", code=1)
    alpha("op", "set", secret, "severity", "high", "--private")
    alpha("export", str(tmp_path / "private"), "--private")
    assert b"for my eyes" in (tmp_path / "private").read_bytes()
    beta("import", str(tmp_path / "private"), code=4)
    assert "--private" in beta.err
    beta("import", str(tmp_path / "private"), "--private")
    assert "for my eyes" in beta("tail", "--private")
    assert "for my eyes" in alpha("why", secret)
    alpha("erase", secret, "--reason", "no longer needed")
    assert b"for my eyes" not in b"".join(path.read_bytes() for path in alpha.home.iterdir())


def test_erase_by_author_reaches_the_other_node(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """Edits of the record go with it, and `why` still tells who, when and why."""
    alpha("admit", beta.json("status")["node"])
    record = alpha("op", "add", "notes", "password hunter2hunter2")
    alpha("op", "set", record, "text", "pass hunter2hunter2")
    carry(alpha, beta, tmp_path)
    assert "hunter2" in beta("tail")
    assert alpha.json("erase", record, "--reason", "a password")["erased"] == 2
    carry(alpha, beta, tmp_path)
    for shell in (alpha, beta):
        assert b"hunter2" not in b"".join(path.read_bytes() for path in shell.home.iterdir())
        assert shell("tail") == ""
        assert "a password" in shell("why", record)
        assert "clean" in shell("verify")


def test_who_may_not_erase_asks_and_is_told_who_may(alpha: Shell, beta: Shell, tmp_path: Path) -> None:
    """The record stays as it is, and waits for someone with the right."""
    alpha("admit", beta.json("status")["node"])
    record = alpha("op", "add", "notes", "not yours")
    carry(alpha, beta, tmp_path)
    answer = beta.json("erase", record, "--reason", "please", code=3)
    assert (answer["erased"], answer["left"], answer["asked"]) == (0, 1, True)
    assert "root key" in beta.err
    carry(beta, alpha, tmp_path)
    assert "not yours" in alpha("tail", "--log", "notes")
    assert "please" in alpha("why", record)


def test_who_may_erase_an_edit_only_is_not_told_that_the_record_is_erased(
    alpha: Shell, beta: Shell, tmp_path: Path
) -> None:
    """Its edit goes; the record stays until its author does the rest."""
    alpha("admit", beta.json("status")["node"])
    record = alpha("op", "add", "notes", "hunter2")
    carry(alpha, beta, tmp_path)
    beta("op", "set", record, "text", "hunter3")
    said = beta("erase", record, "--reason", "please", code=3)
    assert said == f"erased 1 edit of {record[:8]}; the record itself stays until somebody else erases it"
    assert "written by another" in beta.err


def test_why_tells_author_time_signature_and_place(alpha: Shell) -> None:
    """Everything that makes a record trustworthy."""
    record = alpha("op", "add", "notes", "text")
    story = alpha.json("why", record)
    assert story["name"].startswith("alpha·")
    assert (story["seq"], story["signed_at"], story["signature_holds"], story["state"]) == (1, 1, True, "live")


def test_an_ambiguous_id_lists_its_matches(alpha: Shell) -> None:
    """Short ids are a convenience, never a guess."""
    ids = alpha.json("op", "add", "notes", "x")["ids"]
    for _ in range(40):
        ids += alpha.json("op", "add", "notes", "x")["ids"]
    letter = max("abcdefghijklmnopqrstuvwxyz234567", key=lambda char: sum(item.startswith(char) for item in ids))
    alpha("why", letter, code=1)
    assert sum(item in alpha.err for item in ids) >= 2
    assert "more characters" in alpha.err


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["frobnicate"], 2, "next: mesh --help"),
        (["stauts"], 2, "next: mesh status --help"),
        (["why", "1!"], 1, "a-z and 2-7"),
        (["why", "aaaa"], 1, "no record"),
        (["op"], 0, ""),
        (["op", "frob"], 2, "next: mesh op --help"),
        (["op", "add", "Not A Log", "x"], 1, "a-z 0-9"),
        (["op", "add", "notes"], 2, "TEXT"),
        (["op", "add", "notes", "--record", "[1]"], 1, "object"),
        (["op", "add", "notes", "--record", "{"], 1, "JSON"),
        (["op", "add", "notes", "x" * 70_000], 1, "65536"),
        (["op", "count", "k", "--by", "-1"], 2, "only grows"),
        (["op", "count", "k", "--by", "99999999999999999999"], 1, "grow beyond"),
        (["tail", "-n", "0"], 2, "next: mesh tail --help"),
        (["tail", "--log", "nope"], 1, "mesh status"),
        (["import", "/nonexistent"], 1, "mesh export"),
        (["export", "/nonexistent/x"], 1, "another place"),
        (["erase", "aaaa"], 2, "--reason"),
        (["init", "--mesh", "abc"], 1, "52 characters"),
        (["verify", "--frob"], 2, "next: mesh verify --help"),
    ],
)
def test_a_wrong_command_gets_a_sentence_and_the_next_step(
    alpha: Shell, words: list[str], code: int, sentence: str
) -> None:
    """No traceback, no bare 'error': what is wrong and what to do."""
    alpha(*words, code=code)
    assert sentence in alpha.err


def test_an_error_does_not_repeat_a_secret(alpha: Shell) -> None:
    """What is refused is named in the sentence, and an agent's transcript keeps stderr."""
    token = "ghp_" + fake("refused", 36)
    alpha("discover", "a finding", "--category", token, code=1)
    assert token not in alpha.err
    assert "[redacted: github token]' is no category" in alpha.err


def test_text_of_records_cannot_drive_the_terminal(alpha: Shell) -> None:
    """Escape sequences, bidi and zero-width characters of a record do not reach the screen."""
    alpha("op", "add", "notes", "red \x1b[31m \u202e hidden \u200b\u2066 end\nnext line")
    for command in (["tail"], ["op", "list"]):
        shown = alpha(*command)
        assert not set("\x1b\u202e\u200b\u2066\n") & set(shown)
        assert "end next line" in shown
