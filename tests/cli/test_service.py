"""The sidecar as a service: what units and jobs say, read back by systemd's and Apple's own rules; what is left alone."""

import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from mesh.cli import service as command
from mesh.core.errors import UsageError
from mesh.node.service_files import LAUNCHD, SYSTEMD, Service, addresses_in, is_ours, start_words, text_of
from tests.end_to_end.stand_in_systemctl import settings, words_of

USER = {"HOME": "/home/ada"}
ODD = '/home/ada/a b%h $HOME ${X}/it\'s "q" \\n ü'


def unit(home: str, program: str = "/opt/mesh", listen: tuple[str, ...] = (), **environ: str) -> str:
    return text_of(Service(home, USER, "linux"), program, listen, (), USER | environ)


# Names


def test_the_default_home_has_the_plain_name_and_others_have_their_own() -> None:
    """Two homes never share a service, and one home has the same name whoever asks."""
    plain, other, third = (Service(f"/home/ada/{name}", USER, "linux") for name in (".clan-mesh", "acme", "zeta"))
    assert plain.name == "clan-mesh.service"
    assert plain.paths == ["/home/ada/.config/systemd/user/clan-mesh.service"]
    assert len({plain.name, other.name, third.name}) == 3
    assert other.name.startswith("clan-mesh-")
    assert other.name == Service("/home/ada/x/../acme/", USER, "linux").name


def test_a_mac_has_jobs_instead_of_units() -> None:
    """In the user's own folder for them."""
    job = Service("/home/ada/.clan-mesh", USER, "darwin")
    assert (job.kind, job.path) == (LAUNCHD, "/home/ada/Library/LaunchAgents/io.clan-mesh.node.plist")


def test_the_folder_of_units_may_be_another() -> None:
    """The manager decides between the two when the service is installed."""
    found = Service("/home/ada/.clan-mesh", USER | {"XDG_CONFIG_HOME": "/cfg"}, "linux")
    assert found.paths == ["/cfg/systemd/user/clan-mesh.service", "/home/ada/.config/systemd/user/clan-mesh.service"]


# Texts


def test_a_unit_says_what_to_run_and_when_to_run_it_again() -> None:
    """With absolute paths, its home and its addresses."""
    text = unit("/home/ada/.clan-mesh", listen=("0.0.0.0:7946", "[::]:7946"))
    assert settings(text, "ExecStart") == [
        '"/opt/mesh" "up" "--home" "/home/ada/.clan-mesh" "--listen" "0.0.0.0:7946" "--listen" "[::]:7946"'
    ]
    assert settings(text, "Restart") == ["on-failure"]
    assert settings(text, "WantedBy") == ["default.target"]
    assert addresses_in(Service("/x", USER, "linux"), text) == (["0.0.0.0:7946", "[::]:7946"], [])


def test_a_unit_brings_the_folder_of_markers_with_it() -> None:
    """Without it the home would look like one restored from a backup."""
    assert "MESH_STATE" not in unit("/srv/home")
    assert '"MESH_STATE=/srv/state"' in settings(unit("/srv/home", MESH_STATE="/srv/state"), "Environment")


