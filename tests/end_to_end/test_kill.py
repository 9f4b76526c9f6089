"""Real processes killed with -9 at random moments: what was acknowledged is there, whole, and nothing else is."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mesh.core.draft import NewRecord
from mesh.store.home import create_home, open_home
from mesh.store.reader import Reader
from mesh.store.store import Store
from mesh.store.verification import verify_store
from tests.end_to_end.commands import (
    MESH,
    PATIENCE_SECONDS,
    REPOSITORY,
    anywhere,
    asked,
    complaint,
    done,
    erase_cut_short,
    killed_after,
    killed_at,
    mesh,
    sidecar,
    texts,
    wait_until,
)
from tests.end_to_end.writing_process import CLAN, COUNTER, OTHER, OWN, REGISTER
from tests.worlds import open_author, open_store

SECRET = "xylophone-4711-quagmire"
LIVES_PER_HOME = 25  # a home is used again after a kill, but not so long that verifying it takes the time


class Promises:
    """What the processes that were killed had said they would do, and had done."""

    def __init__(self) -> None:
        self.announced: set[str] = set()
        self.kept: dict[bytes, str] = {}
        self.may_be_erased: set[bytes] = set()
        self.erased: set[bytes] = set()
        self.counted = self.may_be_counted = 0
        self.assigned = ""
        self.may_be_assigned: set[str] = {""}
        self.readable: list[str] = []  # what was erased and is not gone

    def hear(self, line: str) -> None:
        match line.split():
            case ["will", "add", text]:
                self.announced.add(text)
            case ["did", "add", text, tag]:
                self.kept[bytes.fromhex(tag)] = text
            case ["will", "erase", tag]:
                self.may_be_erased.add(bytes.fromhex(tag))
            case ["did", "erase", tag]:
                self.erased.add(bytes.fromhex(tag))
            case ["will", "count", _]:
                self.may_be_counted += 1
            case ["did", "count", _]:
                self.counted += 1
            case ["will", "set", value]:
                self.may_be_assigned.add(value)
            case ["did", "set", value]:
                self.assigned, self.may_be_assigned = value, {value}
            case _:
                raise AssertionError(f"the writing process said {line!r}")

    def anytime_acknowledged_is_there(self, store: Store, folder: Path) -> None:
        """Content, not counts: each text under its tag, each once, nothing that nobody announced."""
        reader = Reader(store.database.connection)
        entries = reader.tail(2**31)
        live = {entry.tag: entry.record["text"] for entry in entries}
        assert len(live) == len(entries)
        assert len(set(live.values())) == len(live), "a text is there twice"
        assert set(live.values()) <= self.announced
        for tag, text in self.kept.items():
            if tag not in self.may_be_erased:
                assert live.get(tag) == text, f"{text} was acknowledged and is lost"
        assert not self.erased & set(live)
        total = reader.total(COUNTER)
        assert self.counted <= total <= self.may_be_counted
        self.counted = self.may_be_counted = total
        last = reader.fields(REGISTER).get("last", "")
        assert last in self.may_be_assigned
        self.assigned, self.may_be_assigned = last, {last}
        assert store.scrub()
        content = b"".join((folder / f"mesh.db{end}").read_bytes() for end in ("", "-wal"))
        self.readable += [self.kept[tag] for tag in self.erased if self.kept[tag].encode() in content]


def anytime_feeds_are_whole(store: Store) -> None:
    """Every feed holds 1 to its head, each once."""
    for row in store.feeds.all():
        seqs = [op.seq for op in store.feeds.rows(row.number, 0, 2**40)]
        assert seqs == list(range(1, row.held.seq + 1))
    run = store.database.run
    assert run("SELECT count(*) FROM (SELECT feed, seq FROM ops GROUP BY 1, 2 HAVING count(*) > 1)").get == 0


def one_life(folder: Path, life: int, unsure: str, rng: random.Random) -> list[str]:
    """Let a process write for a while, kill it, and return what it had said. `unsure`: what it is to ask for again."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.end_to_end.writing_process", os.fspath(folder), str(life), unsure],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )
    assert process.stdout is not None
    with process.stdout as said:
        heard = [said.readline() for _ in range(rng.randint(1, 150))]
        time.sleep(rng.uniform(0, 0.005))  # not a wait: the moment of the kill
        process.send_signal(signal.SIGKILL)
        heard += said.readlines()
    assert process.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    return "".join(heard).splitlines()


def unsure_of(said: list[str]) -> str:
    """A record of its own that a process was about to write when it was killed: it may be there, or not. All else is announced in twos."""
    match said[-1].split() if said else ():
        case ["will", "add", text] if not said[-2:-1] or not said[-2].startswith("will"):
            return text
    return ""


