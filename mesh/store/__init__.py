"""SQLite: the feeds, the fold into views, and everything that keeps them whole. Nothing here talks to a network."""
