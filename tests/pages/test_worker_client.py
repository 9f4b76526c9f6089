"""The worker process and its parent: real processes that die, hang and lie."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from mesh.pages.document import Document
from mesh.pages.edit_codec import parse
from mesh.pages.text_difference import Edit
from mesh.pages.worker_client import NotOpen, WorkerClient, WorkerDied, WorkerSlow
from tests.end_to_end.commands import PATIENCE_SECONDS, wait_until

TREE = Path(__file__).parents[2]
ME, OTHER = 2**53 - 1, 77
PAGE, ANOTHER = b"\x01" * 32, b"\x02" * 32

# Our worker, but that some texts are poison to it; it writes down each that is started.
POISONED = """
    import os, pathlib, signal, sys, time
    from mesh.pages import document, worker

    folder = pathlib.Path(sys.argv[1])
    del sys.argv[1]
    with (folder / "started").open("a") as started:
        print(os.getpid(), file=started)
    if (folder / "doomed").exists():
        os.abort()
    apply, text = document.Document.apply, document.Document.text

    def poisoned_apply(self, update):
        apply(self, update)
        if b"{crash" in update:
            os.write(2, b"panicked: \\x1b[1mno\\nnote: run with more\\n\\n")
            os.kill(os.getpid(), signal.SIGSEGV)
        if b"{once" in update and not (folder / "once").exists():
            (folder / "once").touch()
            os.abort()
        if b"{doom" in update:
            (folder / "doomed").touch()
            os.abort()
        if b"{hang" in update:
            (folder / "hanging").touch()
            time.sleep(3600)
        if b"{slow" in update:
            time.sleep(0.3)
        if b"{panic" in update:
            raise BaseException("a panic")

    def poisoned_text(self):
        if "{unreadable" in text(self):
            os.abort()
        return text(self)

    document.Document.apply, document.Document.text = poisoned_apply, poisoned_text
    worker._BEAT_SECONDS = 0.05
    worker.main()
"""


def script(folder: Path, source: str) -> list[str]:
    path = folder / "command.py"
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    return [sys.executable, str(path)]


def poisoned(folder: Path) -> list[str]:
    return [*script(folder, POISONED), str(folder)]


def started(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "started").read_text(encoding="utf-8").split()]


def is_running(pid: int) -> bool:
    """Zombies that nobody reaps do not run."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False).stdout.strip()
    return bool(shown) and not shown.startswith(b"Z")


def pid_of(workshop: WorkerClient) -> int:
    assert workshop._process is not None
    return workshop._process._process.pid


def typed(words: Sequence[str], client: int = OTHER) -> list[bytes]:
    """One update a word, each by another client: no one of them needs any other."""
    return [Document(client + at).edit([Edit(0, 0, word)], 60_000, lambda: None)[0] for at, word in enumerate(words)]


@pytest.fixture
def workshop() -> Iterator[WorkerClient]:
    with WorkerClient(seconds=PATIENCE_SECONDS) as shop:
        yield shop


def test_a_page_is_opened_edited_and_handed_on(workshop: WorkerClient) -> None:
    """What one document tells in updates or in its state is the text of another."""
    assert workshop.open(PAGE, None, []) == ""
    updates, text = workshop.edit(PAGE, ME, [Edit(0, 0, "one 漢🙂\n")], 1000)
    more, text = workshop.edit(PAGE, ME, [Edit(4, 1, "two"), Edit(7, 0, "end\n")], 1000)
    assert text == "one two🙂\nend\n"
    assert workshop.open(ANOTHER, None, updates) == "one 漢🙂\n"
    assert workshop.apply(ANOTHER, more) == text
    assert workshop.open(ANOTHER, workshop.state(PAGE), []) == text
    assert workshop.open(ANOTHER, workshop.state(PAGE), typed(["zero\n"])) in ("zero\n" + text, text + "zero\n")
    assert workshop.texts(updates + more, [0, 2, 1]) == ["", text, "one 漢🙂\n"]
    assert workshop.deltas(updates + more)[1] == [Edit(4, 1, "two"), Edit(7, 0, "end\n")]


