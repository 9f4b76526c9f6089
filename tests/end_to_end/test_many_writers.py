"""Twenty processes write one home at once, beside a sidecar or without: everyone succeeds, nothing is lost or doubled."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.core.draft import NewRecord
from mesh.store.database import Database
from mesh.store.home import Home, create_home, hold_node_lock, node_process_id
from tests.end_to_end.commands import (
    MESH,
    PATIENCE_SECONDS,
    asked,
    complaint,
    done,
    erase_cut_short,
    mesh,
    sidecar,
    texts,
    wait_until,
)

PROCESSES = 20


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return create_home(os.fspath(tmp_path / "home"), "node")


def all_at_once(home: Home, commands: list[list[str]], stdin: list[str]) -> list[str]:
    """Start every command before waiting for any; each must succeed. Returns what they printed."""
    processes = [
        subprocess.Popen(
            [MESH, *words, "--home", home.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in commands
    ]
    try:
        ended = [
            process.communicate(text, timeout=PATIENCE_SECONDS) for process, text in zip(processes, stdin, strict=True)
        ]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
    for process, (_, errors) in zip(processes, ended, strict=True):
        assert (process.returncode, errors) == (0, "")
    return [output for output, _ in ended]


def write_all_at_once(home: Home) -> None:
    """Three records in one batch and then one more, from each of twenty processes."""
    batches = [[f"writer {writer} says {number}" for number in range(3)] for writer in range(PROCESSES)]
    singles = [f"writer {writer} says goodbye" for writer in range(PROCESSES)]
    printed = all_at_once(
        home,
        [["op", "add", "facts", "--lines", "--json"] for _ in batches],
        ["\n".join(batch) for batch in batches],
    )
    printed += all_at_once(home, [["op", "add", "facts", text, "--json"] for text in singles], [""] * PROCESSES)
    receipts = [json.loads(text) for text in printed]
    ids = [record for receipt in receipts for record in receipt["ids"]]
    assert len(set(ids)) == len(ids) == 4 * PROCESSES
    places = sorted(seq for receipt in receipts for seq in range(receipt["seq"], receipt["seq"] + len(receipt["ids"])))
    assert places == list(range(1, 4 * PROCESSES + 1))
    assert len({receipt["feed"] for receipt in receipts}) == 1

    listed = [json.loads(line) for line in done(home.path, "op", "list", "--json").splitlines()]
    assert {entry["id"] for entry in listed} == set(ids)
    wanted = [text for batch in batches for text in batch] + singles
    said = [entry["record"]["text"] for entry in listed]
    assert sorted(said) == sorted(wanted)
    for batch in batches:
        first = said.index(batch[0])
        assert said[first : first + 3] == batch, "a batch stays together"
    done(home.path, "verify")


def test_twenty_processes_write_at_once(home: Home) -> None:
    """All succeed, their receipts are distinct, their places have no gap, every text is there."""
    write_all_at_once(home)


def test_twenty_processes_write_beside_a_sidecar(home: Home) -> None:
    """The same while a sidecar runs, which then stops when it is told to."""
    with sidecar(home.path) as process:
        write_all_at_once(home)
        stop(process)


def test_counters_of_twenty_processes_add_up(home: Home) -> None:
    """Totals are read and written inside one transaction, so no increment gets lost."""
    amounts = [number + 1 for number in range(PROCESSES)]
    all_at_once(home, [["op", "count", "hits", "--by", str(amount)] for amount in amounts], [""] * PROCESSES)
    assert asked(home.path, "op", "total", "hits")["total"] == sum(amounts)
    done(home.path, "verify")


def test_twenty_processes_open_a_home_of_which_nothing_was_ever_read(home: Home) -> None:
    """The first to come finds a WAL to recover; the others wait for it instead of failing."""
    author = home.author()
    author.append([NewRecord("facts", {"text": f"left in the wal {number}"}) for number in range(500)])
    author.store.close()
    os.unlink(home.file("mesh.db-shm"))
    all_at_once(home, [["op", "add", "facts", f"writer {number}"] for number in range(PROCESSES)], [""] * PROCESSES)
    assert sorted(texts(home.path)[500:]) == sorted(f"writer {number}" for number in range(PROCESSES))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_an_idle_sidecar_stops_when_it_is_told_to(home: Home, number: signal.Signals) -> None:
    """With exit code 0, leaving the home free."""
    with sidecar(home.path) as process:
        stop(process, number)
    assert asked(home.path, "status")["sidecar"] is None
    with sidecar(home.path) as process:
        assert process.poll() is None


def test_a_second_sidecar_is_refused_by_name(home: Home) -> None:
    """It says which process is the first one and what to do, and leaves that one alone."""
    with sidecar(home.path) as process:
        sentence, step = complaint_of_up(home)
        assert "running already" in sentence
        assert str(process.pid) in sentence
        assert "mesh status" in step
        sentence, _ = complaint(mesh(home.path, "repair"))
        assert str(process.pid) in sentence
        assert process.poll() is None
        done(home.path, "op", "add", "facts", "it still runs")
        stop(process)


def test_a_killed_sidecar_leaves_the_home_to_the_next(home: Home) -> None:
    """The lock dies with its holder, whatever its file says."""
    with sidecar(home.path) as process:
        process.kill()
    assert asked(home.path, "status")["sidecar"] is None
    with sidecar(home.path) as process:
        stop(process)


@pytest.fixture
def old_reader(home: Home) -> Iterator[Database]:
    """Someone who has been reading since before."""
    database = Database(home.file("mesh.db"))
    try:
        database.run("BEGIN")
        assert database.run("SELECT count(*) FROM ops").get == 0
        yield database
    finally:
        database.close()


def test_a_sidecar_that_owes_an_erase_stops_when_it_is_told_to(home: Home, old_reader: Database) -> None:
    """While a reader keeps the WAL from being emptied, the sidecar waits without being deaf."""
    identity = done(home.path, "op", "add", "facts", "a secret").strip()
    erase_cut_short(home.path, identity)
    with sidecar(home.path) as process:
        stop(process)


def test_nobody_waits_for_an_erase_that_a_reader_holds_up(home: Home, old_reader: Database) -> None:
    """The erase tells that it is not finished; meanwhile others can write."""
    identity = done(home.path, "op", "add", "facts", "a secret").strip()
    erasing = subprocess.Popen(
        [MESH, "erase", identity, "--reason", "leaked", "--home", home.path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: bool(asked(home.path, "status")["unfinished_erases"]))
        finished = mesh(home.path, "op", "add", "facts", "written meanwhile")
        assert (finished.returncode, finished.stderr) == (0, "")
        _, errors = erasing.communicate(timeout=PATIENCE_SECONDS)
        assert erasing.returncode == 3
        assert "next: " in errors
    finally:
        if erasing.poll() is None:
            erasing.kill()
            erasing.communicate()
    assert texts(home.path) == ["written meanwhile"]


def test_asking_for_the_status_keeps_no_sidecar_from_starting(home: Home) -> None:
    """To look whether a sidecar runs is not to be one."""
    with hold_node_lock(home):
        pass
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            node_process_id(home)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for _ in range(2000):
            with hold_node_lock(home):
                pass
    finally:
        ended.set()
        asking.join()


def complaint_of_up(home: Home) -> tuple[str, str]:
    """What `mesh up` says on a home that has a sidecar. The hints it may print first are no data."""
    finished = mesh(home.path, "up")
    return complaint(subprocess.CompletedProcess(finished.args, finished.returncode, "", finished.stderr))


def stop(process: "subprocess.Popen[str]", number: signal.Signals = signal.SIGTERM) -> None:
    """It ends by itself, while whatever could hold it up still does."""
    process.send_signal(number)
    assert process.wait(PATIENCE_SECONDS) == 0
