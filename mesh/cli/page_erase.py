"""`mesh page erase`: remove a text from a page and its whole history, on every node."""

from __future__ import annotations

import time

from clan_learnings.redaction import describe, redact
from clan_learnings.render.files import RENDERED_FOLDER, RenderedFiles
from mesh.app.render import render
from mesh.cli.erase import finish_soon, tell_unfinished
from mesh.cli.grammar import Given, WrongUsage, argument, command, option
from mesh.cli.main import EXIT_OK, EXIT_WAITING
from mesh.cli.output import print_json, put, tell
from mesh.cli.page import in_shell, name_in, shown, typed
from mesh.core.errors import MeshError
from mesh.core.ids import text_id
from mesh.core.limits import TEXT_CHARS
from mesh.pages.file_table import wiped
from mesh.pages.open_pages import Pages, open_pages
from mesh.pages.page_erasure import Cleaned, erase_text
from mesh.store.file_access import patience
from mesh.store.home import Home, node_process_id, open_home

_PATIENCE_SECONDS = 10.0  # for the files of pages to be written anew


@command(
    'mesh page erase runbooks/deploy - --reason "a password got in" < secret',
    more="- reads the text from stdin, where no list of processes and no shell history shows it.",
    may_be_empty=True,
)
@argument("name", "NAME", may_be_empty=True)
@argument("erased_text", "TEXT|-", may_be_empty=True)
@option("--reason", metavar="TEXT", help="why, without repeating the secret: the reason stays")
def erase(given: Given) -> int:
    """Erase it, and say what is left to do."""
    name, text = given.name, typed(given.erased_text).removesuffix("\n")
    reason = redact(given.word("reason"))
    if not reason.text:
        raise WrongUsage("--reason is missing: say why, without repeating the secret: the reason stays")
    if reason.findings:
        tell(f"mesh: taken out of the reason: {describe(reason.findings)}")
    home = open_home(given.home)
    with open_pages(given.home) as pages:
        info = pages.book.find_past(name_in(name))
        done = erase_text(home, pages.editor, info, text, reason.text[:TEXT_CHARS])
        files = _rewritten(home, pages)
    unfinished = finish_soon(home)
    finished = files and not unfinished
    _tell(given, done, finished=finished)
    if not files:
        tell(
            "mesh: not every file of the pages is written anew",
            "  next: mesh up, which does that; a file that you edited may hold the text still",
        )
    tell_unfinished(home, unfinished)
    is_done = finished and not (done.erased.left or done.erased.waits or done.others)
    return EXIT_OK if is_done else EXIT_WAITING


def _rewritten(home: Home, pages: Pages) -> bool:
    """Have the files of pages written anew: by the sidecar if one runs, else by ourselves. Says whether all of them were."""
    database = pages.book.author.store.database
    deadline = time.monotonic() + patience(_PATIENCE_SECONDS)
    if node_process_id(home) is not None:
        while wiped(database).ids and time.monotonic() < deadline:
            time.sleep(0.05)
        return not wiped(database).ids
    from mesh.pages.folder_sync import PageWorkspace

    study = PageWorkspace(home, pages)
    try:
        mirrors = study.mirrors()
        while wiped(database).ids and time.monotonic() < deadline:
            for mirror in mirrors:
                mirror.step(time.monotonic())
            study.tend()
            time.sleep(0.05)
        render(home.path, RenderedFiles(home.file(RENDERED_FOLDER)), lambda: None)
    except (MeshError, OSError) as error:
        tell(f"mesh: files may still hold it: {error}", "  next: mesh up, which writes them anew")
        return False
    finally:
        study.close()
    return not wiped(database).ids


def _tell(given: Given, done: Cleaned, *, finished: bool) -> None:
    erased = done.erased
    if given.json:
        facts = {"id": text_id(done.info.id), "name": done.info.shown, "erased": len(erased.mine), "left": erased.left}
        print_json(facts | {"made_anew": done.is_new, "finished": finished, "waits": erased.waits})
    else:
        anew = "; the page was made anew, because it was made with that text" if done.is_new else ""
        edits = "1 edit" if len(erased.mine) == 1 else f"{len(erased.mine)} edits"
        put(f"{shown(done.info)}  erased, with {edits} that had put it there{anew}")
    name = in_shell(done.info.shown)
    if erased.waits:
        tell("mesh: this node is not admitted yet, so its word counts nowhere", "  next: mesh join TOKEN")
    if erased.left:
        tell(
            f"mesh: {erased.left} edits were written by others, and only their authors, an admin or the root key may erase"
            f" them; what the page says now is clean",
            f"  next: where the root key is: mesh page erase {name} - --reason REASON",
        )
    for other in done.others:
        tell(
            f"mesh: the removed page {shown(other)} holds it too",
            f"  next: mesh page erase {text_id(other.id)[:12]} - --reason REASON",
        )
