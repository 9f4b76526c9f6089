"""Homes that cannot be used as they are: each command says what happened and what to do, and makes nothing worse."""

import builtins
import io
import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from clan_learnings.sessions.catalogue_table import Catalogue
from mesh.core.draft import NewRecord
from mesh.core.errors import HomeError
from mesh.store import database, keyfile, schema
from mesh.store import home as homes
from mesh.store.database_repair import repair
from mesh.store.home import Home, create_home, open_home, refuse_network_disk
from mesh.store.reader import Reader
from mesh.store.verification import verify_store
from tests.end_to_end.commands import (
    PATIENCE_SECONDS,
    Finished,
    anywhere,
    asked,
    bytes_of,
    complaint,
    done,
    mesh,
    sidecar,
    texts,
)

RECORDS = 300
READING = [["status"], ["tail"], ["op", "list"], ["op", "total", "hits"], ["verify"], ["export", "-"]]
WRITING = [["op", "add", "facts", "one more"], ["op", "count", "hits"], ["op", "add", "facts", "hidden", "--private"]]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A node with three hundred records in thirty batches, all in the file and none in the WAL."""
    return settled(create_home(os.fspath(tmp_path / "home"), "node"))


def settled(home: Home) -> Home:
    author = home.author()
    facts = all_facts()
    for first in range(0, RECORDS, 10):
        author.append([NewRecord("facts", {"text": text}) for text in facts[first : first + 10]])
    author.store.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    author.store.close()
    for end in ("-wal", "-shm"):
        os.unlink(home.file("mesh.db" + end))
    return home


def all_facts() -> list[str]:
    return [f"fact number {number:04d}" for number in range(RECORDS)]


def snapshot(folder: str) -> dict[str, tuple[bytes, int]]:
    """Every file's bytes and the time it was last written."""
    return {
        name: (content, os.stat(os.path.join(folder, name)).st_mtime_ns) for name, content in bytes_of(folder).items()
    }


def honest(finished: Finished) -> str:
    """What is wrong with how a command ended, if anything: it works, or it says what happened and what to do."""
    name = " ".join(str(word) for word in finished.args[1:])
    if "Traceback" in finished.stderr:
        return f"mesh {name}: {finished.stderr.splitlines()[-1]}"
    if finished.returncode == 0:
        return ""
    lines = finished.stderr.splitlines()
    if finished.returncode != 1 or len(lines) < 2 or not lines[0].startswith("mesh: "):
        return f"mesh {name}: exit code {finished.returncode}, {finished.stderr}"
    return "" if lines[-1].startswith("  next: ") else f"mesh {name}: no next step in {finished.stderr}"


# The database


