"""The tables, as a plain list of migrations. Add to the end; never change one that was released.

Truth: feeds, ops, points, erased_bodies, statements, strays, held_statements. Of this node alone, outside root and bundles:
invites, invite_uses, cards, requests. All else is derived from the truth. Subjects have tables of their own (`mesh.store.subject`).
"""

from __future__ import annotations

import apsw

from mesh.store.subject import Step, subjects

# Bodies stand in the order they arrived (rowid): appending fills pages to the brim and moves nothing. `key` and `tag`
# are 8-byte prefixes; a lookup compares the whole.
_TRUTH = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE feeds(
    feed INTEGER PRIMARY KEY, node BLOB NOT NULL, epoch BLOB NOT NULL,
    held_seq INTEGER NOT NULL, held_hash BLOB NOT NULL, held_hlc INTEGER NOT NULL,
    seq INTEGER NOT NULL, hash BLOB NOT NULL, hlc INTEGER NOT NULL,
    waiting_bytes INTEGER NOT NULL DEFAULT 0,
    UNIQUE(node, epoch));
CREATE TABLE ops(
    op INTEGER PRIMARY KEY, feed INTEGER NOT NULL, seq INTEGER NOT NULL, hlc INTEGER NOT NULL,
    kind INTEGER NOT NULL, key INTEGER, tag INTEGER, body BLOB);
CREATE UNIQUE INDEX ops_by_seq ON ops(feed, seq);
CREATE INDEX ops_by_key ON ops(key) WHERE key IS NOT NULL;
CREATE INDEX ops_by_tag ON ops(tag) WHERE tag IS NOT NULL;
CREATE TABLE points(
    feed INTEGER NOT NULL, seq INTEGER NOT NULL, hash BLOB NOT NULL, signature BLOB NOT NULL,
    PRIMARY KEY(feed, seq)) WITHOUT ROWID;
