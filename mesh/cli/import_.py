"""`mesh import`: merge bundles."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import BinaryIO

from clan_learnings.search.index_files import wipe_erased
from mesh.cli.arguments import parser
from mesh.cli.erase import finish_soon, tell_unfinished
from mesh.cli.main import EXIT_FAILED, EXIT_OK, EXIT_REFUSED, EXIT_WAITING, complain
from mesh.cli.output import Progress, plain, print_json, put, tell
from mesh.core.display import number_of
from mesh.core.errors import MeshError, RemoteError, UsageError
from mesh.store.author import Author
from mesh.store.bundles import ImportReport, import_bundle
from mesh.store.home import open_home

_ANEW = "make it anew on another node: mesh export FILE"


def main(argv: list[str]) -> int:
    """Merge each bundle; one that is bad does not keep the others out."""
    arguments = parser("import", "mesh import all.mesh")
    arguments.add_argument("files", metavar="FILE", nargs="+", help="bundles, in any order; - for stdin")
    arguments.add_argument(
        "--private", action="store_true", help="bundles of private records, made with `mesh export --private`"
    )
    given = arguments.parse_args(argv)
    home = open_home(given.home)
    author = home.author(private=given.private)
    code = EXIT_OK
    for file in given.files:
        report, problem = _import(author, file)
        if problem is not None:
            complain(MeshError(f"{file}: {problem}; {_kept(report)}", problem.next_step or _ANEW))
            code = max(code, EXIT_FAILED if isinstance(problem, UsageError) else EXIT_REFUSED)
        if report.refused:
            code = EXIT_REFUSED
        elif report.waiting or report.clipped or report.forks:
            code = max(code, EXIT_WAITING)
        if given.json:
            values = asdict(report) | {
                "file": file,
                "error": None if problem is None else str(problem),
                "root": author.store.root().hex(),
            }
            print_json(values)
            continue
        if problem is None:
            put(f"{file}: {_counts(report)}")
        for reason, times in report.reasons.items():
            tell(f"  {number_of(times, 'time')}: {plain(reason)}")
    if not given.private:
        wipe_erased(home)
    author.store.close()
    tell_unfinished(home, finish_soon(home))
    return code


def _import(author: Author, file: str) -> tuple[ImportReport, MeshError | None]:
    report, progress = ImportReport(), Progress("bytes")
    try:
        with _opened(file) as source:
            import_bundle(author, source, report, progress)
    except (RemoteError, UsageError) as error:
        return report, error
    finally:
        progress.done()
    return report, None


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        source = open(file, "rb")  # noqa: SIM115 (closed below; only opening may fail as usage)
    except OSError as error:
        raise UsageError(
            f"it cannot be read: {error.strerror}", "make one on another node: mesh export FILE"
        ) from error
    with source:
        yield source


def _counts(report: ImportReport) -> str:
    return (
        f"{number_of(report.operations, 'operation')} and {number_of(report.statements, 'statement')} merged, {report.known} known,"
        f" {report.waiting} waiting, {report.clipped} clipped, {report.refused} refused"
    )


def _kept(report: ImportReport) -> str:
    """What became of a bundle before it turned out bad."""
    return "nothing of it was merged" if report == ImportReport() else f"what came before that: {_counts(report)}"
