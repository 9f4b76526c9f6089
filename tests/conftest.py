"""Settings shared by all tests."""

import gc
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default",
    deadline=None,  # a slow machine is not a wrong program
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    print_blob=True,
)
settings.register_profile("soak", settings.get_profile("default"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# The tests start hundreds of commands. Where nothing keeps what was compiled, each would compile the whole program again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

_MEMORY, _MEMORY_BYTES = "/dev/shm", 4 * 1024**3


def _folder_in_memory() -> str | None:
    """Where homes of tests lie, if it is large enough and programs may run there: a disk is waited for at every commit."""
    if "TMPDIR" in os.environ or not os.path.isdir(_MEMORY):
        return None  # wherever temporary files go
    about = os.statvfs(_MEMORY)
    fits = about.f_bavail * about.f_frsize >= _MEMORY_BYTES and not about.f_flag & os.ST_NOEXEC
    return _MEMORY if fits else None


tempfile.tempdir = _folder_in_memory()

# What the machine of whoever runs the tests may say, be it an agent's shell.
_OF_THE_DEVELOPER = (
    "MESH_HOME",
    "MESH_CONFIG",
    "MESH_SESSION",
    "MESH_SOCKET",
    "XDG_CONFIG_HOME",
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_SESSION_ID",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_ENV_FILE",
    "CODEX_HOME",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "SANDBOX",
    "SANDBOX_RUNTIME",
    "GEMINI_CLI",
    "GEMINI_CLI_HOME",
    "GEMINI_SESSION_ID",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: whoever tests real processes waits for them half the time."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return processors + 1


_NEW_OBJECTS = 10_000  # between two looks for rings: a test makes thousands that live until its end


def pytest_collection_finish() -> None:
    """What was loaded to find the tests stays to the end: the collector need not go through it with every test."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)


_MIDNIGHT_SECONDS = 300.0  # longer than any test takes that counts by the day, also on a busy machine


@pytest.fixture(autouse=True)
def _within_one_day() -> None:
    """What has no session of its own counts by the day, in UTC: no test begins on one day and ends on the next."""
    left = 86_400 - time.time() % 86_400
    if left < _MIDNIGHT_SECONDS:
        time.sleep(left)


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Markers of a test go to its own folder, and no test finds the user's home."""
    _move(monkeypatch, tmp_path)
    return tmp_path / "state"


@pytest.fixture(scope="session", autouse=True)
def _shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same for what several tests share, which is made before the first of them has a folder."""
    with pytest.MonkeyPatch.context() as patch:
        _move(patch, tmp_path_factory.mktemp("shared"))
        yield


def _move(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setenv("MESH_STATE", str(folder / "state"))
    patch.setenv("HOME", str(folder / "user"))
    patch.chdir(folder)  # no repository: a record that is written in one without a remote gives it an id
    patch.setenv("MESH_SPOOL", str(folder / "queue"))
    patch.setenv("MESH_PATIENCE", "20")  # a busy machine is not a wrong program: who tests giving up says so
    patch.setenv("MESH_EMBEDDER", "none")  # who wants vectors says so: no other test waits for a model
    for name in _OF_THE_DEVELOPER:
        patch.delenv(name, raising=False)
