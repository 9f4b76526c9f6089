"""Built graphs on disk: used if whole, built anew if not, and never half written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clan_learnings.search.embedders.onnx_graph import cached

GRAPH = bytes(range(256)) * 8


def whole(folder: Path) -> bytes:
    """What is used, however it is given."""
    given = cached(str(folder), "name", lambda: GRAPH)
    return given if isinstance(given, bytes) else Path(given).read_bytes()


def test_a_graph_is_built_once(tmp_path: Path) -> None:
    """The second time it comes from the file, and nobody else can read the folder."""
    assert whole(tmp_path / "cache") == GRAPH

    def never() -> bytes:
        raise AssertionError("it is there already")

    assert Path(os.fspath(cached(str(tmp_path / "cache"), "name", never))).read_bytes() == GRAPH  # type: ignore[arg-type]
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    assert sorted(os.listdir(tmp_path / "cache")) == ["name.onnx", "name.onnx.sha256"]


@pytest.mark.parametrize("name", ["name.onnx", "name.onnx.sha256"])
def test_a_damaged_file_is_noticed_and_mended(tmp_path: Path, name: str) -> None:
    """Flipped, cut, emptied or gone: the next opening has the whole graph again, in the file too."""
    whole(tmp_path)
    good = (tmp_path / name).read_bytes()
    flipped = [good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in range(0, len(good), len(good) // 8)]
    for bad in [*flipped, good[:-1], good + b"x", b""]:
        (tmp_path / name).write_bytes(bad)
        assert whole(tmp_path) == GRAPH
        assert (tmp_path / name).read_bytes() == good
    (tmp_path / name).unlink()
    assert whole(tmp_path) == GRAPH


def test_what_killed_processes_left_is_swept_away(tmp_path: Path) -> None:
    """An old draft goes; one that may still be written stays."""
    for name, age in (("old", 10_000), ("new", 0)):
        draft = tmp_path / f"name.onnx.draft-{name}"
        draft.write_bytes(b"half")
        then = draft.stat().st_mtime - age
        os.utime(draft, (then, then))
    whole(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["name.onnx", "name.onnx.draft-new", "name.onnx.sha256"]


def test_a_folder_where_the_file_should_be_costs_time_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be read nor replaced is said once; the graph is given all the same, and no draft stays."""
    (tmp_path / "name.onnx").mkdir()
    assert cached(str(tmp_path), "name", lambda: GRAPH) == GRAPH
    assert "cannot be written" in caplog.text
    assert os.listdir(tmp_path) == ["name.onnx"]


def test_processes_that_build_at_once_end_with_one_whole_graph(tmp_path: Path) -> None:
    """Real ones, started together: each gets the whole graph."""
    script = (
        "import sys; from clan_learnings.search.embedders.onnx_graph import cached\n"
        f"given = cached({str(tmp_path)!r}, 'name', lambda: bytes(range(256)) * 40_000)\n"
        "assert open(given, 'rb').read() == bytes(range(256)) * 40_000"
    )
    started = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(4)]
    assert [process.wait() for process in started] == [0, 0, 0, 0]
    assert sorted(os.listdir(tmp_path)) == ["name.onnx", "name.onnx.sha256"]
