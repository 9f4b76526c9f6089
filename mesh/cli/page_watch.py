"""`mesh page watch` and `unwatch`: the folders that a node keeps in step with pages."""

from __future__ import annotations

import os

from mesh.cli.grammar import Given, WrongUsage, argument, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import plain, print_json, put, tell
from mesh.core.errors import UsageError
from mesh.core.ids import text_id
from mesh.pages.file_table import Folders, is_inside
from mesh.pages.page_names import checked
from mesh.store.home import open_home
from mesh.store.wake_signal import ring

_PATH_CHARS = 4096


@command("mesh page watch docs --under docs", more="Without DIR: lists the folders.", may_be_empty=True)
@argument("folder", "[DIR]", required=False)
@option("--under", metavar="PREFIX", help="only the pages under this name, like runbooks (default: all)")
def watch(given: Given) -> int:
    """Watch one, or list them."""
    home = open_home(given.home)
    if not given.folder:
        if given.has("under"):
            raise WrongUsage("--under says which pages a folder has: name the folder")
        store = home.store()
        try:
            folders = Folders(store.database).all()
        finally:
            store.close()
        for folder, prefix in [(os.path.join(home.path, "pages"), ""), *folders]:
            _print(given, folder, prefix, done="watched")
        return EXIT_OK
    folder = _folder(given.folder, home.path)
    prefix = given.word("under").strip("/")
    if given.has("under") and not prefix:
        raise WrongUsage("--under is empty: name the beginning of the pages' names, or leave it out for all pages")
    prefix = checked(prefix) if prefix else ""
    store = home.store()
    try:
        is_new = Folders(store.database).add(folder, prefix)
        is_member = store.trust().certified(home.node)
    finally:
        store.close()
    ring(home.path)
    _print(given, folder, prefix, done="watched" if is_new else "watched already")
    if is_member:
        tell("the sidecar takes it up by itself, if it runs", "  next, if it does not: mesh up")
    else:
        tell(
            "this node is not a member yet, so its files become no pages until it is",
            f"  next: mesh join TOKEN, or where the root key is: mesh admit {text_id(home.node)}",
        )
    return EXIT_OK


@command("mesh page unwatch docs", may_be_empty=True)
@argument("folder", "DIR")
def unwatch(given: Given) -> int:
    """Let it go."""
    home = open_home(given.home)
    folder = os.path.realpath(given.folder)
    if folder == os.path.join(os.path.realpath(home.path), "pages"):
        raise UsageError("the home's own folder of pages is always kept", "see the others: mesh page watch")
    store = home.store()
    try:
        Folders(store.database).remove(folder)
    finally:
        store.close()
    ring(home.path)
    if given.json:
        print_json({"folder": folder, "done": "let go"})
    else:
        put(f"{plain(folder, _PATH_CHARS)}  let go; its files stay")
    return EXIT_OK


def _folder(word: str, home: str) -> str:
    """A folder that can be watched, as a whole path without links."""
    if not os.path.exists(word):
        raise UsageError(f"there is no folder {word}", f"make it first: mkdir {word}")
    if not os.path.isdir(word):
        raise UsageError(f"{word} is not a folder", "name the folder that it is in")
    folder, home = os.path.realpath(word), os.path.realpath(home)
    if folder == home or is_inside(folder, home):
        raise UsageError(
            f"{folder} is in the home of this node", f"the pages are in {os.path.join(home, 'pages')} anyway"
        )
    if is_inside(home, folder):
        raise UsageError(f"{folder} has the home of this node in it", "choose a folder beside it")
    if not folder.isprintable():
        raise UsageError(f"the path {folder!r} cannot be shown", "choose another folder")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise UsageError(f"{folder} cannot be written to", f"look at it: ls -ld {folder}")
    return folder


def _print(given: Given, folder: str, prefix: str, *, done: str) -> None:
    if given.json:
        print_json({"folder": folder, "under": prefix, "done": done})
    else:
        put(f"{plain(folder, _PATH_CHARS)}  {f'pages under {plain(prefix)}/' if prefix else 'all pages'}")