def test_a_document_can_be_edited_by_one_client_after_another(workshop: WorkerClient) -> None:
    """Each goes on where it was."""
    workshop.open(PAGE, None, [])
    made: list[bytes] = []
    for client in (ME, OTHER, ME, OTHER):
        updates, text = workshop.edit(PAGE, client, [Edit(len(made), 0, "x")], 1000)
        made += updates
    assert text == "xxxx"
    assert workshop.open(ANOTHER, None, made) == "xxxx"


def test_a_document_opened_for_its_editor_is_the_same(workshop: WorkerClient) -> None:
    """That only saves time."""
    assert workshop.open(PAGE, None, typed(["a"]), client=ME) == "a"
    (update,), text = workshop.edit(PAGE, ME, [Edit(1, 0, "b")], 1000)
    assert text == "ab"
    assert parse(update).client == ME


def test_a_large_page_goes_back_and_forth(workshop: WorkerClient) -> None:
    """Megabytes in a request, in an answer, in a state."""
    text = "all work and no play 漢🙂\n" * 60_000
    workshop.open(PAGE, None, [])
    updates, after = workshop.edit(PAGE, ME, [Edit(0, 0, text)], 60_000)
    assert after == text
    assert max(map(len, updates)) <= 60_000
    assert workshop.open(ANOTHER, None, updates) == text
    assert workshop.open(ANOTHER, workshop.state(PAGE), []) == text
    assert workshop.edit(PAGE, ME, [Edit(0, len(text), "")], 60_000)[1] == ""


def test_what_is_not_open_cannot_be_used(workshop: WorkerClient) -> None:
    """Never opened, or forgotten."""
    workshop.forget(PAGE)
    assert not workshop.is_open(PAGE)
    for use in (
        lambda: workshop.apply(PAGE, []),
        lambda: workshop.edit(PAGE, ME, [], 1000),
        lambda: workshop.state(PAGE),
    ):
        with pytest.raises(NotOpen):
            use()
    workshop.open(PAGE, None, [])
    assert workshop.is_open(PAGE)
    workshop.forget(PAGE)
    assert not workshop.is_open(PAGE)


def test_of_many_documents_those_used_last_stay_open(workshop: WorkerClient) -> None:
    """The parent knows which were pushed out, without asking."""
    names = [bytes([number]) * 32 for number in range(34)]
    for name in names[:32]:
        workshop.open(name, None, [])
    workshop.apply(names[0], [])
    workshop.open(names[32], None, [])
    workshop.open(names[33], None, [])
    assert [number for number, name in enumerate(names) if not workshop.is_open(name)] == [1, 2]
    assert workshop.apply(names[0], []) == ""
    assert workshop.open(names[1], None, []) == ""


def test_a_wrong_edit_is_an_error_of_the_caller_and_harms_nothing(workshop: WorkerClient) -> None:
    """The worker goes on and the documents stay open."""
    workshop.open(PAGE, None, typed(["abc"]))
    worker = pid_of(workshop)
    for change in (Edit(4, 0, "x"), Edit(0, 0, "\ud800")):
        with pytest.raises(ValueError):
            workshop.edit(PAGE, ME, [change], 1000)
    with pytest.raises(ValueError):
        workshop.texts([], [1])
    assert workshop.apply(PAGE, []) == "abc"
    assert pid_of(workshop) == worker


def test_a_worker_that_was_killed_between_two_calls_is_replaced(workshop: WorkerClient) -> None:
    """Its documents are gone, and that is known before anything is asked of them."""
    workshop.open(PAGE, None, [])
    workshop.open(ANOTHER, None, [])
    os.kill(pid_of(workshop), signal.SIGKILL)
    wait_until(lambda: not workshop.is_open(PAGE))
    with pytest.raises(NotOpen):
        workshop.apply(ANOTHER, [])
    assert workshop.open(PAGE, None, typed(["again"])) == "again"
    assert not workshop.is_open(ANOTHER)


