"""`mesh render`: what the clan knows as files."""

import os

from clan_learnings.render.files import MEMORY_FILE, RENDERED_FOLDER, RenderedFiles
from clan_learnings.render.memory_file import is_rendered
from clan_learnings.render.owned_files import content
from mesh.app.render import is_current, is_worked_out, render
from mesh.cli.grammar import Given, argument, command, option
from mesh.cli.main import EXIT_OK, EXIT_WAITING
from mesh.cli.output import Progress, print_json, put, say, tell
from mesh.core.errors import MeshError
from mesh.store.home import open_home

_SHOWN = 10


@command("mesh render docs/clan")
@argument("folder", "[DIR]", "where to (default: `rendered` in the home)", required=False)
@option("--check", help="write nothing, only say whether the files are up to date")
def main(given: Given) -> int:
    """Bring a folder up to date, or say whether it is."""
    home = open_home(given.home).path
    folder = given.folder or os.path.join(home, RENDERED_FOLDER)
    files = RenderedFiles(folder)
    if given.check:
        return _check(home, files, as_json=given.json)
    _take_up(home, folder)
    progress = Progress("lines")
    done = render(home, files, lambda: progress(1))
    progress.done()
    if given.json:
        print_json(
            {
                "folder": os.path.abspath(folder),
                "written": done.written,
                "whole": done.is_whole,
                "current": not done.is_edited,
            }
        )
        return EXIT_WAITING if done.is_edited else EXIT_OK
    for name in done.written[:_SHOWN]:
        put(os.path.join(folder, name))
    if len(done.written) > _SHOWN:
        put(f"and {len(done.written) - _SHOWN} more")
    if done.is_edited:
        put(f"{files.path(MEMORY_FILE)} is left as it was edited")
        return EXIT_WAITING
    if not done.written:
        put(f"{folder} is up to date")
    return EXIT_OK


def _take_up(home: str, folder: str) -> None:
    """What was typed into MEMORY.md goes into the page `memory`, and its text is worked out, if it is not."""
    path = os.path.join(folder, MEMORY_FILE)
    is_file = os.path.isfile(path) and not os.path.islink(path)
    if is_worked_out(home) and (not is_file or is_rendered(content(path))):
        return
    from mesh.pages.memory_page import MemoryFile  # who has no pages does not load them
    from mesh.pages.open_pages import open_pages

    try:
        with open_pages(home) as pages:
            file = MemoryFile(
                folder, pages.book, pages.editor, lambda _, text: tell(f"mesh: {text}"), patience_seconds=60
            )
            file.work_out()
            file.look()
    except (MeshError, OSError) as error:
        step = error.next_step if isinstance(error, MeshError) else "mend that"
        tell(
            f"mesh: the page `memory` is not up to date in {path}: {error}", f"  next: {step}; then repeat the command"
        )


def _check(home: str, files: RenderedFiles, *, as_json: bool) -> int:
    current = is_current(home, files)
    if as_json:
        print_json({"folder": os.path.abspath(files.folder), "written": [], "whole": False, "current": current})
    else:
        put(f"{files.folder} is {'' if current else 'not '}up to date")
        if not current:
            say(f"next: mesh render {files.folder}")
    return EXIT_OK if current else EXIT_WAITING
