"""Sessions of coding agents: transcripts of every flavour in one schema, their digests, and the catalogue of what was captured.

Reads bytes that anybody may have written. What a session teaches is decided in `clan_learnings.harvest`.
"""
