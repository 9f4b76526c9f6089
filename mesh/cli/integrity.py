"""A home that may be damaged: `mesh verify` checks everything, `mesh repair` saves what can be read."""

import os
from dataclasses import asdict

from mesh.cli.grammar import Given, command, option
from mesh.cli.main import EXIT_FAILED
from mesh.cli.output import Progress, print_json, put, say, tell
from mesh.core.display import number_of
from mesh.pages.open_pages import open_pages
from mesh.pages.page_texts import verify_pages
from mesh.store.database_repair import repair
from mesh.store.home import Home, hold_node_lock, open_home
from mesh.store.republication import Restamped, shown
from mesh.store.store import RIGHT
from mesh.store.verification import verify_store


@command("mesh verify")
def run_verify(given: Given) -> int:
    """Check, and say the first difference of each sort."""
    home = open_home(given.home)
    home.identity()
    problems = []
    for private in (False, True):
        if private and not home.has_private:
            continue
        store = home.store(private=private)
        progress = Progress("operations")
        verdict = verify_store(store, progress)
        progress.done()
        problems += verdict.problems
        if given.json:
            print_json({"private": private, "clean": verdict.clean, "root": store.root().hex(), **asdict(verdict)})
        else:
            put(
                f"{'private' if private else 'shared'}: {number_of(verdict.feeds, 'feed')}, {number_of(verdict.operations, 'operation')},"
                f" {verdict.points} signatures, {verdict.statements} statements: {'clean' if verdict.clean else 'NOT CLEAN'}"
            )
            put(f"  root  {store.root().hex()}", f"  views {verdict.views}")
        store.close()
    if not problems:  # what pages are worked out from is whole
        problems += _pages(given.home, as_json=given.json)
    for problem in problems:
        tell(f"mesh: {problem}")
    if problems:
        only_words = all(problem.startswith("keyword index: ") for problem in problems)
        tell(f"  next: {'mesh index rebuild' if only_words else 'keep a copy of the home, then: mesh repair'}")
    return EXIT_FAILED if problems else 0


def _pages(home: str, *, as_json: bool) -> list[str]:
    with open_pages(home) as pages:
        verdict = verify_pages(pages.book)
    if as_json and verdict.pages:
        print_json({"pages": verdict.pages, "clean": not verdict.problems, "digest": verdict.digest})
    elif verdict.pages:
        put(f"pages: {verdict.pages} worked out from nothing: {'NOT CLEAN' if verdict.problems else 'clean'}")
        put(f"  texts {verdict.digest}")
    return verdict.problems


@command("mesh repair")
@option("--clock", help="instead: this machine's clock is right now; write again what was written while it was ahead")
def run_repair(given: Given) -> int:
    """Salvage, and say how to get the rest."""
    home = open_home(given.home)
    return _repair_clock(home, as_json=given.json) if given.clock else _repair(home, as_json=given.json)


def _repair_clock(home: Home, *, as_json: bool) -> int:
    """The user vouches for the clock, where no peer can. A running sidecar need not stop for it."""
    for private in (False, True) if home.has_private else (False,):
        author = home.author(private=private)
        try:
            done = author.restamp()
            author.store.remember_peers_on_clock(RIGHT)  # also where only others' stamps are ahead
            now = shown(author.store.clock())
        finally:
            author.store.close()
        if as_json:
            print_json({"private": private, "clock": now} | (Restamped(0, 0, 0) if done is None else done)._asdict())
            continue
        word = "private" if private else "shared"
        if done is None:
            put(f"{word}: nothing of this node is ahead of the clock, which says {now}")
            continue
        put(f"{word}: wrote {number_of(done.operations, 'operation')} again, with the time it is: {now}")
        say("  records have new ids; mesh why OLD names them")
        if done.left:
            put(f"  {number_of(done.left, 'operation')} could not be written again, and count once their time comes")
    return 0


def _repair(home: Home, *, as_json: bool) -> int:
    with hold_node_lock(home):
        for private in (False, True):
            if private and not (home.has_private or os.path.exists(home.file("private.db.repaired"))):
                continue
            progress = Progress("operations")
            salvage = repair(home, private=private, progress=progress)
            progress.done()
            if as_json:
                print_json({"private": private} | salvage._asdict())
                continue
            word = "private" if private else "shared"
            if salvage.finished_only:
                put(f"{word}: finished a repair that had been cut short")
            else:
                put(
                    f"{word}: saved {number_of(salvage.operations, 'operation')} and {number_of(salvage.statements, 'statement')}"
                )
            if salvage.kept_as:
                put(f"  the old file is kept as {salvage.kept_as}; delete it once you no longer need it")
            if salvage.lost_ranges:
                put(f"  {salvage.lost_ranges} parts of feeds could not be read; what follows them waits for them")
    if not as_json:
        say("next: mesh verify; what is missing comes back with a bundle of another node: mesh import FILE")
    return 0
