"""The recording in the README: three nodes on this machine, real commands, what they really printed. Only the pace is ours.

`make recording` makes it again. Ids, dates and places are told as in docs/TOUR.md, so a new one differs only where the program does.
"""

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mesh.app.client import ask
from mesh.core.errors import MeshError
from scripts.terminal_picture import Line, picture
from scripts.transcript import Names, Shell, Told, plain_environ, wait_for

_NODES = ("laptop", "builder", "tester")
_TITLE = (
    "Three machines correct the same mistake; every later session, on each of them, is told about it when it starts."
)
_SCRIPT = (
    ("", "Three machines, one mesh, no server. An agent on the first is corrected:"),
    ("laptop", 'mesh correct --wrong "ran npm install" --right "use pnpm install in this repo"'),
    ("", "The same mistake on two others, in other words. Nobody says that it is the same:"),
    ("builder", 'mesh correct --wrong "used npm install" --right "pnpm install"'),
    ("tester", 'mesh correct --wrong "ran npm install once more" --right "always use pnpm install"'),
    ("", "From now on every session on that code starts with this, on each machine, whatever the agent:"),
    ("laptop", "mesh context"),
)


def recorded(folder: Path) -> str:
    """Run all of it in a folder; the picture."""
    lines: list[Line] = []
    with _mesh(folder) as told:
        for node, words in _SCRIPT:
            if not node:
                lines += [*([Line("output", "")] if lines else []), Line("comment", f"# {words}")]
                continue
            told.run(f"export MESH_HOME=/tmp/tour/{node}")
            code, printed = told.run(words)
            assert code == 0, printed
            lines += [Line("command", words, f"{node} $ "), *(Line("output", line) for line in printed)]
    return picture(lines, _TITLE)


@contextmanager
def _mesh(folder: Path) -> Iterator[Told]:
    """Three nodes in step, and a shell in a clone."""
    user, place = folder / "ada", folder / "tour"
    for each in (user, place):
        each.mkdir(parents=True)
    environ = plain_environ(user, [os.path.dirname(sys.executable)])
    shell = Shell(folder / "shell", environ)
    told = Told(shell, Names({"/tmp/tour": str(place)}), lambda: wait_for(lambda: _in_step(place)))  # noqa: S108 (a name)
    try:
        _set_up(told)
        yield told
    finally:
        for node in _NODES:
            shell.run(f"mesh down --home {shlex.quote(str(place / node))}")
        shell.close()


def _set_up(told: Told) -> None:
    for command in (
        "git init -q /tmp/tour/shop; cd /tmp/tour/shop; git remote add origin git@github.com:acme/shop.git",
        "mesh init --name laptop --home /tmp/tour/laptop",
        "mesh up --detach --listen 127.0.0.1:0 --home /tmp/tour/laptop",
        "mesh invite --uses 2 --home /tmp/tour/laptop > /tmp/tour/token",
        *(
            f"mesh {words} --home /tmp/tour/{node}"
            for node in _NODES[1:]
            for words in (f'join "$(cat /tmp/tour/token)" --name {node}', "up --detach --listen 127.0.0.1:0")
        ),
    ):
        code, printed = told.run(command)
        assert code == 0, printed


def _in_step(place: Path) -> bool:
    roots = set()
    for node in _NODES:
        try:
            roots.add(ask(str(place / node), "GET", "/node")["root"])
        except MeshError:  # not running yet
            continue
    return len(roots) <= 1


def main() -> int:
    """Write it where we are told."""
    with tempfile.TemporaryDirectory() as folder:
        Path(sys.argv[1]).write_text(recorded(Path(folder)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
