"""Everyone else: gossip, links, trust between nodes. Knows `mesh.core`, never `clan_learnings`."""