@pytest.mark.parametrize("poison", ["{crash}", "{panic}", "{unreadable}"])
def test_a_worker_dies_of_an_update_and_the_next_one_serves(poison: str, tmp_path: Path) -> None:
    """By a signal, by a panic of pycrdt, or only when the text is read."""
    (good, bad) = typed(["good", poison])
    with WorkerClient(command=poisoned(tmp_path), seconds=PATIENCE_SECONDS) as workshop:
        workshop.open(ANOTHER, None, [good])
        with pytest.raises(WorkerDied):
            workshop.open(PAGE, None, [good, bad])
        assert not workshop.is_open(PAGE)
        assert not workshop.is_open(ANOTHER)
        assert workshop.open(PAGE, None, [good]) == "good"
        with pytest.raises(WorkerDied):
            workshop.apply(PAGE, [bad])
        assert workshop.open(PAGE, None, [good]) == "good"
        assert len(started(tmp_path)) == 3


def test_the_error_tells_how_the_worker_ended_and_what_it_said(tmp_path: Path) -> None:
    """The signal, and the last line, made fit for a terminal."""
    with WorkerClient(command=poisoned(tmp_path), seconds=PATIENCE_SECONDS) as workshop:
        with pytest.raises(WorkerDied, match=r"SIGSEGV: panicked: \?\[1mno$"):
            workshop.open(PAGE, None, typed(["{crash}"]))
        with pytest.raises(WorkerDied, match=r"code 1: BaseException: a panic$"):
            workshop.open(PAGE, None, typed(["{panic}"]))
        with pytest.raises(WorkerDied, match=r"code 1: ValueError: "):
            workshop.open(PAGE, None, [b"\xff\xff\x01"])


def test_settle_finds_every_killer_with_few_workers(tmp_path: Path) -> None:
    """And nothing of the others is lost."""
    words = [f"<{number}>" for number in range(200)]
    poison = {0: "{crash}", 57: "{unreadable}", 58: "{panic}", 199: "{crash}"}
    updates = typed([poison.get(number, word) for number, word in enumerate(words)])
    with WorkerClient(command=poisoned(tmp_path), seconds=PATIENCE_SECONDS) as workshop:
        settled = workshop.settle(None, updates)
        assert settled.killers == tuple(poison)
        assert all((word in settled.text) == (number not in poison) for number, word in enumerate(words))
        assert workshop.open(PAGE, settled.state, []) == settled.text
        assert len(started(tmp_path)) <= 24
        assert workshop.settle(settled.state, []) == (settled.state, settled.text, ())


def test_an_update_that_ends_a_worker_once_only_is_no_killer(tmp_path: Path) -> None:
    """It might have been anything: somebody else's memory, say."""
    good, once = typed(["good", "{once}"])
    with WorkerClient(command=poisoned(tmp_path), seconds=PATIENCE_SECONDS) as workshop:
        settled = workshop.settle(None, [good, once])
    assert settled.killers == ()
    assert "good" in settled.text
    assert "{once}" in settled.text


def test_settle_does_not_blame_updates_for_the_state_they_come_on_top_of(tmp_path: Path) -> None:
    """Nobody can tell then."""
    poison, good = typed(["{crash}", "good"])
    with WorkerClient(command=poisoned(tmp_path), seconds=PATIENCE_SECONDS) as workshop, pytest.raises(WorkerDied):
        workshop.settle(poison, [good])


def test_settle_blames_nothing_while_no_worker_works_at_all(tmp_path: Path) -> None:
    """From the first death on they all die: that is the machine."""
    with WorkerClient(command=poisoned(tmp_path), seconds=PATIENCE_SECONDS) as workshop, pytest.raises(WorkerDied):
        workshop.settle(None, typed(["good", "{doom}"]))


def test_settle_leaves_open_documents_alone(tmp_path: Path) -> None:
    """It has workers of its own."""
    with WorkerClient(command=poisoned(tmp_path), seconds=PATIENCE_SECONDS) as workshop:
        workshop.open(PAGE, None, typed(["here"]))
        assert workshop.settle(None, typed(["{crash}"])) == (b"\x00\x00", "", (0,))
        assert workshop.apply(PAGE, []) == "here"