def test_odd_characters_in_paths_come_out_as_they_went_in() -> None:
    """Spaces, percent signs, dollars, quotes, backslashes: by the rules of systemd.syntax and systemd.service."""
    text = unit(ODD, MESH_STATE=ODD)
    (line,) = settings(text, "ExecStart")
    assert words_of(line, dollars=True) == ["/opt/mesh", "up", "--home", ODD]
    assert words_of(settings(text, "Environment")[1], dollars=False) == [f"MESH_STATE={ODD}"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_itself_reads_the_unit_as_it_was_meant(tmp_path: Path) -> None:
    """Its own parser: no complaint, and every path whole."""
    program = tmp_path / "a b%h $HOME" / "mesh"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    file = tmp_path / "clan-mesh.service"
    file.write_text(unit(ODD, str(program), ("0.0.0.0:7946",), MESH_STATE=ODD))
    read = _verified(file)
    assert (read.returncode, read.stderr) == (0, "")
    dumped = _verified(file, SYSTEMD_LOG_LEVEL="debug").stdout
    if "Command Line:" not in dumped:
        pytest.skip("this systemd does not show what it has read")
    assert f"Environment: MESH_STATE={ODD}\n" in dumped
    assert f"ConditionPathExists: {ODD}/home.json" in dumped
    line = next(line for line in dumped.splitlines() if "Command Line:" in line).partition(": ")[2]
    assert words_of(line, dollars=True) == [str(program), "up", "--home", ODD, "--listen", "0.0.0.0:7946"]


def _verified(file: Path, **environ: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", str(file)],
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": str(file.parent), "XDG_RUNTIME_DIR": str(file.parent), "LANG": "C.UTF-8"} | environ,
    )


@pytest.mark.parametrize(("home", "program"), [("/srv/a\nb", "/opt/mesh"), ("/srv/home", "/opt/it's/mesh")])
def test_what_no_unit_can_say_is_refused(home: str, program: str) -> None:
    """Rather than written and misread."""
    with pytest.raises(UsageError):
        unit(home, program)


def test_a_job_for_launchd_is_a_property_list() -> None:
    """Read back by the standard library; it never ran on a Mac."""
    job = Service(ODD, USER, "darwin")
    text = text_of(job, "/opt/mesh", ["0.0.0.0:7946"], ["mesh.example:7946"], USER | {"MESH_STATE": "/s"})
    read = plistlib.loads(text.encode())
    assert read["Label"] == job.name
    assert read["ProgramArguments"][:4] == ["/opt/mesh", "up", "--home", ODD]
    assert read["KeepAlive"] == {"SuccessfulExit": False}
    assert read["EnvironmentVariables"]["MESH_STATE"] == "/s"
    assert addresses_in(job, text) == (["0.0.0.0:7946"], ["mesh.example:7946"])


# Whose file


def test_a_file_is_ours_by_its_mark(tmp_path: Path) -> None:
    """Units and jobs alike; a link to nowhere, which is how systemd masks a unit, is somebody's decision."""
    path = tmp_path / "file"
    assert is_ours(str(path)) is None
    for platform in ("linux", "darwin"):
        path.write_text(text_of(Service("/srv/home", USER, platform), "/opt/mesh", [], [], USER))
        assert is_ours(str(path)) is True
    path.write_text("[Service]\nExecStart=/usr/local/bin/clan-mesh\n")
    assert is_ours(str(path)) is False
    path.unlink()
    path.symlink_to("/nowhere")
    assert is_ours(str(path)) is False


def test_somebody_elses_unit_is_left_alone(tmp_path: Path) -> None:
    """Neither replaced nor removed."""
    environ = {"HOME": str(tmp_path)}
    home = str(tmp_path / ".clan-mesh")
    path = Path(Service(home, environ, "linux").path)
    path.parent.mkdir(parents=True)
    path.write_text("[Service]\n")
    with pytest.raises(UsageError, match="not of our making"):
        command.uninstall(home, no_autostart=False, environ=environ)
    assert path.read_text() == "[Service]\n"


# Hooks


def test_a_hook_leaves_the_start_to_the_service_if_there_is_one(tmp_path: Path) -> None:
    """Only the service knows where to listen. And nobody starts what is not to be started."""
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": "/run/user/1"}
    home = tmp_path / "acme"
    home.mkdir()
    by_itself = ["/opt/mesh", "up", "--detach", "--home", str(home)]
    assert start_words(str(home), "/opt/mesh", environ) == by_itself
    service = Service(str(home), environ)
    if service.kind == SYSTEMD:
        Path(service.path).parent.mkdir(parents=True)
        Path(service.path).write_text(text_of(service, "/opt/mesh", [], [], environ))
        started = ["systemctl", "--user", "--no-block", "start", service.name]
        assert start_words(str(home), "/opt/mesh", environ) == started
        assert start_words(str(home), "/opt/mesh", {"HOME": str(tmp_path)}) == by_itself
    (home / "no-autostart").touch()
    assert start_words(str(home), "/opt/mesh", environ) == []
