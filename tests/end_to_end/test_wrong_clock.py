"""Machines whose clock was wrong for a while, with real processes: who writes is told, and comes back by itself."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.commands import (
    MESH,
    PATIENCE_SECONDS,
    REPOSITORY,
    Finished,
    asked,
    bytes_of,
    done,
    mesh,
    wait_until,
)
from tests.end_to_end.fleet import Sidecar

HOUR, YEAR = 3600, 365 * 86_400


def on_a_clock(offset: int) -> list[str]:
    """What stands before a command that runs while the machine's clock is off by so many seconds."""
    return [sys.executable, "-m", "tests.end_to_end.wrong_clock", str(offset)]


def under_a_clock(offset: int, home: str, *words: str) -> Finished:
    """Run one such command."""
    return subprocess.run(
        [*on_a_clock(offset), MESH, *words, "--home", home],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        cwd=REPOSITORY,
    )


def findings(home: str) -> dict[str, Any]:
    """What `mesh doctor` finds, by sort."""
    return {item["sort"]: item for item in json.loads(mesh(home, "doctor", "--json").stdout)}


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Sidecar, Sidecar]]:
    """Two members of one mesh; the sidecar of the first runs."""
    first = Sidecar(tmp_path / "first").init().up()
    second = Sidecar(tmp_path / "second")
    second.join_quickly(first.invite(), "second")
    yield first, second
    for sidecar in (first, second):
        sidecar.kill()


def holds_text(home: str, text: str) -> list[str]:
    """The files of a home that have a text."""
    return [name for name, content in bytes_of(Path(home)).items() if text.encode() in content]


def test_a_lone_node_writes_again_once_its_user_has_vouched_for_the_clock(tmp_path: Path) -> None:
    """No peer can tell which is right, so the person does."""
    home = str(tmp_path / "home")
    done(home, "init", "--name", "alone")
    assert under_a_clock(YEAR, home, "discover", "the deploy key is in the vault").returncode == 0
    refused = mesh(home, "discover", "the vault is sealed at night")
    assert refused.returncode == 1
    assert "is stamped" in refused.stderr
    assert "the clock says" in refused.stderr
    assert "mesh repair --clock" in refused.stderr
    assert "clock in doubt" in findings(home)
    assert asked(home, "status")["clock"]["peers_say"] == ""
    assert "shared: wrote 1 operation again" in done(home, "repair", "--clock")
    done(home, "discover", "the vault is sealed at night")
    assert "clock in doubt" not in findings(home)
    assert "fork" not in findings(home)
    assert done(home, "tail").count("the deploy key is in the vault") == 1


def test_a_machine_that_boots_in_1970_waits_for_its_clock_to_be_set(tmp_path: Path) -> None:
    """Its user cannot vouch for such a clock either. Once it is set, writing goes on as if nothing had been."""
    home = str(tmp_path / "home")
    since = 57 * YEAR
    never = under_a_clock(-since, home, "init", "--name", "pi")
    assert never.returncode == 1
    assert "never set" in never.stderr
    done(home, "init", "--name", "pi")
    done(home, "discover", "the sensor sleeps after ten minutes")
    for words in (("discover", "written in 1970"), ("repair", "--clock")):
        refused = under_a_clock(-since, home, *words)
        assert refused.returncode == 1
        assert "never set" in refused.stderr
    assert asked(home, "status")["clock"] is None
    done(home, "discover", "the sensor wakes on a rising edge")
    assert len(asked(home, "status")["feeds"]) == 1


def test_a_node_comes_back_by_itself_once_a_linked_peer_agrees_with_its_clock(two: tuple[Sidecar, Sidecar]) -> None:
    """Nobody types anything: the old feed ends for both, and both have what was written ahead."""
    first, second = two
    assert under_a_clock(YEAR, second.home, "op", "add", "facts", "written next year").returncode == 0
    assert mesh(second.home, "op", "add", "facts", "too early").returncode == 1
    second.up()
    wait_until(lambda: second.has_logged("were written again in a new feed"))
    second.write("written now")
    wait_until(lambda: {"written next year", "written now"} <= first.texts())
    wait_until(lambda: first.root() == second.root())
    assert [sidecar.texts() for sidecar in two] == [{"written next year", "written now"}] * 2
    for sidecar in two:
        wait_until(
            lambda: not {"clock in doubt", "held back", "fork", "clock ahead"} & set(findings(sidecar.home))  # noqa: B023
        )


