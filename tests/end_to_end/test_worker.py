"""The worker process of a real node: seen by a person, ended again and again, and gone with its node."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.commands import asked, mesh, wait_until
from tests.end_to_end.fleet import Sidecar, sidecars
from tests.worker.workers import exists


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Sidecar]:
    """A mesh of one, running."""
    made = Sidecar(tmp_path / "home")
    with sidecars(made):
        yield made.init().up()


def worker_of(node: Sidecar) -> int:
    """The process, once there is one."""
    wait_until(lambda: (asked(node.home, "status")["worker"] or {}).get("pid") is not None)
    pid: int = asked(node.home, "status")["worker"]["pid"]
    return pid


def problems(node: Sidecar) -> list[str]:
    """What doctor finds: it ends with another code than 0 if it finds anything."""
    return [item["sort"] for item in json.loads(mesh(node.home, "doctor", "--json").stdout)]


def test_status_and_doctor_say_how_the_worker_is(node: Sidecar) -> None:
    """Nothing is said of one that is well; of one that ends again and again, doctor says so. Files follow all the same."""
    process = worker_of(node)
    assert f"process {process}" in mesh(node.home, "status", "--verbose").stdout
    assert "worker" not in problems(node)
    for _ in range(2):
        os.kill(process, signal.SIGKILL)
        wait_until(lambda process=process: worker_of(node) != process)  # type: ignore[misc]
        process = worker_of(node)
    assert "worker" in problems(node)
    mesh(node.home, "discover", "written after all that")
    rendered = Path(node.home, "rendered", "discoveries.jsonl")
    wait_until(lambda: "written after all that" in rendered.read_text(encoding="utf-8"))
    node.process.kill()
    node.process.wait()
    wait_until(lambda: not exists(process))


def test_the_running_node_has_loaded_nothing_that_only_the_worker_needs(node: Sidecar) -> None:
    """As the system sees it: no library of numbers or models is mapped, whatever was asked."""
    maps = Path(f"/proc/{node.process.pid}/maps")
    if not maps.exists():
        pytest.skip("this system does not say what a process has loaded")
    mesh(node.home, "discover", "poll the socket before you read")
    worker = worker_of(node)
    wait_until(lambda: asked(node.home, "index")["sidecar"]["behind"] == 0)
    asked(node.home, "search", "socket")
    loaded = maps.read_text(encoding="utf-8")
    assert [name for name in ("numpy", "onnxruntime", "tokenizers", "pycrdt") if f"/{name}/" in loaded] == []
    assert exists(worker)
