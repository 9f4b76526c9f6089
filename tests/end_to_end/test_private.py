"""Private records under concurrency: the first writers of a home make one database, not several."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.end_to_end.commands import done, mesh, quickly


def test_the_first_private_writers_share_one_database(tmp_path: Path) -> None:
    """Twelve at once: each is acknowledged, and each is there."""
    home = tmp_path / "home"
    quickly(home, "init", "--name", "n")

    def write(number: int) -> int:
        return mesh(home, "op", "add", "notes", f"secret {number}", "--private").returncode

    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(write, range(12))) == [0] * 12
    shown = mesh(home, "op", "list", "--private").stdout
    assert all(f"secret {number}\n" in shown for number in range(12))
    assert not [name for name in os.listdir(home) if ".new" in name]


def test_reading_private_records_makes_no_database(tmp_path: Path) -> None:
    """Who looks finds nothing, and is told how to begin."""
    home = tmp_path / "home"
    quickly(home, "init", "--name", "n")
    for words in (["op", "list"], ["op", "total", "x"], ["tail"], ["export", str(tmp_path / "b")]):
        finished = mesh(home, *words, "--private")
        assert finished.returncode == 1
        assert "--private" in finished.stderr
    assert not (home / "private.db").exists()


def test_a_private_record_has_its_authors_name(tmp_path: Path) -> None:
    """Names are in statements, which the private database has none of."""
    home = tmp_path / "home"
    quickly(home, "init", "--name", "ada")
    done(home, "discover", "the staging password is rotated on Mondays", "--private")
    assert "ada·" in done(home, "tail", "--private")
