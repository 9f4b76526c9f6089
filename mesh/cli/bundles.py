"""Bundles in and out: `mesh export` and `mesh import`."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, BinaryIO

import click

from mesh.cli.erase import finish_soon, tell_unfinished
from mesh.cli.grammar import Given, argument, command, option
from mesh.cli.imports import SOURCES, import_from
from mesh.cli.main import EXIT_FAILED, EXIT_OK, EXIT_REFUSED, EXIT_WAITING, complain
from mesh.cli.output import Progress, plain, print_json, put, say, tell
from mesh.core.display import number_of
from mesh.core.errors import HomePermissions, MeshError, RemoteError, UsageError
from mesh.core.feed import decode_feed, require_hash, require_seq
from mesh.core.ids import parse_id
from mesh.core.version_vector import Head, Vector
from mesh.store.author import Author
from mesh.store.bundles import ImportReport, export_bundle, import_bundle
from mesh.store.home import open_home
from mesh.store.store import Store


@command("mesh export all.mesh")
@argument("file", "FILE", "where to; - for stdout")
@option("--since", metavar="VECTORFILE", help="only what a node lacks: its `mesh status --json`")
@option("--private", help="the private records instead of the shared ones")
def run_export(given: Given) -> int:
    """Statements first, then ranges; the file appears whole or not at all."""
    since = None if given.since is None else read_vector(given.since)
    home = open_home(given.home)
    if given.private:
        home.require_private()
    store = home.store(private=given.private)
    if given.file == "-":
        # First to the disk: whoever reads from us may take long, and an erase waits for our snapshot.
        with tempfile.TemporaryFile() as draft:
            operations = export_bundle(store, draft, since, private=given.private)
            draft.seek(0)
            shutil.copyfileobj(draft, sys.stdout.buffer)
        tell(f"exported {number_of(operations, 'operation')}")
        return 0
    operations, size = _to_file(store, given.file, since, private=given.private)
    if given.json:
        print_json({"file": given.file, "operations": operations, "bytes": size})
    else:
        say(
            f"exported {number_of(operations, 'operation')} to {given.file} ({size:,} bytes)",
            f"next, on another node: mesh import {given.file}",
        )
    return 0


def read_vector(path: str) -> Vector:
    """A vector from the file another node wrote with `mesh status --json`."""
    try:
        with open(path, encoding="utf-8") as file:
            value: Any = json.load(file)
        heads = []
        for feed in value["feeds"]:
            held = feed["held"]
            seq = require_seq(held["seq"], lowest=0)
            node, epoch = parse_id(feed["node"], "node id"), bytes.fromhex(feed["epoch"])
            heads.append((decode_feed(node + epoch), Head(seq, require_hash(bytes.fromhex(held["head"])))))
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}", "make it on the other node: mesh status --json > FILE"
        ) from error
    except (ValueError, KeyError, TypeError, RemoteError, UsageError) as error:
        raise UsageError(
            f"{path} is not a vector file", "make it on the other node: mesh status --json > FILE"
        ) from error
    return Vector(heads)


def _to_file(store: Store, path: str, since: Vector | None, *, private: bool) -> tuple[int, int]:
    place = os.path.realpath(path)  # a link stays one
    if os.path.exists(place) and not os.path.isfile(place):
        raise UsageError(
            f"{path} is not a file that could be replaced",
            "name another, or have the bundle on standard output: mesh export - > FILE",
        )
    draft = f"{place}.part-{os.getpid()}"
    try:
        # Owner only: a bundle holds everything the mesh knows.
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            operations = export_bundle(store, out, since, private=private)
            out.flush()
            os.fsync(out.fileno())
        size = os.path.getsize(draft)
        os.replace(draft, place)
    except OSError as error:
        raise HomePermissions(
            f"{path} cannot be written: {error.strerror}", "choose another place for the bundle"
        ) from error
    finally:
        if os.path.exists(draft):
            os.unlink(draft)
    return operations, size


_ANEW = "make it anew on another node: mesh export FILE"


@command(
    "mesh import all.mesh",
    more="With --from, FILE is what you have from before. Rules and other memories (claude-md, claude-mem, codex-memories) become\n"
    "candidates: you decide about each with `mesh curate`. Files of lines (discoveries, patterns) become records.",
)
@argument(
    "files", "FILE...", "bundles, in any order; - for stdin. With --from: files or folders", nargs=-1, required=True
)
@option("--private", help="bundles of private records, made with `mesh export --private`")
@option("--from", metavar="KIND", type=click.Choice(SOURCES), help=f"what it is, if no bundle: {', '.join(SOURCES)}")
@option(
    "--repo", metavar="REPO", help="with --from: the repository of what does not say its own, like github.com/acme/api"
)
def run_import(given: Given) -> int:
    """Merge each bundle; one that is bad does not keep the others out. With --from: take in what is no bundle."""
    if given.word("from"):
        return import_from(given)
    if given.has("repo"):
        raise UsageError("--repo is for --from: a bundle says where its records hold", "leave it out: mesh import FILE")
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
