"""The tables, as a plain list of migrations. Add to the end; never change one that was released.

Truth: feeds, ops, points, erased_bodies, statements, strays, held_statements. Of this node alone, outside root and bundles:
invites, invite_uses, cards, page_folders, page_files, page_carried, page_wiped, requests. All else is derived from the truth.
"""

from collections.abc import Callable

import apsw

# Bodies stand in the order they arrived (rowid): appending fills pages to the brim and moves nothing. `key` and `tag`
# are 8-byte prefixes; whoever looks one up compares the whole.
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


# What a record says of itself in `repo`, `pattern` and `session`: see `facets`. Texts stand once, under a number;
# of a session nothing but equality is asked, so it is a hash. The partial indexes cost nothing where a field is absent.
def _views_2(schema: str) -> str:
    return f"""
CREATE TABLE {schema}.scopes(scope INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE {schema}.patterns(pattern INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE {schema}.tallies(
    pattern INTEGER NOT NULL, log INTEGER NOT NULL, sessions INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY(pattern, log)) WITHOUT ROWID;
CREATE INDEX {schema}.tallies_by_sessions ON tallies(log, sessions, at);
CREATE TABLE {schema}.occurrences(
    pattern INTEGER NOT NULL, log INTEGER NOT NULL, session INTEGER NOT NULL,
    PRIMARY KEY(pattern, log, session)) WITHOUT ROWID;
CREATE TABLE {schema}.spread(
    pattern INTEGER NOT NULL, log INTEGER NOT NULL, feed INTEGER NOT NULL, scope INTEGER NOT NULL,
    PRIMARY KEY(pattern, log, feed, scope)) WITHOUT ROWID;
ALTER TABLE {schema}.elements ADD COLUMN scope INTEGER;
ALTER TABLE {schema}.elements ADD COLUMN pattern INTEGER;
ALTER TABLE {schema}.elements ADD COLUMN session INTEGER;
CREATE INDEX {schema}.elements_by_scope ON elements(scope, log, at) WHERE scope IS NOT NULL;
CREATE INDEX {schema}.elements_by_pattern ON elements(pattern, log, at, session) WHERE pattern IS NOT NULL;
CREATE INDEX {schema}.registers_by_field ON registers(field, target);
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


# In which feed a record of a pattern is: the oldest words of each node are found without a look at all the others.
def _views_4(schema: str) -> str:
    return f"""
ALTER TABLE {schema}.elements ADD COLUMN voice INTEGER;
CREATE INDEX {schema}.elements_by_voice ON elements(pattern, log, voice, at) WHERE pattern IS NOT NULL;
"""


def view_tables(schema: str) -> str:
    """The folded tables as they are today, for the scratch database that `verify` folds into."""
    return _views_1(schema) + _views_2(schema) + _views_3(schema) + _views_4(schema)


# The text of live records, for keyword search. Contentless: the bodies are the only copy of a text. As it was until version 5.
# Fewer, larger segments than FTS5 makes by itself: see docs/adr/0016.
TOKENIZER = ("porter", "unicode61")
_SEGMENTS = """
INSERT INTO {0}({0}, rank) VALUES('automerge', 8);
INSERT INTO {0}({0}, rank) VALUES('hashsize', 8388608);
"""
_WORDS = f"""
CREATE TABLE unindexed(op INTEGER PRIMARY KEY);
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='{" ".join(TOKENIZER)}');
INSERT INTO words(words, rank) VALUES('secure-delete', 1);
{_SEGMENTS.format("words")}
"""

# In how many records a word stands. Holds nothing itself: it looks into `words`.
WORD_COUNTS = "CREATE VIRTUAL TABLE word_counts USING fts5vocab('words', 'row');"

# The same, from which a record can be taken without its text: see docs/adr/0041. `mark`: another one whenever a noted record
# reads otherwise. Dropping the table is what makes a damaged one good again.
_FTS = f"fts5(text, content='', contentless_delete=1, tokenize='{' '.join(TOKENIZER)}')"
WORDS = f"CREATE VIRTUAL TABLE words USING {_FTS};"
NEW_WORDS = f"""
DROP TABLE words;
DROP TABLE unindexed;
CREATE TABLE unindexed(op INTEGER PRIMARY KEY, mark INTEGER NOT NULL);
{WORDS}
{_SEGMENTS.format("words")}
"""

# The texts of pages, as last worked out. The numbers are ours: those of `page_texts` change when the file is written anew. A
# REPLACE deletes without a trigger, so what comes in takes the place of what was there.
_PAGE_WORDS = f"""
CREATE TABLE page_numbers(number INTEGER PRIMARY KEY, body BLOB NOT NULL UNIQUE);
CREATE VIRTUAL TABLE page_words USING {_FTS};
CREATE VIRTUAL TABLE page_word_counts USING fts5vocab('page_words', 'row');
CREATE VIRTUAL TABLE page_word_places USING fts5vocab('page_words', 'instance');
CREATE TRIGGER page_text_comes AFTER INSERT ON page_texts BEGIN
    DELETE FROM page_words WHERE rowid=(SELECT number FROM page_numbers WHERE body=new.body);
    INSERT OR IGNORE INTO page_numbers(body) VALUES(new.body);
    INSERT INTO page_words(rowid, text) SELECT number, new.text FROM page_numbers WHERE body=new.body;
