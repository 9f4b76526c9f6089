"""The `mesh` command: one module per family of commands, on top of everything. Nothing imports it."""
