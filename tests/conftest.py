"""Settings shared by all tests."""

import os
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
    "GEMINI_CLI",
    "GEMINI_CLI_HOME",
    "GEMINI_SESSION_ID",
)


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Markers of a test go to its own folder, and no test finds the user's home."""
    folder = tmp_path / "state"
    monkeypatch.setenv("MESH_STATE", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.chdir(tmp_path)  # no repository: a record that is written in one without a remote gives it an id
    monkeypatch.setenv("MESH_SPOOL", str(tmp_path / "queue"))
    for name in _OF_THE_DEVELOPER:
        monkeypatch.delenv(name, raising=False)
    return folder
