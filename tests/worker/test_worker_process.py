"""A real worker process beside its node: killed, stopped, told to end, at any moment. Nothing is lost, and nobody who writes notices."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clan_learnings.repository.consent import change_shared
from mesh.app.checks.node_checks import worker_sentence
from mesh.app.derived_files import unerased
from mesh.store.erase_requests import erase
from tests.clan_learnings.harvest.test_schedule import REPO, ended, texts
from tests.clan_learnings.search.kept_homes import anywhere
from tests.clan_learnings.search.servers import raw, serving
from tests.end_to_end.claude_sessions import clone_of, corrected
from tests.end_to_end.commands import wait_until
from tests.worker.workers import Served, exists, served

SECRET = "xyzzyplugh"


def wipe(node: Served, tag: bytes) -> None:
    """Erase one of our records, without telling the worker by any other way than the database."""
    erase(node.home, node.author, {tag: node.home.node}, "leaked")


def test_a_worker_that_is_killed_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    """Every record is indexed and rendered in the end, each once; whoever writes meanwhile is not kept waiting."""
    chance = random.Random(5)
    with served(tmp_path) as node:
        for number in range(12):
            node.write(*(f"record {number} {place} lorem" for place in range(30)))
            time.sleep(chance.random() * 0.6)
            node.signal(signal.SIGKILL)
        assert "has ended" in worker_sentence(node.worker.state()) or "does not run" in worker_sentence(
            node.worker.state()
        )
        node.write("the last one")
        wait_until(node.is_current)
        assert node.recall.status()["records"] == 12 * 30 + 1
        found = {result["text"] for result in node.search("record 11 lorem")["results"]}
        assert any(text.startswith("record 11 ") for text in found)
        assert node.worker.state()["ended"] >= 6  # a kill may come before there is a next one


def test_a_worker_that_hangs_is_replaced_and_search_answers_meanwhile(tmp_path: Path) -> None:
    """By words, and soon: who asked in vain once is not asked again until it is heard of."""
    with serving() as server, served(tmp_path, f"{server.address} some-model") as node:
        node.write("poll the socket before you read", "sqlite waits for a lock")
        wait_until(lambda: node.search("a socket")["by"] == "keywords and vectors")
        wait_until(node.is_current)
        stopped = node.signal(signal.SIGSTOP)
        answers = [node.search(f"socket {number}") for number in range(5)]
        assert {answer["by"] for answer in answers} == {"keywords"}
        assert all(answer["results"] for answer in answers)
        wait_until(lambda: node.worker.state()["pid"] not in (None, stopped))
        assert not exists(stopped)
        wait_until(lambda: node.search("another socket")["by"] == "keywords and vectors")
        node.write("written afterwards")
        wait_until(node.is_current)


def test_a_worker_is_never_waited_for_by_who_writes(tmp_path: Path) -> None:
    """It is stopped, and told of news a thousand times: not one of them blocks, and none is lost."""
    with served(tmp_path) as node:
        node.write("a first record")
        wait_until(node.is_current)
        stopped = node.signal(signal.SIGSTOP)
        for _ in range(1000):
            node.worker.tell_news()
        node.write("a second record")
        os.kill(stopped, signal.SIGCONT)
        wait_until(node.is_current)


def test_an_erase_is_acknowledged_by_an_index_that_was_dead_at_the_time(tmp_path: Path) -> None:
    """Until then it is known which folders may hold the text; afterwards none does."""
    with serving() as server, served(tmp_path, f"{server.address} some-model") as node:
        node.write("some other record")
        (tag,) = node.write(f"the password is {SECRET}")
        wait_until(node.is_current)
        wait_until(lambda: (node.recall.status()["vectors"] or {}).get("made") == 2)
        assert unerased(node.home.path) == []
        vectors = Path(node.home.file("recall/vectors/vectors.bin"))
        wait_until(lambda: tag in vectors.read_bytes())
        os.kill(node.process, signal.SIGSTOP)  # so that nobody takes its place yet
        wipe(node, tag)
        assert {"recall/vectors", "rendered"} <= set(unerased(node.home.path))
        assert tag in vectors.read_bytes()
        wait_until(lambda: unerased(node.home.path) == [])
        assert tag not in vectors.read_bytes()
        assert anywhere(node.home.file("recall"), SECRET) == []
        assert anywhere(node.home.file("rendered"), SECRET) == []
        assert node.worker.state()["ended"] == 1


def test_a_session_is_captured_and_harvested_and_the_node_writes_it(tmp_path: Path) -> None:
    """From a hook's word to a record, in a process that cannot write records by itself; also if it is killed in between."""
    with served(tmp_path) as node:
        change_shared(node.home.path, REPO, on=True)
        clone = clone_of(REPO, tmp_path / "clone")
        ended(node.home.path, corrected("one", clone).save(tmp_path))
        node.signal(signal.SIGKILL)
        wait_until(lambda: bool(texts(node.home.path)))
        assert texts(node.home.path) == ["use pnpm install here, we never use npm"]
        assert {type(draft).__name__ for drafts in node.handed for draft in drafts} == {"NewRecord", "Increment"}


