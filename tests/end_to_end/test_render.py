"""Rendered files beside a real sidecar: up to date by themselves, the same on every node; patterns founded apart are joined."""

import json
import os
from pathlib import Path

from mesh.app.application import Application
from tests.end_to_end.commands import PATIENCE_SECONDS, asked, complaint, done, mesh, quickly, sidecar, wait_until
from tests.end_to_end.fleet import Sidecar, mesh_of, sidecars, wait_until_in_step, wait_until_linked

# Three wordings of one correction: each has a slug of its own, any two are told to be the same. See `matching_pairs`.
WORDINGS = (
    ("used os.path.join", "use pathlib.Path"),
    ("os.path.join was used for paths", "prefer pathlib.Path to os.path.join"),
    ("joined paths with os.path.join", "use pathlib.Path for paths, not os.path.join"),
)
REPO = "github.com/acme/api"


def discover(home: str, text: str) -> None:
    """A discovery, on disk."""
    Application(home, {}, session="codex:1").discover(text, repo=REPO, anyway=True)


def correct(home: str, index: int) -> str:
    """One wording, by a session of its own, without a pattern; returns the pattern it was counted under."""
    wrong, right = WORDINGS[index]
    slug: str = Application(home, {}, session=f"codex:{index}").correct(wrong, right, repo=REPO)["pattern"]
    return slug