def test_the_author_is_told_what_a_peer_holds_back(two: tuple[Sidecar, Sidecar]) -> None:
    """While the clock is still wrong, each write says that it is recorded, and status and doctor say that it counts nowhere else."""
    first, second = two
    second.within = on_a_clock(2 * HOUR)
    second.up()
    wait_until(lambda: second.peers()["links"] == 1)
    under_a_clock(2 * HOUR, second.home, "op", "add", "facts", "two hours ahead")
    wait_until(lambda: "held back" in findings(second.home))
    assert "held back" in done(second.home, "status")
    assert asked(second.home, "status")["held_back"][0]["holds_back"] == 1
    second.stop()
    second.within = []
    second.up()
    wait_until(lambda: first.texts() == {"two hours ahead"})
    wait_until(lambda: "held back" not in findings(second.home))


def test_an_erase_under_the_old_id_takes_the_text_from_both_nodes(two: tuple[Sidecar, Sidecar]) -> None:
    """Both had both: the one that waited, and the one that counts."""
    first, second = two
    old = json.loads(under_a_clock(HOUR, second.home, "discover", "the passage is tortoise", "--json").stdout)["id"]
    second.up()
    wait_until(lambda: bool(holds_text(first.home, "tortoise")) and first.root() == second.root())
    assert asked(second.home, "why", old)["replaced_by"]
    done(second.home, "erase", old, "--reason", "it is a passphrase")
    wait_until(lambda: not holds_text(first.home, "tortoise") and not holds_text(second.home, "tortoise"))


def test_a_page_made_while_the_clock_was_ahead_keeps_its_text_and_its_file(two: tuple[Sidecar, Sidecar]) -> None:
    """The page has another id; whoever edits its file need not know."""
    _, second = two
    assert under_a_clock(HOUR, second.home, "page", "new", "runbook", "--text", "# Deploy").returncode == 0
    assert under_a_clock(HOUR, second.home, "page", "append", "runbook", "- push the tag").returncode == 0
    second.up()
    wait_until(lambda: second.has_logged("were written again in a new feed"))
    files = [Path(sidecar.home, "pages", "runbook.md") for sidecar in two]
    wait_until(lambda: all(file.is_file() and "push the tag" in file.read_text() for file in files))
    with files[0].open("a") as file:
        file.write("- wait for the build\n")
    wait_until(lambda: all(file.read_text() == "# Deploy\n- push the tag\n- wait for the build\n" for file in files))
    assert [len(list(file.parent.iterdir())) for file in files] == [1, 1]


def test_a_file_edited_while_the_clock_is_in_doubt_keeps_its_lines(tmp_path: Path) -> None:
    """Its page has another id once the clock is vouched for, and what was typed meanwhile belongs to it."""
    node = Sidecar(tmp_path / "node", listen=None).init()
    assert under_a_clock(YEAR, node.home, "page", "new", "doc", "--text", "# Doc").returncode == 0
    try:
        node.up()
        file = Path(node.home, "pages", "doc.md")
        wait_until(lambda: file.is_file() and file.read_text() == "# Doc\n")
        with file.open("a") as handle:
            handle.write("- typed in doubt\n")
        wait_until(lambda: node.has_logged("doc.md is not in step"))
        done(node.home, "repair", "--clock")
        wait_until(lambda: done(node.home, "page", "show", "doc") == "# Doc\n- typed in doubt\n")
        assert [path.name for path in file.parent.iterdir()] == ["doc.md"]
        assert file.read_text() == "# Doc\n- typed in doubt\n"
    finally:
        node.kill()


def test_what_replaces_what_can_be_neither_retracted_nor_erased(two: tuple[Sidecar, Sidecar]) -> None:
    """It is no record, so nobody finds it, and an erase reaches both for ever."""
    _, second = two
    assert under_a_clock(HOUR, second.home, "op", "add", "facts", "one hour ahead").returncode == 0
    second.up()
    wait_until(lambda: second.has_logged("were written again in a new feed"))
    assert asked(second.home, "status")["counts"]["records"] == {"facts": 1}


def test_private_records_are_put_in_order_too(two: tuple[Sidecar, Sidecar]) -> None:
    """They have a database and stamps of their own, and nobody who would hold them back."""
    _, second = two
    assert under_a_clock(YEAR, second.home, "discover", "only for this machine", "--private").returncode == 0
    assert mesh(second.home, "discover", "also for it", "--private").returncode == 1
    assert asked(second.home, "status")["private_clock"] is not None
    second.up()
    wait_until(lambda: asked(second.home, "status")["private_clock"] is None)
    done(second.home, "discover", "also for it", "--private")
