"""The link that makes `mesh` a command: there after an installation, gone after `make clean`, and never in anybody's way."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.command_link import put, remove

ROOT = Path(__file__).parents[2]


class Machine:
    """A user's folder, and a checkout with a program in its environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user = folder / "user"
        self.user.mkdir()
        self.binaries = self.user / ".local" / "bin"
        self.link = self.binaries / "mesh"
        self.program = program_in(folder / "my checkout" / ".venv" / "bin")
        self.alias = f"""alias mesh=''"'"'{self.program}'"'"''"""  # of a path with a space
        self.path = ["/nowhere", str(self.binaries)]

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.user), "PATH": os.pathsep.join(self.path)}

    def put(self) -> str:
        return "\n".join(put(str(self.program), self.environ))

    def remove(self) -> str:
        return "\n".join(remove([str(self.program)], self.environ))


def program_in(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "mesh").write_text("#!/bin/sh\necho hello\n")
    (folder / "mesh").chmod(0o755)
    return folder / "mesh"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_command_works_from_the_path_and_a_second_time_changes_nothing(machine: Machine) -> None:
    first = machine.put()
    assert first == f"mesh is a command now: {machine.link} leads to {machine.program}"
    assert subprocess.check_output(["mesh"], env=machine.environ, text=True) == "hello\n"
    before = machine.link.lstat()
    assert machine.put() == first
    assert machine.link.lstat() == before
    assert machine.remove() == f"removed {machine.link}"
    assert not os.path.lexists(machine.link)
    assert machine.remove() == ""


def test_without_the_folder_on_the_path_the_line_to_type_makes_it_work(machine: Machine) -> None:
    machine.path.remove(str(machine.binaries))
    line = machine.put().splitlines()[1]
    assert line == '  next: export PATH="$HOME/.local/bin:$PATH"'
    typed = f"{line.partition('next: ')[2]}\nmesh"
    assert subprocess.check_output(["/bin/sh", "-c", typed], env=machine.environ, text=True) == "hello\n"


def test_a_program_of_somebody_else_stays_and_the_line_to_type_goes_around_it(machine: Machine) -> None:
    theirs = program_in(machine.binaries)
    theirs.write_text("#!/bin/sh\necho theirs\n")
    said = machine.put()
    assert said == f"{theirs} is not ours and was left alone.\n  next: {machine.alias}"
    typed = f"shopt -s expand_aliases\n{said.partition('next: ')[2]}\nmesh"
    assert subprocess.check_output(["/bin/bash", "-c", typed], env=machine.environ, text=True) == "hello\n"
    assert machine.remove() == ""
    assert theirs.read_text() == "#!/bin/sh\necho theirs\n"


def test_the_link_of_another_checkout_stays(machine: Machine) -> None:
    other = program_in(machine.folder / "other" / ".venv" / "bin")
    machine.binaries.mkdir(parents=True)
    machine.link.symlink_to(other)
    assert machine.put().splitlines()[0] == f"{machine.link} leads to {other}; it was left alone."
    shutil.rmtree(machine.folder / "other")
    assert machine.put().splitlines()[0] == f"{machine.link} leads to {other}, which is gone; it was left alone."
    assert machine.remove() == ""
    assert machine.link.readlink() == other


def test_another_mesh_that_comes_first_on_the_path_is_named(machine: Machine) -> None:
    first = program_in(machine.folder / "first")
    machine.path.insert(0, str(first.parent))
    said = machine.put()
    assert f"another mesh comes first on the PATH: {first}" in said
    assert f"next: {machine.alias}" in said


def test_a_folder_that_cannot_be_made_is_said_and_stops_nothing(machine: Machine) -> None:
    (machine.user / ".local").write_text("a file")
    said = machine.put()
    assert "cannot be made" in said
    assert f"next: {machine.alias}" in said


def test_make_clean_removes_the_link_even_if_the_environment_is_gone(machine: Machine) -> None:
    """The Makefile's own words, in a checkout that has no environment any more."""
    checkout = machine.folder / "my checkout"
    shutil.copy(ROOT / "Makefile", checkout)
    shutil.copytree(ROOT / "scripts", checkout / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    machine.put()
    shutil.rmtree(checkout / ".venv")
    environ = machine.environ | {"PATH": os.environ["PATH"]}
    said = subprocess.check_output(["make", "-C", str(checkout), "clean"], env=environ, text=True)
    assert f"removed {machine.link}" in said
    assert not os.path.lexists(machine.link)