def kill_many(place: Path, kills: int, seed: int) -> None:
    print(f"seed {seed}")
    rng = random.Random(seed)
    promises, folder = Promises(), place / "0"
    readable: list[str] = []
    said: list[str] = []
    for life in range(kills):
        if life % LIVES_PER_HOME == 0:
            promises, folder, said = Promises(), place / str(life), []
            with open_store(folder, CLAN, OWN) as store:
                store.merge_statements([CLAN.member(node).encode() for node in (OWN, OTHER)])
        said = one_life(folder, rng.getrandbits(60), unsure_of(said), rng)
        for line in said:
            promises.hear(line)
        with open_store(folder, CLAN, OWN) as store:
            anytime_feeds_are_whole(store)
            promises.anytime_acknowledged_is_there(store, folder)
            verdict = verify_store(store)
            assert verdict.clean, verdict.problems
        readable += promises.readable
    assert sorted(set(readable)) == [], "erased, and can still be read"


def test_every_acknowledged_write_survives_a_kill(tmp_path: Path) -> None:
    """Fifteen processes are killed while they write; whatever they had acknowledged is there."""
    kill_many(tmp_path, 15, random.SystemRandom().randrange(2**32))


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_every_acknowledged_write_survives_a_thousand_kills(tmp_path: Path) -> None:
    """The same, a thousand times."""
    kill_many(tmp_path, 1000, random.SystemRandom().randrange(2**32))


@pytest.fixture
def bundle(tmp_path: Path) -> str:
    """A bundle of a few megabytes, large enough to be merged in several transactions."""
    home = create_home(os.fspath(tmp_path / "origin"), "origin")
    author = home.author()
    for part in range(8):
        author.append([NewRecord("facts", {"text": f"fact {part} {number} {'x' * 900}"}) for number in range(500)])
    author.store.close()
    file = os.fspath(tmp_path / "all.mesh")
    done(home.path, "export", file)
    return file


def joined(folder: Path, origin: Path) -> Path:
    """A home that belongs to the mesh of another."""
    create_home(os.fspath(folder), "copy", open_home(os.fspath(origin)).mesh)
    return folder


def test_an_import_killed_anywhere_ends_in_the_same_root_when_repeated(tmp_path: Path, bundle: str) -> None:
    """Importing again after kills at random moments is the same as importing once in peace."""
    calm = joined(tmp_path / "calm", tmp_path / "origin")
    began = time.monotonic()
    done(calm, "import", bundle)
    took = time.monotonic() - began
    root = asked(calm, "status")["root"]
    rng = random.Random(1)
    shaken = joined(tmp_path / "shaken", tmp_path / "origin")
    kills = sum(killed_after(rng.uniform(0.05, took), shaken, "import", bundle) for _ in range(8))
    while not kills:  # sooner and sooner: how long the calm one took may have been the machine's business
        took = max(0.02, 0.5 * took)
        kills += killed_after(took, shaken, "import", bundle)
    done(shaken, "verify")
    done(shaken, "import", bundle)
    assert asked(shaken, "status")["root"] == root
    assert asked(shaken, "verify")["views"] == asked(calm, "verify")["views"]
    assert texts(shaken) == texts(calm)


def with_secret(folder: Path) -> str:
    """A home whose one record among others holds the secret; returns the record's id."""
    home = create_home(os.fspath(folder), "node")
    author = home.author()
    author.append([NewRecord("facts", {"text": f"harmless {number}"}) for number in range(50)])
    author.append([NewRecord("facts", {"text": f"the password is {SECRET}"})])
    author.append([NewRecord("facts", {"text": f"harmless again {number}"}) for number in range(50)])
    author.store.close()
    line = next(line for line in done(folder, "op", "list").splitlines() if SECRET in line)
    return line.split()[0]


def test_an_erase_killed_anywhere_is_finished_by_erasing_again(tmp_path: Path) -> None:
    """After the second try the secret's bytes are nowhere in the home."""
    rng = random.Random(2)
    for number in range(4):
        home = tmp_path / str(number)
        record = with_secret(home)
        assert anywhere(home, SECRET)
        killed_after(rng.uniform(0.05, 0.2), home, "erase", record, "--reason", "leaked")
        done(home, "erase", record, "--reason", "leaked")
        assert anywhere(home, SECRET) == []
        assert len(texts(home)) == 100
        done(home, "verify")


