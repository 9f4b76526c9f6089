"""`mesh erase`: remove a record's text from every node."""

from __future__ import annotations

import os
import time

from clan_learnings.documents.drafts import documents_beside
from clan_learnings.harvest.withdrawals import forget_erased
from clan_learnings.records.matching import slug_of
from clan_learnings.records.memory import Memory
from clan_learnings.records.patterns import KEY
from clan_learnings.records.provenance_table import edits_of, provenance
from clan_learnings.records.record import CORRECTIONS, PATTERNS, Note
from clan_learnings.redaction.text_cleaner import TextCleaner
from clan_learnings.render.files import RENDERED_FOLDER, RenderedFiles
from clan_learnings.search.index_files import wipe_erased
from mesh.app.checks.node_checks import unfinished_sentence, unfinished_step
from mesh.app.derived_files import unerased
from mesh.app.record_history import locate
from mesh.app.render import render
from mesh.cli.grammar import Given, argument, command, option
from mesh.cli.main import EXIT_WAITING
from mesh.cli.output import plain, print_json, put, say, tell
from mesh.core.display import number_of
from mesh.core.draft import NewRecord
from mesh.core.errors import MeshError, UsageError
from mesh.core.ids import text_id
from mesh.core.operation import KIND_NAMES, LASTING, PAGE
from mesh.pages.page_table import PageTable
from mesh.store.erase_requests import LOG, REASON_CHARS, Erased, erase, request_record
from mesh.store.erasure import finish, lasting_readers
from mesh.store.home import Home, node_process_id, open_home
from mesh.store.reader import Reader
from mesh.store.store import Store

_PATIENCE_SECONDS = 5.0  # for readers to come to their end; most are gone in a moment
_PAUSE_SECONDS = 0.2


def finish_soon(home: Home) -> list[str]:
    """Have every database of a home written anew that needs it, and wait a little for those who read, and for what is derived. Returns what is left."""
    if node_process_id(home) is None:
        wipe_erased(home)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (left := finish(home.path) + unerased(home.path)) and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
    return left


def tell_unfinished(home: Home, left: list[str]) -> None:
    """What may still hold the text, who is in the way, and what to do. Nothing, if nothing is left."""
    if left:
        sentence = unfinished_sentence(left, lasting_readers([home.file(name) for name in left]))
        step = unfinished_step(has_sidecar=node_process_id(home) is not None)
        tell(f"mesh: {plain(sentence, 1000)}", f"  next: {step}")


@command('mesh erase 7k3qmzpa --reason "a password got in"')
@argument("id", "ID", "a record's id, or its beginning")
@option("--reason", metavar="TEXT", required=True, help="why, without repeating the secret: the reason stays")
def main(given: Given) -> int:
    """Sign the erasure if we may; otherwise ask those who may."""
    if len(given.reason) > REASON_CHARS:
        raise UsageError(f"a reason has at most {REASON_CHARS} characters", "say it shorter")
    pen = TextCleaner()
    reason = pen.clean(given.reason)[:REASON_CHARS]
    if pen.found:
        tell(f"mesh: taken out of the reason: {pen.found}")
    home = open_home(given.home)
    store, tag = locate(home, given.id)
    _require_erasable(store, tag, given.id)
    private = store.mesh != home.mesh
    author = home.author(private=private)
    documents, own = _documents(store, tag), _authors(store, tag)
    authors = own | {body: node for document in documents for body, node in _authors(store, document).items()}
    slug, others = _pattern(store, tag, documents)
    if slug and not others:  # what was said of the pattern alone is nobody's any more
        authors |= dict(edits_of(store, KEY + slug))
    done = erase(home, author, authors, reason)
    asked = tuple(item for item in (tag, *documents) if item not in done.mine)
    if asked:
        author.append([NewRecord(LOG, request_record(item, reason)) for item in asked])
    sessions: list[str] = []
    if not private:
        _render(home)
        sessions = forget_erased(home.path, done.mine) if not done.waits else []
    unfinished = finish_soon(home)
    if given.json:
        print_json(
            {
                "id": text_id(tag),
                "erased": len(done.mine),
                "left": done.left,
                "asked": tag in asked,
                "finished": not unfinished,
                "unfinished": unfinished,
                "waits": done.waits,
                "sessions": sessions,
                "documents": [text_id(document) for document in documents],
                "pattern_left": slug if others else "",
            }
        )
    elif not done.waits:
        _print(tag, done, len(own.keys() & set(done.mine) - {tag}))
        for document in documents:
            what = "asked to erase" if document in asked else "erased"
            put(f"{what} {text_id(document)[:8]}, the learning that was made beside it, too")
    damaged = [home.file(name) for name in sorted(os.listdir(home.path)) if ".db.damaged-" in name]
    _tell_owed(home, tag, done, sessions, damaged)
    if others:
        tell(
            f"mesh: its words made the name of a pattern, {plain(slug)}, and {number_of(others, 'other record')} still"
            f" {'has' if others == 1 else 'have'} that name",
            f"  next: if it must go, erase those too: mesh pattern show {plain(slug)}",
        )
    tell_unfinished(home, unfinished)
    return 0 if not (unfinished or done.left or damaged or done.waits or others) else EXIT_WAITING


