"""The tables of the catalogue, as a plain list of migrations. Add to the end; never change one that was released.

A file has bodies (what was read of it, cleaned, in segments on disk) and sessions (what was made of it). A session whose file
grew gets a new number: numbers only grow, so a reader goes on where it stopped. `forgotten` outlives what it names.
"""

MIGRATIONS = (
    """
CREATE TABLE files(
    file INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE,
    device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    cursor INTEGER NOT NULL, lines INTEGER NOT NULL, hash BLOB NOT NULL,
    state TEXT NOT NULL, why TEXT NOT NULL, flavour TEXT NOT NULL, rules INTEGER NOT NULL, at_ms INTEGER NOT NULL);
CREATE TABLE bodies(
    body INTEGER PRIMARY KEY, file INTEGER NOT NULL, first_line INTEGER NOT NULL, place TEXT NOT NULL UNIQUE,
    bytes INTEGER NOT NULL, packed INTEGER NOT NULL, analysed INTEGER NOT NULL, at_ms INTEGER NOT NULL);
CREATE INDEX bodies_by_file ON bodies(file);
CREATE TABLE sessions(
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL, file INTEGER NOT NULL,
    weight INTEGER NOT NULL, facts TEXT NOT NULL, digest TEXT NOT NULL, items TEXT NOT NULL, at_ms INTEGER NOT NULL);
CREATE INDEX sessions_by_file ON sessions(file);
CREATE INDEX sessions_by_name ON sessions(name);
CREATE TABLE copies(file INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY(file, key)) WITHOUT ROWID;
CREATE TABLE forgotten(what BLOB PRIMARY KEY, at_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE losses(body INTEGER PRIMARY KEY, path BLOB NOT NULL, bytes INTEGER NOT NULL, at_ms INTEGER NOT NULL);
CREATE TABLE scanned(
    path BLOB PRIMARY KEY, device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    rules INTEGER NOT NULL, facts TEXT NOT NULL) WITHOUT ROWID;
""",
    """
ALTER TABLE copies ADD COLUMN weight INTEGER NOT NULL DEFAULT 0;
""",
)