def test_an_erase_killed_before_its_last_step_is_finished_by_erasing_again(tmp_path: Path) -> None:
    """Between the commit and the emptying of the WAL the secret is still on disk; a second try takes it away."""
    record = with_secret(tmp_path / "home")
    erase_cut_short(tmp_path / "home", record)
    done(tmp_path / "home", "erase", record, "--reason", "leaked")
    assert anywhere(tmp_path / "home", SECRET) == []


def test_an_erase_killed_before_its_last_step_is_finished_by_the_next_write(tmp_path: Path) -> None:
    """Nobody may ever look at the status; the next writer finds the debt and pays it."""
    record = with_secret(tmp_path / "home")
    erase_cut_short(tmp_path / "home", record)
    done(tmp_path / "home", "op", "add", "facts", "something else")
    assert anywhere(tmp_path / "home", SECRET) == []


def test_an_erase_killed_before_its_last_step_is_finished_by_the_sidecar(tmp_path: Path) -> None:
    """A sidecar pays what is owed when it starts."""
    record = with_secret(tmp_path / "home")
    erase_cut_short(tmp_path / "home", record)
    with sidecar(tmp_path / "home"):
        # the bytes go first, the note of the debt a moment later: only the second says that it is done
        wait_until(lambda: asked(tmp_path / "home", "status")["unfinished_erases"] == [])
        assert anywhere(tmp_path / "home", SECRET) == []


@pytest.mark.parametrize(("seed", "reach", "most"), [(1, 60, 3), (2, 300, 3), (4, 300, 60)])
def test_what_is_erased_is_gone_wherever_the_keyword_index_had_moved_it(
    tmp_path: Path, seed: int, reach: int, most: int
) -> None:
    """Needs no kill: other writes between a record and its erase make SQLite move the words of the record about."""
    rng = random.Random(seed)
    live: list[tuple[bytes, str]] = []
    readable = []
    with open_author(tmp_path, CLAN, OWN) as author:
        author.merge_statements([CLAN.member(OWN).encode()])
        for _ in range(700):
            words = [f"{rng.getrandbits(96):024x}" for _ in range(rng.randint(1, most))]
            live += zip(author.append([NewRecord("n", {"text": word}) for word in words]).tags, words, strict=True)
            if rng.random() < 0.3 and len(live) > reach:
                tag, secret = live.pop(len(live) - 1 - rng.randrange(reach))
                author.merge_statements([CLAN.erase(OWN, tag).encode()])
                # The index may keep a word without the beginning it shares with the word before it.
                if [name for name in anywhere(tmp_path, secret[5:]) if name.startswith("mesh.db")]:
                    readable.append(secret)
    assert readable == []


def test_a_killed_init_leaves_no_home_or_a_whole_one(tmp_path: Path) -> None:
    """Whatever the moment, the next command is either `mesh init` or a write."""
    rng = random.Random(3)
    for number in range(5):
        home = tmp_path / str(number)
        killed_after(rng.uniform(0.02, 0.2), home, "init", "--name", "phoenix")
        eventually_a_home_can_be_written(home)


@pytest.mark.parametrize(
    "step",
    [
        ("mesh.store.keyfile.create", 1),
        ("mesh.store.keyfile.create", 2),
        ("mesh.store.keyfile.create", 3),
        ("json.dump", 1),
        ("mesh.store.database.FileLock", 1),
        ("mesh.store.home.sign", 1),
        ("os.rename", 1),
        ("mesh.store.home.rmtree", 1),
    ],
    ids=lambda step: f"{step[0]}-{step[1]}",
)
def test_an_init_killed_at_each_step_leaves_no_home_or_a_whole_one(tmp_path: Path, step: tuple[str, int]) -> None:
    """The same, step by step."""
    assert killed_at(*step, tmp_path / "home", "init", "--name", "phoenix")
    eventually_a_home_can_be_written(tmp_path / "home")


def eventually_a_home_can_be_written(home: Path) -> None:
    if not os.path.exists(home):
        _, step = complaint(mesh(home, "status"))
        assert "mesh init" in step
        done(home, "init", "--name", "phoenix")
    assert {"home.json", "mesh.db", "node.key", "root.key", "recovery.key"} <= set(os.listdir(home))
    done(home, "op", "add", "facts", "risen")
    done(home, "verify")
    assert texts(home) == ["risen"]


def test_a_killed_init_leaves_no_keys_behind_once_the_next_succeeds(tmp_path: Path) -> None:
    """A half-made home holds secret keys; making the home cleans it away."""
    assert killed_at("os.rename", 1, tmp_path / "nodes" / "home", "init", "--name", "phoenix")
    done(tmp_path / "nodes" / "home", "init", "--name", "phoenix")
    assert os.listdir(tmp_path / "nodes") == ["home"]


