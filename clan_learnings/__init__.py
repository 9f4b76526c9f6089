"""What the clan knows: records and their patterns, tiers, contexts, search, files, and how agents get at it. Never imports `peers`.

Reads through `mesh.store.reader` and drafts what is to be written; the store is opened, and written to, elsewhere. What becomes of
a record, rule by rule, is in `docs/KNOWLEDGE.md`.
"""