def truncate(path: str) -> None:
    os.truncate(path, os.path.getsize(path) // 2 + 100)


def fill_with_garbage(path: str) -> None:
    with open(path, "wb") as file:
        file.write(b"this is no database, and never was one. " * 5000)


def empty(path: str) -> None:
    os.truncate(path, 0)


def put_a_folder_there(path: str) -> None:
    os.unlink(path)
    os.mkdir(path)


def spoil_a_page(path: str) -> None:
    """The page that holds a record in the middle."""
    with open(path, "r+b") as file:
        at = file.read().index(b"fact number 0200")
        file.seek(at // schema.PAGE_BYTES * schema.PAGE_BYTES)
        file.write(bytes([0x99]) * 2000)


def spoil_the_first_page(path: str) -> None:
    """The schema is gone, the header is not."""
    with open(path, "r+b") as file:
        file.seek(100)
        file.write(bytes([0x99]) * 4000)


DAMAGES: dict[str, Callable[[str], None]] = {
    "truncated": truncate,
    "garbage": fill_with_garbage,
    "empty": empty,
    "missing": os.unlink,
    "a folder": put_a_folder_there,
    "spoilt in the middle": spoil_a_page,
    "spoilt at the beginning": spoil_the_first_page,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_every_command_says_what_is_wrong_with_a_damaged_database(home: Home, damage: Callable[[str], None]) -> None:
    """A sentence and a next step, never a traceback."""
    damage(home.file("mesh.db"))
    problems = [honest(mesh(home.path, *words)) for words in [*READING, *WRITING]]
    assert [problem for problem in problems if problem] == []


@pytest.mark.parametrize("name", [name for name in DAMAGES if name != "spoilt in the middle"])
def test_a_damaged_database_is_noticed_and_left_as_it_is(home: Home, name: str) -> None:
    """Status, list and add all refuse, and name the way out; the damaged file is not written to."""
    DAMAGES[name](home.file("mesh.db"))
    before = bytes_of(home.path)
    for words in (["status"], ["op", "list"], ["op", "add", "facts", "one more"]):
        sentence, step = complaint(mesh(home.path, *words))
        assert home.file("mesh.db") in sentence
        assert "mesh repair" in step or name == "a folder"
    after = bytes_of(home.path)
    assert after.get("mesh.db") == before.get("mesh.db")


def test_verify_finds_the_spoilt_page(home: Home) -> None:
    """Damage that everyday commands may pass by is found by whoever asks for it."""
    spoil_a_page(home.file("mesh.db"))
    finished = mesh(home.path, "verify")
    assert honest(finished) == ""
    assert finished.returncode == 1
    assert "mesh repair" in finished.stderr


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_repair_makes_the_home_whole_again(home: Home, damage: Callable[[str], None]) -> None:
    """Afterwards everything is clean, what is left is a beginning of what was, and writing goes on in a new epoch."""
    feed = asked(home.path, "status")["feeds"][0]["id"]
    damage(home.file("mesh.db"))
    done(home.path, "repair")
    done(home.path, "verify")
    left = texts(home.path)
    assert left == all_facts()[: len(left)]
    receipt = asked(home.path, "op", "add", "facts", "written after the repair")
    assert receipt["counts"]
    assert receipt["feed"] != feed
    assert receipt["seq"] == 1
    assert texts(home.path) == [*left, "written after the repair"]
    assert asked(home.path, "op", "add", "facts", "and again")["feed"] == receipt["feed"]
    done(home.path, "verify")


def test_repair_saves_what_stands_before_the_damage(home: Home) -> None:
    """Two hundred records before the spoilt page can be read and end at signed points, so most of them are saved."""
    spoil_a_page(home.file("mesh.db"))
    done(home.path, "repair")
    assert len(texts(home.path)) >= 64


def repair_after_random_damage(home: Home, place: Path, seeds: range) -> None:
    """Whatever bytes are wrong, a repair ends, and leaves a clean database with a beginning of what was."""
    problems = []
    for seed in seeds:
        rng = random.Random(seed)
        shutil.copytree(home.path, place / str(seed))
        copy = open_home(os.fspath(place / str(seed)))
        with open(copy.file("mesh.db"), "r+b") as file:
            size = os.path.getsize(copy.file("mesh.db"))
            for _ in range(rng.choice((1, 1, 3, 10))):
                file.seek(rng.randrange(size))
                file.write(rng.randbytes(rng.choice((1, 4, 100, 3000))))
        try:
            repair(copy)
            store = copy.store()
            try:
                problems += [f"seed {seed}: {problem}" for problem in verify_store(store).problems]
                left = [entry.record["text"] for entry in Reader(store.database.connection).tail(2**31)]
            finally:
                store.close()
            if left != all_facts()[: len(left)]:
                problems.append(f"seed {seed}: other records than there were")
        except Exception as error:  # noqa: BLE001 (whatever it is, it is one more finding)
            problems.append(f"seed {seed}: {error!r}")
        shutil.rmtree(copy.path)
    assert not problems, "\n".join(problems)


def test_repair_copes_with_damage_anywhere(home: Home, tmp_path: Path) -> None:
    """Sixty homes, each with other bytes wrong."""
    repair_after_random_damage(home, tmp_path, range(60))


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_repair_copes_with_damage_anywhere_for_long(home: Home, tmp_path: Path) -> None:
    """Thousands of them."""
    repair_after_random_damage(home, tmp_path, range(2000))


def test_repair_saves_everything_when_nothing_is_damaged(home: Home) -> None:
    """Also what stands in the WAL alone."""
    done(home.path, "op", "add", "facts", "in the wal")
    root = asked(home.path, "status")["root"]
    assert asked(home.path, "repair")["lost_ranges"] == 0
    assert texts(home.path) == [*all_facts(), "in the wal"]
    assert asked(home.path, "status")["root"] == root


def test_repair_keeps_what_is_owed_to_files_of_pages(home: Home) -> None:
    """What is remembered of them may hold an erased text, until it is cleaned."""
    store = home.store()
    with store.database.writing(durable=True):
        store.database.run("INSERT INTO page_wiped VALUES(?)", (bytes(32),))
    store.close()
    done(home.path, "repair")
    store = home.store()
    assert store.database.run("SELECT id FROM page_wiped").fetchall() == [(bytes(32),)]
    store.close()


def test_repair_keeps_what_waits(home: Home, tmp_path: Path) -> None:
    """Operations of a node without a certificate wait; a repair does not throw them away."""
    other = create_home(os.fspath(tmp_path / "other"), "other", home.mesh)
    done(other.path, "op", "add", "facts", "from a stranger")
    done(other.path, "export", os.fspath(tmp_path / "other.mesh"))
    assert mesh(home.path, "import", os.fspath(tmp_path / "other.mesh")).returncode == 3
    done(home.path, "repair")
    done(home.path, "admit", asked(other.path, "status")["node"])
    assert texts(home.path) == [*all_facts(), "from a stranger"]


def test_repair_keeps_what_waits_for_a_gap_to_close(home: Home, tmp_path: Path) -> None:
    """A range whose beginning has not arrived yet is still there after a repair."""
    copy, bundle, vector = tmp_path / "copy", os.fspath(tmp_path / "late.mesh"), os.fspath(tmp_path / "vector")
    create_home(os.fspath(copy), "copy", home.mesh)
    with open(vector, "w") as file:
        json.dump(asked(home.path, "status"), file)
    done(home.path, "op", "add", "facts", "the late one")
    done(home.path, "export", bundle, "--since", vector)
    assert mesh(copy, "import", bundle).returncode == 3
    assert asked(copy, "status")["counts"]["strays"] == 1
    done(copy, "repair")
    assert asked(copy, "status")["counts"]["strays"] == 1


def test_what_is_missing_after_a_repair_comes_back_with_a_bundle(home: Home, tmp_path: Path) -> None:
    """As the repair says: another node's bundle has the rest, our own old records too."""
    bundle = os.fspath(tmp_path / "all.mesh")
    done(home.path, "export", bundle)
    os.unlink(home.file("mesh.db"))
    done(home.path, "repair")
    done(home.path, "op", "add", "facts", "before the import")
    done(home.path, "import", bundle)
    assert sorted(texts(home.path)) == sorted([*all_facts(), "before the import"])
    done(home.path, "verify")


def test_what_is_erased_after_a_repair_is_gone_from_the_kept_file_too(home: Home) -> None:
    """After an erase no byte of the secret is left in the home: either repair's copy is covered, or the erase says so."""
    done(home.path, "op", "add", "facts", "the xylophone-4711 is in the cellar")
    done(home.path, "repair")
    record = json.loads(done(home.path, "op", "list", "--json").splitlines()[-1])["id"]
    finished = mesh(home.path, "erase", record, "--reason", "leaked")
    left = anywhere(home.path, "xylophone-4711")
    assert left == [] or all(name in finished.stderr for name in left)


def test_a_wal_is_not_thrown_away_with_an_empty_file(home: Home) -> None:
    """What was acknowledged since the last checkpoint stands in the WAL; opening must not delete it."""
    done(home.path, "op", "add", "facts", "only in the wal")
    assert "mesh.db-wal" in anywhere(home.path, "only in the wal")
    empty(home.file("mesh.db"))
    mesh(home.path, "status")
    mesh(home.path, "op", "list")
    assert anywhere(home.path, "only in the wal") != []


@pytest.mark.parametrize("damage", [truncate, fill_with_garbage, empty, spoil_the_first_page])
def test_repair_helps_private_records_too(home: Home, damage: Callable[[str], None]) -> None:
    """Whatever a command advises about `private.db` works."""
    done(home.path, "op", "add", "facts", "hidden", "--private")
    for end in ("-wal", "-shm"):
        os.unlink(home.file("private.db" + end))
    damage(home.file("private.db"))
    _, step = complaint(mesh(home.path, "op", "list", "--private"))
    assert "mesh repair" in step
    done(home.path, "repair")
    done(home.path, "op", "add", "facts", "hidden again", "--private")
    assert "hidden again" in done(home.path, "op", "list", "--private")
    assert texts(home.path) == all_facts()


# Newer versions


EVERYTHING = [
    *READING,
    *WRITING,
    ["up"],
    ["repair"],
    ["erase", "abcdefgh", "--reason", "no"],
    ["why", "abcdefgh"],
    ["admit", "abcdefgh"],
    ["import", os.devnull],
]


def all_refuse_what_is_newer(home: Home) -> None:
    before = snapshot(home.path)
    problems = []
    for words in EVERYTHING:
        if words[-1] == "--private":
            continue
        try:
            sentence, step = complaint(mesh(home.path, *words))
            assert "newer clan-mesh" in sentence, sentence
            assert "upgrade" in step, step
            now = snapshot(home.path)
            assert now == before, f"touched {sorted(set(now) ^ set(before)) or 'a file'}"
        except (AssertionError, subprocess.TimeoutExpired) as problem:
            problems.append(f"mesh {' '.join(words)}: {str(problem).splitlines()[0]}")
            before = snapshot(home.path)
    assert problems == []


def test_a_newer_database_is_refused_and_not_touched(home: Home) -> None:
    """Every file keeps its bytes and its time, and no file is added: by no command."""
    with open(home.file("mesh.db"), "r+b") as file:
        file.seek(60)
        file.write((schema.VERSION + 1).to_bytes(4, "big"))
    all_refuse_what_is_newer(home)


def test_a_newer_home_is_refused_and_not_touched(home: Home) -> None:
    """The same where `home.json` says so."""
    with open(home.file("home.json")) as file:
        settings = json.load(file)
    with open(home.file("home.json"), "w") as file:
        json.dump(settings | {"format": database.FORMAT + 1, "something": "unheard of"}, file)
    all_refuse_what_is_newer(home)


# Keys and settings


def test_a_missing_key_is_named(home: Home) -> None:
    """Nothing can be written without it; what is there can be read."""
    os.rename(home.file("node.key"), home.file("elsewhere"))
    sentence, _ = complaint(mesh(home.path, "op", "add", "facts", "unsigned"))
    assert home.file("node.key") in sentence
    assert texts(home.path) == all_facts()
    os.rename(home.file("elsewhere"), home.file("node.key"))
    done(home.path, "op", "add", "facts", "signed")
    assert texts(home.path) == [*all_facts(), "signed"]


def test_a_key_that_others_can_read_is_refused(home: Home) -> None:
    """Until its mode is what the message says it should be."""
    os.chmod(home.file("node.key"), 0o644)
    sentence, step = complaint(mesh(home.path, "op", "add", "facts", "one more"))
    assert "644" in sentence
    assert f"chmod 600 {home.file('node.key')}" in step
    assert texts(home.path) == all_facts()
    os.chmod(home.file("node.key"), 0o600)
    assert asked(home.path, "op", "add", "facts", "one more")["new_epoch"] is None


def test_a_key_of_another_node_is_refused(home: Home) -> None:
    """It would sign in a feed that is not its own."""
    os.rename(home.file("node.key"), home.file("elsewhere"))
    keyfile.create(home.file("node.key"))
    for words in (["op", "add", "facts", "one more"], ["verify"]):
        sentence, _ = complaint(mesh(home.path, *words))
        assert "another node" in sentence
    assert texts(home.path) == all_facts()


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\xff\xfe\x00", b"clan-mesh ed25519 seed: keep secret\nabcd\n", b"x" * 5000]
)
def test_a_damaged_key_is_refused(home: Home, content: bytes) -> None:
    """A key that cannot be read signs nothing."""
    with open(home.file("node.key"), "wb") as file:
        file.write(content)
    sentence, _ = complaint(mesh(home.path, "op", "add", "facts", "one more"))
    assert home.file("node.key") in sentence


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b"\xff\xfe\x00",
        b'{"format": 1}',
        b'{"format": 1, "mesh": "x", "node": "y", "name": "z"}',
        b'{"format": 1, "mesh": 1, "node": 2, "name": 3}',
        b"[" * 100_000,
    ],
)
def test_damaged_settings_are_refused(home: Home, content: bytes) -> None:
    """No command goes on with half a `home.json`, and making a new node does not replace it."""
    with open(home.file("home.json"), "wb") as file:
        file.write(content)
    before = bytes_of(home.path)
    for words in (["status"], ["op", "add", "facts", "one more"], ["init"]):
        sentence, _ = complaint(mesh(home.path, *words))
        assert home.path in sentence
    assert bytes_of(home.path) == before


