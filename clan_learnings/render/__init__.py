"""What the clan knows as files, for people, grep and git: JSON lines, Markdown, an archive by month.

The same state gives the same bytes on every node: nothing local goes in, and no clock is read. Files are written here, the database is
only read; callers decide when.
"""
