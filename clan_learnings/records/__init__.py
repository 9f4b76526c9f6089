"""Records and what they add up to: patterns and who counts towards them, tiers, what is HOT, WARM and in the BANK.

Reads through `mesh.store.reader` and drafts what should be written; the store writes it. The rules are in `docs/KNOWLEDGE.md`.
"""