def test_missing_settings_do_not_make_room_for_a_new_node(home: Home) -> None:
    """Who follows the advice to make a node does not lose the one that is there."""
    os.unlink(home.file("home.json"))
    before = bytes_of(home.path)
    complaint(mesh(home.path, "status"))
    complaint(mesh(home.path, "init"))
    assert bytes_of(home.path) == before


def test_a_file_in_the_place_of_a_home_is_named(tmp_path: Path) -> None:
    """And is not replaced by a home."""
    (tmp_path / "home").write_text("precious")
    for words in (["status"], ["tail"], ["op", "add", "facts", "one more"], ["init"], ["up", "--init"], ["repair"]):
        sentence, _ = complaint(mesh(tmp_path / "home", *words))
        assert os.fspath(tmp_path / "home") in sentence
    assert (tmp_path / "home").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]


def test_a_marker_that_cannot_be_kept_stops_the_write_before_it_happens(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written, and afterwards writing goes on in the same feed."""
    with monkeypatch.context() as elsewhere:
        (tmp_path / "a file").write_text("")
        elsewhere.setenv("MESH_STATE", os.fspath(tmp_path / "a file" / "state"))
        sentence, step = complaint(mesh(home.path, "op", "add", "facts", "unmarked"))
        assert "marker" in sentence
        assert "MESH_STATE" in step
    assert texts(home.path) == all_facts()
    assert asked(home.path, "op", "add", "facts", "marked")["new_epoch"] is None


# Disks


class Disk:
    """A small file system of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self, leave_bytes: int = 0) -> None:
        """Leave only so much room."""
        with open(self._filler, "ab", buffering=0) as file:
            for size in (1 << 20, 1 << 16, 1 << 12):
                try:
                    while True:
                        file.write(b"\xff" * size)
                except OSError:
                    continue
        if leave_bytes:
            os.truncate(self._filler, os.path.getsize(self._filler) - leave_bytes)

    def free(self) -> None:
        os.unlink(self._filler)

    def remount(self, option: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{option}", os.fspath(self.path)], check=True, timeout=PATIENCE_SECONDS)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """Thirty-two megabytes of memory, where a test may mount them."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small disk needs root and mount(8)")
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", os.fspath(path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", "-l", os.fspath(path)], check=True, timeout=PATIENCE_SECONDS)


