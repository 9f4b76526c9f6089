"""Records and what they amount to: patterns and who counts towards them, tiers, what is HOT, WARM and in the bank.

Reads through `mesh.store.reading` and drafts what is to be written; the store writes it. The rules are in `docs/KNOWLEDGE.md`.
"""