CREATE TABLE erased_bodies(op INTEGER PRIMARY KEY, body_hash BLOB NOT NULL);
CREATE TABLE statements(id BLOB PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE members(node BLOB PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE held_statements(id BLOB PRIMARY KEY, signer BLOB NOT NULL, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE strays(
    stray INTEGER PRIMARY KEY, feed INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    prev BLOB NOT NULL, head BLOB NOT NULL, data BLOB NOT NULL,
    UNIQUE(feed, first, head));
"""


def _views_1(schema: str) -> str:
    return f"""
CREATE TABLE {schema}.logs(log INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE {schema}.elements(op INTEGER PRIMARY KEY, log INTEGER NOT NULL, at INTEGER NOT NULL);
CREATE INDEX {schema}.elements_by_log ON elements(log, at);
CREATE TABLE {schema}.removals(
    tag BLOB NOT NULL, op INTEGER NOT NULL, key INTEGER NOT NULL, PRIMARY KEY(tag, op)) WITHOUT ROWID;
CREATE INDEX {schema}.removals_by_key ON removals(key);
CREATE INDEX {schema}.removals_by_op ON removals(op);
CREATE TABLE {schema}.registers(
    target NOT NULL, field TEXT NOT NULL, at INTEGER NOT NULL, tag BLOB NOT NULL, op INTEGER NOT NULL,
    PRIMARY KEY(target, field)) WITHOUT ROWID;
CREATE TABLE {schema}.counters(
    key TEXT NOT NULL, slot BLOB NOT NULL, total INTEGER NOT NULL, PRIMARY KEY(key, slot)) WITHOUT ROWID;
CREATE TABLE {schema}.ignored(op INTEGER PRIMARY KEY, reason TEXT NOT NULL);
"""


# What each node said last in each register, whoever said something later. By field first, as it is asked for; the index serves
# whoever asks for all that was said of one record or key.
def _views_3(schema: str) -> str:
    return f"""
CREATE TABLE {schema}.said(
    field TEXT NOT NULL, target NOT NULL, node BLOB NOT NULL, at INTEGER NOT NULL, tag BLOB NOT NULL, op INTEGER NOT NULL,
    PRIMARY KEY(field, target, node)) WITHOUT ROWID;
CREATE INDEX {schema}.said_by_target ON said(target);
"""


def view_tables(schema: str) -> str:
    """The folded tables as they are today, for the scratch database that `verify` folds into."""
    return _views_1(schema) + _views_3(schema) + "".join(subject.view_tables(schema) for subject in subjects())


# What joining and gossip keep for themselves: no root, view or bundle knows it.
_PEERS = """
CREATE TABLE invites(
    id BLOB PRIMARY KEY, secret BLOB NOT NULL, made_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
    uses INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE invite_uses(
    invite BLOB NOT NULL, node BLOB NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY(invite, node)) WITHOUT ROWID;
CREATE TABLE cards(
    kind INTEGER NOT NULL, subject BLOB NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY(kind, subject)) WITHOUT ROWID;
"""


# What each request has written: see `receipts`.
_REQUESTS = """
CREATE TABLE requests(
    id BLOB PRIMARY KEY, content BLOB NOT NULL, until_ms INTEGER NOT NULL, receipt BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX requests_by_end ON requests(until_ms);
"""


# What a member may cost others: see `mesh.core.member_limits`. `weight` and `held_weight` are what the accepted and the held
# operations of a feed count towards its author's quota. `erase_tags` has every tag of every erase known here, counting or aside.
_SHARES = """
ALTER TABLE members ADD COLUMN revoked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feeds ADD COLUMN first_hlc INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feeds ADD COLUMN weight INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feeds ADD COLUMN held_weight INTEGER NOT NULL DEFAULT 0;
ALTER TABLE statements ADD COLUMN is_erase INTEGER NOT NULL DEFAULT 0;
ALTER TABLE held_statements ADD COLUMN is_aside INTEGER NOT NULL DEFAULT 0;
CREATE TABLE erase_tags(
    prefix INTEGER NOT NULL, tag BLOB NOT NULL, signer BLOB NOT NULL, at INTEGER NOT NULL, id BLOB NOT NULL,
    PRIMARY KEY(prefix, tag, signer, at, id)) WITHOUT ROWID;
CREATE INDEX held_by_signer ON held_statements(signer);
"""
_WEIGHTS = """
UPDATE feeds SET first_hlc=coalesce((SELECT hlc FROM ops WHERE ops.feed=feeds.feed AND ops.seq=1), 0);
UPDATE feeds SET (weight, held_weight)=(
    SELECT coalesce(sum(iif(ops.seq<=feeds.seq, {0}, 0)), 0), coalesce(sum({0}), 0) FROM ops WHERE ops.feed=feeds.feed);
"""


def _count_shares(connection: apsw.Connection) -> None:
    """What is there is weighed. What follows from that is done by the next who opens the store to write: see `Store.upgrade`."""
    connection.execute(_SHARES)
    from mesh.store.feeds import SHARE_WEIGHT  # only here: readers load this module

    connection.execute(_WEIGHTS.format(SHARE_WEIGHT))
    connection.execute("INSERT OR REPLACE INTO meta VALUES('upgrade', 1)")


def _take_down_words(connection: apsw.Connection) -> None:
    """What each node had said in registers before it was kept."""
    connection.execute(_views_3("main"))
    from mesh.store.fold import fill_said
    from mesh.store.statements import note_members_again

    note_members_again(connection)  # whose word counts: who was revoked is new in that list
    fill_said(connection)


# In which role an invitation lets a node join: as the member statement says it.
_INVITED_ROLES = "ALTER TABLE invites ADD COLUMN role TEXT NOT NULL DEFAULT 'member';"


# The store's own part of each version; what subjects do for it comes after (`Subject.steps`). The number of a version is nobody's
# own: who needs a new one, store or subject, adds to the end. All that are due run in one transaction.
MIGRATIONS: list[Step] = [
    _TRUTH + _views_1("main"),
    _PEERS,
    "",  # records by the fields they were written with
    "",  # pages
    "",  # the keyword index with edits and identifiers in it
    _REQUESTS,
    _count_shares,
    _take_down_words,
    _INVITED_ROLES,
    "",  # the oldest words of each node under a pattern
]
VERSION = len(MIGRATIONS)
PAGE_BYTES = 8192


def steps(version: int) -> list[Step]:
    """All that is done to bring the tables from the version before to this one."""
    return [MIGRATIONS[version - 1], *(subject.steps[version] for subject in subjects() if version in subject.steps)]