def rendered(home: str) -> dict[str, str]:
    """The files that the sidecar keeps in a home, but for what they remember of themselves."""
    folder = Path(home) / "rendered"
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    return {os.fspath(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in paths}


def says(home: str, name: str, words: str) -> bool:
    """Whether a file of the sidecar holds some words yet."""
    path = Path(home) / "rendered" / name
    return path.exists() and words in path.read_text(encoding="utf-8")


def hot(home: str) -> list[tuple[int, int]]:
    """Sessions and nodes of every HOT pattern."""
    return [(item["sessions"], item["nodes"]) for item in Application(home, {}).hot(everywhere=True)["hot"]]


def test_the_command_renders_into_a_folder_and_says_whether_it_is_up_to_date(tmp_path: Path) -> None:
    """From nothing, again without a change, and after one."""
    home, out = tmp_path / "home", tmp_path / "out"
    quickly(home, "init", "--name", "first")
    discover(str(home), "405 means branch protection")
    assert mesh(home, "render", str(out), "--check").returncode == 3
    assert done(home, "render", str(out)).splitlines() == [
        str(out / name)
        for name in ("discoveries.jsonl", "patterns.jsonl", "patterns.md", "corrections.md", "MEMORY.md")
    ]
    assert "405 means branch protection" in (out / "discoveries.jsonl").read_text()
    assert done(home, "render", str(out)) == f"{out} is up to date\n"
    assert asked(home, "render", str(out), "--check")["current"] is True
    discover(str(home), "another one")
    told = asked(home, "render", str(out))
    assert told == {"folder": str(out), "written": ["discoveries.jsonl", "MEMORY.md"], "whole": False, "current": True}
    assert done(home, "render").startswith(str(home / "rendered"))


def test_a_file_that_is_not_ours_stops_the_command(tmp_path: Path) -> None:
    """It says which file, and what to do; the file stays."""
    quickly(tmp_path / "home", "init", "--name", "first")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/MEMORY.md").write_text("mine")
    sentence, step = complaint(mesh(tmp_path / "home", "render", str(tmp_path / "out")))
    assert sentence == f"{tmp_path}/out/MEMORY.md was not rendered by clan-mesh, so it is left alone"
    assert step == "move it away, or choose another folder: mesh render DIR"
    assert (tmp_path / "out/MEMORY.md").read_text() == "mine"


def test_a_running_sidecar_keeps_the_files_up_to_date(tmp_path: Path) -> None:
    """What a command writes is soon in them, and when the sidecar stops they are those of a render from nothing."""
    home = str(tmp_path / "home")
    quickly(home, "init", "--name", "first")
    with sidecar(home) as process:
        for number in range(3):
            discover(home, f"finding number {number}")
            wait_until(lambda number=number: says(home, "discoveries.jsonl", f"number {number}"))  # type: ignore[misc]
        for index in range(3):
            correct(home, index)
        wait_until(lambda: says(home, "patterns.md", "3 sessions, 1 node"))
        wait_until(lambda: mesh(home, "render", "--check").returncode == 0)
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0
        assert "Traceback" not in errors
    kept = rendered(home)
    done(home, "render", str(tmp_path / "new"))
    assert kept == {name: (tmp_path / "new" / name).read_text(encoding="utf-8") for name in kept}


def test_a_file_in_the_way_is_said_once_and_costs_nothing_else(tmp_path: Path) -> None:
    """The sidecar goes on without files, and renders them when the way is free."""
    node = Sidecar(tmp_path / "node").init()
    path = Path(node.home) / "rendered" / "MEMORY.md"
    path.parent.mkdir()
    path.write_text("mine")
    with sidecars(node):
        node.up()
        for number in range(3):
            discover(node.home, f"finding number {number}")
        wait_until(lambda: node.has_logged("was not rendered by clan-mesh"))
        path.unlink()
        wait_until(lambda: says(node.home, "discoveries.jsonl", "number 2"))
        wait_until(lambda: node.has_logged("up to date again"))
        assert node.log.read_text().count("was not rendered by clan-mesh") == 1
        assert node.stop() == 0


def test_nodes_in_step_have_the_same_files(tmp_path: Path) -> None:
    """Byte for byte, whoever wrote what and whenever it arrived."""
    with mesh_of(3, tmp_path) as fleet:
        wait_until_linked(fleet)
        for index, node in enumerate(fleet):
            discover(node.home, f"found by node {index}")
            correct(node.home, index)
        wait_until_in_step(fleet)
        for node in fleet:
            wait_until(lambda node=node: mesh(node.home, "render", "--check").returncode == 0)  # type: ignore[misc]
        wait_until_in_step(fleet)
        wait_until(lambda: len({json.dumps(rendered(node.home)) for node in fleet}) == 1)
        assert len(rendered(fleet[0].home)["discoveries.jsonl"].splitlines()) == 3


def test_patterns_that_were_founded_apart_are_joined(tmp_path: Path) -> None:
    """Three nodes that cannot see each other write one correction in three wordings: after healing it is HOT on all of them."""
    with mesh_of(3, tmp_path, settled=True) as fleet:
        wait_until_linked(fleet)
        wait_until_in_step(fleet)
        for node in fleet:
            assert node.stop() == 0
        slugs = {correct(node.home, index) for index, node in enumerate(fleet)}
        assert len(slugs) == 3
        assert [hot(node.home) for node in fleet] == [[], [], []]
        for node in fleet:
            node.up()
        for node in fleet:
            wait_until(lambda node=node: hot(node.home) == [(3, 3)])  # type: ignore[misc]
        wait_until_in_step(fleet)
        for node in fleet:
            wait_until(lambda node=node: says(node.home, "patterns.md", "; 3 sessions, 3 nodes, last"))  # type: ignore[misc]
            assert not node.has_logged("Traceback")
        wait_until(lambda: len({json.dumps(rendered(node.home)) for node in fleet}) == 1)


def test_a_pattern_of_a_node_that_comes_later_is_joined(tmp_path: Path) -> None:
    """Two nodes are in touch, the third writes alone and is started at the end."""
    with mesh_of(2, tmp_path) as fleet:
        third = Sidecar(tmp_path / "third")
        with sidecars(third):
            third.join(fleet[0].invite(), "third")
            correct(third.home, 2)
            correct(fleet[0].home, 0)
            correct(fleet[1].home, 1)
            third.up()
            nodes = [*fleet, third]
            for node in nodes:
                wait_until(lambda node=node: hot(node.home) == [(3, 3)])  # type: ignore[misc]
            wait_until_in_step(nodes)
