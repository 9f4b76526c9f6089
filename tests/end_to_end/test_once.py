"""A write that goes two ways, or is asked for twice, is there once: a real sidecar is stopped in its tracks and wakes up again."""

import json
import random
import signal
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.records.spool import is_waiting, queue
from mesh.app.client import ask
from mesh.core.errors import UsageError
from mesh.store.wake_signal import socket_file
from tests.end_to_end.commands import PATIENCE_SECONDS, asked, done, killed_at, quickly, texts
from tests.end_to_end.fleet import Sidecar, sidecars
from tests.end_to_end.test_mcp import served, told

GIVEN_UP_SECONDS = 4.0  # longer than a command waits for a sidecar
CORRECTION = ("--wrong", "ran npm install", "--right", "use pnpm install")


@pytest.fixture(autouse=True)
def _gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Giving up is what is tested here."""
    monkeypatch.setenv("MESH_PATIENCE", "1")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Sidecar]:
    made = Sidecar(tmp_path / "node", listen=None).init()
    with sidecars(made):
        yield made.up()


@contextmanager
def stopped(node: Sidecar) -> Iterator[None]:
    """The sidecar stands still: whoever connects is let in by the system, and hears nothing."""
    node.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        node.process.send_signal(signal.SIGCONT)


def work_off(node: Sidecar) -> None:
    """Wait until the sidecar has done all it was asked for: what comes first is begun first, and what was begun is done before it ends."""
    for number in range(3):
        ask(node.home, "POST", "/discover", {"text": f"asked last of all, {number}", "anyway": True})
    assert node.stop() == 0


def records(node: Sidecar) -> list[dict[str, Any]]:
    """Every live record, oldest first, but for those of `work_off`."""
    listed = [json.loads(line)["record"] for line in done(node.home, "op", "list", "--json").splitlines()]
    return [record for record in listed if "asked last of all" not in record.get("text", "")]


def logged(node: Sidecar, pattern: str) -> int:
    count: int = asked(node.home, "pattern", "show", pattern)["logged"]
    return count


def words(record: dict[str, Any]) -> str:
    """What a record says, of whichever kind it is."""
    return str(record.get("text") or record["wrong"])


def test_what_a_stopped_sidecar_was_asked_for_is_there_once(node: Sidecar) -> None:
    """The commands give up and write by themselves; the sidecar wakes up and finds that it is done."""
    with stopped(node):
        found = asked(node.home, "discover", "the gateway answers 405 on push", "--anyway")
        corrected = asked(node.home, "correct", *CORRECTION)
    assert (found["state"], corrected["state"]) == ("recorded", "recorded")
    work_off(node)
    assert list(map(words, records(node))) == ["the gateway answers 405 on push", "ran npm install"]
    assert logged(node, corrected["pattern"]) == 1
    done(node.home, "verify")


def test_a_command_that_a_sidecar_had_written_for_is_answered_as_if_it_had_written(node: Sidecar) -> None:
    """The same request reaches both: whoever comes second gives the receipt of the first."""
    by_api = ask(node.home, "POST", "/discover", {"text": "redis is on 6380", "request_id": "request-1"})
    by_command = asked(node.home, "discover", "redis is on 6380", "--request-id", "request-1")
    assert node.stop() == 0
    alone = asked(node.home, "discover", "redis is on 6380", "--request-id", "request-1")
    for answer in (by_command, alone):
        assert (answer["id"], answer["state"], answer["repeated"]) == (by_api["id"], "recorded", True)
    assert list(map(words, records(node))) == ["redis is on 6380"]


def test_a_program_that_repeats_its_requests_adds_nothing(node: Sidecar) -> None:
    """Ten at a time, of which some are given up: one record each, and one answer to all."""
    correction = {"wrong": "ran npm install", "right": "use pnpm install", "request_id": "request-1"}
    discovery = {"text": "the gateway answers 405", "anyway": True, "request_id": "request-2"}
    with ThreadPoolExecutor(10) as pool:
        with stopped(node):
            waiting = [pool.submit(ask, node.home, "POST", "/correct", correction) for _ in range(5)]
            waiting += [pool.submit(ask, node.home, "POST", "/discover", discovery) for _ in range(5)]
            for path, body in (("/correct", correction), ("/discover", discovery)):
                give_up(node, path, body)
        answers = [answer.result(PATIENCE_SECONDS) for answer in waiting]
    assert len({answer["id"] for answer in answers}) == 2
    assert sum(not answer["repeated"] for answer in answers) <= 2
    with pytest.raises(UsageError, match="for something else"):
        ask(node.home, "POST", "/discover", {"text": "other words", "request_id": "request-2"})
    work_off(node)
    assert sorted(map(words, records(node))) == ["ran npm install", "the gateway answers 405"]
    assert logged(node, answers[0]["pattern"]) == 1


async def test_an_agent_that_repeats_its_calls_adds_nothing(node: Sidecar) -> None:
    """Beside a sidecar that stands still, and to a server that was started anew; a call with an id of its own is another one."""
    discovery: dict[str, Any] = {"text": "the gateway answers 405 on push", "anyway": True, "is_global": True}
    correction = {"wrong": "ran npm install", "right": "use pnpm install"}
    ids = set()
    with stopped(node):
        for _ in range(2):
            async with served(Path(node.home), session="codex:1") as client:
                for _ in range(2):
                    receipt = await told(client, "record_discovery", **discovery)
                    counted = await told(client, "record_correction", **correction)
                    ids.add((receipt["id"], counted["id"], counted["sessions"]))
    assert len(ids) == 1
    async with served(Path(node.home), session="codex:1") as client:
        for name in ("request-1", "request-2", "request-1"):
            await told(client, "record_discovery", **discovery, request_id=name)
    work_off(node)
    texts = Counter(map(words, records(node)))
    assert texts == {"the gateway answers 405 on push": 3, "ran npm install": 1}
    assert logged(node, counted["pattern"]) == 1


def test_a_queued_write_whose_hook_was_killed_is_there_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed when it is written and its file is not gone yet; the next hook takes it in again."""
    monkeypatch.setenv("MESH_NO_AUTOSTART", "1")
    home = tmp_path / "home"
    quickly(home, "init", "--name", "alpha")
    queue("discover", {"text": "the gateway answers 405", "anyway": True, "request_id": "request-1"}, str(home))
    event = json.dumps({"hook_event_name": "SessionStart", "session_id": "s1", "cwd": "/"})
    assert killed_at("os.unlink", 1, home, "hook", "SessionStart", stdin=event)
    assert is_waiting(str(home))
    assert texts(home) == ["the gateway answers 405"]
    done(home, "hook", "SessionStart", stdin=event)
    assert not is_waiting(str(home))
    assert texts(home) == ["the gateway answers 405"]