@pytest.fixture
def home_on_disk(disk: Disk) -> Home:
    return settled(create_home(os.fspath(disk.path / "home"), "node"))


@pytest.mark.parametrize("leave_bytes", [0, 8 << 10, 64 << 10, 200 << 10])
def test_a_full_disk_takes_nothing_that_was_acknowledged(disk: Disk, home_on_disk: Home, leave_bytes: int) -> None:
    """Writing goes on until there is no room, then says so; with room again everything is there and goes on."""
    home = home_on_disk
    disk.fill(leave_bytes)
    acknowledged = all_facts()
    for number in range(10):
        text = f"{number} " + "long " * 8000
        finished = mesh(home.path, "op", "add", "facts", text)
        if finished.returncode:
            break
        acknowledged.append(text)
    sentence, step = complaint(finished)
    assert "no room" in sentence
    assert "space" in step
    disk.free()
    assert texts(home.path) == acknowledged
    assert asked(home.path, "op", "add", "facts", "room again")["new_epoch"] is None
    assert texts(home.path) == [*acknowledged, "room again"]
    done(home.path, "verify")


def test_every_command_on_a_full_disk_is_honest(disk: Disk, home_on_disk: Home) -> None:
    """It works, or it says what happened and what to do; and nothing is lost by trying."""
    bundle = os.fspath(disk.path / "bundle.mesh")
    record = json.loads(done(home_on_disk.path, "op", "list", "--json").splitlines()[0])["id"]
    disk.fill()
    problems = [
        honest(mesh(home_on_disk.path, *words))
        for words in (
            *READING,
            *WRITING,
            ["op", "set", record, "severity", "high"],
            ["op", "remove", record, "--reason", "old"],
            ["erase", record, "--reason", "leaked"],
            ["export", bundle],
            ["repair"],
            ["admit", "a" * 52],
        )
    ]
    problems.append(honest(mesh(disk.path / "another", "init")))
    assert [problem for problem in problems if problem] == []
    assert not os.path.exists(disk.path / "another" / "home.json")
    assert sorted(os.listdir(disk.path)) == ["filler", "home"]
    disk.free()
    done(home_on_disk.path, "verify")
    assert set(texts(home_on_disk.path)) >= set(all_facts()[1:])