def _print(tag: bytes, done: Erased, edits: int) -> None:
    name = text_id(tag)[:8]
    if tag not in done.mine:
        if edits:
            put(f"erased {number_of(edits, 'edit')} of {name}; the record itself stays until somebody else erases it")
    elif not done.new:
        say(f"{name} was erased before; see by whom: mesh why {name}")
    else:
        put(f"erased {name} and {number_of(edits, 'edit')} of it; hash, author and reason stay")


def _tell_owed(home: Home, tag: bytes, done: Erased, sessions: list[str], damaged: list[str]) -> None:
    """What still holds the text, and who can do something about it."""
    if done.waits:
        tell(
            "mesh: this node is not admitted yet, so its word counts nowhere: the text goes, here too, once it is",
            f"  next: where the root key is: mesh admit {text_id(home.node)}",
        )
    if done.left:
        tell(
            f"mesh: {_of_others(done.left)};"
            f"{' they are asked to (mesh doctor), and the record stays as it is until then' if tag not in done.mine else ''}",
            f"  next: on another node, by one of them: mesh erase {text_id(tag)[:16]} --reason REASON",
        )
    for session in sessions:
        tell(
            f"mesh: it was harvested from {plain(session)}, whose transcript may still be kept here",
            f"  next: mesh capture --forget {plain(session)}",
        )
    for path in damaged:
        tell(
            f"mesh: {path}, kept by a repair, may still hold it", "  next: delete that file once you no longer need it"
        )


def _render(home: Home) -> None:
    """Take the text out of the home's rendered files too, if there are any: no sidecar may be running to do it."""
    folder = home.file(RENDERED_FOLDER)
    if not os.path.isdir(folder):
        return
    try:
        render(home.path, RenderedFiles(folder), lambda: None)
    except (MeshError, OSError) as error:
        tell(f"mesh: the files in {folder} may still hold it: {error}", "  next: mesh render, or delete that folder")


def _documents(store: Store, tag: bytes) -> list[bytes]:
    """Learnings that were harvested beside a record say the same, so they go with it."""
    with store.database.savepoint():  # one state: others may erase at the same time
        record = provenance(store, tag).record
        memory = Memory(Reader(store.database.connection))
        return [note.tag for note in documents_beside(memory, tag, record if isinstance(record, dict) else None)]


def _pattern(store: Store, tag: bytes, documents: list[bytes]) -> tuple[str, int]:
    """The name of a pattern, if it is made of a record's words, and how many records have it that stay; none if there is no such name."""
    with store.database.savepoint():
        reader = Reader(store.database.connection)
        entry = reader.entry(tag)
        if entry is None or entry.log not in (CORRECTIONS, PATTERNS):
            return "", 0
        note = Note(entry, {})
        slug = note.pattern
        if not slug or (entry.log == CORRECTIONS and slug_of(note.word("wrong"), note.word("right")) != slug):
            return "", 0
        return slug, len({found.tag for found in reader.of_pattern(slug)} - {tag, *documents})


def _authors(store: Store, tag: bytes) -> dict[bytes, bytes]:
    """The bodies that hold a record's text, and who wrote them."""
    return dict(edits_of(store, tag)) | {tag: store.feeds.by_tag(tag)[0][0].feed.node}


def _require_erasable(store: Store, tag: bytes, text: str) -> None:
    rows = [row for _, row in store.feeds.by_tag(tag)]
    if rows[0].kind == PAGE or PageTable(store.database).elements(tag):
        raise UsageError(
            f"{text} is a page, or an edit of one: what it said stands in many edits",
            "name what is to go: mesh page erase NAME - --reason REASON",
        )
    if rows[0].kind in LASTING:
        raise UsageError(
            f"{text} is a {KIND_NAMES[rows[0].kind]}: without it no state could be computed, so it cannot be erased",
            "erase the records it is about instead",
        )


def _of_others(count: int) -> str:
    if count == 1:
        return "1 body was written by another, and only its author, an admin or the root key may erase it"
    return f"{count:,} bodies were written by others, and only their authors, an admin or the root key may erase them"
