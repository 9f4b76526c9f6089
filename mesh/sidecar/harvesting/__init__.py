"""From digests to records, on one node: what was captured is clustered, gated, curated, and written where it may be shared.

Composes `clan_learnings.harvest` with the catalogue, the candidates and the author of a home. No rule about what is worth keeping here.
"""
