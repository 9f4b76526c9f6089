"""Coding agents and our part in them: their settings files, hooks, tool texts, and what hooks answer. Pure where it can be; writes no records."""
