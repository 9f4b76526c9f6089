"""What is said of a folder that cannot be written, by the reason that the system gives."""

import errno
import os
from pathlib import Path

import pytest

from mesh.store.file_access import FileLock, refusal, unwritable


def error(number: int, path: object = None) -> OSError:
    return OSError(number, os.strerror(number), path)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home.json").write_text("{}")
    return tmp_path


def test_a_read_only_disk_is_called_that(home: Path) -> None:
    """Of a file in the home, or in a folder of it."""
    for path in (home / "mesh.db.lock", home / "capture" / "catalogue.db"):
        said = unwritable(str(path), error(errno.EROFS))
        assert str(said) == f"the home {home} cannot be written: it is on a read-only file system"
        assert said.next_step == "have it mounted writable, or use another home: --home DIR"


def test_a_missing_right_is_named_with_its_file(home: Path) -> None:
    """The owner and the mode are what to look at."""
    said = unwritable(str(home / "mesh.db.lock"), error(errno.EACCES))
    assert str(said) == f"the home {home} cannot be written: Permission denied (mesh.db.lock)"
    assert said.next_step == f"check its owner and mode: ls -la {home}, or use another home: --home DIR"


def test_a_folder_that_is_no_home_is_not_called_one(tmp_path: Path) -> None:
    """Files are written elsewhere, too."""
    said = unwritable(str(tmp_path / "rendered" / "MEMORY.md"), error(errno.EROFS))
    assert str(said) == f"the folder {tmp_path / 'rendered'} cannot be written: it is on a read-only file system"
    assert said.next_step == "have it mounted writable"


def test_other_errors_of_the_system_are_left_as_they_are(home: Path) -> None:
    """Also one that may be about reading."""
    assert str(refusal(error(errno.EROFS, str(home / "muted")))).startswith(f"the home {home} cannot be written")
    assert refusal(error(errno.EACCES, str(home / "muted"))) is None  # the folder can be written
    assert str(refusal(error(errno.EACCES, str(home / "gone" / "muted")))).startswith(f"the home {home} cannot be")
    assert refusal(error(errno.ENOSPC, str(home / "muted"))) is None
    assert refusal(error(errno.EROFS)) is None


def test_who_may_only_read_sees_whether_a_lock_is_held(home: Path) -> None:
    """Nothing is made for that."""
    lock = FileLock(str(home / "sidecar.lock"))
    assert not lock.is_held()
    assert not (home / "sidecar.lock").exists()
    with lock.held(1):
        assert lock.is_held()
    assert not lock.is_held()
