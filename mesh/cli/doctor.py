"""`mesh doctor`: problems, and what to do about each."""

import os
import time
from collections.abc import Iterator

from clan_learnings.agents.installer import check
from clan_learnings.records.spool import SpoolState as Spool
from clan_learnings.sessions.catalogue_table import FOLDER, Catalogue
from mesh.app.checks.knowledge_checks import (
    examine_agents,
    examine_capture,
    examine_files,
    examine_homes,
    examine_knowledge,
    examine_moderation,
    examine_quiet,
    examine_repository,
    examine_search,
    examine_spool,
)
from mesh.app.checks.node_checks import Problem, examine
from mesh.app.checks.page_checks import examine_drafts, examine_pages
from mesh.app.client import ask
from mesh.app.snapshot import memory_of
from mesh.app.status import member_shares, node_status
from mesh.cli.grammar import Given, command
from mesh.cli.index import state_of
from mesh.cli.install import target
from mesh.cli.main import EXIT_WAITING
from mesh.cli.output import hinted, plain, print_json, put, say, say_labelled
from mesh.core.errors import MeshError
from mesh.pages.open_pages import open_pages
from mesh.store.erasure import lasting_readers
from mesh.store.home import Home, open_home


@command("mesh doctor")
def main(given: Given) -> int:
    """Examine the home, what its sidecar knows of the others, what the clan knows, and the agents of this machine."""
    return report(list(findings(open_home(given.home))), as_json=given.json)


def report(found: list[Problem], *, as_json: bool) -> int:
    """Say what was found."""
    if as_json:
        print_json([item._replace(next_step=hinted(item.next_step))._asdict() for item in found])
    else:
        for item in found:
            say_labelled(len(item.sort) + 1, f"{item.sort}: {plain(item.sentence, 1000)}")
            say(f"  next: {plain(item.next_step, 1000)}")
        if not found:
            put("nothing to mend")
    return EXIT_WAITING if found else 0


def findings(home: Home) -> Iterator[Problem]:
    """Everything, the gravest first."""
    try:
        peers = ask(home.path, "GET", "/peers")
    except MeshError:
        peers = None  # said as a finding
    yield from examine_files(home.path)
    yield from examine_drafts(home.path, time.time())
    key = home.file("recovery.key")
    store = home.store()
    try:
        status, shares = node_status(home, store), member_shares(store)
    finally:
        store.close()
    readers = lasting_readers([home.file(name) for name in status["unfinished_erases"]])
    yield from examine(status, peers, recovery_key=key if os.path.exists(key) else None, readers=readers, shares=shares)
    yield from examine_homes(os.environ)
    yield from examine_repository(_folder(), os.environ)
    yield from examine_agents(check(target(home.path), home.file("hooks")), time.time())
    yield from examine_spool(Spool(home.path))
    if os.path.exists(home.file(FOLDER)):
        with Catalogue(home.path) as catalogue:
            yield from examine_capture(catalogue.counts())
    yield from examine_search(state_of(home.path))
    with memory_of(home.path) as memory:
        yield from examine_knowledge(memory)
        yield from examine_moderation(memory, home.node)
        yield from examine_quiet(home.path, memory, int(time.time() * 1000))
    with open_pages(home.path) as pages:
        yield from examine_pages(pages.book)


def _folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # deleted under our feet
        return "/"