# At random


def give_up(node: Sidecar, path: str, body: dict[str, Any]) -> None:
    """Ask, and do not wait for an answer."""
    data = json.dumps(body)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(socket_file(node.home, "sidecar.sock"))
        connection.sendall(f"POST {path} HTTP/1.0\r\nContent-Length: {len(data)}\r\n\r\n{data}".encode())


def write_beside(node: Sidecar, writer: int, writes: int) -> Counter[str]:
    """Commands, one after the other, of which each third is repeated by a script; returns what each said, once."""
    written: Counter[str] = Counter()
    for number in range(writes):
        text = f"writer {writer} says {number}"
        command: tuple[str, ...] = ("discover", text, "--anyway")
        if number % 2:
            command = ("correct", "--wrong", text, "--right", f"{text} better", "--pattern", f"pattern-{writer}")
        again = ("--request-id", f"request-{writer}-{number}") if number % 3 == 0 else ()
        for _ in range(2 if again else 1):
            done(node.home, *command, *again)
        written[text] += 1
    return written


def stop_at_random(node: Sidecar, begun: threading.Event, ended: threading.Event, rng: random.Random) -> None:
    """Stop and continue the sidecar until everyone has written. The first time for so long that it is given up on."""
    seconds = GIVEN_UP_SECONDS
    while not ended.is_set():
        with stopped(node):
            begun.set()
            ended.wait(seconds)  # not a wait for something: for so long it stands still
        ended.wait(rng.uniform(0, 1))
        seconds = rng.choice((0.05, 0.5, GIVEN_UP_SECONDS))


def stop_while_all_write(node: Sidecar, *, writers: int, writes: int) -> None:
    """What was acknowledged is there, each once, each counted once, and nothing else is."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    begun, ended = threading.Event(), threading.Event()
    with ThreadPoolExecutor(writers + 1) as pool:
        stopping = pool.submit(stop_at_random, node, begun, ended, random.Random(seed))
        try:
            assert begun.wait(PATIENCE_SECONDS)
            each = pool.map(lambda writer: write_beside(node, writer, writes), range(writers))
            written = sum(each, start=Counter[str]())
        finally:
            ended.set()
        stopping.result()
    work_off(node)
    assert Counter(map(words, records(node))) == written
    for writer in range(writers):
        assert logged(node, f"pattern-{writer}") == writes // 2
    done(node.home, "verify")


def test_a_sidecar_that_is_stopped_at_random_doubles_nothing(node: Sidecar) -> None:
    """Three write at once, while the sidecar stands still again and again."""
    stop_while_all_write(node, writers=3, writes=6)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_sidecar_that_is_stopped_at_random_for_long_doubles_nothing(node: Sidecar) -> None:
    """The same for about ten minutes."""
    stop_while_all_write(node, writers=4, writes=500)
