"""Homes with so many records, and the bundle of each: made once in a work folder, reused while it lasts.

Every benchmark that needs a large home asks here. What a benchmark writes into one later is in no bundle.
"""

import json
import os
import shutil
from dataclasses import dataclass
from itertools import islice

from bench.notes import notes
from bench.processes import Measures, side
from bench.table import say
from mesh.core.draft import NewRecord
from mesh.core.identity import Identity
from mesh.core.ids import digest
from mesh.core.limits import QUOTA_MOST
from mesh.core.statement import Member, Quota, sign
from mesh.store.bundles import export_bundle
from mesh.store.home import create_home

LOG = "discoveries"
_BATCH = 4096

# Another node of the mesh, whose operations are pushed one by one.
PUSHER = Identity(digest(b"bench pusher"))


@dataclass(frozen=True, slots=True)
class Source:
    """A home that wrote `records` notes itself, and all of them in a bundle."""

    home: str
    bundle: str
    records: int
    body_bytes: int
    bundle_bytes: int
    root: str


def source(work: str, records: int) -> Source:
    """The home of that size in this work folder, made if it is not there."""
    folder = os.path.join(work, f"source-{records}")
    ready = os.path.join(folder, "ready.json")
    if not os.path.exists(ready):
        say(f"making a home with {records:,} records")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        measures = side(write_source, folder=folder, records=records)
        with open(ready, "w", encoding="utf-8") as file:
            json.dump(measures, file)
    with open(ready, encoding="utf-8") as file:
        measures = json.load(file)
    return Source(os.path.join(folder, "home"), os.path.join(folder, "all.mesh"), records, **measures)


def write_source(folder: str, records: int) -> Measures:
    home = create_home(os.path.join(folder, "home"), "source")
    author = home.author()
    store, root = author.store, home.root_identity()
    pusher = Member(root.public, 1, PUSHER.public, "pusher")
    quota = Quota(root.public, 1, home.node, QUOTA_MOST)  # it writes in a minute what a node writes in weeks
    author.merge_statements([sign(home.mesh, root, fact).encode() for fact in (pusher, quota)])
    drafts = (NewRecord(LOG, note) for note in notes(records))
    while batch := list(islice(drafts, _BATCH)):
        author.append(batch)
    store.database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    path = os.path.join(folder, "all.mesh")
    with open(path, "wb") as out:
        operations = export_bundle(store, out)
    if operations != records:
        raise RuntimeError(f"{operations} operations exported instead of {records}")
    body_bytes = store.database.run("SELECT sum(length(body)) FROM ops").get
    return {"body_bytes": body_bytes, "bundle_bytes": os.path.getsize(path), "root": store.root().hex()}