END;
CREATE TRIGGER page_text_changes AFTER UPDATE ON page_texts BEGIN
    DELETE FROM page_words WHERE rowid=(SELECT number FROM page_numbers WHERE body=old.body);
    INSERT INTO page_words(rowid, text) SELECT number, new.text FROM page_numbers WHERE body=old.body;
END;
CREATE TRIGGER page_text_goes AFTER DELETE ON page_texts BEGIN
    DELETE FROM page_words WHERE rowid=(SELECT number FROM page_numbers WHERE body=old.body);
    DELETE FROM page_numbers WHERE body=old.body;
END;
INSERT INTO page_numbers(body) SELECT body FROM page_texts;
INSERT INTO page_words(rowid, text) SELECT number, text FROM page_texts JOIN page_numbers USING(body);
"""

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


# Pages: see `mesh.pages.page_table`. All of it is of this node alone and can be worked out again, but for `page_files`,
# which remembers what a file held when it was last in step with its page, and `page_carried`.
_PAGES = """
CREATE TABLE page_news(number INTEGER PRIMARY KEY AUTOINCREMENT, op INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX page_news_by_body ON page_news(body, number);
CREATE TABLE page_texts(
    body BLOB PRIMARY KEY, made INTEGER NOT NULL, text_number INTEGER NOT NULL, text TEXT NOT NULL);
CREATE TABLE page_states(body BLOB PRIMARY KEY, ledger BLOB NOT NULL, state BLOB NOT NULL);
CREATE TABLE page_troubles(op INTEGER PRIMARY KEY, body BLOB NOT NULL, sort TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE page_wiped(id BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE page_carried(op INTEGER PRIMARY KEY);
CREATE TABLE page_linked(page BLOB PRIMARY KEY, text_hash BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE page_links(page BLOB NOT NULL, target TEXT NOT NULL, line INTEGER NOT NULL);
CREATE INDEX page_links_by_page ON page_links(page);
CREATE TABLE page_folders(folder TEXT PRIMARY KEY, prefix TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE page_files(
    folder TEXT NOT NULL, path TEXT NOT NULL, page BLOB NOT NULL, page_text TEXT NOT NULL, file_hash BLOB,
    style TEXT NOT NULL, PRIMARY KEY(folder, path)) WITHOUT ROWID;
"""


def _index_fields(connection: apsw.Connection) -> None:
    """The records that are there already, by the fields they were written with."""
    connection.execute(_views_2("main") + WORD_COUNTS)
    from clan_learnings.records.facets_table import (
        fill,  # only here: readers load this module, and have nothing to fill
    )

    fill(connection)


def _take_pages(connection: apsw.Connection) -> None:
    """Operations on pages that came to an earlier version, which could not read them."""
    connection.execute(_PAGES)
    from mesh.pages.edit_table import take_earlier

    take_earlier(connection)


def _index_anew(connection: apsw.Connection) -> None:
    """The index has edits and identifiers in it now."""
    connection.execute(NEW_WORDS + _PAGE_WORDS)
    from clan_learnings.search.keywords.word_table import fill

    fill(connection)


# What each request has written: see `receipts`.
_REQUESTS = """
CREATE TABLE requests(
    id BLOB PRIMARY KEY, content BLOB NOT NULL, until_ms INTEGER NOT NULL, receipt BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX requests_by_end ON requests(until_ms);
"""


# What a member may cost others: see `mesh.core.shares`. `weight` and `held_weight` are what the accepted and the held
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


# SQL, or what SQL cannot do. All that are due run in one transaction.
MIGRATIONS: list[str | Callable[[apsw.Connection], None]] = [
    _TRUTH + _views_1("main") + _WORDS,
    _PEERS,
    _index_fields,
    _take_pages,
    _index_anew,
    _REQUESTS,
    _count_shares,
    _take_down_words,
    _INVITED_ROLES,
    _views_4("main")
    + "UPDATE elements SET voice=(SELECT feed FROM ops WHERE ops.op=elements.op) WHERE pattern IS NOT NULL;",
]
VERSION = len(MIGRATIONS)
PAGE_BYTES = 8192
