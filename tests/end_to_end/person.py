"""A person with a folder of their own, at a machine with or without a service manager. No test lives here."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.end_to_end.commands import MESH, PATIENCE_SECONDS, Finished
from tests.end_to_end.stand_in_systemctl import stand_in

_NO_MANAGER = "#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n"


class Person:
    """Runs commands with nothing but their own environment: whatever the developer has does not count."""

    def __init__(self, folder: Path, *, manager: bool = False) -> None:
        self.folder = folder
        self.user = folder / "user"
        self.user.mkdir(parents=True)
        self.home = self.user / ".clan-mesh"
        self._homes = {self.home}
        if manager:
            binaries = stand_in(folder)
        else:
            binaries = folder / "bin"
            binaries.mkdir()
            for name in ("systemctl", "launchctl"):
                (binaries / name).write_text(_NO_MANAGER)
                (binaries / name).chmod(0o755)
        self.environ = {
            "HOME": str(self.user),
            "MESH_STATE": str(folder / "state"),
            "PATH": os.pathsep.join([str(binaries), os.path.dirname(sys.executable), "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
            "MESH_EMBEDDER": "none",
            "MESH_PATIENCE": os.environ["MESH_PATIENCE"],
        } | {name: os.environ[name] for name in ("PYTHONPATH", "COVERAGE_PROCESS_START") if name in os.environ}

    def mesh(self, *words: str, at: Path | None = None, stdin: str | None = None, **environ: str) -> Finished:
        """One command, to its end, in a folder that is in no repository unless said otherwise."""
        if "--home" in words:
            self._homes.add(Path(words[words.index("--home") + 1]))
        return subprocess.run(
            [MESH, *words],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            cwd=at or self.user,
            env=self.environ | environ,
            check=False,
        )

    def done(self, *words: str, at: Path | None = None, stdin: str | None = None, **environ: str) -> str:
        """One command that must succeed."""
        finished = self.mesh(*words, at=at, stdin=stdin, **environ)
        assert finished.returncode == 0, f"mesh {' '.join(words)}: {finished.stdout}{finished.stderr}"
        return finished.stdout

    def asked(self, *words: str, at: Path | None = None) -> Any:
        """The last document that a command prints with `--json`."""
        return json.loads(self.mesh(*words, "--json", at=at).stdout.splitlines()[-1])

    def clone(self, name: str, address: str) -> Path:
        """A repository as `git clone` leaves it, as far as we look at it."""
        folder = self.folder / "code" / name
        for part in ("objects", "refs"):
            (folder / ".git" / part).mkdir(parents=True)
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {address}\n')
        return folder

    def settings(self) -> dict[str, bytes]:
        """Every file in the user's folder that is not in a home, with its content."""
        return {
            str(path.relative_to(self.user)): path.read_bytes()
            for path in sorted(self.user.rglob("*"))
            if path.is_file() and not any(home in path.parents for home in self._homes)
        }

    def leave(self) -> None:
        """Nothing of theirs runs on."""
        for home in self._homes:
            if (home / "home.json").exists():
                self.mesh("down", "--home", str(home))


@contextmanager
def person(folder: Path, *, manager: bool = False) -> Iterator[Person]:
    """Whatever happens inside, no sidecar of theirs runs on."""
    made = Person(folder, manager=manager)
    try:
        yield made
    finally:
        made.leave()