def to_repair(folder: Path) -> list[str]:
    """A home whose records stand partly in the file and partly in the WAL; returns their texts."""
    home = create_home(os.fspath(folder), "node")
    author = home.author()
    author.append([NewRecord("facts", {"text": f"in the file {number}"}) for number in range(2000)])
    author.store.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    author.append([NewRecord("facts", {"text": f"in the wal {number}"}) for number in range(200)])
    author.store.close()
    return texts(folder)


def eventually_all_is_repaired(home: Path, before: list[str]) -> None:
    """Follow the advice of whatever command complains, as a person would."""
    finished = mesh(home, "status")
    if finished.returncode:
        _, step = complaint(finished)
        assert "mesh repair" in step
        done(home, "repair")
    assert texts(home) == before
    done(home, "verify")
    done(home, "op", "add", "facts", "and on it goes")
    assert texts(home) == [*before, "and on it goes"]


@pytest.mark.parametrize("repairs", [0, 1])
@pytest.mark.parametrize(
    "step",
    [
        ("os.unlink", 1),
        ("os.unlink", 2),
        ("os.rename", 1),
        ("os.rename", 2),
        ("os.link", 1),
        ("os.replace", 1),
    ],
    ids=lambda step: f"{step[0]}-{step[1]}",
)
def test_a_repair_killed_at_each_step_loses_nothing(tmp_path: Path, step: tuple[str, int], repairs: int) -> None:
    """Before the new file is whole the old one stands; from then on the repair is only finished, however often killed."""
    before = to_repair(tmp_path / "home")
    assert killed_at(*step, tmp_path / "home", "repair")
    for _ in range(repairs):
        done(tmp_path / "home", "repair")
    eventually_all_is_repaired(tmp_path / "home", before)


def test_a_repair_killed_at_random_moments_loses_nothing(tmp_path: Path) -> None:
    """The same, whatever the moment."""
    before = to_repair(tmp_path / "home")
    rng = random.Random(4)
    kills, seconds = 0, 0.4
    while kills < 5:  # sooner and sooner, until it is caught: how long a repair takes is the machine's business
        kills += killed_after(rng.uniform(0.02, seconds), tmp_path / "home", "repair")
        seconds = max(0.03, 0.8 * seconds)
    eventually_all_is_repaired(tmp_path / "home", before)


def test_what_is_written_during_a_repair_is_kept(tmp_path: Path) -> None:
    """A write that arrives when the repair is about to change files waits for it or is refused, but is not lost."""
    before = to_repair(tmp_path / "home")
    program = """
import os, subprocess, sys
from mesh.cli.main import run
home, command = sys.argv[1:]
rename, writers = os.rename, []
def write_first(*names):
    if not writers:
        writers.append(subprocess.Popen([command, "op", "add", "facts", "meanwhile", "--home", home]))
        try:
            writers[0].wait(2)  # a writer that is made to wait is let go on after the repair
        except subprocess.TimeoutExpired:
            pass
    rename(*names)
os.rename = write_first
assert run(["repair", "--home", home]) == 0
sys.exit(writers[0].wait(300))
"""
    finished = subprocess.run(
        [sys.executable, "-c", program, os.fspath(tmp_path / "home"), MESH],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_SECONDS,
        cwd=REPOSITORY,
        check=False,
    )
    assert "Traceback" not in finished.stderr, finished.stderr
    acknowledged = ["meanwhile"] if finished.returncode == 0 else []
    assert texts(tmp_path / "home") == [*before, *acknowledged]
    done(tmp_path / "home", "verify")


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_erases_inits_and_repairs_survive_many_kills(tmp_path: Path) -> None:
    """The commands, killed at random moments, for a long time."""
    rng = random.Random(5)
    before = to_repair(tmp_path / "repaired")
    for number in range(100):
        killed_after(rng.uniform(0.05, 0.6), tmp_path / "repaired", "repair")
        made = tmp_path / f"made{number}"
        killed_after(rng.uniform(0.02, 0.2), made, "init", "--name", "phoenix")
        eventually_a_home_can_be_written(made)
        home = tmp_path / f"erased{number}"
        record = with_secret(home)
        killed_after(rng.uniform(0.05, 0.25), home, "erase", record, "--reason", "leaked")
        done(home, "erase", record, "--reason", "leaked")
        assert anywhere(home, SECRET) == []
    eventually_all_is_repaired(tmp_path / "repaired", before)
