"""docs/TOUR.md, run line by line on a fresh machine: what it shows is what is printed. `make tour` writes it anew."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.app.client import ask
from mesh.core.errors import MeshError
from scripts.transcript import CUT, Names, Shell, Step, Told, joined, plain_environ, shows, split, updated
from tests.end_to_end.commands import PATIENCE_SECONDS, mesh, wait_until
from tests.end_to_end.fleet import settled_address

TOUR = Path(__file__).parents[2] / "docs" / "TOUR.md"
_UPDATES = os.environ.get("MESH_TOUR") == "update"
_UPDATE_SECONDS = 30.0  # what is not as shown by then is shown otherwise from now on
_NODES = ("laptop", "builder", "tester")


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    """A shell in which `/tmp/tour` is a folder of the test, and ports are free ones."""
    folder, user = tmp_path / "tour", tmp_path / "ada"
    user.mkdir()
    places = {"/tmp/tour": str(folder), "/home/ada": str(user)}
    places |= {address: settled_address() for address in ("127.0.0.1:7946", "127.0.0.1:7956")}
    environ = plain_environ(user, [os.path.dirname(sys.executable)]) | {"MESH_PATIENCE": os.environ["MESH_PATIENCE"]}
    shell = Shell(tmp_path / "shell", environ)
    homes = [folder / name for name in _NODES]
    try:
        yield Told(shell, Names(places), lambda: wait_until(lambda: len({root_of(home) for home in homes} - {""}) <= 1))
    finally:
        for home in homes:
            if home.exists():
                mesh(home, "down")
        shell.close()


def root_of(home: Path) -> str:
    """What a node has, in a word; empty if it does not run."""
    try:
        return str(ask(str(home), "GET", "/node")["root"])
    except MeshError:
        return ""


@pytest.mark.skipif(shutil.which("git") is None, reason="the tour begins with git init")
def test_the_tour_shows_what_is_printed(told: Told) -> None:
    """Every command of the document, in its order; where no output is shown it must at least succeed."""
    pieces = split(TOUR.read_text(encoding="utf-8"))
    wrong: list[str] = []
    for number, piece in enumerate(pieces):
        if isinstance(piece, list):
            pieces[number] = [ran(told, step, wrong) for step in piece]
    if _UPDATES:
        TOUR.write_text(joined(pieces), encoding="utf-8")
    assert not wrong or _UPDATES, "\n\n".join(["docs/TOUR.md is not true any more; next: make tour", *wrong])


def ran(told: Told, step: Step, wrong: list[str]) -> Step:
    """The step as it should be shown."""
    patience_seconds = _UPDATE_SECONDS if _UPDATES or wrong else PATIENCE_SECONDS
    code, printed = told.run_until(step, patience_seconds)
    if (code == 0 and not step.output) or (step.output and shows(step.output, printed)):
        return step
    wrong.append("\n".join([f"$ {step.command}  # exit code {code}", "is shown as", *step.output, "but is", *printed]))
    return Step(step.command, updated(step.output, printed))


DOCUMENT = """# Title

```
$ one
a 1
…
c …
$ cat <<'END'
$ not a prompt
END
```

```python
$ = 1
```
"""


def test_a_document_is_read_and_written_without_a_change() -> None:
    """Only sessions are taken apart, and a text that a command is given is part of the command."""
    pieces = split(DOCUMENT)
    assert [piece for piece in pieces if isinstance(piece, list)] == [
        [Step("one", ("a 1", "…", "c …")), Step("cat <<'END'\n$ not a prompt\nEND", ())]
    ]
    assert joined(pieces) == DOCUMENT


def test_what_is_cut_may_be_anything_and_nothing_else_may() -> None:
    """A document is compared line by line, but for its cuts."""
    output = ("a 1", CUT, "c …")
    assert shows(output, ["a 1", "b", "bb", "c 3"])
    assert shows(output, ["a 1", "c "])
    assert not shows(output, ["a 2", "c 3"])
    assert not shows(output, ["a 1", "c 3", "d"])
    assert not shows((), ["a"])


def test_an_update_keeps_the_cuts_and_the_lines_that_hold() -> None:
    """What changed is replaced, what was left out stays left out."""
    output = ("a 1", CUT, "c …", "d")
    assert updated(output, ["a 1", "b", "c 3", "e"]) == ("a 1", CUT, "c …", "e")
    assert updated(output, ["a 2", "b", "c 3", "d"]) == ("a 2", CUT, "c …", "d")
    assert updated(("a", CUT), ["b", "c", "d"]) == ("b", CUT)
    assert shows(updated(output, ["new", "a 1", "x", "c", "d"]), ["new", "a 1", "x", "c", "d"])


def test_ids_dates_and_places_are_the_same_in_every_run() -> None:
    """Two runs with other ids, told alike; and what the document says leads back to what is real."""
    told = []
    for real, whole in (("kdupqx3j", "kdupqx3j" + "a" * 44), ("mdhizjla", "mdhizjla" + "b" * 44)):
        names = Names({"/tmp/tour": f"/elsewhere/{real[0]}"})
        lines = (
            f"{real}  recorded\n{names.today} by laptop·7g{real[:3]}\nin /elsewhere/{real[0]}/laptop\n{whole}, {real}"
        )
        told.append(names.told(lines, "list"))
        short = told[-1][:4]
        assert names.real(f"why {short} in /tmp/tour, 2026-11-16") == (
            f"why {real[:4]} in /elsewhere/{real[0]}, {names.today}"
        )
    assert told[0] == told[1]
    assert "kdup" not in told[0]
    assert "2026-11-16 by laptop·" in told[0]
    assert json.dumps(told[0]).count("/tmp/tour/laptop") == 1