def test_a_worker_that_hangs_is_ended_and_nothing_is_decided(tmp_path: Path) -> None:
    """Neither when a page is opened nor when it is looked for killers."""
    good, hang = typed(["good", "{hang}"])
    with WorkerClient(command=poisoned(tmp_path), seconds=0.5) as workshop:
        with pytest.raises(WorkerSlow):
            workshop.open(PAGE, None, [good, hang])
        assert not workshop.is_open(PAGE)
        with pytest.raises(WorkerSlow):
            workshop.settle(None, [good, hang])
        workshop._seconds = PATIENCE_SECONDS
        assert workshop.open(PAGE, None, [good]) == "good"
        *ended, last = started(tmp_path)
        assert last == pid_of(workshop)
        wait_until(lambda: not any(map(is_running, ended)))


def test_a_worker_that_gets_on_may_take_longer_altogether(tmp_path: Path) -> None:
    """What is limited is how long it is silent."""
    with WorkerClient(command=poisoned(tmp_path), seconds=PATIENCE_SECONDS) as workshop:
        workshop.open(PAGE, None, [])
        assert workshop._process is not None
        workshop._process._seconds = 2.0
        assert len(workshop.open(PAGE, None, typed(["{slow}"] * 8))) == 8 * len("{slow}")


@pytest.mark.parametrize(
    "answer",
    [
        "b'\\xff\\xff\\xff\\xff' + bytes(100)",
        "b'\\0\\0\\0\\1\\xc1'",
        "b'\\0\\0\\0\\1\\xc0'",
        "frame(['done', 7])",
        "frame(['done', ['text']])",
        "frame(['done', [b'text', []]])",
        "frame(['done', ['', []]]) * 2",
        "b''",
        "b'\\0\\0'",
    ],
)
def test_a_worker_that_lies_is_taken_for_dead(answer: str, tmp_path: Path) -> None:
    """Lengths nobody can mean, no msgpack, no answer, another answer than to this question, two."""
    source = f"""
        import os
        from mesh.core.strict_msgpack import pack

        def frame(value):
            return len(pack(value)).to_bytes(4, "big") + pack(value)

        os.read(0, 4096)
        os.write(1, {answer})
    """
    with WorkerClient(command=script(tmp_path, source), seconds=PATIENCE_SECONDS) as workshop:
        with pytest.raises(WorkerDied):
            workshop.open(PAGE, None, [])
        assert not workshop.is_open(PAGE)
        with pytest.raises(WorkerDied):
            workshop.settle(None, [])


def test_a_worker_that_talks_without_end_cannot_fill_our_memory(tmp_path: Path) -> None:
    """Of what it complains about the end is kept; it may not block on it either."""
    source = "import os\nfor _ in range(300): os.write(2, b'x' * 9999 + b'\\n')\nos.write(2, b'done')\n"
    with (
        WorkerClient(command=script(tmp_path, source), seconds=PATIENCE_SECONDS) as workshop,
        pytest.raises(WorkerDied, match=r"code 0: done$"),
    ):
        workshop.open(PAGE, None, [])


def test_a_worker_that_cannot_be_started_decides_nothing() -> None:
    """As on a machine that has no room for another process."""
    with WorkerClient(command=["/nonexistent/worker"]) as workshop:
        for _ in range(2):
            with pytest.raises(WorkerSlow):
                workshop.open(PAGE, None, [])


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not enforce a limit of memory")
def test_a_worker_has_only_so_much_memory() -> None:
    """The one process that runs out of it is the worker."""
    with WorkerClient(memory_mb=128, seconds=PATIENCE_SECONDS) as workshop:
        workshop.open(PAGE, None, [])
        with pytest.raises(WorkerDied):
            workshop.edit(PAGE, ME, [Edit(0, 0, "x" * 60_000_000)], 2**40)
        assert workshop.open(PAGE, None, typed(["small"])) == "small"


