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


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Markers of a test go to its own folder, and no test finds the user's home."""
    folder = tmp_path / "state"
    monkeypatch.setenv("MESH_STATE", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("MESH_HOME", raising=False)
    return folder
