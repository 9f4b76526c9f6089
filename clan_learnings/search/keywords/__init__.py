"""The keyword indexes: one in the database for every command, one in tantivy for a running node. No vectors here."""