def test_a_batch_larger_than_the_disk_leaves_nothing_behind(disk: Disk, home_on_disk: Home) -> None:
    """All of it or nothing, also when the disk fills up in the middle of the transaction."""
    lines = "\n".join(f"{number} " + "long " * 8000 for number in range(1200))
    finished = mesh(home_on_disk.path, "op", "add", "facts", "--lines", stdin=lines)
    sentence, _ = complaint(finished)
    assert "no room" in sentence
    assert texts(home_on_disk.path) == all_facts()
    done(home_on_disk.path, "op", "add", "facts", "a small one")
    done(home_on_disk.path, "verify")


def test_an_import_that_fills_the_disk_can_be_repeated(disk: Disk, home: Home, tmp_path: Path) -> None:
    """What was merged before stays, and with room again the import ends in the same root."""
    author = home.author()
    for _ in range(10):
        author.append([NewRecord("facts", {"text": "much " * 10_000}) for _ in range(20)])
    author.store.close()
    bundle = os.fspath(tmp_path / "all.mesh")
    done(home.path, "export", bundle)
    disk.remount("size=8m")
    copy = disk.path / "copy"
    create_home(os.fspath(copy), "copy", home.mesh)
    sentence, step = complaint(mesh(copy, "import", bundle))
    assert "no room" in sentence
    assert "space" in step
    done(copy, "verify")
    disk.remount("size=64m")
    done(copy, "import", bundle)
    assert asked(copy, "status")["root"] == asked(home.path, "status")["root"]
    done(copy, "verify")