def test_a_worker_knows_nothing_and_has_a_session_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither secrets of ours in its environment, nor our terminal's Ctrl-C."""
    monkeypatch.setenv("MESH_SECRET", "hidden")
    monkeypatch.setenv("PYTHONINSPECT", "1")
    source = "import os, sys\nsys.exit(f'{sorted(os.environ)} {os.getsid(0) == os.getpid()} {os.getcwd()}')\n"
    with (
        WorkerClient(command=script(tmp_path, source), seconds=PATIENCE_SECONDS) as workshop,
        pytest.raises(WorkerDied) as died,
    ):
        workshop.open(PAGE, None, [])
    assert "True /" in str(died.value)
    assert "PYTHONPATH" in str(died.value)
    assert "SECRET" not in str(died.value)
    assert "INSPECT" not in str(died.value)


def test_no_worker_is_left_behind_by_a_parent_that_was_killed(tmp_path: Path) -> None:
    """Its input ends, whatever became of the parent."""
    source = f"""
        import sys, time
        from mesh.pages.worker_client import WorkerClient

        workshop = WorkerClient(seconds=300)
        workshop.open({PAGE!r}, None, [])
        print(workshop._process._process.pid, flush=True)
        time.sleep(3600)
    """
    with subprocess.Popen(script(tmp_path, source), stdout=subprocess.PIPE, cwd=TREE) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert is_running(worker)
        parent.kill()
    wait_until(lambda: not is_running(worker))


def test_leaving_the_workshop_ends_its_worker(workshop: WorkerClient) -> None:
    """And a later call would start another."""
    workshop.open(PAGE, None, [])
    worker = pid_of(workshop)
    workshop.close()
    assert not is_running(worker)
    assert workshop.open(PAGE, None, []) == ""


def test_an_interrupted_call_does_not_answer_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the worker works: it is ended at once."""
    with WorkerClient(command=poisoned(tmp_path), seconds=PATIENCE_SECONDS) as workshop:
        workshop.open(PAGE, None, [])
        worker = pid_of(workshop)
        signal.signal(signal.SIGUSR1, signal.default_int_handler)
        person = threading.Thread(target=_interrupt_when, args=[(tmp_path / "hanging").exists])
        person.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                workshop.apply(PAGE, typed(["{hang}"]))
        finally:
            person.join()
            signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        assert not is_running(worker)
        assert workshop.open(PAGE, None, typed(["fine"])) == "fine"


def _interrupt_when(is_so: Callable[[], bool]) -> None:
    wait_until(is_so)
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGUSR1)


@pytest.fixture(params=["abort-read.bin", "segv-encode.bin", "segv-read.bin"])
def sample(request: pytest.FixtureRequest) -> bytes:
    path = TREE.parent / "shared" / "hostile-pages" / str(request.param)  # not part of the repository
    if not path.exists():
        pytest.skip("the samples are not here")
    return path.read_bytes()


def test_settle_copes_with_hostile_samples(sample: bytes, workshop: WorkerClient) -> None:
    """Past the structural check, which refuses them: the honest updates around them are all in the page."""
    first, last = typed(["honest", "page"])
    settled = workshop.settle(None, [first, sample, last])
    assert set(settled.killers) <= {1}
    assert settled.text in ("honestpage", "pagehonest")
    assert workshop.open(PAGE, settled.state, []) == settled.text


def test_hostile_samples_aimed_at_the_text_itself_harm_no_other_page(sample: bytes, workshop: WorkerClient) -> None:
    """Nobody knows what they will do, the next time they are tried: with some luck they only hang."""
    aimed = sample.replace(b"\x01\x01t", b"\x01\x04text")
    first, last = typed(["honest", "page"])
    with WorkerClient(seconds=0.5) as victim:
        try:
            victim.open(PAGE, None, [first, aimed, last])
            victim.state(PAGE)
        except (WorkerDied, WorkerSlow):
            assert not victim.is_open(PAGE)
        try:
            settled = victim.settle(None, [first, aimed, last])
        except WorkerSlow:
            settled = None
    if settled is not None:
        assert set(settled.killers) <= {1}
        assert "honest" in settled.text
        assert workshop.open(PAGE, settled.state, []) == settled.text
    assert workshop.open(ANOTHER, None, [first, last]) in ("honestpage", "pagehonest")
