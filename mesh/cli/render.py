"""`mesh render`: what the clan knows as files."""

import os

from clan_learnings.render.files import Files
from mesh.cli.arguments import parser
from mesh.cli.main import EXIT_OK, EXIT_WAITING
from mesh.cli.output import Progress, print_json
from mesh.sidecar.renderer import FOLDER, is_current, render
from mesh.store.home import open_home

_SHOWN = 10


def main(argv: list[str]) -> int:
    """Bring a folder up to date, or say whether it is."""
    arguments = parser("render", "mesh render docs/clan")
    arguments.add_argument("folder", metavar="DIR", nargs="?", help="where to (default: `rendered` in the home)")
    arguments.add_argument(
        "--check", action="store_true", help="write nothing, only say whether the files are up to date"
    )
    given = arguments.parse_args(argv)
    home = open_home(given.home).path
    folder = given.folder or os.path.join(home, FOLDER)
    files = Files(folder)
    if given.check:
        return _check(home, files, as_json=given.json)
    progress = Progress("lines")
    done = render(home, files, lambda: progress(1))
    progress.done()
    if given.json:
        print_json(
            {"folder": os.path.abspath(folder), "written": done.written, "whole": done.is_whole, "current": True}
        )
        return EXIT_OK
    for name in done.written[:_SHOWN]:
        print(os.path.join(folder, name))
    if len(done.written) > _SHOWN:
        print(f"and {len(done.written) - _SHOWN} more")
    if not done.written:
        print(f"{folder} is up to date")
    return EXIT_OK


def _check(home: str, files: Files, *, as_json: bool) -> int:
    current = is_current(home, files)
    if as_json:
        print_json({"folder": os.path.abspath(files.folder), "written": [], "whole": False, "current": current})
    else:
        print(f"{files.folder} is {'' if current else 'not '}up to date")
        if not current:
            print(f"next: mesh render {files.folder}")
    return EXIT_OK if current else EXIT_WAITING
