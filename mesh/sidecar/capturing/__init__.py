"""How finished sessions get into the catalogue: reading files, cleaning, keeping, retention, and the sidecar's thread for it.

Parses no flavour and judges no session (`clan_learnings`), writes no table (`mesh.store.catalogue`).
"""
