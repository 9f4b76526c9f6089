"""What finished sessions teach: rules find items in their events; items are judged, joined over sessions, and become records.

Drafts and decides; others read transcripts (`clan_learnings.sessions`), keep state and write (`mesh`).
"""
