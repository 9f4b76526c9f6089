"""`mesh verify`: check every chain, signature and view from scratch."""

from dataclasses import asdict

from mesh.cli.arguments import parser
from mesh.cli.main import EXIT_FAILED
from mesh.cli.output import Progress, print_json, put, tell
from mesh.core.display import number_of
from mesh.pages.open_pages import open_pages
from mesh.pages.page_texts import verify_pages
from mesh.store.home import open_home
from mesh.store.verification import verify_store


def main(argv: list[str]) -> int:
    """Check, and say the first difference of each sort."""
    given = parser("verify", "mesh verify").parse_args(argv)
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