def test_what_the_worker_says_is_not_believed(tmp_path: Path) -> None:
    """One that talks nonsense is ended, and another is started; the node goes on."""
    node = Served(tmp_path)
    script = "import os, sys; os.write(int(sys.argv[1]), b'\\xff' * 64); import time; time.sleep(600)"
    node.worker._command = (sys.executable, "-c", script)
    with node.worker, node.recall:
        wait_until(lambda: node.worker.state()["ended"] > 1)
        node.write("a record")
        assert node.search("record")["results"]
        assert node.recall.status()["trouble"]
    node.author.store.close()


def test_a_worker_that_cannot_start_is_said_with_its_last_words(tmp_path: Path) -> None:
    """Search answers by words meanwhile, and says why."""
    node = Served(tmp_path, "minilm")
    node.worker._command = (sys.executable, "-c", "raise SystemExit('no such thing here')")
    with node.worker, node.recall:
        wait_until(lambda: "no such thing here" in node.worker.state()["says"])
        node.write("a record")
        assert node.search("record")["by"] == "keywords"
        assert "no such thing here" in node.recall.status()["says"]
    node.author.store.close()


def test_a_question_that_takes_too_long_is_answered_by_words(tmp_path: Path) -> None:
    """A server that does not answer keeps nobody for longer than is said."""
    with serving() as server, served(tmp_path, f"{server.address} some-model") as node:
        node.write("poll the socket before you read")
        wait_until(lambda: node.search("a socket")["by"] == "keywords and vectors")
        server.answers[:] = [raw(b"")]
        assert node.search("socket that nobody has asked for")["by"] == "keywords"


def test_the_worker_ends_with_its_node(tmp_path: Path) -> None:
    """However the node ends, and whatever the worker is in the middle of."""
    with served(tmp_path) as node:
        process = node.process
        assert worker_sentence(node.worker.state()) == ""
    assert not exists(process)


NODE = """
import sys, time
from pathlib import Path
from tests.worker.workers import Served
node = Served(Path(sys.argv[1]))
with node.worker:
    print(node.process, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_node_that_is_killed_leaves_no_worker(tmp_path: Path, *, is_stopped: bool) -> None:
    """Not even one that is stopped, where the system can end it with its parent."""
    if is_stopped and sys.platform != "linux":
        pytest.skip("only Linux ends a process with its parent")
    node = subprocess.Popen([sys.executable, "-c", NODE, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert node.stdout is not None
    with node.stdout:
        worker = int(node.stdout.readline())
    if is_stopped:
        wait_until(lambda: Path(tmp_path, "home/worker.lock").exists())
        os.kill(worker, signal.SIGSTOP)
    node.kill()
    node.wait()
    wait_until(lambda: not exists(worker))


def test_the_node_loads_nothing_that_only_building_needs() -> None:
    """Vectors, models, and what reads transcripts are the worker's."""
    script = "import mesh.node.node, sys; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    loaded = set(ran.stdout.split())
    heavy = {"numpy", "onnxruntime", "tokenizers", "pycrdt", "clan_learnings.search.index_building"}
    assert loaded.isdisjoint(heavy)
