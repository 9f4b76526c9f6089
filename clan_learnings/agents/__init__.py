"""Coding agents and how we are put into them: their settings files, our hooks, rules and texts. No record is read or written here."""
