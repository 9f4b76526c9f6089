"""Pages on one node: reading and changing them, and the folders that are kept in step with them.

What a page is made of is decided in `mesh.pages`; what a command prints, in `mesh.cli`.
"""
