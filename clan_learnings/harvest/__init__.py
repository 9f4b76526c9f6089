"""What finished sessions teach: items found by rules in their events, judged, joined over sessions, and made into records.

Drafts and decides; others read transcripts (`clan_learnings.sessions`), keep state and write (`mesh`).
"""