def test_a_marker_on_a_full_disk_loses_no_receipt(disk: Disk, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The home has room but the state folder has none: written and acknowledged, or neither."""
    monkeypatch.setenv("MESH_STATE", os.fspath(disk.path / "state"))
    disk.fill()
    finished = mesh(home.path, "op", "add", "facts", "one more")
    assert honest(finished) == ""
    there = "one more" in texts(home.path)
    assert there == (finished.returncode == 0), finished.stderr


def test_a_read_only_disk_is_named(disk: Disk, home_on_disk: Home) -> None:
    """Writing says that the disk is not writable; reading works or says so too; nothing changes."""
    before = snapshot(home_on_disk.path)
    disk.remount("ro")
    try:
        sentence, step = complaint(mesh(home_on_disk.path, "op", "add", "facts", "one more"))
        assert home_on_disk.path in sentence
        assert "writable" in step
        problems = [honest(mesh(home_on_disk.path, *words)) for words in [*READING, *WRITING, ["up"], ["repair"]]]
        assert [problem for problem in problems if problem] == []
        assert snapshot(home_on_disk.path) == before
    finally:
        disk.remount("rw")
    assert asked(home_on_disk.path, "op", "add", "facts", "one more")["new_epoch"] is None
    assert texts(home_on_disk.path) == [*all_facts(), "one more"]


@pytest.mark.parametrize("left", ["WAL and shared memory", "a WAL alone", "neither"])
def test_whoever_only_reads_can_do_so_on_a_read_only_disk(
    disk: Disk, home_on_disk: Home, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the last one who wrote has left, and nothing that is only in the WAL is overlooked."""
    home = home_on_disk
    done(home.path, "op", "add", "facts", "written last")
    done(home.path, "discover", "found last")
    done(home.path, "op", "add", "facts", "hidden", "--private")
    done(home.path, "page", "new", "deploy", "--text", "# Deploy, see [[runbook]]")
    done(home.path, "page", "append", "deploy", "push the tag")
    Catalogue(home.path).close()
    with sidecar(home.path) as process:
        process.terminate()
        process.wait(timeout=PATIENCE_SECONDS)
    assert os.path.getsize(home.file("mesh.db-wal"))
    for name in ("mesh.db", "private.db"):
        if left == "neither":
            connection = apsw.Connection(home.file(name))
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()
        for end in {"WAL and shared memory": (), "a WAL alone": ("-shm",), "neither": ("-wal", "-shm")}[left]:
            if os.path.exists(home.file(name + end)):
                os.unlink(home.file(name + end))
    before = snapshot(home.path)
    disk.remount("ro")
    try:
        facts = done(home.path, "op", "list", "facts").splitlines()
        assert [line.split("  ")[-1] for line in facts] == [*all_facts(), "written last"]
        assert "hidden" in done(home.path, "op", "list", "--private")
        assert "found last" in done(home.path, "search", "found last", "--all")
        assert done(home.path, "page", "show", "deploy") == "# Deploy, see [[runbook]]\npush the tag\n"
        assert "[[runbook]]  broken" in done(home.path, "page", "links", "deploy")
        assert asked(home.path, "status")["sidecar"] is None
        assert "no sidecar" in mesh(home.path, "doctor").stdout
        problems = [mesh(home.path, *words).stderr for words in (["doctor"], ["peers"], ["capture", "--status"])]
        assert not any("cannot be" in problem for problem in problems), problems
        for words in (*READING, ["tail"], ["hot"], ["context"], ["tiers"], ["page", "list"], ["why", "a"], ["index"]):
            finished = mesh(home.path, *words)
            assert "read-only" not in finished.stderr, (words, finished.stderr)
        for words in (*WRITING, ["page", "append", "deploy", "x"], ["mute", "node"], ["capture", "--off"], ["up"]):
            sentence, step = complaint(mesh(home.path, *words))
            assert sentence == f"the home {home.path} cannot be written: it is on a read-only file system", words
            assert step == "have it mounted writable, or use another home: --home DIR"
        queued = mesh(home.path, "discover", "queued meanwhile")
        assert (queued.returncode, queued.stdout) == (3, "queued\n")
        assert "or now: echo '{}' | mesh hook SessionStart" in queued.stderr
        assert snapshot(home.path) == before
    finally:
        disk.remount("rw")
    monkeypatch.setenv("MESH_NO_AUTOSTART", "1")
    done(home.path, "hook", "SessionStart", stdin="{}\n")
    assert "queued meanwhile" in done(home.path, "tail")
    done(home.path, "verify")


def test_a_disk_that_becomes_read_only_in_use_is_named(disk: Disk, home_on_disk: Home) -> None:
    """The same with a WAL that has something in it."""
    done(home_on_disk.path, "op", "add", "facts", "in the wal")
    disk.remount("ro")
    try:
        problems = [honest(mesh(home_on_disk.path, *words)) for words in [*READING, *WRITING, ["up"], ["repair"]]]
        assert [problem for problem in problems if problem] == []
    finally:
        disk.remount("rw")
    assert texts(home_on_disk.path) == [*all_facts(), "in the wal"]


# Network file systems


def mounted(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Let these be the mounts of the system, the earliest first."""

    def fake_open(path: str, *args: object, **named: object) -> object:
        if path == "/proc/self/mounts":
            return io.StringIO("".join(f"source {line} rw 0 0\n" for line in lines))
        return builtins.open(path, *args, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(homes, "open", fake_open, raising=False)


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "fuse.glusterfs"])
def test_a_home_on_a_network_file_system_is_refused(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """With its kind, and with what to do instead."""
    mounted(monkeypatch, "/ ext4", f"/shared {kind}", "/shared/local ext4")
    with pytest.raises(HomeError, match="network file system") as refusal:
        refuse_network_disk("/shared/team/home")
    assert kind in str(refusal.value)
    assert "--home" in refusal.value.next_step
    refuse_network_disk("/shared/local/home")
    refuse_network_disk("/sharedness/home")
    refuse_network_disk("/elsewhere/home")


def test_the_latest_mount_on_a_place_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An automounter puts itself first and the network file system over it, under the same name."""
    mounted(monkeypatch, "/ ext4", "/net autofs", "/net nfs4", "/tested nfs", "/tested ext4")
    with pytest.raises(HomeError, match="nfs4"):
        refuse_network_disk("/net/home")
    refuse_network_disk("/tested/home")


def test_a_mount_with_a_space_in_its_name_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system writes a space as backslash and 040."""
    mounted(monkeypatch, "/ ext4", "/team\\040share nfs4")
    with pytest.raises(HomeError, match="nfs4"):
        refuse_network_disk("/team share/home")


def test_no_home_is_made_on_a_network_file_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor opened there."""
    made = create_home(os.fspath(tmp_path / "moved"), "node")
    mounted(monkeypatch, f"{tmp_path} nfs4")
    with pytest.raises(HomeError, match="network file system"):
        create_home(os.fspath(tmp_path / "home"), "node")
    with pytest.raises(HomeError, match="network file system"):
        made.store()
    assert os.listdir(tmp_path) == ["moved"]
